//! Stalls at regular distances: garbage collection, folding a cache, a flush timer.

use flashlag_units::Nanos;

use super::segment::median;
use crate::interval::Interval;
use crate::stall::Stall;

/// Periodic stalls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// Start of the first, from the start of the phase.
    pub first: Nanos,
    /// The period.
    pub length: Nanos,
    /// Number of stalls.
    pub stalls: u64,
}

/// Fewest events that can be called periodic: five distances.
const EVENTS_MIN: usize = 6;
/// Largest root mean square deviation of distances from whole periods, over the period. About 1 in
/// 1,000 sets of five random (exponential) distances is as regular.
const JITTER_MAX: f64 = 0.12;
/// Largest share of distances that span more than one period (a stall was missing, or too short to
/// be kept).
const MISSED_MAX: f64 = 0.2;
/// A stall that takes a larger share of its period is how the device always is, not an event.
const BUSY_MAX: f64 = 0.5;
/// An interval is a spike if its longest wait is this many times the typical longest wait.
const SPIKE: f64 = 5.0;

/// The period of the stalls, or without one that of the intervals' longest waits.
pub fn period_of(series: &[Interval], stalls: &[Stall]) -> Option<Period> {
    let mut events: Vec<(Nanos, Nanos)> =
        stalls.iter().map(|stall| (stall.at, stall.length)).collect();
    events.sort_unstable();
    period_by_length(&events, 1).or_else(|| {
        let spikes = spikes(series);
        // A spike's time is known to within an interval: periods below four intervals can't be
        // called regular.
        let width = series.last()?.ends.0 / series.len().max(1) as u64;
        period_by_length(&spikes, width.saturating_mul(4))
    })
}

/// Looks at all events, then at the longer ones alone: short stalls may hide regular long ones.
fn period_by_length(events: &[(Nanos, Nanos)], shortest: u64) -> Option<Period> {
    let longest = events.iter().map(|(_, length)| length.0).max()?;
    [0, longest / 4, longest / 2].into_iter().find_map(|limit| {
        let long: Vec<_> = events.iter().copied().filter(|(_, length)| length.0 >= limit).collect();
        regular(&long).filter(|period| period.length.0 >= shortest)
    })
}

/// The period of events (start and length, in order of time), if they have one.
fn regular(events: &[(Nanos, Nanos)]) -> Option<Period> {
    let events = join_overlapping(events);
    if events.len() < EVENTS_MIN {
        return None;
    }
    let gaps: Vec<f64> =
        events.windows(2).map(|pair| pair[1].0.saturating_since(pair[0].0).0 as f64).collect();
    let length = median(&gaps);
    let lengths: Vec<f64> = events.iter().map(|(_, length)| length.0 as f64).collect();
    if length <= 0.0 || median(&lengths) > length * BUSY_MAX {
        return None;
    }
    let periods = |gap: &f64| (gap / length).round().max(1.0);
    let all: f64 = gaps.iter().map(periods).sum();
    let count = gaps.len() as f64;
    let refined = gaps.iter().sum::<f64>() / all;
    let squares: f64 = gaps.iter().map(|gap| (gap - periods(gap) * refined).powi(2)).sum();
    let jitter = (squares / count).sqrt() / refined;
    let regular = jitter <= JITTER_MAX && all - count <= MISSED_MAX * count;
    regular.then(|| Period {
        first: events[0].0,
        length: Nanos(refined as u64),
        stalls: events.len() as u64,
    })
}

/// Joins overlapping stalls of several requests in flight to one event.
fn join_overlapping(events: &[(Nanos, Nanos)]) -> Vec<(Nanos, Nanos)> {
    let mut joined: Vec<(Nanos, Nanos)> = Vec::with_capacity(events.len());
    for (at, length) in events {
        let end = at.plus(*length);
        match joined.last_mut() {
            Some(last) if *at <= last.0.plus(last.1) => {
                last.1 = last.1.max(end.saturating_since(last.0))
            }
            _ => joined.push((*at, *length)),
        }
    }
    joined
}

/// Spikes: start and longest wait of intervals whose longest wait stands out.
fn spikes(series: &[Interval]) -> Vec<(Nanos, Nanos)> {
    let longest: Vec<f64> = series.iter().map(|interval| interval.exact.1.0 as f64).collect();
    let limit = median(&longest) * SPIKE;
    let mut from = Nanos::ZERO;
    let mut spikes = Vec::new();
    for interval in series {
        let began = std::mem::replace(&mut from, interval.ends);
        if limit > 0.0 && interval.exact.1.0 as f64 > limit {
            spikes.push((began, interval.exact.1.min(interval.ends.saturating_since(began))));
        }
    }
    spikes
}
