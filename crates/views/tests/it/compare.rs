//! Comparisons: who is compared with whom, what is refused, and what is said.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use flashlag_schema::Run;
use flashlag_testing::sample::{self, SampleDevice, lifecycle_on};
use flashlag_views::{CompareError, CompareOptions, Comparison, Group, Ratio, RatioKind, compare};

/// Few phases, since each costs a bootstrap.
fn short(device: SampleDevice, repeat: u32) -> Run {
    let mut run = lifecycle_on(device, repeat);
    run.phases.retain(|phase| {
        let shown = ["new 1", "filled 3", "trimmed 1"];
        let stage = format!("{} {}", phase.state.name(), phase.run);
        phase.name == "rand_write_4k" && shown.contains(&stage.as_str())
    });
    run
}

#[test]
fn three_devices_with_repeats_are_three_subjects() {
    let devices = [SampleDevice::Phone, SampleDevice::Tablet, SampleDevice::Board];
    let runs: Vec<Run> = devices.iter().flat_map(|d| [short(*d, 0), short(*d, 1)]).collect();
    let found = compare(&runs, &CompareOptions::default()).unwrap();
    let names: Vec<&str> = found.subjects.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["Sample Phone P", "Sample Tablet T", "Sample Board S"]);
    assert!(found.subjects.iter().all(|subject| subject.runs.len() == 2));
    assert_eq!(found.rows[0].sides[0].as_ref().unwrap().figures.n, 24_000);
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    let ratios: Vec<String> = found
        .rows
        .iter()
        .flat_map(|row| {
            row.ratios.iter().map(|r| format!("{}, {:?}: {}", row.title, r.kind, r.words))
        })
        .collect();
    let fields: Vec<&str> = found.differs.iter().map(|d| d.field.as_str()).collect();
    let checks: Vec<&str> = found.checks.iter().map(|c| c.claim.as_str()).collect();
    let said = [
        found.faster,
        found.sentence,
        found.largest,
        found.more,
        found.believe,
        ratios.join("\n"),
        fields.join(", "),
        checks.join(", "),
    ];
    insta::assert_snapshot!("three_devices", said.join("\n"));
}

#[test]
fn the_same_device_twice_shows_no_difference_and_warns_of_single_runs() {
    let runs = [short(SampleDevice::Tablet, 0), short(SampleDevice::Tablet, 1)];
    let found = compare(&runs, &CompareOptions::default()).unwrap();
    let names: Vec<&str> = found.subjects.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["Run 1", "Run 2"]);
    let median = |row: &flashlag_views::CompareRow| {
        row.ratios.iter().find(|ratio| ratio.kind == RatioKind::P50).cloned()
    };
    for row in &found.rows {
        let ratio = median(row).unwrap();
        assert!(!ratio.differs, "{}: {}", row.title, ratio.words);
        assert!(ratio.words.starts_with("no difference shown: on Run "), "{}", ratio.words);
        assert!((0.9..1.1).contains(&ratio.ratio), "{}", ratio.words);
    }
    assert!(found.warnings[0].starts_with("One run each"), "{:?}", found.warnings);
}

#[test]
fn the_same_options_give_the_same_intervals() {
    let runs = [short(SampleDevice::Tablet, 0), short(SampleDevice::Phone, 1)];
    let options = CompareOptions::default();
    assert_eq!(compare(&runs, &options).unwrap(), compare(&runs, &options).unwrap());
}

#[test]
fn another_mount_option_makes_another_subject() {
    let mut after = short(SampleDevice::Tablet, 1);
    let options = vec!["rw".to_owned(), "discard".to_owned()];
    after.environment.filesystem.options = flashlag_spec::Reading::Value(options);
    let runs = [short(SampleDevice::Tablet, 0), after];
    let found = compare(&runs, &CompareOptions::default()).unwrap();
    assert_eq!(found.subjects.len(), 2);
    assert_ne!(found.subjects[0].name, found.subjects[1].name);
    assert_eq!(found.differs[0].field, "Mount options");
}

/// A run on the tablet that waited as another device does: before or after a change of something
/// that no run file tells.
fn on_the_tablet(waits_of: SampleDevice, repeat: u32) -> Run {
    let tablet = short(SampleDevice::Tablet, 0);
    let mut run = short(waits_of, repeat);
    (run.environment, run.target) = (tablet.environment, tablet.target);
    run
}

