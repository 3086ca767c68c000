//! Trust checks, failures first.

use askama::Template;
use flashlag_schema::{Check, CheckStatus, Run};
use flashlag_views::{CheckCounts, for_people, format, trust_heading};

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
        rows.push(row(run, check, first.then(|| anchor.clone())));
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

fn row(run: &Run, check: &Check, anchor: Option<String>) -> Row {
    Row {
        anchor,
        status: status_name(check.status),
        icon: status_icon(check.status),
        claim: check.claim.clone(),
        detail: for_people(run, &check.detail),
        advice: check.advice.as_deref().map(|advice| for_people(run, advice)),
        covers: (check.status != CheckStatus::Pass).then(|| covered(run, check)).flatten(),
    }
}

/// Tests that a check names one by one; of more only the number is printed.
const NAMED: usize = 6;

/// The tests that a check is about; `None` if it is about the whole run.
fn covered(run: &Run, check: &Check) -> Option<String> {
    match check.phases.len() {
        0 => None,
        all if all >= run.phases.len() && all > 1 => Some("every test".to_owned()),
        many if many > NAMED => Some(format!("{many} of {} tests", run.phases.len())),
        _ => {
            let names: Vec<String> = check.phases.iter().map(|it| for_people(run, it)).collect();
            Some(format::list(&names))
        }
    }
}
