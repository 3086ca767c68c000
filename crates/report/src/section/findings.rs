//! The causes of lag with their fixes, costliest first, each with both measured sides.

use askama::Template;
use flashlag_schema::Run;
use flashlag_views::{Finding, FindingSide, Findings, findings, format};

use super::Section;
use crate::chart::{LatencyAxis, StripMarks, strip_row};
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "section/findings.html")]
struct Body {
    causes: Vec<Cause>,
    ruled_out: Vec<String>,
    overlap: Option<String>,
}

struct Cause {
    cost: String,
    per: &'static str,
    title: String,
    now: Markup,
    now_late: String,
    /// The other side with its late share, if it was measured.
    fixed: Option<(Markup, String)>,
    fix: String,
    try_this: Option<String>,
    evidence: String,
}

/// The section; `None` if nothing was found or ruled out.
pub(super) fn section(run: &Run) -> Option<Section> {
    let found = findings(run);
    if found.causes.is_empty() && found.ruled_out.is_empty() {
        return None;
    }
    let axis = super::first::run_axis(run);
    let body = Body {
        causes: found.causes.iter().map(|cause| view(&axis, cause)).collect(),
        ruled_out: found.ruled_out.iter().map(|out| out.sentence.clone()).collect(),
        overlap: found.overlap.clone(),
    };
    let Findings { heading, .. } = found;
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

fn view(axis: &LatencyAxis, finding: &Finding) -> Cause {
    let late = |side: &FindingSide| match side.figures.late_share() {
        Some(share) => format!("{} late", format::share(share)),
        None => String::new(),
    };
    let draw = |side: &FindingSide| strip_row(axis, &side.figures, StripMarks::Solid, &side.label);
    Cause {
        cost: format!("{} s", format::rate(finding.cost_s_per_1000)),
        per: finding.per,
        title: format!("{}: {}", finding.cause, finding.would),
        now: draw(&finding.now),
        now_late: late(&finding.now),
        fixed: finding.fixed.as_ref().map(|side| (draw(side), late(side))),
        fix: finding.fix.clone(),
        try_this: finding.try_this.clone(),
        evidence: finding.evidence.clone(),
    }
}
