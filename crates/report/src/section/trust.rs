//! Trust checks, failures first.

use askama::Template;
use flashlag_explain::{CheckCounts, trust_heading};
use flashlag_schema::{Check, CheckStatus, Run};

use super::{Section, check_anchor};
use crate::chart::status_icon;
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "section/trust.html")]
struct Body {
    checks: Vec<Row>,
}

struct Row {
    /// Where links to this check lead; the first of its kind only.
    anchor: Option<String>,
    status: &'static str,
    icon: Markup,
    claim: String,
    detail: String,
    advice: Option<String>,
    covers: Option<String>,
}

/// The section; the headline refers to it, so it is there where nothing was checked, too.
pub(super) fn section(run: &Run) -> Option<Section> {
    let mut checks: Vec<&Check> = run.trust.checks.iter().collect();
    checks.sort_by_key(|check| check.status);
    let mut seen = Vec::new();
    let mut rows = Vec::new();
    for check in checks {
        let anchor = check_anchor(check.id);
        let first = !seen.contains(&anchor);
        rows.push(row(check, first.then(|| anchor.clone())));
        seen.push(anchor);
    }
    Some(Section {
        id: "trust",
        name: "Trust checks",
        heading: trust_heading(run),
        side: vec![
            format!("{}.", CheckCounts::of(run).in_words()),
            "Unknown means that the evidence could not be read or does not decide. It never counts \
             as a pass."
                .to_owned(),
        ],
        body: Markup::of(&Body { checks: rows }),
    })
}

/// `pass`, `fail` or `unknown`.
pub(crate) fn status_name(status: CheckStatus) -> &'static str {
    match status {
        CheckStatus::Fail => "fail",
        CheckStatus::Unknown => "unknown",
        CheckStatus::Pass => "pass",
    }
}

fn row(check: &Check, anchor: Option<String>) -> Row {
    Row {
        anchor,
        status: status_name(check.status),
        icon: status_icon(check.status),
        claim: check.claim.clone(),
        detail: check.detail.clone(),
        advice: check.advice.clone(),
        covers: (!check.phases.is_empty() && check.status != CheckStatus::Pass)
            .then(|| check.phases.join("; ")),
    }
}
