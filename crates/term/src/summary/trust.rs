use flashlag_schema::{CheckStatus, Run};
use flashlag_views::page::{CheckLine, check_lines};
use flashlag_views::{CheckCounts, NoVerdict, format, inapplicable_checks, trust_heading, whether};

use crate::line::{Line, Page};
use crate::style::{Role, Style};

/// Every check of a run with its evidence, failed ones first, and the verdict over them.
pub fn trust(run: &Run, style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(Role::Strong, &trust_heading(run));
    let counts = format::capitalized(&CheckCounts::of(run).in_words());
    let more = inapplicable_checks(run).map(|text| format!(" {text}")).unwrap_or_default();
    page.paragraph(Role::Ink, &format!("{counts}.{more}"));
    page.gap();
    checks(&mut page, run);
    page.finish()
}

/// Every check with its evidence, failed ones first, and how many do not apply.
pub(super) fn checks(page: &mut Page, run: &Run) {
    check_lines(run).iter().for_each(|check| one(page, check));
    if let Some(text) = inapplicable_checks(run) {
        page.paragraph(Role::Muted, &text);
    }
}

/// Failed checks with their advice, unknown ones with their claims only. The one that prevented a
/// verdict comes first, with all of its evidence.
pub(crate) fn in_short(page: &mut Page, run: &Run, headline: Option<&NoVerdict>) {
    let checks = check_lines(run);
    let of = |status: CheckStatus| checks.iter().filter(move |check| check.status == status);
    let is_said = |check: &&CheckLine| headline.is_some_and(|said| said.id == check.id);
    for check in of(CheckStatus::Fail).filter(is_said) {
        claim_with(page, check, &check.detail);
        fix(page, check);
    }
    for check in of(CheckStatus::Fail).filter(|check| !is_said(check)) {
        failed_in_short(page, check);
    }
    let unknown: Vec<String> =
        of(CheckStatus::Unknown).map(|check| whether(&check.claim)).collect();
    if !unknown.is_empty() {
        let mut head = Line::new(page.style());
        mark(&mut head, CheckStatus::Unknown);
        // Next to failed checks the number of unknown ones is enough.
        let text = match of(CheckStatus::Fail).next() {
            Some(_) if unknown.len() > 1 => {
                format!(
                    "{} could not be decided (-v: which, and why)",
                    format::plural(unknown.len(), "check", "checks")
                )
            }
            _ => format!("{} (-v: why)", unknown.join("; ")),
        };
        page.hanging(&head, INDENT, Role::Muted, &text);
    }
}

/// The claim, the first sentence of the evidence, and the advice; -v has the rest, and tables mark
/// the rows that the check covers.
fn failed_in_short(page: &mut Page, check: &CheckLine) {
    match check.detail.split_once(". ") {
        Some((first, _)) => claim_with(page, check, &format!("{first} (-v: more).")),
        None => claim_with(page, check, &check.detail),
    }
    fix(page, check);
}

/// The mark and the claim, as a question if it is undecided, with its evidence.
fn claim_with(page: &mut Page, check: &CheckLine, evidence: &str) {
    let mut head = Line::new(page.style());
    mark(&mut head, check.status);
    let claim = match check.status {
        CheckStatus::Unknown => whether(&check.claim),
        CheckStatus::Fail | CheckStatus::Pass => check.claim.trim_end_matches('.').to_owned(),
    };
    page.hanging(&head, INDENT, Role::Ink, &format!("{claim}: {evidence}"));
}

fn fix(page: &mut Page, check: &CheckLine) {
    if let Some(advice) = &check.advice {
        let indent = Line::new(page.style());
        page.hanging(&indent, INDENT, Role::Strong, &format!("Fix: {advice}"));
    }
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
fn one(page: &mut Page, check: &CheckLine) {
    claim_with(page, check, &check.detail);
    if check.status == CheckStatus::Pass {
        return;
    }
    fix(page, check);
    if let Some(covers) = check.covers.as_ref().filter(|_| check.status == CheckStatus::Fail) {
        let indent = Line::new(page.style());
        page.hanging(&indent, INDENT, Role::Late, &format!("Do not quote: {covers}."));
    }
}
