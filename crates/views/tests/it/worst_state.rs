//! The headline is about the worst state, by an independent computation of the verdicts.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::OnceLock;

use flashlag_schema::{CheckStatus, Phase, Run};
use flashlag_spec::{Operation, State};
use flashlag_testing::sample::{self, SampleDevice};
use flashlag_views as explain;
use proptest::prelude::*;

/// Values and counts of a stored histogram: the upper ends of its buckets, in nanoseconds. A bucket
/// is one value up to 2^(g+1), then 2^g of them in each power of two.
fn values(phase: &Phase) -> Vec<(u64, u64)> {
    let stored = &phase.histogram;
    let g = u32::from(stored.grouping_power);
    let upper = |index: u64| {
        if index < 1 << (g + 1) {
            return index;
        }
        let shift = (index >> g) - 1;
        ((((1 << g) + (index & ((1 << g) - 1))) << shift) + (1 << shift)) - 1
    };
    stored.index.iter().zip(&stored.count).map(|(i, n)| (upper(u64::from(*i)), *n)).collect()
}

/// The printed rule, counted by hand: 0 smooth, 1 hitches, 2 lags, 3 freezes.
fn verdict(phase: &Phase) -> usize {
    let values = values(phase);
    let n: u64 = values.iter().map(|(_, count)| count).sum();
    // At least this many of 1,000 take this long: the rank from above reaches beyond them.
    let at_least = |per_mille: u64, limit: u64| {
        let beyond: u64 = values.iter().filter(|(value, _)| *value >= limit).map(|v| v.1).sum();
        beyond > n - (n * (1000 - per_mille)).div_ceil(1000)
    };
    let late: u64 = values.iter().filter(|(value, _)| *value > 16_666_667).map(|v| v.1).sum();
    match () {
        () if at_least(1, 1_000_000_000) => 3,
        () if late * 10 >= n || at_least(10, 100_000_000) => 2,
        () if late * 100 >= n || at_least(1, 100_000_000) => 1,
        () => 0,
    }
}

const WORDS: [&str; 4] = ["smooth", "hitches", "lags", "freezes"];

/// A lifecycle without saves whose durable writes are drawn from those of three devices.
fn shuffled(picks: &[prop::sample::Index]) -> Run {
    static DRAWN: OnceLock<(Vec<Phase>, Run)> = OnceLock::new();
    let (pool, run) = DRAWN.get_or_init(|| {
        let devices = [SampleDevice::Phone, SampleDevice::Tablet, SampleDevice::Board];
        let phases = devices.map(|device| sample::lifecycle_on(device, 0).phases);
        let mut writes: Vec<Phase> = phases.into_iter().flatten().collect();
        writes.retain(|phase| phase.name == "rand_write_4k");
        let mut run = sample::lifecycle();
        run.phases.retain(|phase| phase.operation != Operation::Save);
        run.phases.iter_mut().for_each(|phase| phase.intervals.clear());
        (writes, run)
    });
    let mut run = run.clone();
    let writes = run.phases.iter_mut().filter(|phase| phase.name == "rand_write_4k");
    for (phase, pick) in writes.zip(picks) {
        let from = &pool[pick.index(pool.len())];
        phase.histogram = from.histogram.clone();
        phase.latency_ns = from.latency_ns.clone();
        phase.ops = from.ops;
    }
    run
}

fn how_it_came(state: State) -> &'static str {
    match state {
        State::New => "as found",
        State::Filled => "once full",
        State::Deleted => "after filling and deleting",
        State::Trimmed => "after trim",
        State::Idle => "after idling",
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn the_headline_names_the_worst_state_and_how_it_came(
        picks in prop::collection::vec(any::<prop::sample::Index>(), 12),
    ) {
        let run = shuffled(&picks);
        let doubted: Vec<&String> = run
            .trust
            .checks
            .iter()
            .filter(|check| check.status == CheckStatus::Fail)
            .flat_map(|check| &check.phases)
            .collect();
        let judged: Vec<(usize, State)> = run
            .phases
            .iter()
            .filter(|phase| phase.name == "rand_write_4k" && !doubted.contains(&&phase.label()))
            .map(|phase| (verdict(phase), phase.state))
            .collect();
        let worst = judged.iter().map(|(verdict, _)| *verdict).max().unwrap();
        let sentence = explain::headline(&run).sentence.to_lowercase();
        prop_assert!(sentence.contains(WORDS[worst]), "{}: {sentence}", WORDS[worst]);
        let mut states = judged.iter().filter(|(verdict, _)| *verdict == worst).map(|(_, s)| *s);
        prop_assert!(states.any(|state| sentence.contains(how_it_came(state))), "{sentence}");
        for better in WORDS.iter().skip(worst + 1) {
            prop_assert!(!sentence.contains(better), "{better}: {sentence}");
        }
    }

    #[test]
    fn the_title_of_the_stages_names_the_slowest_of_them(
        rates in prop::collection::vec(0.05f64..2.0, 12),
    ) {
        let mut run = shuffled(&[]);
        let writes = run.phases.iter_mut().filter(|phase| phase.name == "rand_write_4k");
        for (phase, rate) in writes.zip(&rates) {
            phase.bytes_per_sec = rate * 1e6;
        }
        let doubted = |phase: &&Phase| phase.state != State::Idle;
        let writes = || run.phases.iter().filter(|p| p.name == "rand_write_4k").filter(doubted);
        let new = writes().find(|phase| phase.state == State::New).unwrap().bytes_per_sec;
        let later = writes().filter(|phase| phase.state != State::New);
        let slowest = later.map(|phase| phase.bytes_per_sec / new).min_by(f64::total_cmp).unwrap();
        let heading = explain::lifecycle(&run).unwrap().heading;
        let share = explain::format::share(slowest);
        match slowest {
            1.0.. => {
                prop_assert!(heading.starts_with("Random writes keep their speed in every stage"));
            }
            _ => prop_assert!(heading.contains(&format!(" {share} of ")), "{share}: {heading}"),
        }
    }
}