fn before_and_after(before: [SampleDevice; 3], after: [SampleDevice; 3]) -> Comparison {
    let devices = before.into_iter().chain(after);
    let runs: Vec<Run> = devices.zip(0..).map(|(d, repeat)| on_the_tablet(d, repeat)).collect();
    let group = |name: &str, runs: [usize; 3]| Group { name: name.to_owned(), runs: runs.into() };
    let groups = vec![group("before", [0, 1, 2]), group("after", [3, 4, 5])];
    compare(&runs, &CompareOptions { groups, ..CompareOptions::default() }).unwrap()
}

fn medians(found: &Comparison) -> Vec<&Ratio> {
    let of_row = |row: &'_ flashlag_views::CompareRow| {
        row.ratios.iter().position(|ratio| ratio.kind == RatioKind::P50)
    };
    let medians = found.rows.iter().filter_map(|row| Some(&row.ratios[of_row(row)?]));
    let medians: Vec<&Ratio> = medians.collect();
    assert!(medians.len() == found.rows.len() && !medians.is_empty(), "each row has one pair");
    medians
}

use SampleDevice::{Phone, Tablet};

#[test]
fn three_runs_before_and_three_after_on_one_machine_are_two_subjects() {
    let found = before_and_after([Tablet; 3], [Phone; 3]);
    let subjects: Vec<_> =
        found.subjects.iter().map(|s| (s.name.as_str(), s.runs.as_slice())).collect();
    assert_eq!(subjects, [("before", &[0, 1, 2][..]), ("after", &[3, 4, 5])]);
    assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    assert!(found.differs.is_empty(), "{:?}", found.differs);
    assert_eq!(found.rows[0].sides[1].as_ref().unwrap().runs, 3);
    for ratio in medians(&found) {
        let (low, high) = ratio.interval.unwrap();
        assert!(ratio.between_runs && (ratio.against, ratio.of) == (0, 1));
        assert!(ratio.differs && low <= ratio.ratio && ratio.ratio <= high && high < 1.0);
        let said = ratio.words.starts_with("on before, ") && ratio.words.contains(" on after (");
        assert!(said, "{}", ratio.words);
    }
}

#[test]
fn three_runs_and_three_more_of_the_same_show_no_difference() {
    let found = before_and_after([Tablet; 3], [Tablet; 3]);
    for ratio in medians(&found) {
        assert!(ratio.between_runs && !ratio.differs, "{}", ratio.words);
    }
}

#[test]
fn what_differs_within_the_groups_is_not_shown_as_a_difference_between_them() {
    // Two slow runs and a fast one, against two fast ones and a slow one: run for run the medians
    // differ by far more than any run does within itself.
    let pair = [on_the_tablet(Tablet, 0), on_the_tablet(Phone, 4)];
    let pair = compare(&pair, &CompareOptions::default()).unwrap();
    assert!(medians(&pair).iter().all(|ratio| ratio.differs && !ratio.between_runs));
    let found = before_and_after([Tablet, Phone, Tablet], [Phone, Tablet, Phone]);
    for ratio in medians(&found) {
        let (low, high) = ratio.interval.unwrap();
        assert!(!ratio.differs && low < 1.0 && 1.0 < high, "{}", ratio.words);
        assert!(ratio.ratio < 0.9, "the runs do differ: {}", ratio.words);
    }
}

#[test]
fn runs_of_one_machine_that_nobody_grouped_are_reported_how() {
    let runs: Vec<Run> = (0..3).map(|repeat| short(Tablet, repeat)).collect();
    let found = compare(&runs, &CompareOptions::default()).unwrap();
    assert_eq!(found.subjects.len(), 3);
    assert!(found.warnings[0].contains("--against"), "{:?}", found.warnings);
}

#[test]
fn a_group_of_different_machines_is_reported() {
    let runs = [short(Tablet, 0), short(Phone, 1), short(Tablet, 2)];
    let groups = vec![
        Group { name: "mixed".to_owned(), runs: vec![0, 1] },
        Group { name: "pure".to_owned(), runs: vec![2] },
    ];
    let found = compare(&runs, &CompareOptions { groups, ..Default::default() }).unwrap();
    assert!(found.warnings[0].starts_with("Not all runs of mixed had"), "{:?}", found.warnings);
}

#[test]
fn groups_that_leave_a_run_out_or_count_one_twice_are_refused() {
    let runs = [short(Tablet, 0), short(Tablet, 1), short(Tablet, 2)];
    let refused: [&[&[usize]]; 5] = [
        &[&[0, 1, 2]],
        &[&[0], &[1]],
        &[&[0, 1], &[1, 2]],
        &[&[0, 1, 2], &[]],
        &[&[0, 1], &[2, 3]],
    ];
    for groups in refused {
        let name = "group".to_owned();
        let group = |runs: &&[usize]| Group { name: name.clone(), runs: runs.to_vec() };
        let groups: Vec<Group> = groups.iter().map(group).collect();
        let options = CompareOptions { groups: groups.clone(), ..Default::default() };
        assert_eq!(compare(&runs, &options).unwrap_err(), CompareError::Groups, "{groups:?}");
    }
}

