//! Nothing that is said of a run panics, however odd the run: a file is data from anywhere.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
use std::collections::BTreeMap;

use flashlag_schema::{
    Change, ChangeKind, Check, CheckId, CheckStatus, Environment, Phase, Run, RunStatus, Skipped,
    StoredHistogram, Time, WaitRecord,
};
use flashlag_spec::scenario::Durability;
use flashlag_spec::{Operation, Reading, State};
use flashlag_testing::sample;
use flashlag_units::{Bytes, Nanos};
use flashlag_views as explain;
use flashlag_views::{CompareOptions, Threshold};
use proptest::prelude::*;
use proptest::sample::select;

/// Numbers that are likely to break something.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(u64::MAX), 2..20_000u64, any::<u64>()]
}

fn rate() -> impl Strategy<Value = f64> {
    select(vec![0.0, -1.0, 1e-300, 25e6, 1e300, f64::NAN, f64::INFINITY])
}

fn histogram() -> impl Strategy<Value = StoredHistogram> {
    let buckets = prop::collection::vec((0..4000u32, number()), 0..6);
    (buckets, any::<bool>(), number(), number(), number()).prop_map(
        |(buckets, sort, min, max, sum)| {
            let sorted: BTreeMap<u32, u64> = buckets.iter().copied().collect();
            let (index, count) =
                if sort { sorted.into_iter().unzip() } else { buckets.into_iter().unzip() };
            StoredHistogram {
                grouping_power: 6,
                index,
                count,
                min_ns: Nanos(min),
                max_ns: Nanos(max),
                sum_ns: Nanos(sum),
            }
        },
    )
}

fn time() -> impl Strategy<Value = Time> {
    (number(), number(), number()).prop_map(|(a, b, c)| Time {
        on_cpu_ns: Nanos(a),
        runnable_ns: Nanos(b),
        blocked_ns: Nanos(c),
        stopped_ns: Nanos::ZERO,
    })
}

fn change() -> impl Strategy<Value = Change> {
    use ChangeKind as Kind;
    let kinds = select(vec![
        Kind::CacheExhausted,
        Kind::Throttled,
        Kind::PeriodicStalls,
        Kind::Slower,
        Kind::NotSteady,
    ]);
    let rates = prop::option::of((rate(), rate()));
    (kinds, number(), rates, prop::option::of(number()), ".{0,8}").prop_map(
        |(kind, at, bytes_per_sec, period, detail)| Change {
            kind,
            t_ns: Nanos(at),
            written_bytes: Bytes(at),
            bytes_per_sec,
            period_ns: period.map(Nanos),
            detail,
        },
    )
}

/// What can be done to a phase.
#[derive(Clone, Debug)]
enum Damage {
    Histogram(StoredHistogram),
    Response(StoredHistogram),
    Flush(StoredHistogram),
    Growth(StoredHistogram),
    Intervals(StoredHistogram, u64, u64),
    Waits(Vec<(u64, u64, Time)>),
    Time(Option<Time>),
    Rates(f64, f64, u64),
    What(Operation, u64, u32, Durability),
    Where(State, u32, String),
    Changes(Vec<Change>),
    Open(bool, Option<String>),
}

fn damage() -> impl Strategy<Value = Damage> {
    use Operation as Op;
    let operation = select(vec![Op::Save, Op::RandomWrite, Op::RandomRead, Op::SequentialWrite]);
    let state =
        select(vec![State::New, State::Filled, State::Deleted, State::Trimmed, State::Idle]);
    let block = prop_oneof![Just(0u64), Just(4096), Just(262_144), any::<u64>()];
    let durable = select(vec![Durability::None, Durability::Fdatasync]);
    let name = select(vec!["", "rand_write_4k", "save_wal", "a.b: c", "delete_delete_full", "é"]);
    prop_oneof![
        histogram().prop_map(Damage::Histogram),
        histogram().prop_map(Damage::Response),
        histogram().prop_map(Damage::Flush),
        histogram().prop_map(Damage::Growth),
        (histogram(), number(), number()).prop_map(|(h, a, b)| Damage::Intervals(h, a, b)),
        prop::collection::vec((number(), number(), time()), 0..4).prop_map(Damage::Waits),
        prop::option::of(time()).prop_map(Damage::Time),
        (rate(), rate(), number()).prop_map(|(a, b, n)| Damage::Rates(a, b, n)),
        (operation, block, 0..3u32, durable).prop_map(|(o, b, q, d)| Damage::What(o, b, q, d)),
        (state, any::<u32>(), name).prop_map(|(s, r, n)| Damage::Where(s, r, n.to_owned())),
        prop::collection::vec(change(), 0..3).prop_map(Damage::Changes),
        (any::<bool>(), prop::option::of(".{0,4}")).prop_map(|(c, b)| Damage::Open(c, b)),
    ]
}

