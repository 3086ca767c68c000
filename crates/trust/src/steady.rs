//! Had the figures settled?
//!
//! Flash is fast until its caches and its free blocks are used up, so a short test shows it at its
//! best. A phase that recorded steady state by SNIA's rule (five rounds, range within 20 %, slope
//! within 10 %) passes. A phase that was to run until it was steady and did not get there fails.
//! For every other write phase the medians of its two halves are compared. If they differ by more
//! than the 20 % that SNIA allows, the phase was still changing; and if it lasted less than a
//! minute, even equal halves do not show what follows a write cache of some gigabytes. Both are
//! unknown: no claim is false, but the row does not show how the device is in the long run.

use flashlag_schema::{ChangeKind, Check, CheckId, IntervalRecord, Phase};
use flashlag_stats::{Histogram, Percentile};
use flashlag_units::Nanos;

use crate::evidence::{Evidence, reads};
use crate::finding::{Finding, combine, percent, share};

const CLAIM: &str = "The figures had settled";
const APART: f64 = 0.20;
const SHORT: Nanos = Nanos::from_secs(60);
const ADVICE: &str = "For figures that last: `flashlag run soak`.";

pub(super) fn check(evidence: &Evidence<'_>) -> Option<Check> {
    let writes = |phase: &&Phase| !reads(phase) && phase.operation.is_block_test();
    let findings = evidence.phases.iter().filter(writes).map(judge_phase).collect();
    combine(CheckId::SteadyState, CLAIM, findings)
}

fn judge_phase(phase: &Phase) -> Finding {
    let recorded = |kind| phase.changes.iter().find(|change| change.kind == kind);
    if let Some(change) = recorded(ChangeKind::SteadyState) {
        return Finding::pass(Some(phase), sentence(&change.detail));
    }
    if let Some(change) = recorded(ChangeKind::NotSteady) {
        let advice = "Give it more time or bytes (--set time=2h --set bytes=256GB).";
        return Finding::fail(Some(phase), sentence(&change.detail), advice);
    }
    let shift = [ChangeKind::CacheExhausted, ChangeKind::Slower, ChangeKind::Faster];
    if let Some(change) = shift.into_iter().find_map(recorded) {
        let detail = format!("{} Its figures mix both.", sentence(&change.detail));
        return Finding::unknown(Some(phase), detail, ADVICE).weighing(2.0);
    }
    let Some((first, second)) = halves(phase) else {
        return Finding::unknown(Some(phase), "Too short for two halves to compare.", ADVICE);
    };
    let apart = share(first.0.abs_diff(second.0), first.0.min(second.0).max(1));
    let medians = format!("The median was {first} in its first half and {second} in its second");
    if apart > APART {
        let detail = format!("{medians}, {} apart.", percent(apart));
        return Finding::unknown(Some(phase), detail, ADVICE).weighing(apart);
    }
    if phase.elapsed_ns < SHORT {
        let detail = format!("{medians}, but {} is too short to tell.", phase.elapsed_ns);
        return Finding::unknown(Some(phase), detail, ADVICE);
    }
    Finding::pass(Some(phase), format!("{medians}, over {}.", phase.elapsed_ns))
}

/// Turns a change's description into a sentence: it follows a name and has no full stop.
fn sentence(words: &str) -> String {
    let words = words.trim_end_matches('.');
    let mut letters = words.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).chain(['.']).collect()
}

/// The median latencies in the first and in the second half of the intervals.
fn halves(phase: &Phase) -> Option<(Nanos, Nanos)> {
    let (first, second) = phase.intervals.split_at(phase.intervals.len() / 2);
    Some((median(first)?, median(second)?))
}

fn median(intervals: &[IntervalRecord]) -> Option<Nanos> {
    let mut joined = Histogram::new();
    for interval in intervals {
        joined.merge(&interval.histogram.restore().ok()?);
    }
    joined.percentile(Percentile::P50)
}

#[cfg(test)]
mod tests {
    use flashlag_schema::{Change, CheckStatus, StoredHistogram};
    use flashlag_units::Bytes;

    use super::*;
    use crate::testing::Case;

    fn with_change(kind: ChangeKind) -> Option<CheckStatus> {
        let mut case = Case::quiet();
        case.keep_only("rand_write_4k");
        case.phases[0].changes.push(Change {
            kind,
            t_ns: Nanos::from_secs(3),
            written_bytes: Bytes(1),
            bytes_per_sec: None,
            period_ns: None,
            detail: "Five rounds within 8 %.".to_owned(),
        });
        case.status(check)
    }

