//! Whether a storage is good enough: each requirement beside the run's own histogram, and never a pass of what was not
//! measured or can't be trusted.

use flashlag_schema::{CheckStatus, Run};
use flashlag_spec::State;
use flashlag_spec::scenario::PURPOSES;
use flashlag_testing::sample;
use flashlag_views::{Requires, good_enough, other_purposes};

/// The sample run of `quick`, with requirements in its scenario.
fn asked(requirements: &[(&str, &str, &str)]) -> Run {
    let mut run = sample::quick();
    for (figure, limit, value) in requirements {
        run.scenario.text.push_str(&format!(
            "\n[[require]]\nfigure = \"{figure}\"\n{limit} = \"{value}\"\nsource = \"a test\"\n"
        ));
    }
    run
}

/// The p99 of a phase of the run, in microseconds, from its stored buckets.
fn p99_us(run: &Run, name: &str) -> u64 {
    let phase = run.phases.iter().find(|phase| phase.name == name).unwrap();
    phase.latency_ns.p99.unwrap().0 / 1_000
}

fn verdicts(run: &Run) -> Vec<Requires> {
    let answer = good_enough(run).unwrap();
    answer.requirements.iter().map(|required| required.verdict).collect()
}

#[test]
fn a_scenario_that_requires_nothing_has_no_answer() {
    assert_eq!(good_enough(&sample::quick()), None);
}

#[test]
fn a_figure_on_either_side_of_its_limit_is_met_or_not() {
    let p99 = p99_us(&sample::quick(), "rand_write_4k");
    let over = format!("{}us", p99 + p99 / 50);
    let under = format!("{}us", p99 - p99 / 50);
    let run = asked(&[
        ("rand_write_4k.p99", "at_most", &over),
        ("rand_write_4k.p99", "at_most", &under),
        ("rand_write_4k.p99", "at_least", &under),
        ("rand_read_4k.ops_per_sec", "at_least", "1"),
    ]);
    use Requires::{Met, NotMet};
    assert_eq!(verdicts(&run), [Met, NotMet, Met, Met]);
    let answer = good_enough(&run).unwrap();
    assert_eq!(answer.verdict, NotMet);
    assert!(answer.sentence.starts_with("Not good enough for quick: "), "{}", answer.sentence);
    assert!(answer.sentence.contains(" is required"), "{}", answer.sentence);
    let alone = good_enough(&asked(&[("rand_write_4k.p99", "at_most", &over)])).unwrap();
    assert_eq!(alone.verdict, Met);
    assert!(alone.sentence.starts_with("Good enough for quick: "), "{}", alone.sentence);
}

#[test]
fn what_was_not_measured_or_has_too_few_values_is_unknown_and_passes_nothing() {
    let mut run = asked(&[
        ("rand_write_4k.p99", "at_most", "10s"),
        ("save_wal.p999", "at_most", "10s"),
        ("append.p99", "at_most", "10ms"),
        ("rand_write_4k.p98", "at_most", "10ms"),
    ]);
    run.phases.retain(|phase| phase.name != "rand_write_4k");
    let answer = good_enough(&run).unwrap();
    for required in &answer.requirements {
        let known = (required.measured.is_some(), required.unknown.is_some());
        assert_eq!(
            known,
            (required.verdict != Requires::Unknown, required.verdict == Requires::Unknown)
        );
    }
    let unknown = |index: usize| answer.requirements[index].verdict == Requires::Unknown;
    assert!(unknown(0) && unknown(2) && unknown(3), "{answer:?}");
    assert_eq!(answer.verdict, Requires::Unknown);
    assert!(answer.sentence.starts_with("Whether it is good enough"), "{}", answer.sentence);
}

#[test]
fn a_phase_that_a_failed_check_covers_is_unknown_whatever_it_shows() {
    for limit in ["1ns", "10s"] {
        let mut run = asked(&[("rand_write_4k.p99", "at_most", limit)]);
        let label = run.phases.iter().find(|phase| phase.name == "rand_write_4k").unwrap().label();
        let check = &mut run.trust.checks[0];
        check.status = CheckStatus::Fail;
        check.phases = vec![label];
        assert_eq!(verdicts(&run), [Requires::Unknown], "{limit}");
    }
}

