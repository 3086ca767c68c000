//! The headline of a run about changes over time.

use flashlag_explain::is_overloaded;
use flashlag_schema::{Change, ChangeKind, Phase, Run};

use flashlag_units::Nanos;

use crate::amount::{done, from_to};
use crate::fill::full_at;
use crate::format::{self, capitalized, decapitalized, sentence_of};

/// The phase of the headline: the first with a change or a steady state.
pub fn subject(run: &Run) -> Option<&Phase> {
    run.phases.iter().find(|phase| !phase.changes.is_empty()).or_else(|| run.phases.first())
}

/// A sentence on the change, and one on the others; `None` without any change.
pub fn words(run: &Run) -> Option<(String, String)> {
    let phase = run.phases.iter().find(|phase| !phase.changes.is_empty())?;
    let news = phase.changes.iter().min_by_key(|change| weight(change.kind))?;
    let others = phase.changes.iter().filter(|change| *change != news);
    let more: Vec<String> = others.take(3).map(|change| sentence(run, phase, change)).collect();
    Some((sentence(run, phase, news), more.join(" ")))
}

/// The gravest change of a run whose headline is about something else.
pub fn in_passing(run: &Run) -> Option<String> {
    let grave = |change: &&Change| weight(change.kind) <= weight(ChangeKind::Slower);
    // What an overloaded test does over time depends on its queue, and its verdict is said already.
    let changes =
        run.phases.iter().filter(|phase| !is_overloaded(phase)).flat_map(|phase| {
            phase.changes.iter().filter(grave).map(move |change| (phase, change))
        });
    let (phase, change) = changes.min_by_key(|(_, change)| weight(change.kind))?;
    let title = crate::naming::test_name(run, phase);
    let said = sentence(run, phase, change);
    Some(format!("During {title}: {}", decapitalized(&said)))
}

/// Bytes a second from a moment on, at least over the last quarter; and those of the first interval if
/// they deviate by more than a steady state allows. `None` if no interval ends after the moment.
fn steady_rate(phase: &Phase, from: Nanos) -> Option<(f64, Option<f64>)> {
    let from = from.min(Nanos(phase.elapsed_ns.0 / 4 * 3));
    let mut before = Nanos::ZERO;
    let (mut bytes, mut time) = (0u128, 0u128);
    for interval in &phase.intervals {
        if before >= from {
            bytes += u128::from(interval.bytes.0);
            time += u128::from(interval.t_ns.saturating_since(before).0);
        }
        before = interval.t_ns;
    }
    let per_second = |bytes: f64, nanos: f64| (nanos > 0.0).then(|| bytes / nanos * 1e9);
    let rate = per_second(bytes as f64, time as f64)?;
    let first = phase.intervals.first()?;
    let first = per_second(first.bytes.0 as f64, first.t_ns.0 as f64)?;
    // The rule of a steady state: within 20 % of the mean.
    let differs = (first - rate).abs() > 0.2 * rate;
    (rate > 0.0).then_some((rate, differs.then_some(first)))
}

fn weight(kind: ChangeKind) -> u8 {
    match kind {
        ChangeKind::CacheExhausted => 0,
        ChangeKind::Throttled => 1,
        ChangeKind::PeriodicStalls => 2,
        ChangeKind::Slower => 3,
        ChangeKind::Faster => 4,
        ChangeKind::NotSteady => 5,
        _ => 6,
    }
}

/// A sentence of both; of the first alone if the change has no detail.
fn with_detail(what: &str, change: &Change) -> String {
    match change.detail.trim() {
        "" => format!("{what}."),
        detail => format!("{what}: {}", sentence_of(detail)),
    }
}

fn sentence(run: &Run, phase: &Phase, change: &Change) -> String {
    let mb = |rate: f64| format::mb_per_s(rate);
    let after = done(phase, change.t_ns, change.written_bytes);
    let when = format::time(change.t_ns);
    match (change.kind, change.bytes_per_sec, change.period_ns) {
        (ChangeKind::CacheExhausted, Some((from, to)), _) => {
            let why = match full_at(run, phase, change.t_ns) {
                Some(full) => format!("storage is {} full", format::share(full)),
                None => "a write cache is used up".to_owned(),
            };
            format!("Writes slow from {} to {} MB/s after {after}: {why}.", mb(from), mb(to))
        }
        (ChangeKind::Throttled, Some((from, to)), _) => {
            format!("Slowed by heat from {} after {when}.", from_to(phase, (from, to)))
        }
        (ChangeKind::Slower, Some((from, to)), _) => {
            let rates = from_to(phase, (from, to));
            format!("Throughput falls from {rates} after {when}, {after}.")
        }
        (ChangeKind::Faster, Some((from, to)), _) => {
            format!("Throughput rises from {} after {when}.", from_to(phase, (from, to)))
        }
        (ChangeKind::PeriodicStalls, _, Some(period)) => {
            let longest = phase.stalls.iter().map(|stall| stall.ns).max();
            let how_long = longest.map_or_else(String::new, |longest| {
                format!(" for up to {}", format::time(longest))
            });
            format!("It stalls every {}{how_long}.", format::time(period))
        }
        (ChangeKind::SteadyState, ..) => match steady_rate(phase, change.t_ns) {
            Some((rate, first)) => {
                let first = first
                    .map_or_else(String::new, |first| format!("; it began at {} MB/s", mb(first)));
                format!("Steady at {} MB/s after {when}, {after}{first}.", mb(rate))
            }
            None => with_detail(&format!("Steady after {when}, {after}"), change),
        },
        (ChangeKind::NotSteady, ..) => {
            let elapsed = format::time(phase.elapsed_ns);
            with_detail(&format!("Not steady after {elapsed}"), change)
        }
        _ if change.detail.trim().is_empty() => format!("Something changed after {when}."),
        _ => sentence_of(&capitalized(&change.detail)),
    }
}