fn apply(phase: &mut Phase, damage: Damage) {
    match damage {
        Damage::Histogram(histogram) => phase.histogram = histogram,
        Damage::Response(histogram) => phase.response_histogram = Some(histogram),
        Damage::Flush(histogram) => phase.flush_histogram = Some(histogram),
        Damage::Growth(histogram) => {
            if let Some(growth) = &mut phase.growth {
                growth.grew.histogram = histogram;
            }
        }
        Damage::Intervals(histogram, filled, at) => {
            for interval in &mut phase.intervals {
                interval.histogram = histogram.clone();
                interval.filled_bytes = Some(Bytes(filled));
                interval.t_ns = Nanos(at);
                interval.bytes = Bytes(filled);
            }
        }
        Damage::Waits(waits) => {
            let record = |(from, ops, time)| WaitRecord {
                from_ns: Nanos(from),
                below_ns: Nanos(from),
                ops,
                time,
            };
            phase.waits = waits.into_iter().map(record).collect();
        }
        Damage::Time(time) => {
            phase.time = time.map_or_else(|| Reading::unavailable("none"), Reading::Value);
        }
        Damage::Rates(ops, bytes, n) => {
            (phase.ops_per_sec, phase.bytes_per_sec, phase.ops) = (ops, bytes, n);
            phase.elapsed_ns = Nanos(n);
        }
        Damage::What(operation, block, depth, durable) => {
            (phase.operation, phase.block_bytes) = (operation, Bytes(block));
            (phase.queue_depth, phase.durable) = (depth, durable);
        }
        Damage::Where(state, run, name) => {
            (phase.state, phase.run, phase.name) = (state, run, name);
        }
        Damage::Changes(changes) => phase.changes = changes,
        Damage::Open(closed, background) => {
            (phase.closed_loop, phase.background) = (closed, background);
        }
    }
}

/// Phases of the samples, few and damaged.
fn odd_run() -> impl Strategy<Value = Run> {
    let parts = (
        select(all_phases()),
        prop::collection::vec((0..6usize, damage()), 0..8),
        any::<[bool; 4]>(),
        ".{0,12}",
        prop::collection::vec((0..3u8, ".{0,6}"), 0..3),
    );
    parts.prop_map(|(mut phases, damages, flags, text, checks)| {
        for (index, damage) in damages {
            if let Some(phase) = phases.get_mut(index) {
                apply(phase, damage);
            }
        }
        let mut run = sample_shell();
        let status =
            |code| [CheckStatus::Fail, CheckStatus::Unknown, CheckStatus::Pass][code as usize];
        run.trust.checks = checks
            .into_iter()
            .map(|(code, words)| Check {
                id: CheckId::CacheBypass,
                status: status(code),
                claim: words.clone(),
                detail: words,
                cause: None,
                advice: None,
                phases: phases.iter().skip(code as usize).map(Phase::label).collect(),
            })
            .collect();
        run.phases = phases;
        if flags[0] {
            run.environment = Environment::default();
        }
        if flags[1] {
            run.scenario.text = text.clone();
        }
        if flags[2] {
            run.status = RunStatus::Failed { next_step: 0, error: text.clone() };
        }
        if flags[3] {
            run.skipped.push(Skipped { step: text.clone(), state: State::Idle, reason: text });
        }
        run
    })
}

/// Sets of phases to begin with.
fn all_phases() -> Vec<Vec<Phase>> {
    let runs = [sample::lifecycle(), sample::quick(), sample::soak()];
    let mut sets = vec![Vec::new()];
    for run in runs {
        sets.extend(run.phases.chunks(4).map(<[Phase]>::to_vec));
    }
    sets
}

fn sample_shell() -> Run {
    let mut run = sample::soak();
    run.phases.clear();
    run
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn nothing_said_of_an_odd_run_panics(run in odd_run()) {
        let headline = explain::headline(&run);
        prop_assert!(!headline.sentence.is_empty());
        prop_assert!(headline.sentence.ends_with('.'), "{}", headline.sentence);
        prop_assert!(headline.believe.sentence.ends_with('.'));
        explain::strip(&run);
        explain::places(&run);
        explain::lifecycle(&run);
        for curve in explain::fill_curves(&run) {
            prop_assert!(!curve.levels.is_empty());
        }
        explain::waits(&run);
        explain::findings(&run);
        explain::stalls(&run);
        explain::changes(&run);
        explain::changes_heading(&run);
        explain::distribution_heading(&run);
        explain::saves_heading(&run);
        explain::trust_heading(&run);
        explain::environment_heading(&run);
        for metric in ["p999", "max", "over_60hz", "bytes_per_sec"] {
            let value = if metric == "over_60hz" { "1%" } else if metric == "bytes_per_sec" { "1MB" } else { "1ms" };
            let threshold: Threshold = format!("rand_write_4k.{metric}>{value}").parse().unwrap();
            let _ = threshold.evaluate(&run);
        }
    }

    #[test]
    fn comparing_odd_runs_never_panics(a in odd_run(), b in odd_run()) {
        let options = CompareOptions { force: true, ..CompareOptions::default() };
        // One run twice is refused.
        let mut b = b;
        b.scenario.seed = a.scenario.seed ^ 1;
        let found = explain::compare(&[a, b], &options).unwrap();
        prop_assert!(!found.sentence.is_empty());
        for row in &found.rows {
            prop_assert_eq!(row.sides.len(), found.subjects.len());
            for ratio in &row.ratios {
                prop_assert!(ratio.ratio.is_finite() && ratio.ratio > 0.0, "{:?}", ratio);
                match ratio.interval {
                    Some((low, high)) => {
                        prop_assert!(low <= ratio.ratio && ratio.ratio <= high, "{:?}", ratio);
                    }
                    None => prop_assert!(!ratio.differs, "{:?}", ratio),
                }
            }
        }
    }

    #[test]
    fn any_text_is_a_threshold_or_an_error_that_repeats_it(text in ".{0,40}") {
        if let Err(error) = text.parse::<Threshold>() {
            prop_assert!(error.to_string().contains(&text));
        }
    }

    #[test]
    fn numbers_format_without_panic(value in any::<f64>(), nanos in any::<u64>()) {
        for text in [
            explain::format::share(value),
            explain::format::rate(value),
            explain::format::times(value),
            explain::format::per_second(value),
            explain::format::ms(Nanos(nanos)),
        ] {
            prop_assert!(!text.is_empty());
        }
    }
}
