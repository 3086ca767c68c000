//! The gate of a comparison and its JUnit XML: what fails is what the intervals of the CSV say.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use flashlag_export::{Format, junit};
use flashlag_schema::{CheckStatus, Run};
use flashlag_spec::Reading;
use flashlag_testing::sample::{self, SampleDevice, lifecycle_on};
use flashlag_views::{CompareOptions, Comparison, Gate, GateError, GateOutcome, Group, compare};
use quick_xml::Reader;
use quick_xml::events::Event;

fn short(device: SampleDevice, machine: &str) -> Run {
    let mut run = lifecycle_on(device, 0);
    run.phases.retain(|phase| phase.run == 1 && phase.name.ends_with("4k"));
    run.environment.software.machine = Reading::Value(machine.to_owned());
    run
}

fn against(before: Run, after: Run) -> Comparison {
    let group = |name: &str, run| Group { name: name.to_owned(), runs: vec![run] };
    let groups = vec![group("before", 0), group("after", 1)];
    compare(&[before, after], &CompareOptions { groups, ..CompareOptions::default() }).unwrap()
}

fn tablet_against_phone() -> Comparison {
    against(short(SampleDevice::Phone, "A"), short(SampleDevice::Tablet, "B"))
}

/// Figures of the CSV whose whole interval is slower by more than `tolerance`.
fn slower_by_csv(comparison: &Comparison, tolerance: f64) -> usize {
    let csv = Format::Csv.write_comparison(comparison, None).unwrap();
    let mut lines = csv.lines();
    // No title of these tests has a comma, other than the quoted one.
    let fields = |line: &str| -> Vec<String> {
        let parts = line.split('"').enumerate();
        let plain = parts.map(|(index, part)| match index % 2 {
            0 => part.to_owned(),
            _ => part.replace(',', ";"),
        });
        plain.collect::<String>().split(',').map(str::to_owned).collect()
    };
    let names = fields(lines.next().unwrap());
    let place = |name: &str| names.iter().position(|known| known == name).unwrap();
    let mut slower = 0;
    for line in lines.map(fields) {
        let number = |name: &str| line[place(name)].parse::<f64>().ok();
        let differs = |name: &str| line[place(name)] == "true";
        for figure in ["p50", "p99"] {
            let low = number(&format!("{figure}_low"));
            let worse = low.is_some_and(|low| low > 1.0 + tolerance);
            slower += usize::from(worse && differs(&format!("{figure}_differs")));
        }
        let worse = number("rate_high").is_some_and(|high| 1.0 / high > 1.0 + tolerance);
        slower += usize::from(worse && differs("rate_differs"));
    }
    slower
}

/// Cases, failures and skipped ones, counted element by element.
fn counted(xml: &str) -> [usize; 3] {
    let (mut reader, mut counts) = (Reader::from_str(xml), [0; 3]);
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) if start.name().as_ref() == "testcase" => counts[0] += 1,
            Event::Empty(empty) if empty.name().as_ref() == "failure" => counts[1] += 1,
            Event::Empty(empty) if empty.name().as_ref() == "skipped" => counts[2] += 1,
            Event::Eof => return counts,
            _ => {}
        }
    }
}

/// The counts that the outermost element has as attributes.
fn announced(xml: &str) -> [usize; 3] {
    let mut reader = Reader::from_str(xml);
    loop {
        if let Event::Start(start) = reader.read_event().unwrap() {
            return ["tests", "failures", "skipped"].map(|name| {
                let value = start.try_get_attribute(name).unwrap().unwrap();
                value.value.parse().unwrap()
            });
        }
    }
}

#[test]
fn what_fails_is_what_the_intervals_say_at_any_tolerance() {
    let found = tablet_against_phone();
    let mut seen = Vec::new();
    for tolerance in [0.0, 0.5, 3.0, 10.0] {
        let gate = Gate::of(&found, tolerance).unwrap();
        let slower = gate.count(GateOutcome::Slower);
        assert_eq!(slower, slower_by_csv(&found, tolerance), "{tolerance}: {gate}");
        assert_eq!(gate.passes(), slower == 0);
        seen.push(slower);
    }
    assert!(seen[0] > 0 && seen.is_sorted_by(|a, b| a >= b), "{seen:?}");
}

#[test]
fn the_faster_side_passes_where_the_slower_one_fails() {
    let found = against(short(SampleDevice::Tablet, "A"), short(SampleDevice::Phone, "B"));
    assert!(!Gate::of(&tablet_against_phone(), 0.1).unwrap().passes());
    let faster = Gate::of(&found, 0.1).unwrap();
    assert_eq!(faster.count(GateOutcome::Slower), slower_by_csv(&found, 0.1), "{faster}");
}

#[test]
fn junit_has_a_case_for_each_figure_and_counts_them_right() {
    let gate = Gate::of(&tablet_against_phone(), 0.05).unwrap();
    let xml = junit(&gate);
    let expected =
        [gate.cases.len(), gate.count(GateOutcome::Slower), gate.count(GateOutcome::Undecided)];
    assert_eq!((counted(&xml), announced(&xml)), (expected, expected), "{xml}");
}

#[test]
fn a_schedule_that_is_no_longer_kept_fails_and_one_that_is_kept_again_passes() {
    let sides = |first: fn() -> Run, second: fn() -> Run| {
        let (mut first, mut second) = (first(), second());
        second.scenario = first.scenario.clone();
        for run in [&mut first, &mut second] {
            run.phases.retain(|phase| phase.background.is_some());
        }
        against(first, second)
    };
    let of_schedule = |found: &Comparison| {
        let gate = Gate::of(found, 0.0).unwrap();
        gate.cases.into_iter().find(|case| case.figure == "schedule").unwrap()
    };
    let worse = of_schedule(&sides(sample::quick, sample::overloaded));
    assert_eq!(worse.outcome, GateOutcome::Slower, "{}", worse.detail);
    let better = of_schedule(&sides(sample::overloaded, sample::quick));
    assert_eq!(better.outcome, GateOutcome::Passed, "{}", better.detail);
}

#[test]
fn nothing_to_decide_by_is_an_error_and_never_a_pass() {
    let (before, mut after) = (short(SampleDevice::Phone, "A"), short(SampleDevice::Phone, "B"));
    after.scenario.seed = 2;
    let untrusted = |mut run: Run| {
        run.trust.checks[0].status = CheckStatus::Fail;
        run.trust.checks[0].phases.clear();
        run
    };
    let found = against(before, untrusted(after));
    let error = Gate::of(&found, 0.0).unwrap_err();
    assert!(matches!(error, GateError::NothingDecided { .. }), "{error}");
    assert!(error.to_string().contains("a failed check covers it"), "{error}");
}

#[test]
fn a_name_with_markup_and_control_characters_is_text_in_the_xml() {
    let mut gate = Gate::of(&tablet_against_phone(), 0.0).unwrap();
    gate.cases[0].test = "a<b>&\"'\u{1b}[31m]]>\u{0}".to_owned();
    gate.cases[0].detail = "]]></failure><script>alert(1)</script>\u{7}".to_owned();
    let xml = junit(&gate);
    assert_eq!(counted(&xml)[0], gate.cases.len(), "{xml}");
    let is_plain = |c: char| c == '\n' || !c.is_control();
    assert!(xml.chars().all(is_plain) && !xml.contains("<script>"), "{xml}");
}
