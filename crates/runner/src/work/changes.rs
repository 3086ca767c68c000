//! Changes in the interval series of a phase, as they are stored.

use std::fmt;

use flashlag_schema::{Change, ChangeKind};
use flashlag_spec::Operation;
use flashlag_stats::change::{ChangePoint, ChangePointKind, Workload, changes};
use flashlag_stats::steady::{RANGE_MAX, SLOPE_MAX, Steadiness, WINDOW, steadiness};
use flashlag_stats::{Interval, PhaseRecord};
use flashlag_units::{Bytes, Nanos, mb_per_s, percent};

/// Length of a round of a phase that runs until it is steady.
const UNTIL_STEADY_ROUND: Nanos = Nanos::from_secs(5);
/// The shortest phase that is judged: five rounds of a meaningful length.
const ROUND_MIN: Nanos = Nanos::from_secs(1);
/// The longest round.
const ROUND_MAX: Nanos = Nanos::from_secs(60);
/// Rounds of a phase whose length allows for them.
const ROUNDS: u64 = 20;

/// The changes of a phase, steadiness first. A phase that did not become steady has a change for that
/// only if it was to run until steady (`to_steady`: the bytes of one pass over what it reads or
/// writes). A throughput that a schedule paces is steady by itself, which says nothing about the
/// device.
pub fn changes_of(
    recorded: &PhaseRecord,
    operation: Operation,
    to_steady: Option<Bytes>,
) -> Vec<Change> {
    let workload = match operation {
        Operation::SequentialRead | Operation::RandomRead => Workload::Reads,
        Operation::SequentialWrite | Operation::RandomWrite => Workload::Writes,
        Operation::Save
        | Operation::ReplayRead
        | Operation::ReplayWrite
        | Operation::ReplaySync
        | Operation::ReplayNames
        | Operation::ReplayDiscard => Workload::Other,
    };
    let steady = steady_change(recorded, to_steady)
        .filter(|change| to_steady.is_some() || change.kind != ChangeKind::NotSteady);
    let found = changes(&recorded.intervals, &recorded.stalls, workload);
    steady.into_iter().chain(found.iter().map(stored)).collect()
}

/// Whether and when a phase was steady by the SNIA rule; `None` if it was too short, or a schedule set
/// the pace: its throughput is steady whatever the device does.
fn steady_change(recorded: &PhaseRecord, to_steady: Option<Bytes>) -> Option<Change> {
    if recorded.response.count() > 0 && to_steady.is_none() {
        return None;
    }
    let (found, rounds) = match to_steady {
        Some(pass) => until_steady(&recorded.intervals, pass),
        None => {
            let round = Nanos(recorded.elapsed.0 / ROUNDS).clamp(ROUND_MIN, ROUND_MAX);
            let found = steadiness(&recorded.intervals, round, Bytes::ZERO);
            (found, Rounds::Of(round))
        }
    };
    let rule = format!("the rule is {} and {}", percent(RANGE_MAX), percent(SLOPE_MAX));
    let blank = |kind, t_ns, written_bytes, detail| Change {
        kind,
        t_ns,
        written_bytes,
        bytes_per_sec: None,
        period_ns: None,
        detail,
    };
    match found {
        Steadiness::Reached { window, at, written } => Some(blank(
            ChangeKind::SteadyState,
            at,
            written,
            format!(
                "{WINDOW} {rounds} within {}, slope {} ({rule})",
                percent(window.range),
                percent(window.slope.abs())
            ),
        )),
        Steadiness::Missed(window) => Some(blank(
            ChangeKind::NotSteady,
            recorded.elapsed,
            recorded.bytes,
            format!(
                "the last {WINDOW} {rounds} range over {}, slope {} ({rule})",
                percent(window.range),
                percent(window.slope.abs())
            ),
        )),
        Steadiness::TooShort { .. } => None,
    }
}

/// What a phase is divided into.
#[derive(Clone, Copy, Debug)]
pub enum Rounds {
    /// Of at least this time.
    Of(Nanos),
    /// Over this many bytes.
    Passes(Bytes),
}

impl fmt::Display for Rounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rounds::Of(time) => write!(f, "rounds of {time}"),
            Rounds::Passes(bytes) => write!(f, "passes over {bytes}"),
        }
    }
}