#[test]
fn different_scenarios_are_refused_with_what_differs_unless_forced() {
    let (a, mut b) = (sample::quick(), sample::quick());
    b.scenario.hash = "0123456789abcdef".to_owned();
    b.scenario.settings.insert("span".to_owned(), "20MB".to_owned());
    let runs = [a, b];
    let error = compare(&runs, &CompareOptions::default()).unwrap_err().to_string();
    assert!(error.contains("span: 100MB → 20MB"), "{error}");
    assert!(error.contains("quick (0123456789ab)") && error.contains("--force"), "{error}");
    let forced = compare(&runs, &CompareOptions { force: true, ..Default::default() }).unwrap();
    assert!(forced.warnings[0].starts_with("Compared by --force"), "{:?}", forced.warnings);
}

#[test]
fn one_run_is_not_compared() {
    let error = compare(&[sample::quick()], &CompareOptions::default()).unwrap_err();
    assert_eq!(error, CompareError::TooFew { given: 1 });
}

#[test]
fn rows_under_a_failed_check_have_no_ratio() {
    let mut tablet = lifecycle_on(SampleDevice::Tablet, 0);
    tablet.phases.retain(|phase| phase.label() == "idle 1: rand_write_4k");
    let mut phone = lifecycle_on(SampleDevice::Phone, 0);
    phone.phases.retain(|phase| phase.label() == "idle 1: rand_write_4k");
    let found = compare(&[tablet, phone], &CompareOptions::default()).unwrap();
    assert!(found.rows[0].ratios.is_empty());
    let said = "Sample Tablet T cannot be believed: the check that ";
    assert!(found.believe.starts_with(said), "{}", found.believe);
}

#[test]
fn runs_of_a_device_as_it_is_are_smooth_and_told_apart_by_their_waits() {
    let quick = |machine: &str| {
        let mut run = sample::quick();
        run.phases.retain(|phase| phase.name == "rand_write_4k");
        run.environment.software.machine = flashlag_spec::Reading::Value(machine.to_owned());
        run
    };
    let found = compare(&[quick("A"), quick("B")], &CompareOptions::default()).unwrap();
    assert_eq!(found.sentence, "A and B are both smooth.");
    let said = "A's and B's durable writes: no difference shown, 1.00\u{d7} as fast (";
    assert!(found.faster.starts_with(said), "{}", found.faster);
    assert!(found.largest.starts_with("No figure is shown to differ"), "{}", found.largest);
}

/// The verdict that `run` begins its headline with.
fn run_verdict(run: &Run) -> String {
    let sentence = flashlag_views::headline(run).sentence;
    sentence.split([':', '.', ' ', ',']).next().unwrap().to_lowercase()
}

#[test]
fn a_comparison_calls_nothing_smooth_whose_rows_lag_or_freeze() {
    let lags = sample::quick();
    let mut calm = sample::quick();
    calm.phases.retain(|phase| phase.name != "save_busy");
    calm.environment.software.machine = flashlag_spec::Reading::Value("Calm".to_owned());
    let mut slow = calm.clone();
    slow.environment.software.machine = flashlag_spec::Reading::Value("Slow".to_owned());
    // The default journal's saves of the lifecycle once full: most miss a frame.
    let full = sample::lifecycle();
    let bad = full.phases.iter().rfind(|p| p.name == "save_delete" && p.state.name() == "filled");
    let place = slow.phases.iter().position(|phase| phase.name == "save_delete").unwrap();
    let (state, run) = (slow.phases[place].state, slow.phases[place].run);
    slow.phases[place] = bad.unwrap().clone();
    (slow.phases[place].state, slow.phases[place].run) = (state, run);
    let found = compare(&[calm.clone(), slow.clone()], &CompareOptions::default()).unwrap();
    assert_eq!(found.sentence, "Calm is smooth. Slow freezes.");
    assert_eq!((run_verdict(&calm).as_str(), run_verdict(&slow).as_str()), ("smooth", "freezes"));
    // Beside another writer it lags, which the row says and so the sentence does.
    let found = compare(&[calm, lags], &CompareOptions::default()).unwrap();
    let said = "Calm is smooth. Sample Tablet T is smooth alone but lags beside another writer.";
    assert_eq!(found.sentence, said);
}

