//! Findings and what to change, sorted by cost: causes with both measured sides, and what single
//! tests, checks and the set-up show.

use flashlag_schema::Run;
use flashlag_schema::finding::Severity;

use super::model::{Block, FindingItem, Section};
use crate::findings::findings;
use crate::format;
use crate::listed::{FindingList, ListedFinding, listed};

/// The section; `None` if nothing was found or ruled out.
pub(super) fn section(run: &Run) -> Option<Section> {
    let FindingList { heading, findings: list } = listed(run);
    let found = findings(run);
    if list.is_empty() && found.ruled_out.is_empty() {
        return None;
    }
    let first = list.first().and_then(|one| one.cause.as_ref());
    let heading = match (list.is_empty(), first) {
        (true, _) => found.heading,
        (false, Some(cause)) if list.len() > 1 => {
            format!("{heading}, costliest first: {}", format::decapitalized(&cause.cause))
        }
        (false, _) => heading,
    };
    let ruled_out: Vec<String> = found.ruled_out.into_iter().map(|out| out.sentence).collect();
    let ruled_out = (!ruled_out.is_empty())
        .then(|| Block::Note(Some("Checked, and not a cause."), ruled_out.join(" ")));
    let overlap = found.overlap.map(|overlap| Block::Note(None, overlap));
    let blocks = [Block::Findings(list.into_iter().map(item).collect())];
    Some(Section {
        id: "findings",
        name: "Findings",
        heading,
        side: vec!["Cost: seconds of waiting added to every 1,000 operations.".to_owned()],
        blocks: blocks.into_iter().chain(ruled_out).chain(overlap).collect(),
    })
}

fn item(one: ListedFinding) -> FindingItem {
    let cost = one.cost_s_per_1000.filter(|cost| *cost > 0.0 && one.severity != Severity::Danger);
    let (cost, per) = match (cost, one.per) {
        (Some(cost), Some(per)) => (format::seconds(cost), format!("per 1,000 {per}")),
        _ => (one.mark.to_owned(), String::new()),
    };
    let base = FindingItem {
        cause: None,
        cost,
        per,
        title: one.finding.trim_end_matches('.').to_owned(),
        effect: one.effect,
        fix: one.action.into_owned(),
        try_this: None,
        price: one.price.map(format::decapitalized),
        sides: None,
        evidence: format!("{}.", one.evidence.join("; ")),
    };
    let Some(cause) = one.cause else { return base };
    FindingItem {
        cause: Some(cause.id),
        title: format!("{}: {}", cause.cause, cause.would),
        effect: None,
        fix: cause.fix,
        try_this: cause.try_this,
        sides: Some((cause.now, cause.fixed)),
        evidence: cause.evidence,
        ..base
    }
}
