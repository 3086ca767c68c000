//! Findings that are one, and their order.

use flashlag_schema::finding::{Finding, FindingId, Severity};

/// What the first of each pair measured makes the second, which is of the set-up, a part of the same
/// finding.
const SAME: [(FindingId, FindingId); 6] = [
    (FindingId::FullStorage, FindingId::NearlyFull),
    (FindingId::FullNotTrimmed, FindingId::NearlyFull),
    (FindingId::DeletedNotTrimmed, FindingId::NeverTrimmed),
    (FindingId::FullNotTrimmed, FindingId::NeverTrimmed),
    (FindingId::WriteCacheExhausted, FindingId::WriteBoosterOff),
    (FindingId::NoBarrier, FindingId::SyncIsNoOp),
];

/// Joins findings of one thing: the one with the largest known effect stays, with the evidence of all.
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

/// Data in danger first, then by cost, then what has no figure by how much it matters.
pub fn ordered(mut found: Vec<Finding>) -> Vec<Finding> {
    found.sort_by(|a, b| {
        let cost = |one: &Finding| one.cost().unwrap_or_default();
        rank(a).cmp(&rank(b)).then(cost(b).total_cmp(&cost(a)))
    });
    found
}

fn rank(finding: &Finding) -> u8 {
    match (finding.severity, finding.cost()) {
        (Severity::Danger, _) => 0,
        (Severity::Misleading, _) => 4,
        (_, Some(_)) => 1,
        (Severity::Costly, None) => 2,
        (Severity::Minor, None) => 3,
    }
}
