//! Comparisons: which rows decide, who is held against whom, what is left out, and what is refused.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use flashlag_schema::{Check, CheckId, CheckStatus, Phase, Run, RunStatus};
use flashlag_spec::Reading;
use flashlag_testing::sample::{self, SampleDevice, lifecycle_on};
use flashlag_views::{
    CompareError, CompareOptions, CompareRow, Comparison, Group, Ratio, RatioKind, compare, format,
    headline, repeats,
};

fn called(mut run: Run, machine: &str) -> Run {
    run.environment.software.machine = Reading::Value(machine.to_owned());
    run
}

fn seeded(mut run: Run, seed: u64) -> Run {
    run.scenario.seed = seed;
    run
}

/// Few phases, since each costs a bootstrap.
fn short(device: SampleDevice) -> Run {
    let mut run = lifecycle_on(device, 0);
    run.phases.retain(|phase| {
        phase.name == "rand_write_4k" && ["new 1", "filled 3"].contains(&stage(phase).as_str())
    });
    run
}

fn stage(phase: &Phase) -> String {
    format!("{} {}", phase.state.name(), phase.run)
}

fn found(runs: &[Run]) -> Comparison {
    compare(runs, &CompareOptions::default()).unwrap()
}

fn group(name: &str, runs: &[usize]) -> Group {
    Group { name: name.to_owned(), runs: runs.to_vec() }
}

fn grouped(runs: &[Run], first: &[usize], second: &[usize]) -> Comparison {
    let groups = vec![group("before", first), group("after", second)];
    compare(runs, &CompareOptions { groups, ..CompareOptions::default() }).unwrap()
}

fn failing(mut run: Run, id: CheckId, claim: &str, phases: &[String]) -> Run {
    run.trust.checks.push(Check {
        id,
        status: CheckStatus::Fail,
        claim: claim.to_owned(),
        detail: "It did not.".to_owned(),
        cause: None,
        advice: None,
        phases: phases.to_vec(),
    });
    run
}

/// The same test, with the waits that it had once full on the tablet.
fn slowed(mut run: Run, test: &str) -> Run {
    let full = sample::lifecycle();
    let is_bad = |phase: &&Phase| phase.name == "save_delete" && phase.state.name() == "filled";
    let bad = full.phases.iter().rfind(is_bad).unwrap();
    let own = run.phases.iter_mut().find(|phase| phase.name == test).unwrap();
    own.histogram = bad.histogram.clone();
    own.response_histogram.clone_from(&bad.response_histogram);
    run
}

fn near(ratio: &Ratio) -> f64 {
    let (low, high) = ratio.interval.unwrap();
    if low > 1.0 { low } else { 1.0 / high }
}

fn largest_of(found: &Comparison) -> f64 {
    let all = found.rows.iter().flat_map(|row| &row.ratios).filter(|ratio| ratio.differs);
    all.map(near).fold(1.0, f64::max)
}

#[test]
fn the_largest_difference_of_three_sides_is_that_of_the_pair_that_has_it() {
    use SampleDevice::{Board, Phone, Tablet};
    // Tablet first: that of phone and board is against neither of the first side's.
    let runs = [Tablet, Phone, Board].map(short);
    for order in [[0, 1, 2], [1, 2, 0], [2, 0, 1]] {
        let [a, b, c] = order.map(|place| runs[place].clone());
        let all = found(&[a.clone(), b.clone(), c.clone()]);
        let pairs = [found(&[a.clone(), b.clone()]), found(&[a, c.clone()]), found(&[b, c])];
        let most = pairs.iter().max_by(|x, y| largest_of(x).total_cmp(&largest_of(y))).unwrap();
        // The same interval: neither the order nor a third side changes a draw.
        assert_eq!(all.largest, most.largest, "{order:?}");
    }
}

#[test]
fn the_first_line_has_the_interval_of_its_row() {
    let runs = [SampleDevice::Tablet, SampleDevice::Phone].map(short);
    let [there, back] = [[0, 1], [1, 0]].map(|order| found(&order.map(|at| runs[at].clone())));
    assert_eq!(there.faster, back.faster);
    let row = there.rows.iter().find(|row| row.state.name() == "filled").unwrap();
    // These samples have too few intervals for one of the rate.
    let median = row.ratios.iter().find(|ratio| ratio.kind == RatioKind::P50).unwrap();
    let range = median.words.rsplit_once('(').unwrap().1.trim_end_matches(')');
    let said = format!(" as fast as Sample Tablet T's ({range}, at the median).");
    assert!(there.faster.ends_with(&said), "{said} {}", there.faster);
}

