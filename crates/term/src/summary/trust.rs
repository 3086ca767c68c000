use flashlag_explain::{CheckCounts, format, trust_heading};
use flashlag_schema::{Check, CheckStatus, Run};

use super::Depth;
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
            one(&mut page, check);
        }
    }
    page.finish()
}

/// The checks that did not pass, with their evidence, and how many did; in full, those too.
pub(super) fn checks(page: &mut Page, run: &Run, depth: Depth) {
    for status in [CheckStatus::Fail, CheckStatus::Unknown] {
        for check in of(run, status) {
            one(page, check);
        }
    }
    let passed = of(run, CheckStatus::Pass);
    if depth == Depth::Full {
        for check in passed {
            one(page, check);
        }
        return;
    }
    let passed = passed.count();
    if passed > 0 {
        let mut head = Line::new(page.style());
        mark(&mut head, CheckStatus::Pass);
        let text = format::plural(passed, "check", "checks");
        page.hanging(&head, INDENT, Role::Ink, &text);
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

/// The claim and its evidence; below a failed or unknown one what to do, and what it covers.
fn one(page: &mut Page, check: &Check) {
    let mut head = Line::new(page.style());
    mark(&mut head, check.status);
    let claim = check.claim.trim_end_matches('.');
    page.hanging(&head, INDENT, Role::Ink, &format!("{claim}: {}", check.detail));
    if check.status == CheckStatus::Pass {
        return;
    }
    let indent = Line::new(page.style());
    if let Some(advice) = &check.advice {
        page.hanging(&indent, INDENT, Role::Strong, &format!("Fix: {advice}"));
    }
    if !check.phases.is_empty() {
        let shown: Vec<&str> = check.phases.iter().take(COVERED).map(String::as_str).collect();
        let more = check.phases.len() - shown.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let text = format!("Do not quote: {}{more}.", shown.join("; "));
        let role = if check.status == CheckStatus::Fail { Role::Late } else { Role::Muted };
        if check.status == CheckStatus::Fail {
            page.hanging(&indent, INDENT, role, &text);
        }
    }
}

/// How many phases are named that a check covers.
const COVERED: usize = 4;
