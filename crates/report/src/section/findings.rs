//! What to change, by what it costs: causes with both measured sides, and what single tests, checks and
//! the set-up show.

use askama::Template;
use flashlag_schema::Run;
use flashlag_schema::finding::Severity;
use flashlag_views::{Finding, FindingList, FindingSide, ListedFinding, findings, format, listed};

use super::Section;
use crate::chart::{LatencyAxis, StripMarks, strip_row};
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "section/findings.html")]
struct Body {
    found: Vec<Found>,
    ruled_out: Vec<String>,
    overlap: Option<String>,
}

struct Found {
    /// `39 s`, or `danger`.
    cost: String,
    /// `per 1,000 saves`; empty where there is no figure.
    per: String,
    title: String,
    effect: Option<String>,
    fix: Markup,
    try_this: Option<String>,
    price: Option<Markup>,
    pair: Option<Pair>,
    evidence: String,
}

/// Both sides of a comparison; `fixed`: the other side with its late share, if it was measured.
struct Pair {
    now: Markup,
    now_late: String,
    fixed: Option<(Markup, String)>,
}

/// The section; `None` if nothing was found or ruled out.
pub(super) fn section(run: &Run) -> Option<Section> {
    let FindingList { heading, findings: list } = listed(run);
    let found = findings(run);
    if list.is_empty() && found.ruled_out.is_empty() {
        return None;
    }
    let axis = super::first::run_axis(run);
    let body = Body {
        found: list.iter().map(|one| view(&axis, one)).collect(),
        ruled_out: found.ruled_out.iter().map(|out| out.sentence.clone()).collect(),
        overlap: found.overlap.clone(),
    };
    let first = list.first().and_then(|one| one.cause.as_ref());
    let heading = match (list.is_empty(), first) {
        (true, _) => found.heading,
        (false, Some(cause)) if list.len() > 1 => {
            format!("{heading}, costliest first: {}", format::decapitalized(&cause.cause))
        }
        (false, _) => heading,
    };
    Some(Section {
        id: "findings",
        name: "Findings",
        heading,
        side: vec![
            "Cost: seconds of waiting added to every 1,000 operations.".to_owned(),
            format!("Pictures use the axis at the top: {}.", axis.in_words()),
        ],
        body: Markup::of(&body),
    })
}

fn view(axis: &LatencyAxis, one: &ListedFinding) -> Found {
    let cost = one.cost_s_per_1000.filter(|cost| *cost > 0.0 && one.severity != Severity::Danger);
    let (figure, per) = match (cost, one.per) {
        (Some(cost), Some(per)) => (format::seconds(cost), format!("per 1,000 {per}")),
        _ => (one.mark.to_owned(), String::new()),
    };
    let base = Found {
        cost: figure,
        per,
        title: one.finding.trim_end_matches('.').to_owned(),
        effect: one.effect.clone(),
        fix: Markup::with_code(&one.action),
        try_this: None,
        price: one.price.map(|price| Markup::with_code(&format::decapitalized(price))),
        pair: None,
        evidence: format!("{}.", one.evidence.join("; ")),
    };
    match &one.cause {
        Some(cause) => of_cause(axis, cause, base),
        None => base,
    }
}

fn of_cause(axis: &LatencyAxis, cause: &Finding, base: Found) -> Found {
    let late = |side: &FindingSide| match side.figures.late_share() {
        Some(share) => format!("{} late", format::share(share)),
        None => String::new(),
    };
    let draw = |side: &FindingSide| strip_row(axis, &side.figures, StripMarks::Solid, &side.label);
    Found {
        title: format!("{}: {}", cause.cause, cause.would),
        effect: None,
        fix: Markup::with_code(&cause.fix),
        try_this: cause.try_this.clone(),
        pair: Some(Pair {
            now: draw(&cause.now),
            now_late: late(&cause.now),
            fixed: cause.fixed.as_ref().map(|side| (draw(side), late(side))),
        }),
        evidence: cause.evidence.clone(),
        ..base
    }
}
