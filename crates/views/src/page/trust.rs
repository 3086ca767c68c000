//! Trust checks, failures first.

use flashlag_schema::{Check, CheckStatus, Run};
use flashlag_units::InOrder;

use super::model::{Block, CheckLine, Section};
use crate::doubt::{CheckCounts, inapplicable_checks};
use crate::format::capitalized;
use crate::outline::{for_people, trust_heading};

/// The section; the headline refers to it, so it exists even if nothing was checked.
pub(super) fn section(run: &Run) -> Section {
    Section {
        id: "trust",
        name: "Trust checks",
        heading: trust_heading(run),
        side: vec![
            capitalized(&format!("{}.", CheckCounts::of(run).in_words())),
            "Unknown means that the evidence could not be read or does not decide. It never counts \
             as a pass."
                .to_owned(),
        ]
        .into_iter()
        .chain(inapplicable_checks(run))
        .collect(),
        blocks: vec![Block::Checks(check_lines(run))],
    }
}

/// Every check of a run in words, failed ones first.
pub fn check_lines(run: &Run) -> Vec<CheckLine> {
    let mut checks: Vec<&Check> = run.trust.checks.iter().collect();
    checks.order_by_key(|check| check.status);
    checks.into_iter().map(|check| line(run, check)).collect()
}

/// `pass`, `fail` or `unknown`.
pub fn status_name(status: CheckStatus) -> &'static str {
    match status {
        CheckStatus::Fail => "fail",
        CheckStatus::Unknown => "unknown",
        CheckStatus::Pass => "pass",
    }
}

fn line(run: &Run, check: &Check) -> CheckLine {
    CheckLine {
        id: check.id,
        status: check.status,
        claim: check.claim.clone(),
        detail: for_people(run, &check.detail),
        advice: check.advice.as_deref().map(|advice| for_people(run, advice)),
        covers: (check.status != CheckStatus::Pass).then(|| covered(run, check)).flatten(),
    }
}

/// Maximum number of tests that a check names; of more, only the number is printed.
const NAMED: usize = 6;

/// The tests that a check is about; `None` if it is about the whole run.
fn covered(run: &Run, check: &Check) -> Option<String> {
    match check.phases.len() {
        0 => None,
        all if all >= run.phases.len() && all > 1 => Some("every test".to_owned()),
        many if many > NAMED => Some(format!("{many} of {} tests", run.phases.len())),
        _ => {
            let names: Vec<String> = check.phases.iter().map(|it| for_people(run, it)).collect();
            // Titles of tests contain commas, so semicolons separate them.
            Some(names.join("; "))
        }
    }
}
