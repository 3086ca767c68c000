//! What the interval series of a phase shows, as it is stored.

use flashlag_schema::{Change, ChangeKind, Operation};
use flashlag_stats::Recorded;
use flashlag_stats::change::{ChangePoint, ChangePointKind, Workload, changes};
use flashlag_stats::steady::{RANGE_MAX, SLOPE_MAX, Steadiness, WINDOW, steadiness};
use flashlag_units::{Nanos, mb_per_s, percent};

/// A round of a phase that runs until it is steady: it is judged by what ended it.
pub const UNTIL_STEADY_ROUND: Nanos = Nanos::from_secs(5);
/// Shorter phases can't hold five rounds that mean anything.
const ROUND_MIN: Nanos = Nanos::from_secs(1);
/// A round never has to be longer than this.
const ROUND_MAX: Nanos = Nanos::from_secs(60);
/// How many rounds a phase is cut into, where its length allows.
const ROUNDS: u64 = 20;

/// Names everything that a phase's series shows; steadiness first. That a phase did not become
/// steady is named only where it was to run until it is (`until_steady`). A throughput that a
/// schedule paces is steady by itself, which says nothing of the device.
pub fn changes_of(recorded: &Recorded, operation: Operation, until_steady: bool) -> Vec<Change> {
    let workload = match operation {
        Operation::SequentialRead | Operation::RandomRead => Workload::Reads,
        Operation::SequentialWrite | Operation::RandomWrite => Workload::Writes,
        Operation::Save => Workload::Other,
    };
    let paced = recorded.response.count() > 0;
    let steady = steady_change(recorded, until_steady)
        .filter(|change| until_steady || (!paced && change.kind != ChangeKind::NotSteady));
    let found = changes(&recorded.intervals, &recorded.stalls, workload);
    steady.into_iter().chain(found.iter().map(stored)).collect()
}

/// Whether and when it was steady by the SNIA rule; `None` where it was too short to say, and where a
/// schedule set the pace: its throughput is steady whatever the device does.
fn steady_change(recorded: &Recorded, until_steady: bool) -> Option<Change> {
    if recorded.response.count() > 0 && !until_steady {
        return None;
    }
    let round = match until_steady {
        true => UNTIL_STEADY_ROUND,
        false => Nanos(recorded.elapsed.0 / ROUNDS).clamp(ROUND_MIN, ROUND_MAX),
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
    match steadiness(&recorded.intervals, round) {
        Steadiness::Reached { window, at, written } => Some(blank(
            ChangeKind::SteadyState,
            at,
            written,
            format!(
                "{WINDOW} rounds of {round} within {}, slope {} ({rule})",
                percent(window.range),
                percent(window.slope.abs())
            ),
        )),
        Steadiness::Missed(window) => Some(blank(
            ChangeKind::NotSteady,
            recorded.elapsed,
            recorded.bytes,
            format!(
                "the last {WINDOW} rounds of {round} range over {}, slope {} ({rule})",
                percent(window.range),
                percent(window.slope.abs())
            ),
        )),
        Steadiness::TooShort { .. } => None,
    }
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

/// What is not in the other fields: a view says kind, time and bytes itself.
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