/// Whether a phase that runs until it is steady is so, and what its rounds are: of 5 s, or of one pass
/// over all that it reads or writes. What a device does may repeat with each pass, as when a write
/// cache is overwritten before it is folded, and is as steady as it will be.
pub fn until_steady(series: &[Interval], pass: Bytes) -> (Steadiness, Rounds) {
    let by_time = steadiness(series, UNTIL_STEADY_ROUND, Bytes::ZERO);
    if !matches!(by_time, Steadiness::Reached { .. }) && pass > Bytes::ZERO {
        let by_pass = steadiness(series, UNTIL_STEADY_ROUND, pass);
        if matches!(by_pass, Steadiness::Reached { .. }) {
            return (by_pass, Rounds::Passes(pass));
        }
    }
    (by_time, Rounds::Of(UNTIL_STEADY_ROUND))
}

fn stored(change: &ChangePoint) -> Change {
    Change {
        kind: match change.kind {
            ChangePointKind::CacheExhausted => ChangeKind::CacheExhausted,
            ChangePointKind::Throttled => ChangeKind::Throttled,
            ChangePointKind::PeriodicStalls => ChangeKind::PeriodicStalls,
            ChangePointKind::Slower => ChangeKind::Slower,
            ChangePointKind::Faster => ChangeKind::Faster,
        },
        t_ns: change.at,
        written_bytes: change.written,
        bytes_per_sec: change.throughput,
        period_ns: change.period,
        detail: detail(change),
    }
}

/// The detail of a change besides kind, time and bytes, which views print themselves.
fn detail(change: &ChangePoint) -> String {
    let heat = change.temperature_millicelsius.map(|(before, then)| {
        format!(", storage at {} °C, before at {} °C", then / 1000, before / 1000)
    });
    if let (None, Some((before, after))) = (change.throughput, change.latency) {
        return format!("the median wait went from {before} to {after}");
    }
    match change.kind {
        ChangePointKind::PeriodicStalls => {
            let period = change.period.unwrap_or_default();
            format!("{} stalls, one every {period}", change.stalls)
        }
        ChangePointKind::CacheExhausted => {
            format!("throughput fell from {} and stayed there", levels(change))
        }
        ChangePointKind::Throttled | ChangePointKind::Slower => {
            format!("fell from {}{}", levels(change), heat.unwrap_or_default())
        }
        ChangePointKind::Faster => {
            format!("rose from {}{}", levels(change), heat.unwrap_or_default())
        }
    }
}

