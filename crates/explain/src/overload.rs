//! A schedule that a device can't keep: its queue grows for as long as the test lasts, and so do
//! the waits. Percentiles would show the length of the test, not the device.
//!
//! A scheduled test is overloaded if fewer than nine in ten of the due operations completed, and in
//! each third of its time fewer completed than came due: the queue grew until the end.

use flashlag_schema::Phase;

use crate::histograms::restored;

/// Minimum operations to detect growth.
const LEAST: u64 = 3;

/// Whether a phase could not keep its schedule.
///
/// The interval series shows the growth; without one, the median response must be at least a
/// quarter of the longest (in a steadily growing queue it is half).
///
/// A replay does everything that is due, however late. It could not keep the trace's times if it
/// took more than ten ninths of them and the waits grew: fewer than nine in ten operations were in
/// time.
pub fn is_overloaded(phase: &Phase) -> bool {
    if let Some(scheduled) = phase.replay.as_ref().and_then(|replay| replay.scheduled_ns) {
        let late = u128::from(phase.elapsed_ns.0) * 9 > u128::from(scheduled.0) * 10;
        return phase.ops >= LEAST && late && waits_grew(phase);
    }
    let due = due(phase);
    let short = u128::from(phase.ops) * 10 < u128::from(due) * 9;
    !phase.closed_loop && phase.ops >= LEAST && short && grew_to_the_end(phase, due)
}

/// Operations that came due: the completed ones, or the missed slots if there are more (a slot is
/// missed if its operation began more than a period late or never).
pub fn due(phase: &Phase) -> u64 {
    phase.missed_slots.unwrap_or(0).max(phase.ops)
}

fn grew_to_the_end(phase: &Phase, due: u64) -> bool {
    match done_by_thirds(phase) {
        Some(done) => done.iter().all(|done| *done < due as f64 / 3.0),
        None => waits_grew(phase),
    }
}

/// How many operations ended in each third of the phase; an interval across a boundary is divided
/// by time. `None` without a series.
fn done_by_thirds(phase: &Phase) -> Option<[f64; 3]> {
    let third = phase.elapsed_ns.0 as f64 / 3.0;
    if phase.intervals.is_empty() || third <= 0.0 {
        return None;
    }
    let mut done = [0.0; 3];
    let mut from = 0.0;
    for interval in &phase.intervals {
        let to = interval.t_ns.0 as f64;
        for (index, part) in done.iter_mut().enumerate() {
            let (begins, ends) = (third * index as f64, third * (index + 1) as f64);
            let shared = (to.min(ends) - f64::max(from, begins)).max(0.0);
            if to > from {
                *part += interval.ops as f64 * shared / (to - from);
            }
        }
        from = to;
    }
    Some(done)
}

fn waits_grew(phase: &Phase) -> bool {
    let response = phase.response_histogram.as_ref().and_then(restored);
    let figures = response.and_then(|waits| {
        let median = waits.quantile(flashlag_stats::Percentile::P50)?;
        Some((median, waits.max()?))
    });
    figures.is_some_and(|(median, longest)| median.0 >= longest.0 / 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlag_schema::{IntervalRecord, StoredHistogram};
    use flashlag_spec::State;
    use flashlag_stats::Histogram;
    use flashlag_units::{Bytes, Nanos};

    /// A phase with a schedule: the operations completed in each of twelve seconds, and `missed`
    /// slots.
    fn scheduled(each_second: [u64; 12], missed: u64) -> Phase {
        let mut phase = crate::testing::writes("rand_write_4k", State::New, &[1]);
        let ops: u64 = each_second.iter().sum();
        phase.closed_loop = false;
        (phase.ops, phase.missed_slots) = (ops, Some(missed));
        phase.elapsed_ns = Nanos::from_secs(12);
        phase.ops_per_sec = ops as f64 / 12.0;
        phase.intervals = each_second
            .iter()
            .enumerate()
            .filter(|(_, ops)| **ops > 0)
            .map(|(second, ops)| IntervalRecord {
                t_ns: Nanos::from_secs(second as u64 + 1),
                filled_bytes: None,
                ops: *ops,
                bytes: Bytes::ZERO,
                p50: None,
                p90: None,
                p99: None,
                max: Nanos::ZERO,
                temperature_millicelsius: None,
                histogram: StoredHistogram::default(),
                waited: Vec::new(),
            })
            .collect();
        phase
    }

    #[test]
    fn a_schedule_of_which_less_than_nine_in_ten_is_done_all_along_is_overloaded() {
        assert!(is_overloaded(&scheduled([4; 12], 1180)));
        assert!(is_overloaded(&scheduled([89; 12], 1200)));
        assert!(!is_overloaded(&scheduled([91; 12], 1200)), "nine in ten were done");
        assert!(!is_overloaded(&scheduled([100; 12], 0)));
    }

    #[test]
    fn a_stall_after_which_the_queue_is_worked_off_is_no_overload() {
        // Four seconds without progress, then twice the schedule's rate until all is done.
        let worked_off = [100, 100, 0, 0, 0, 0, 200, 200, 200, 200, 100, 100];
        assert!(!is_overloaded(&scheduled(worked_off, 900)));
        // A stall at the end: the phase is behind, but had kept up before.
        let at_the_end = [100, 100, 100, 100, 100, 100, 100, 100, 0, 0, 0, 1];
        assert!(!is_overloaded(&scheduled(at_the_end, 1200)));
        let at_the_start = [0, 0, 0, 0, 120, 120, 120, 120, 120, 120, 120, 120];
        assert!(!is_overloaded(&scheduled(at_the_start, 1200)));
    }

    #[test]
    fn few_values_and_a_closed_loop_are_never_overloaded() {
        let mut one_long = scheduled([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1], 1200);
        assert!(!is_overloaded(&one_long), "two operations say nothing of growth");
        one_long = scheduled([4; 12], 1180);
        one_long.closed_loop = true;
        assert!(!is_overloaded(&one_long));
        let mut none = scheduled([0; 12], 1200);
        none.intervals.clear();
        assert!(!is_overloaded(&none));
    }

    #[test]
    fn without_a_series_a_queue_that_grows_shows_in_its_median() {
        let stored = |waits: &mut dyn Iterator<Item = u64>| {
            let mut histogram = Histogram::new();
            waits.for_each(|ms| histogram.record(Nanos::from_millis(ms)));
            Some(StoredHistogram::from(&histogram))
        };
        let mut phase = scheduled([4; 12], 1180);
        phase.intervals.clear();
        phase.response_histogram = stored(&mut (1..48).map(|n| n * 250));
        assert!(is_overloaded(&phase));
        phase.response_histogram = stored(&mut (1..48).map(|n| if n > 40 { n * 250 } else { 9 }));
        assert!(!is_overloaded(&phase), "a few long waits are a stall");
    }
}