#[test]
fn the_page_begins_with_the_answer_and_names_each_source() {
    let run = asked(&[("rand_read_4k.ops_per_sec", "at_least", "1")]);
    let page = flashlag_views::page::run_page(&run, &[]);
    let first = &page.sections[0];
    assert_eq!(first.heading, "Good enough for quick");
    assert!(format!("{:?}", first.blocks).contains("a test"), "the source: {:?}", first.blocks);
    let without = flashlag_views::page::run_page(&sample::quick(), &[]);
    assert!(without.sections.iter().all(|section| section.id != "good-enough"));
}

/// The verdicts over other purposes, by name.
fn others(run: &Run) -> Vec<(String, Requires)> {
    let others = other_purposes(run);
    let judged = others.judged.iter().map(|one| (one.purpose.clone(), one.verdict));
    let judged: Vec<_> = judged.collect();
    // Each purpose is either judged, or said to be not measured, or the run's own.
    let named = |name: &str| judged.iter().any(|(judged, _)| judged == name);
    for purpose in &PURPOSES {
        let unmeasured = others.unmeasured.contains(&purpose.name);
        let is_own = run.scenario.name == purpose.name;
        assert_eq!(
            usize::from(unmeasured) + usize::from(named(purpose.name)),
            usize::from(!is_own)
        );
    }
    judged
}

#[test]
fn a_run_answers_for_other_purposes_where_it_made_the_same_tests() {
    use Requires::{Met, NotMet, Unknown};
    let run = sample::quick();
    // `quick` has both saves of sqlite-app: its limits, from the stored figures.
    let phase = |name: &str| run.phases.iter().find(|phase| phase.name == name).unwrap();
    let late = |name: &str| phase(name).latency_ns.p99.unwrap().0 > 16_700_000;
    let longest = phase("save_wal").latency_ns.max.unwrap().0;
    let is_met = !late("save_wal") && !late("save_delete") && longest <= 700_000_000;
    let verdict = if is_met { Met } else { NotMet };
    assert_eq!(others(&run), [("sqlite-app".to_owned(), verdict)]);
    // One of them in another state, or of another table, is another test.
    let mut filled = run.clone();
    filled.phases.iter_mut().for_each(|phase| phase.state = State::Filled);
    let mut other = run.clone();
    other.scenario.text = run.scenario.text.replace("rows = 1000\n", "rows = 1001\n");
    assert_ne!(other.scenario.text, run.scenario.text);
    assert_eq!((others(&filled), others(&other)), (Vec::new(), Vec::new()));
    assert_eq!(other_purposes(&other).heading(), None);
    // Without one of them the purpose is unknown, unless what is left decides.
    let mut less = run.clone();
    less.phases.retain(|phase| phase.name != "save_delete");
    let rest = if late("save_wal") || longest > 700_000_000 { NotMet } else { Unknown };
    assert_eq!(others(&less), [("sqlite-app".to_owned(), rest)]);
}

#[test]
fn the_tests_of_one_class_answer_for_the_other_by_its_own_limits() {
    let mut run = sample::quick();
    let class = PURPOSES.iter().find(|purpose| purpose.name == "sd-a1").unwrap();
    run.scenario.text = class.text().to_owned();
    run.scenario.name = class.name.to_owned();
    run.scenario.settings.clear();
    for phase in &mut run.phases {
        if phase.name == "seq_write_256k" {
            phase.name = "seq_write_512k".to_owned();
        }
    }
    let rate = |name: &str| {
        let phase = run.phases.iter().find(|phase| phase.name == name).unwrap();
        phase.ops as f64 / phase.elapsed_ns.as_secs_f64()
    };
    let is_a2 = rate("rand_read_4k") >= 4000.0 && rate("rand_write_4k") >= 2000.0;
    let found = others(&run);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["postgres", "home-assistant", "sd-a2"]);
    // PostgreSQL's log and Home Assistant's recorder were not run: never good enough.
    assert!(found[..2].iter().all(|(_, verdict)| *verdict != Requires::Met), "{found:?}");
    assert_eq!(found[2].1 == Requires::Met, is_a2, "{found:?}");
}