#[test]
fn a_device_that_freezes_after_deleting_is_not_headlined_by_its_milder_full_state() {
    let mut run = sample::lifecycle_on(SampleDevice::Phone, 0);
    run.phases.retain(|phase| phase.operation != Operation::Save);
    let frozen = sample::lifecycle_on(SampleDevice::Board, 0);
    let frozen = frozen.phases.iter().find(|p| p.label() == "filled 3: rand_write_4k").unwrap();
    let label = "deleted 1: rand_write_4k";
    let phase = run.phases.iter_mut().find(|phase| phase.label() == label).unwrap();
    phase.histogram = frozen.histogram.clone();
    let said = explain::headline(&run).sentence;
    assert!(said.contains("freezes after filling and deleting:"), "{said}");
    assert!(said.contains("1 in 1,000 takes longer than"), "{said}");
}

#[test]
fn where_random_writes_keep_their_speed_the_test_that_does_not_is_named() {
    let mut run = sample::lifecycle();
    run.trust.checks.clear();
    for phase in &mut run.phases {
        let falls = phase.name == "seq_read_256k" && phase.state != State::New;
        phase.bytes_per_sec = if falls { 65e6 } else { 100e6 };
    }
    let heading = |run: &Run| explain::lifecycle(run).unwrap().heading;
    let said =
        "Random writes keep their speed in every stage; 256K seq read falls to 65% once full";
    assert_eq!(heading(&run), said);
    run.phases.iter_mut().for_each(|phase| phase.bytes_per_sec = 100e6);
    assert_eq!(heading(&run), "Random writes keep their speed in every stage");
}

/// A fifth of what was lost, 62.5 % of 800, is 100.
#[test]
fn deleting_or_trimming_helps_if_a_fifth_of_the_lost_speed_comes_back() {
    let heading = |deleted: f64, trimmed: f64| {
        let mut run = sample::lifecycle();
        run.trust.checks.clear();
        for phase in &mut run.phases {
            phase.bytes_per_sec = match phase.state {
                State::New => 800.0,
                State::Filled => 300.0,
                State::Deleted => deleted,
                State::Trimmed | State::Idle => trimmed,
            };
        }
        explain::lifecycle(&run).unwrap().heading
    };
    let fall = "Random writes fall to 38% of their first speed once full (run 1)";
    assert_eq!(
        heading(400.0, 399.0),
        format!("{fall}; deleting brings them back to 50%; trimming does not help (50%)")
    );
    assert_eq!(
        heading(399.0, 800.0),
        format!("{fall}; deleting does not help (50%); trimming brings them back to 100%")
    );
}

#[test]
fn a_first_row_that_a_failed_check_covers_is_no_measure_of_the_others() {
    let mut run = sample::lifecycle();
    run.trust.checks.clear();
    let new = |phase: &&mut Phase| phase.state == State::New && phase.name == "rand_write_4k";
    run.phases.iter_mut().find(new).unwrap().bytes_per_sec = 1e3;
    let before = explain::lifecycle(&run).unwrap().heading;
    assert!(before.starts_with("Random writes keep their speed in every stage"), "{before}");
    let label = run.phases.iter().find(|phase| phase.name == "rand_write_4k").unwrap().label();
    run.trust.checks.push(flashlag_schema::Check {
        id: flashlag_schema::CheckId::CpuContention,
        status: flashlag_schema::CheckStatus::Fail,
        claim: "The measuring thread had a CPU when it wanted one".to_owned(),
        detail: "It had none.".to_owned(),
        cause: None,
        advice: None,
        phases: vec![label],
    });
    let table = explain::lifecycle(&run).unwrap();
    assert_eq!(table.heading, "Throughput by stage");
    let column = table.columns.iter().position(|it| it.test == "rand_write_4k").unwrap();
    let shares = table.rows.iter().filter_map(|row| row.cells[column].as_ref()?.share_of_new);
    assert_eq!(shares.count(), 0);
}