#[test]
fn a_run_a_series_of_one_and_a_comparison_say_the_same_verdict() {
    let quick = called(sample::quick(), "Q");
    let wal = slowed(quick.clone(), "save_wal");
    let default = slowed(quick.clone(), "save_delete");
    let write = slowed(quick.clone(), "rand_write_4k");
    let lifecycle = called(sample::lifecycle(), "Q");
    for run in [quick.clone(), wal, default, write, lifecycle, sample::overloaded()] {
        let run = called(run, "Q");
        let series = repeats(std::slice::from_ref(&run), 1).sentence.to_lowercase();
        let word = &series[..series.find([':', ',', ' ']).unwrap()];
        let sentence = headline(&run).sentence;
        let clause = sentence.split(':').next().unwrap().to_lowercase();
        assert!(clause.contains(word), "{word}: {sentence}");
        let other = seeded(run.clone(), 7);
        let said = found(&[run, other]).sentence;
        let verb = word.trim_end_matches('s');
        assert!(said.contains(verb), "{verb}: {said}");
    }
    // The default journal's saves decide, and what is worse is named with its test.
    let wal = seeded(called(slowed(sample::quick(), "save_wal"), "W"), 3);
    let said = found(&[quick, wal]).sentence;
    assert!(said.contains("W is smooth but freezes in WAL save"), "{said}");
    assert!(said.contains("Q is smooth alone but lags beside another writer"), "{said}");
}

#[test]
fn saves_beside_a_writer_are_said_of_a_series_as_of_a_comparison() {
    let (calm, overloaded) = (sample::quick(), sample::overloaded());
    let without_busy = |mut run: Run| {
        run.phases.retain(|phase| phase.background.is_none());
        run
    };
    let series = repeats(&[overloaded.clone(), overloaded.clone()], 2).sentence;
    // Each verdict with its own test, as the rows below name it.
    let said = "Smooth alone (Rollback save), overloaded beside another writer (WAL save, busy): in all of \
                2 runs.";
    assert_eq!(series, said);
    let mixed = repeats(&[without_busy(calm.clone()), overloaded, without_busy(calm)], 3).sentence;
    let said = "Smooth alone (Rollback save) in all of 3 runs, overloaded beside another writer (WAL save, \
                busy) in 1 of 3 runs.";
    assert_eq!(mixed, said);
}

#[test]
fn a_series_that_nothing_can_be_said_of_says_why() {
    let mut reads = sample::quick();
    reads.phases.retain(|phase| phase.name == "seq_read");
    let said = repeats(&[reads.clone(), reads], 2).sentence;
    assert_eq!(said, "No save and no durable write was measured: there is no verdict on lag.");
    let quick = sample::quick();
    let deciding = quick.phases.iter().find(|phase| phase.name == "save_delete").unwrap().label();
    let failed = failing(quick.clone(), CheckId::ForeignIo, "Nothing else wrote", &[deciding]);
    let both = repeats(&[failed.clone(), failed.clone()], 2).sentence;
    assert_eq!(both, "No verdict: checks fail in all of 2 runs.");
    let one = repeats(&[quick.clone(), failed], 2).sentence;
    assert!(one.contains("in 1 of 2 runs") && one.ends_with("; 1 run has no verdict."), "{one}");
    let stopped = repeats(&[quick], 3).sentence;
    assert!(stopped.contains("in 1 of 3 runs"), "{stopped}");
    assert!(stopped.ends_with("; 2 runs are incomplete."), "{stopped}");
}

#[test]
fn the_belief_names_each_check_that_fails_with_its_own_count() {
    let quick = called(sample::quick(), "Quick");
    let labels: Vec<String> = quick.phases.iter().map(Phase::label).collect();
    let run = failing(quick, CheckId::ForeignIo, "Nothing else wrote", &labels[..1]);
    let run = failing(run, CheckId::CacheBypass, "Bytes reached storage", &labels[..3]);
    let other = called(sample::quick(), "Other");
    let all = labels.len();
    let said = format!(
        "Not all of Quick can be believed: the check that bytes reached storage fails on 3 of \
         {all} rows, and the check that nothing else wrote fails on 1."
    );
    assert_eq!(found(&[run.clone(), other.clone()]).believe, said);
    let run = failing(run, CheckId::Clock, "The clock is right", &[]);
    let believe = found(&[run, other]).believe;
    let said = "Quick cannot be believed: the check that the clock is right fails, the check that ";
    assert!(believe.starts_with(said), "{believe}");
}