    #[test]
    fn a_recorded_steady_state_passes_and_a_missed_one_fails() {
        assert_eq!(with_change(ChangeKind::SteadyState), Some(CheckStatus::Pass));
        assert_eq!(with_change(ChangeKind::NotSteady), Some(CheckStatus::Fail));
        assert_eq!(with_change(ChangeKind::CacheExhausted), Some(CheckStatus::Unknown));
    }

    #[test]
    fn the_words_of_a_change_become_a_sentence() {
        assert_eq!(sentence("fell from 2 MB/s to 1 MB/s"), "Fell from 2 MB/s to 1 MB/s.");
        assert_eq!(sentence("Five rounds within 8 %."), "Five rounds within 8 %.");
        let mut case = Case::quiet();
        case.keep_only("rand_write_4k");
        case.phases[0].changes.push(Change {
            kind: ChangeKind::Slower,
            t_ns: Nanos::from_secs(3),
            written_bytes: Bytes(1),
            bytes_per_sec: None,
            period_ns: None,
            detail: "fell from 2 MB/s to 1 MB/s".to_owned(),
        });
        let found = case.check(check).unwrap();
        let expected = "rand_write_4k: Fell from 2 MB/s to 1 MB/s. Its figures mix both.";
        assert!(found.detail.ends_with(expected), "{}", found.detail);
    }

    #[test]
    fn a_short_run_is_unknown_even_if_its_halves_agree() {
        let found = Case::quiet().check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Unknown);
        assert!(found.detail.contains("too short to tell"), "{}", found.detail);
    }

    #[test]
    fn a_long_one_whose_halves_agree_passes() {
        let mut case = Case::quiet();
        case.keep_only("rand_write_4k");
        case.phases[0].elapsed_ns = Nanos::from_secs(90);
        assert_eq!(case.status(check), Some(CheckStatus::Pass));
    }

    #[test]
    fn halves_that_differ_are_unknown() {
        let mut case = Case::quiet();
        case.keep_only("rand_write_4k");
        case.phases[0].elapsed_ns = Nanos::from_secs(90);
        case.slow_second_half(0, 3);
        let found = case.check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Unknown);
        assert!(found.detail.contains("apart"), "{}", found.detail);
    }

    /// Two halves in which all operations take the same, over `elapsed`.
    fn halves_of(first: Nanos, second: Nanos, elapsed: Nanos) -> CheckStatus {
        let mut case = Case::quiet();
        case.keep_only("rand_write_4k");
        case.phases[0].elapsed_ns = elapsed;
        let intervals = &mut case.phases[0].intervals;
        let half = intervals.len() / 2;
        for (index, interval) in intervals.iter_mut().enumerate() {
            let mut histogram = Histogram::new();
            let latency = if index < half { first } else { second };
            (0..100).for_each(|_| histogram.record(latency));
            interval.histogram = StoredHistogram::from(&histogram);
        }
        case.status(check).unwrap()
    }

    #[test]
    fn halves_20_percent_apart_are_steady_and_further_apart_unknown() {
        // Below 128 ns a bucket of the histogram is one nanosecond.
        let long = Nanos::from_secs(60);
        assert_eq!(halves_of(Nanos(100), Nanos(120), long), CheckStatus::Pass);
        assert_eq!(halves_of(Nanos(120), Nanos(100), long), CheckStatus::Pass);
        assert_eq!(halves_of(Nanos(100), Nanos(121), long), CheckStatus::Unknown);
        assert_eq!(halves_of(Nanos(121), Nanos(100), long), CheckStatus::Unknown);
    }

    #[test]
    fn equal_halves_show_it_after_a_minute_and_not_a_nanosecond_before() {
        let minute = Nanos::from_secs(60);
        assert_eq!(halves_of(Nanos(100), Nanos(100), minute), CheckStatus::Pass);
        let before = Nanos(minute.0 - 1);
        assert_eq!(halves_of(Nanos(100), Nanos(100), before), CheckStatus::Unknown);
    }

    #[test]
    fn only_writes_can_settle_and_saves_are_judged_elsewhere() {
        for phase in Case::quiet().phases {
            let mut case = Case::quiet();
            case.keep_only(&phase.name);
            let judged = case.status(check).is_some();
            assert_eq!(judged, phase.name == "rand_write_4k", "{}", phase.name);
        }
    }
}
