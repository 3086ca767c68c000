//! Findings that are one, and their order.

use flashlag_schema::finding::{EffectBasis, Finding, FindingId, Severity};
use flashlag_schema::{Phase, Run};
use flashlag_units::InOrder;

use crate::plan::{Plan, is_fill};

/// If the first of a pair was measured, the second, which comes from the set-up, becomes a part of
/// the same finding.
const SAME: [(FindingId, FindingId); 6] = [
    (FindingId::FullStorage, FindingId::NearlyFull),
    (FindingId::FullNotTrimmed, FindingId::NearlyFull),
    (FindingId::DeletedNotTrimmed, FindingId::NeverTrimmed),
    (FindingId::FullNotTrimmed, FindingId::NeverTrimmed),
    (FindingId::WriteCacheExhausted, FindingId::WriteBoosterOff),
    (FindingId::NoBarrier, FindingId::SyncIsNoOp),
];

/// Joins findings about one thing: the one with the largest known effect stays, with the evidence
/// of all.
pub(super) fn merged(found: Vec<Finding>) -> Vec<Finding> {
    let mut kept: Vec<Finding> = Vec::new();
    for finding in found {
        match kept.iter_mut().find(|one| one.id == finding.id) {
            Some(one) => *one = joined(one, &finding),
            None => kept.push(finding),
        }
    }
    for (stays, goes) in SAME {
        let at = |id| kept.iter().position(|one| one.id == id);
        let (Some(stays), Some(goes)) = (at(stays), at(goes)) else { continue };
        let gone = kept[goes].clone();
        let evidence = new_facts(&kept[stays], &gone);
        kept[stays].evidence.extend(evidence);
        kept[stays].severity = kept[stays].severity.min(gone.severity);
        kept.remove(goes);
    }
    kept
}

fn joined(one: &Finding, other: &Finding) -> Finding {
    let larger = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => a >= b,
        (a, b) => a.is_some() || b.is_none(),
    };
    let (first, second) =
        if larger(one.cost(), other.cost()) { (one, other) } else { (other, one) };
    let mut all = first.clone();
    all.severity = first.severity.min(second.severity);
    all.evidence.extend(new_facts(first, second));
    all
}

fn new_facts(one: &Finding, other: &Finding) -> Vec<flashlag_schema::finding::Fact> {
    other.evidence.iter().filter(|fact| !one.evidence.contains(fact)).cloned().collect()
}

/// Sorts: first risks to data, then findings that are felt, then possible gains, then things good
/// to know; each by cost, and those without a figure last, as are those of a fill: nobody waits for one of its
/// writes, which may be hundreds of times as large as a save. The heading of a list counts them in that order.
pub fn ordered(run: &Run, mut found: Vec<Finding>) -> Vec<Finding> {
    let plan = Plan::of(run);
    let fills: Vec<String> =
        run.phases.iter().filter(|phase| is_fill(&plan, phase)).map(Phase::label).collect();
    found.order_by(|a, b| {
        let cost = |one: &Finding| one.cost().unwrap_or_default();
        rank(a, &fills).cmp(&rank(b, &fills)).then(cost(b).total_cmp(&cost(a)))
    });
    found
}

fn rank(finding: &Finding, fills: &[String]) -> u8 {
    let effect = finding.effect.value();
    let awaited = effect.is_some_and(|effect| match &effect.basis {
        EffectBasis::Compared { now: phase, .. }
        | EffectBasis::Part { phase }
        | EffectBasis::Course { phase }
        | EffectBasis::Promise { phase, .. } => !fills.contains(phase),
        EffectBasis::Forecast { .. } => true,
    });
    match (finding.severity, awaited) {
        (Severity::Danger, _) => 0,
        (Severity::Costly, true) => 1,
        (Severity::Costly, false) => 2,
        (Severity::Minor, true) => 3,
        (Severity::Minor, false) => 4,
        (Severity::Misleading, _) => 5,
    }
}

#[cfg(test)]
mod tests {
    use flashlag_schema::finding::{Counted, Effect, Estimate};
    use flashlag_spec::Reading;
    use flashlag_units::Nanos;
    use proptest::prelude::*;

    use super::*;

    fn of(severity: Severity, cost: Option<f64>) -> Finding {
        let effect = cost.map(|value| Effect {
            basis: EffectBasis::Part { phase: "save_wal".to_owned() },
            per: Counted::Saves,
            now_ns: Nanos::from_secs(1),
            fixed_ns: None,
            cost_s_per_1000: Estimate { value, interval: None },
        });
        let effect = effect.ok_or_else(|| "not known".to_owned());
        let effect: Reading<Effect> = effect.into();
        Finding {
            severity,
            ..crate::finding(FindingId::NearlyFull, severity, "", Vec::new(), effect)
        }
    }

    proptest! {
        #[test]
        fn what_a_heading_counts_first_is_listed_first_and_the_dearest_of_each_kind_leads(
            all in prop::collection::vec((0usize..4, prop::option::of(0.1..1e4)), 0..12),
        ) {
            const KINDS: [Severity; 4] =
                [Severity::Danger, Severity::Costly, Severity::Minor, Severity::Misleading];
            let found = all.iter().map(|(kind, cost)| of(KINDS[*kind], *cost)).collect();
            let list = ordered(&crate::testing::run(Vec::new()), found);
            let kind = |one: &Finding| KINDS.iter().position(|kind| *kind == one.severity);
            for pair in list.windows(2) {
                prop_assert!(kind(&pair[0]) <= kind(&pair[1]));
                if kind(&pair[0]) == kind(&pair[1]) {
                    prop_assert!(pair[0].cost().unwrap_or(0.0) >= pair[1].cost().unwrap_or(0.0));
                }
            }
        }
    }
}
