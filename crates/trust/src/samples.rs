//! Are there enough samples for each printed percentile?
//!
//! A percentile needs ten values beyond it (a p99 needs 1,000 operations). Its rank then has a
//! relative standard error of about a third; with fewer it is an anecdote. A percentile that is
//! printed with fewer fails. Random reads, durable writes and saves are quoted by their p99, the
//! others by their median: if that one is absent, the row is unknown.

use flashlag_schema::{Check, CheckId, Phase};
use flashlag_spec::Operation;
use flashlag_stats::{Percentile, supports};
use flashlag_units::count;

use crate::evidence::{Evidence, durable};
use crate::finding::{Finding, LONGER, combine};

const CLAIM: &str = "There were enough samples for each percentile printed";

pub(super) fn check(evidence: &Evidence<'_>) -> Option<Check> {
    let findings = evidence.phases.iter().map(judge_phase).collect();
    combine(CheckId::EnoughSamples, CLAIM, findings)
}

fn judge_phase(phase: &Phase) -> Finding {
    let latency = &phase.latency_ns;
    let printed = [
        (Percentile::P50, latency.p50, "p50"),
        (Percentile::P90, latency.p90, "p90"),
        (Percentile::P99, latency.p99, "p99"),
        (Percentile::P999, latency.p999, "p99.9"),
    ];
    let unfounded = printed
        .iter()
        .rev()
        .find(|(percentile, value, _)| value.is_some() && !supports(phase.ops, *percentile));
    let ops = phase.ops;
    let said = count(ops);
    if let Some((_, _, name)) = unfounded {
        let detail = format!("A {name} is printed from {said} operations.");
        return Finding::fail(Some(phase), detail, LONGER);
    }
    let by_tail =
        durable(phase) || matches!(phase.operation, Operation::Save | Operation::RandomRead);
    let (quoted, needed) = if by_tail { (latency.p99, 1000) } else { (latency.p50, 20) };
    let last = printed.iter().rev().find(|(_, value, _)| value.is_some());
    let up_to = last.map_or("none", |(_, _, name)| name);
    let detail = format!("{said} operations, percentiles up to {up_to}.");
    if quoted.is_none() {
        let detail = format!(
            "{said} operations; {} are needed for the figure it is quoted by.",
            count(needed)
        );
        return Finding::unknown(Some(phase), detail, LONGER).weighing(-(ops as f64));
    }
    Finding::pass(Some(phase), detail).weighing(-(ops as f64))
}

#[cfg(test)]
mod tests {
    use flashlag_schema::{CheckStatus, LatencySummary};
    use flashlag_spec::scenario::Durability;
    use flashlag_units::Nanos;

    use super::*;
    use crate::testing::Case;

    #[test]
    fn thousands_of_operations_pass() {
        assert_eq!(Case::quiet().status(check), Some(CheckStatus::Pass));
    }

    #[test]
    fn a_p999_of_a_hundred_operations_fails() {
        let mut case = Case::quiet();
        case.phases[0].ops = 100;
        case.phases[0].latency_ns.p999 = case.phases[0].latency_ns.p99;
        let found = case.check(check).unwrap();
        assert_eq!((found.status, found.phases.len()), (CheckStatus::Fail, 1));
        assert!(found.detail.contains("p99.9"), "{}", found.detail);
    }

    #[test]
    fn a_headline_without_its_p99_is_unknown() {
        let mut case = Case::quiet();
        let index = case.index_of("rand_write_4k");
        case.phases[index].ops = 500;
        case.phases[index].latency_ns.p99 = None;
        case.phases[index].latency_ns.p999 = None;
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
    }

    type Set = fn(&mut LatencySummary);

    /// One phase of this many operations that prints one percentile, and its median.
    fn printing(ops: u64, set: Set) -> CheckStatus {
        let mut case = Case::quiet();
        case.keep_only("seq_read_256k");
        let phase = &mut case.phases[0];
        phase.ops = ops;
        let latency = &mut phase.latency_ns;
        (latency.p50, latency.p90) = (None, None);
        (latency.p99, latency.p999) = (None, None);
        set(latency);
        case.status(check).unwrap()
    }

    #[test]
    fn each_percentile_needs_ten_operations_beyond_it_and_fails_with_one_less() {
        let printed: [(u64, Set); 4] = [
            (20, |latency| latency.p50 = Some(Nanos(1))),
            (100, |latency| latency.p90 = Some(Nanos(1))),
            (1_000, |latency| latency.p99 = Some(Nanos(1))),
            (10_000, |latency| latency.p999 = Some(Nanos(1))),
        ];
        for (needed, set) in printed {
            let enough = printing(needed, set);
            assert_ne!(enough, CheckStatus::Fail, "{needed}");
            assert_eq!(printing(needed - 1, set), CheckStatus::Fail, "{needed}");
        }
    }

    #[test]
    fn each_row_needs_the_percentile_that_it_is_quoted_by() {
        for (name, by_tail) in [
            ("seq_read_256k", false),
            ("rand_read_4k", true),
            ("rand_write_4k", true),
            ("save_wal", true),
        ] {
            let mut case = Case::quiet();
            case.keep_only(name);
            // A save is quoted by its tail even if it is not durable.
            if name == "save_wal" {
                case.phases[0].durable = Durability::None;
            }
            let latency = &mut case.phases[0].latency_ns;
            (latency.p99, latency.p999) = (None, None);
            let found = case.check(check).unwrap();
            assert_eq!(found.status == CheckStatus::Unknown, by_tail, "{name}: {}", found.detail);
            let reason = if by_tail { "1,000 are needed" } else { "percentiles up to p90" };
            assert!(found.detail.contains(reason), "{name}: {}", found.detail);
        }
    }

    #[test]
    fn the_phase_with_the_fewest_operations_is_quoted() {
        let mut case = Case::twice("rand_write_4k");
        case.phases[1].ops = 15_000;
        assert_eq!(case.quoted(check), "worst");
        for (phase, ops) in case.phases.iter_mut().zip([700, 500]) {
            phase.ops = ops;
            (phase.latency_ns.p99, phase.latency_ns.p999) = (None, None);
        }
        assert_eq!(case.quoted(check), "worst");
    }
}