fn levels(change: &ChangePoint) -> String {
    match change.throughput {
        Some((before, after)) => {
            format!("{} to {} MB/s", mb_per_s(before.max(0.0)), mb_per_s(after.max(0.0)))
        }
        None => "one level to another".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use flashlag_stats::{OpTimes, Recorder, RecorderConfig};

    use super::*;

    /// Writes of 1 MB one after the other, each taking as long as `length` returns for its index,
    /// in intervals of a second.
    fn recorded(ops: u64, open: bool, length: impl Fn(u64) -> Nanos) -> PhaseRecord {
        let (start, second) = (Nanos::ZERO, Nanos::from_secs(1));
        let config = RecorderConfig { start, interval: second, stall_over: Nanos::MAX, live: None };
        let mut recorder = Recorder::new(config);
        let mut now = start;
        for number in 0..ops {
            let ended = now.plus(length(number));
            let intended = open.then_some(now);
            let bytes = Bytes::from_mb(1);
            recorder.record(OpTimes { intended, started: now, flush_from: None, ended, bytes });
            now = ended;
        }
        recorder.finish(now)
    }

    /// Of passes of a tenth of a GB where it was to run until steady.
    fn kinds(recorded: &PhaseRecord, until_steady: bool) -> Vec<ChangeKind> {
        let pass = until_steady.then_some(Bytes::from_mb(100));
        let found = changes_of(recorded, Operation::SequentialWrite, pass);
        found.iter().map(|change| change.kind).collect()
    }

    #[test]
    fn an_even_throughput_is_steady_and_one_that_a_schedule_paces_says_nothing() {
        let even = |open| recorded(4_000, open, |_| Nanos::from_millis(10));
        assert_eq!(kinds(&even(false), false), [ChangeKind::SteadyState]);
        assert_eq!(kinds(&even(true), false), []);
        assert_eq!(kinds(&even(true), true), [ChangeKind::SteadyState], "it ran until it was");
        let found = changes_of(&even(false), Operation::SequentialWrite, None);
        // 40 s in 20 rounds of 2 s: steady by the fifth.
        assert_eq!(found[0].t_ns, Nanos::from_secs(10));
        assert!(found[0].detail.starts_with("5 rounds of 2.0 s within 0%"), "{}", found[0].detail);
    }

    #[test]
    fn rounds_are_a_twentieth_of_the_phase_from_a_second_to_a_minute_and_5_s_until_steady() {
        for (seconds, until_steady, round) in [
            (10, false, "rounds of 1.0 s"),
            (80, false, "rounds of 4.0 s"),
            (80, true, "rounds of 5.0 s"),
            (2_400, false, "rounds of 1 min 00 s"),
        ] {
            let even = recorded(seconds * 10, false, |_| Nanos::from_millis(100));
            let pass = until_steady.then_some(Bytes::from_mb(100));
            let found = changes_of(&even, Operation::SequentialWrite, pass);
            assert!(found[0].detail.contains(round), "{seconds} s: {}", found[0].detail);
        }
    }

    #[test]
    fn what_repeats_with_each_pass_is_steady_by_passes_and_what_falls_from_pass_to_pass_is_not() {
        // 1.2 GB a pass, the first half of each at 100 and the other at 50 MB/s: 18 s.
        let half = |number: u64| if number % 1_200 < 600 { 10 } else { 20 };
        let waves = recorded(7_200, false, |number| Nanos::from_millis(half(number)));
        let judged = |pass| {
            let found = changes_of(&waves, Operation::SequentialWrite, Some(Bytes::from_mb(pass)));
            found.into_iter().next().expect("it is judged")
        };
        let by_pass = judged(1_200);
        assert_eq!(by_pass.kind, ChangeKind::SteadyState);
        assert!(by_pass.detail.starts_with("5 passes over 1.2 GB within "), "{}", by_pass.detail);
        assert_eq!(by_pass.written_bytes, Bytes::from_mb(6_000));
        for pass in [0, 700] {
            assert_eq!(judged(pass).kind, ChangeKind::NotSteady, "passes over {pass} MB");
            assert!(judged(pass).detail.contains("rounds of 5.0 s range"), "{pass}");
        }
        // Each pass a fifth slower than the one before.
        let slower = recorded(7_200, false, |number| {
            let micros = if number % 600 < 300 { 10_000 } else { 20_000 };
            Nanos::from_micros((0..number / 1_200).fold(micros, |micros, _| micros / 5 * 6))
        });
        let found = changes_of(&slower, Operation::SequentialWrite, Some(Bytes::from_mb(1_200)));
        assert_eq!(found[0].kind, ChangeKind::NotSteady, "{}", found[0].detail);
    }

    #[test]
    fn that_it_never_became_steady_is_named_only_where_it_was_to_run_until_it_is() {
        // Slower and slower.
        let falling = recorded(3_000, false, |number| Nanos::from_micros(5_000 + number * 10));
        assert!(kinds(&falling, true).contains(&ChangeKind::NotSteady));
        assert!(!kinds(&falling, false).contains(&ChangeKind::NotSteady));
    }

    /// A change with a throughput before and after.
    fn change(kind: ChangePointKind) -> ChangePoint {
        ChangePoint {
            kind,
            at: Nanos::from_secs(3),
            written: Bytes(7),
            throughput: Some((2e6, 1e6)),
            latency: None,
            temperature_millicelsius: None,
            period: None,
            stalls: 0,
            recovered_at: None,
        }
    }

    #[test]
    fn each_change_is_reported_in_the_words_of_its_kind() {
        let kind_of = |kind, words: &str| {
            let stored = stored(&ChangePoint {
                period: Some(Nanos::from_secs(5)),
                stalls: 4,
                temperature_millicelsius: Some((41_000, 73_900)),
                ..change(kind)
            });
            assert_eq!(stored.detail, words, "{:?}", stored.kind);
            stored.kind
        };
        let hot = ", storage at 73 °C, before at 41 °C";
        let fell = format!("fell from 2.00 to 1.00 MB/s{hot}");
        use ChangePointKind as Point;
        assert_eq!(kind_of(Point::Throttled, &fell), ChangeKind::Throttled);
        assert_eq!(kind_of(Point::Slower, &fell), ChangeKind::Slower);
        let rose = format!("rose from 2.00 to 1.00 MB/s{hot}");
        assert_eq!(kind_of(Point::Faster, &rose), ChangeKind::Faster);
        let used_up = "throughput fell from 2.00 to 1.00 MB/s and stayed there";
        assert_eq!(kind_of(Point::CacheExhausted, used_up), ChangeKind::CacheExhausted);
        let periodic = "4 stalls, one every 5.0 s";
        assert_eq!(kind_of(Point::PeriodicStalls, periodic), ChangeKind::PeriodicStalls);
    }

    #[test]
    fn a_change_of_waits_alone_is_reported_by_its_medians() {
        let by_latency = ChangePoint {
            throughput: None,
            latency: Some((Nanos::from_micros(20), Nanos::from_millis(3))),
            ..change(ChangePointKind::Slower)
        };
        assert_eq!(stored(&by_latency).detail, "the median wait went from 20 µs to 3.0 ms");
    }
}
