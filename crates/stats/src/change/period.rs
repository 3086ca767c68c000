//! Stalls at regular distances: garbage collection, folding a cache, a flush timer.

use flashlag_units::{InOrder, Nanos};

use super::segment::median;
use crate::interval::Interval;
use crate::stall::Stall;

/// Periodic stalls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// Start of the first, from the start of the phase.
    pub first: Nanos,
    pub length: Nanos,
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
/// A stall that takes a larger share of its period is normal for the device, not an event.
const BUSY_MAX: f64 = 0.5;
/// An interval is a spike if its longest wait is this many times the typical longest wait.
const SPIKE: f64 = 5.0;

/// The period of the stalls, or without one that of the intervals' longest waits.
pub fn period_of(series: &[Interval], stalls: &[Stall]) -> Option<Period> {
    let mut events: Vec<(Nanos, Nanos)> =
        stalls.iter().map(|stall| (stall.at, stall.length)).collect();
    events.order();
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

#[cfg(test)]
mod tests {
    use flashlag_units::Bytes;

    use super::*;

    const MS: fn(u64) -> Nanos = Nanos::from_millis;

    /// Events of `length` at these milliseconds.
    fn events(at: &[u64], length: Nanos) -> Vec<(Nanos, Nanos)> {
        at.iter().map(|at| (MS(*at), length)).collect()
    }

    #[test]
    fn six_events_at_equal_distances_have_a_period_and_five_have_none() {
        let even = [100, 1100, 2100, 3100, 4100, 5100];
        let found = regular(&events(&even, MS(10))).unwrap();
        assert_eq!(found, Period { first: MS(100), length: MS(1000), stalls: 6 });
        assert_eq!(regular(&events(&even[..5], MS(10))), None);
    }

    #[test]
    fn one_distance_in_five_may_span_two_periods_and_not_two_of_six() {
        let missed = regular(&events(&[0, 1000, 2000, 4000, 5000, 6000], MS(10))).unwrap();
        assert_eq!((missed.length, missed.stalls), (MS(1000), 6));
        assert_eq!(regular(&events(&[0, 1000, 3000, 4000, 6000, 7000, 8000], MS(10))), None);
    }

    #[test]
    fn distances_may_deviate_by_twelve_percent_of_the_period() {
        // Distances that are alternately longer and shorter by `off`, five of them. Their median is
        // one of the two and their mean is off as well, so the deviations are computed here.
        let alternating = |off: u64| {
            let mut at = vec![0];
            for step in 0..6 {
                let last = at[step];
                at.push(last + if step % 2 == 0 { 1000 + off } else { 1000 - off });
            }
            regular(&events(&at, MS(1))).is_some()
        };
        // Three of each: the mean is 1,000, and each deviates by `off`.
        assert!(alternating(119) && !alternating(121));
    }

    #[test]
    fn stalls_that_take_more_than_half_of_their_period_are_no_events() {
        let even = [0, 1000, 2000, 3000, 4000, 5000];
        assert!(regular(&events(&even, MS(500))).is_some());
        assert!(regular(&events(&even, MS(501))).is_none());
    }

    #[test]
    fn stalls_that_overlap_or_touch_are_one_event_as_long_as_all_of_them() {
        let of = |parts: &[(u64, u64)]| {
            let events: Vec<_> = parts.iter().map(|(at, length)| (MS(*at), MS(*length))).collect();
            let joined = join_overlapping(&events);
            joined.iter().map(|(at, length)| (at.0 / 1_000_000, length.0 / 1_000_000)).collect()
        };
        let joined: Vec<(u64, u64)> = of(&[(0, 10), (5, 20), (25, 5), (31, 1)]);
        assert_eq!(joined, [(0, 30), (31, 1)]);
        let within: Vec<(u64, u64)> = of(&[(0, 50), (10, 5)]);
        assert_eq!(within, [(0, 50)]);
    }

    #[test]
    fn short_stalls_do_not_hide_regular_long_ones() {
        let mut events = events(&[0, 1000, 2000, 3000, 4000, 5000], MS(100));
        for at in [130, 150, 470, 1333, 1777, 2210, 2954, 3501, 4770] {
            events.push((MS(at), MS(1)));
        }
        events.sort_unstable();
        assert_eq!(regular(&events), None);
        let found = period_by_length(&events, 1).unwrap();
        assert_eq!((found.length, found.stalls), (MS(1000), 6));
        assert_eq!(period_by_length(&events, MS(1001).0), None);
        assert!(period_by_length(&events, MS(1000).0).is_some());
        assert_eq!(period_by_length(&[], 1), None);
    }

    fn interval(ends: u64, longest: u64) -> Interval {
        Interval {
            ends: MS(ends),
            bytes: Bytes(1),
            filled: None,
            temperature_millicelsius: None,
            waited: None,
            exact: (Nanos(1), MS(longest), MS(longest)),
            buckets: Vec::new(),
        }
    }

    /// Sixty intervals of 100 ms, of which every `every`-th has a wait of `longest`, all others 4 ms.
    fn series(every: u64, longest: u64) -> Vec<Interval> {
        (1..=60).map(|at| interval(at * 100, if at % every == 0 { longest } else { 4 })).collect()
    }

    #[test]
    fn a_spike_is_a_wait_of_more_than_five_times_the_usual_and_no_longer_than_its_interval() {
        assert_eq!(spikes(&series(10, 20)), []);
        let found = spikes(&series(10, 21));
        assert_eq!(found.len(), 6);
        assert_eq!(found[0], (MS(900), MS(21)), "it began with its interval");
        assert_eq!(spikes(&series(10, 900))[0], (MS(900), MS(100)));
        assert_eq!(spikes(&[interval(100, 0), interval(200, 0)]), []);
    }

    #[test]
    fn spikes_are_periodic_from_four_intervals_on() {
        let found = |every| period_of(&series(every, 50), &[]).map(|period| period.length);
        assert_eq!(found(10), Some(MS(1000)));
        assert_eq!(found(4), Some(MS(400)));
        assert_eq!(found(3), None);
    }
}