fn busy_row(found: &Comparison) -> &CompareRow {
    found.rows.iter().find(|row| row.beside).unwrap()
}

#[test]
fn an_overloaded_row_under_a_failed_check_is_not_judged_and_has_no_times() {
    let run = called(sample::overloaded(), "A");
    let other = seeded(called(sample::overloaded(), "B"), 9);
    let busy = run.phases.iter().find(|phase| phase.background.is_some()).unwrap().label();
    let run = failing(run, CheckId::ForeignIo, "Nothing else wrote", &[busy]);
    let found = found(&[run, other]);
    let sides: Vec<_> = busy_row(&found).sides.iter().flatten().collect();
    let words: Vec<&str> = sides.iter().map(|side| side.judgement.word()).collect();
    assert_eq!(words, ["not judged", "overloaded"]);
    for side in sides {
        let figures = &side.figures;
        assert!(figures.n > 0 && figures.p50.is_none() && figures.max.is_none());
        assert!(figures.late_share().is_none() && side.overload.is_some());
    }
}

#[test]
fn an_overload_in_some_runs_is_said_of_those_with_their_mean() {
    let kept = sample::quick();
    let mut scenario = kept.scenario.clone();
    let mut next = |mut run: Run| {
        run.scenario = scenario.clone();
        scenario.seed += 1;
        run
    };
    let with_rate = |factor: f64| {
        let mut run = sample::overloaded();
        let busy = run.phases.iter_mut().find(|phase| phase.background.is_some()).unwrap();
        busy.ops_per_sec *= factor;
        (busy.ops_per_sec, run)
    };
    let ((first, slow), (second, slower)) = (with_rate(1.0), with_rate(0.5));
    let runs = [next(kept.clone()), next(slow), next(slower), next(kept.clone()), next(kept)];
    let found = grouped(&runs, &[0, 1, 2], &[3, 4]);
    let side = busy_row(&found).sides[0].as_ref().unwrap();
    let done = format::per_second((first + second) / 2.0);
    let said = format!("overloaded in 2 of 3 runs: {done} of ");
    let words = side.overload.unwrap().in_words();
    assert!(words.starts_with(&said), "{said} {words}");
    assert!(busy_row(&found).ratios.is_empty() && side.figures.p99.is_none());
}

#[test]
fn one_run_twice_is_refused_and_another_seed_is_not() {
    let run = short(SampleDevice::Phone);
    let mut copy = run.clone();
    copy.label = Some("Another".to_owned());
    let files = vec!["one".to_owned(), "copy".to_owned()];
    let options = CompareOptions { files, ..CompareOptions::default() };
    let error = compare(&[run.clone(), copy.clone()], &options).unwrap_err();
    let (first, second) = ("run 1 (one)".to_owned(), "run 2 (copy)".to_owned());
    assert_eq!(error, CompareError::SameRun { first, second });
    assert!(error.to_string().contains("other seeds"), "{error}");
    assert!(compare(&[run, seeded(copy, 77)], &options).is_ok());
}

#[test]
fn a_single_run_against_several_is_said_and_is_no_difference_between_runs() {
    let mut runs: Vec<Run> =
        (0..3).map(|repeat| lifecycle_on(SampleDevice::Phone, repeat)).collect();
    runs.push(lifecycle_on(SampleDevice::Tablet, 0));
    for run in &mut runs {
        run.phases.retain(|phase| phase.label() == "new: rand_write_4k");
    }
    let found = found(&runs);
    let warning =
        found.warnings.iter().find(|warning| warning.contains("has a single run")).unwrap();
    assert!(warning.starts_with("Sample Tablet T has a single run"), "{warning}");
    let mut ratios = found.rows.iter().flat_map(|row| &row.ratios);
    assert!(ratios.all(|ratio| !ratio.between_runs));
}

#[test]
fn where_nothing_differs_none_is_the_fastest() {
    let quick = |machine: &str| called(sample::quick(), machine);
    let found = found(&[quick("A"), quick("B"), quick("C")]);
    assert_eq!(found.faster, "A's, B's and C's durable writes: no difference shown.");
}

