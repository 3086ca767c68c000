use flashlag_schema::{Check, CheckStatus, Run};
use flashlag_views::{CheckCounts, NoVerdict, for_people, trust_heading};

use crate::line::{Line, Page};
use crate::style::{Role, Style};

/// Every check of a run with its evidence, failed ones first, and the verdict over them.
pub fn trust(run: &Run, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(Role::Strong, &trust_heading(run));
    page.paragraph(Role::Ink, &format!("{}.", CheckCounts::of(run).in_words()));
    page.gap();
    for status in [CheckStatus::Fail, CheckStatus::Unknown, CheckStatus::Pass] {
        for check in of(run, status) {
            one(&mut page, run, check);
        }
    }
    page.finish()
}

/// Every check with its evidence, failed ones first.
pub(super) fn checks(page: &mut Page, run: &Run) {
    for status in [CheckStatus::Fail, CheckStatus::Unknown, CheckStatus::Pass] {
        for check in of(run, status) {
            one(page, run, check);
        }
    }
}

/// Failed checks with their advice, unknown ones with their claims only. Omits what the headline says
/// of the check that prevented a verdict.
pub(crate) fn in_short(page: &mut Page, run: &Run, headline: Option<&NoVerdict>) {
    let is_said = |check: &&Check| headline.is_some_and(|said| said.id == check.id);
    // First: it follows the headline that it explains.
    for check in of(run, CheckStatus::Fail).filter(is_said) {
        let mut head = Line::new(page.style());
        head.add(Role::Late, "Fix:");
        let advice = check.advice.as_deref().map(|advice| for_people(run, advice));
        page.hanging(&head, 5, Role::Strong, &advice.unwrap_or_else(|| check.claim.clone()));
    }
    for check in of(run, CheckStatus::Fail).filter(|check| !is_said(check)) {
        failed_in_short(page, run, check);
    }
    let unknown: Vec<&str> =
        of(run, CheckStatus::Unknown).map(|check| check.claim.trim_end_matches('.')).collect();
    if !unknown.is_empty() {
        let mut head = Line::new(page.style());
        mark(&mut head, CheckStatus::Unknown);
        // Next to failed checks the number of unknown ones is enough.
        let text = match of(run, CheckStatus::Fail).next() {
            Some(_) if unknown.len() > 1 => {
                format!(
                    "{} could not be decided (-v: which, and why)",
                    flashlag_views::format::plural(unknown.len(), "check", "checks")
                )
            }
            _ => format!("{} (-v: why)", unknown.join(". ")),
        };
        page.hanging(&head, INDENT, Role::Muted, &text);
    }
}

/// The claim, the first sentence of the evidence, and the advice; -v has the rest, and tables mark
/// the rows that the check covers.
fn failed_in_short(page: &mut Page, run: &Run, check: &Check) {
    let mut head = Line::new(page.style());
    mark(&mut head, check.status);
    let claim = check.claim.trim_end_matches('.');
    let detail = for_people(run, &check.detail);
    let text = match detail.split_once(". ") {
        Some((first, _)) => format!("{claim}: {first} (-v: more)."),
        None => format!("{claim}: {detail}"),
    };
    page.hanging(&head, INDENT, Role::Ink, &text);
    if let Some(advice) = &check.advice {
        let indent = Line::new(page.style());
        page.hanging(&indent, INDENT, Role::Strong, &format!("Fix: {}", for_people(run, advice)));
    }
}

/// The tests that a check covers; only the first ones by name.
fn covered(run: &Run, check: &Check) -> String {
    let shown: Vec<String> =
        check.phases.iter().take(COVERED).map(|label| for_people(run, label)).collect();
    match check.phases.len() - shown.len() {
        0 => shown.join("; "),
        more => format!("{} and {more} more", shown.join("; ")),
    }
}

fn of(run: &Run, status: CheckStatus) -> impl Iterator<Item = &Check> {
    run.trust.checks.iter().filter(move |check| check.status == status)
}

const INDENT: usize = 11;

fn mark(line: &mut Line, status: CheckStatus) {
    let (role, text) = match status {
        CheckStatus::Fail => (Role::Late, "✕ fail"),
        CheckStatus::Unknown => (Role::Unknown, "? unknown"),
        CheckStatus::Pass => (Role::Pass, "✓ pass"),
    };
    line.add(role, text);
}

/// The claim and its evidence; below a failed or unknown one the advice, and the tests it covers.
fn one(page: &mut Page, run: &Run, check: &Check) {
    let mut head = Line::new(page.style());
    mark(&mut head, check.status);
    let claim = check.claim.trim_end_matches('.');
    page.hanging(&head, INDENT, Role::Ink, &format!("{claim}: {}", for_people(run, &check.detail)));
    if check.status == CheckStatus::Pass {
        return;
    }
    let indent = Line::new(page.style());
    if let Some(advice) = &check.advice {
        page.hanging(&indent, INDENT, Role::Strong, &format!("Fix: {}", for_people(run, advice)));
    }
    if !check.phases.is_empty() {
        let text = format!("Do not quote: {}.", covered(run, check));
        let role = if check.status == CheckStatus::Fail { Role::Late } else { Role::Muted };
        if check.status == CheckStatus::Fail {
            page.hanging(&indent, INDENT, role, &text);
        }
    }
}

/// Maximum number of named phases of a check.
const COVERED: usize = 4;
