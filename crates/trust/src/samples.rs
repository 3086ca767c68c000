//! Were there enough samples for each percentile printed?
//!
//! A percentile needs ten values beyond it (a p99 needs 1,000 operations): its rank then has a
//! relative standard error of about a third, below that it is an anecdote. One that is printed
//! with fewer fails. Random reads, durable writes and saves are quoted by their p99, the others by
//! their median: where that one is absent the row is unknown.

use flashlag_schema::{Check, CheckId, Operation, Phase};
use flashlag_stats::{Percentile, supports};
use flashlag_units::count;

use crate::evidence::{Evidence, durable};
use crate::finding::{Finding, combine};

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
        return Finding::fail(Some(phase), detail, "Run it longer (--set time=).");
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
        let advice = "Run it longer (--set time=), or with a larger min_ops.";
        return Finding::unknown(Some(phase), detail, advice).weighing(-(ops as f64));
    }
    Finding::pass(Some(phase), detail).weighing(-(ops as f64))
}

#[cfg(test)]
mod tests {
    use flashlag_schema::CheckStatus;

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
}