#[test]
fn runs_that_did_not_end_are_named_and_stages_that_were_not_measured_are_not() {
    let whole = lifecycle_on(SampleDevice::Phone, 0);
    let mut stopped = lifecycle_on(SampleDevice::Tablet, 0);
    stopped.phases.retain(|phase| phase.state.name() == "new");
    stopped.status = RunStatus::Interrupted { next_step: 2 };
    stopped.phases[0].cut_short = true;
    let files = vec!["whole".to_owned(), "half".to_owned()];
    let options = CompareOptions { files, ..CompareOptions::default() };
    let found = compare(&[whole, stopped], &options).unwrap();
    let said = "half was stopped before its end, with 1 test cut short";
    assert!(found.warnings.iter().any(|warning| warning.contains(said)), "{:?}", found.warnings);
    let of_tablet = found.sentence.split(". ").find(|part| part.contains("Tablet")).unwrap();
    for word in ["stays", "full", "at first", "once"] {
        assert!(!of_tablet.contains(word), "{}", found.sentence);
    }
}

#[test]
fn scenarios_without_a_test_in_common_are_said_first_and_once() {
    let mut reads = called(sample::quick(), "Reads");
    reads.phases.retain(|phase| phase.name == "seq_read");
    reads.scenario.hash = "abc".to_owned();
    let mut saves = called(sample::quick(), "Saves");
    saves.phases.retain(|phase| phase.name == "save_delete");
    let runs = [saves, reads.clone(), seeded(reads.clone(), 2), seeded(reads, 3)];
    let options = CompareOptions { force: true, ..CompareOptions::default() };
    let found = compare(&runs, &options).unwrap();
    let said = "Saves and Reads have no test in common that can be compared. Saves is smooth.";
    assert!(found.sentence.starts_with(said), "{}", found.sentence);
    let scenarios = found.warnings.iter().find(|warning| warning.contains("by --force")).unwrap();
    assert!(scenarios.contains("runs 2, 3 and 4 are ") && scenarios.matches("abc").count() == 1);
}

#[test]
fn sides_have_names_of_their_own() {
    let mut runs: Vec<Run> = (0..2).map(|seed| seeded(short(SampleDevice::Phone), seed)).collect();
    runs.iter_mut().for_each(|run| run.label = Some("Card A".to_owned()));
    let names: Vec<String> =
        grouped(&runs, &[0], &[1]).subjects.iter().map(|side| side.name.clone()).collect();
    assert_eq!(names, ["Card A (before)", "Card A (after)"]);
    let labels = vec!["X".to_owned(), "X".to_owned()];
    let options = CompareOptions { labels, ..CompareOptions::default() };
    let error = compare(&runs, &options).unwrap_err();
    assert_eq!(error, CompareError::LabelTwice { label: "X".to_owned() });
    let labels = vec!["X".to_owned()];
    let options = CompareOptions { labels, ..CompareOptions::default() };
    let error = compare(&runs, &options).unwrap_err().to_string();
    assert!(error.starts_with("1 label for 2 sides"), "{error}");
}

#[test]
fn a_small_ratio_has_three_digits() {
    for (value, printed) in [(0.000457, "0.000457"), (0.0123, "0.0123"), (0.0871, "0.0871")] {
        assert_eq!(format::ratio_bare(value), printed);
        let (times, range) = format::ratio_with_interval(value, value * 0.5, value);
        let range = range.unwrap();
        assert_eq!(times, format!("{printed}×"));
        assert!(range.ends_with(&format!(" to {printed}")), "{range}");
    }
}

#[test]
fn every_failed_check_is_a_reason_and_not_the_first_alone() {
    let run = failing(sample::quick(), CheckId::ForeignIo, "Nothing else wrote", &[]);
    let run = failing(run, CheckId::Clock, "The clock is right", &[]);
    let said = headline(&run).sentence;
    assert_eq!(
        said,
        "No verdict: the clock can't be trusted; other programs also used the storage."
    );
    let failed = headline(&run).no_verdict.unwrap().failed_checks();
    assert!(failed.starts_with("Failed check: ‘The clock is right’. "), "{failed}");
    assert!(failed.ends_with("Also failed: ‘Nothing else wrote’."), "{failed}");
    let gate =
        flashlag_views::Gate::of(&found(&[called(run, "A"), called(sample::quick(), "B")]), 0.0);
    let said = gate.unwrap_err().to_string();
    assert!(
        said.contains("failed checks cover it: Nothing else wrote; The clock is right"),
        "{said}"
    );
}