#[test]
fn the_largest_difference_is_named_with_its_row_and_longer_than_which() {
    let runs = [short(SampleDevice::Tablet, 0), short(SampleDevice::Phone, 0)];
    let found = compare(&runs, &CompareOptions::default()).unwrap();
    // By hand: the interval whose nearer end is the farthest from equal.
    let all = found.rows.iter().flat_map(|row| row.ratios.iter().map(move |r| (row, r)));
    let near = |r: &Ratio| {
        let (low, high) = r.interval.unwrap();
        if low > 1.0 { low } else { 1.0 / high }
    };
    let most = all.filter(|(_, r)| r.differs).max_by(|a, b| near(a.1).total_cmp(&near(b.1)));
    let (row, ratio) = most.unwrap();
    assert!(found.largest.contains(&row.title), "{}", found.largest);
    assert!(found.largest.contains(&format!(": on {}, ", found.subjects[0].name)));
    let times = flashlag_views::format::times(1.0 / ratio.ratio);
    assert!(found.largest.contains(&times), "{times}: {}", found.largest);
    assert!(found.largest.contains(&format!("as long as on {}", found.subjects[1].name)));
}

#[test]
fn a_schedule_that_was_not_kept_has_no_ratio_and_no_median_is_quoted_of_it() {
    let (mut a, mut b) = (sample::quick(), sample::overloaded());
    b.scenario = a.scenario.clone();
    a.environment.software.machine = flashlag_spec::Reading::Value("A".to_owned());
    b.environment.software.machine = flashlag_spec::Reading::Value("B".to_owned());
    let busy = |run: &Run| run.phases.iter().find(|phase| !phase.closed_loop).unwrap().clone();
    let label = busy(&a).label();
    let phase = busy(&b);
    let found = compare(&[a, b], &CompareOptions::default()).unwrap();
    let row = found.rows.iter().find(|row| row.label == label).unwrap();
    assert!(row.ratios.is_empty(), "{:?}", row.ratios);
    let overload = row.sides[1].as_ref().unwrap().overload.unwrap();
    let done = phase.ops as f64 / phase.elapsed_ns.as_secs_f64();
    assert!(
        (overload.mean.done_per_sec / done - 1.0).abs() < 1e-6 && overload.mean.due_per_sec > done
    );
    assert!(row.sides[0].as_ref().unwrap().overload.is_none());
    let said = "B is smooth alone but is overloaded beside another writer";
    assert!(found.sentence.contains(said), "{}", found.sentence);
}

#[test]
fn the_first_line_says_who_is_faster_and_its_ratio_is_that_of_the_rates() {
    let runs = [Tablet, Phone].map(|device| short(device, 0));
    let found = compare(&runs, &CompareOptions::default()).unwrap();
    let rates: Vec<f64> = runs
        .iter()
        .map(|run| run.phases.iter().rfind(|p| p.state.name() == "filled").unwrap().ops_per_sec)
        .collect();
    let times = flashlag_views::format::times(rates[1] / rates[0]);
    let said = format!("Once full, Sample Phone P's durable writes are {times} as fast as ");
    let median = found.faster.contains("at the median");
    assert!(found.faster.starts_with(&said) || median, "{said} {}", found.faster);
    assert!(found.faster.starts_with("Once full, Sample Phone P's durable writes are "));
    assert!(found.faster.contains("Sample Tablet T's ("), "{}", found.faster);
}

#[test]
fn labels_name_the_sides_and_a_wrong_number_of_them_is_refused() {
    let mut runs = [short(Tablet, 0), short(Tablet, 1), short(Phone, 0)];
    let labels = |labels: &[&str]| CompareOptions {
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        ..CompareOptions::default()
    };
    let names = |found: &Comparison| -> Vec<String> {
        found.subjects.iter().map(|subject| subject.name.clone()).collect()
    };
    let found = compare(&runs, &labels(&["Old", "New"])).unwrap();
    assert_eq!(names(&found), ["Old", "New"]);
    let found = compare(&runs, &labels(&["Old", "Old", "New"])).unwrap();
    assert_eq!(names(&found), ["Old", "New"]);
    let refused = compare(&runs, &labels(&["Old"])).unwrap_err();
    assert_eq!(refused, CompareError::Labels { given: 1, subjects: 2, runs: 3 });
    runs[0].label = Some("Card A".to_owned());
    runs[1].label = Some("Card A".to_owned());
    let found = compare(&runs, &CompareOptions::default()).unwrap();
    assert_eq!(names(&found), ["Card A", "Sample Phone P"]);
}
