use flashlag_schema::{Run, RunStatus};
use flashlag_units::Bytes;
use flashlag_views::page::{done_otherwise, not_run};
use flashlag_views::{lifecycle, phase_title};

use super::figures::Depth;
use crate::line::{Line, Page};
use crate::style::{Role, Style};

/// Skipped steps, requests that were not honoured, and how an incomplete run ended.
pub(super) fn not_done(page: &mut Page, run: &Run, depth: Depth) {
    let status = match &run.status {
        RunStatus::Complete => None,
        RunStatus::Running { .. } => {
            Some("It did not finish: only finished tests are shown.".to_owned())
        }
        RunStatus::Interrupted { .. } => {
            let cut = run.phases.iter().any(|phase| phase.cut_short);
            let rest =
                if cut { "what was finished before is whole" } else { "what is here was finished" };
            Some(format!("It was stopped: {rest}."))
        }
        RunStatus::Failed { error, .. } => Some(format!("It failed: {error}")),
    };
    if let Some(status) = status {
        page.paragraph(Role::Late, &status);
    }
    // The short summary names it in the table of stages.
    let said = depth == Depth::Short && lifecycle(run).is_some();
    for line in not_run(run).iter().filter(|_| !said) {
        noted(page, "not run", line);
    }
    for line in done_otherwise(run) {
        noted(page, "otherwise", &line);
    }
    for phase in run.phases.iter().filter(|phase| phase.cut_short) {
        noted(page, "cut short", &phase_title(run, phase));
    }
}

fn noted(page: &mut Page, what: &str, text: &str) {
    let mut head = Line::new(page.style());
    head.add(Role::Muted, what);
    page.hanging(&head, 11, Role::Ink, text);
}

/// The cost of the run: bytes, time, and the share of the device's life if it is known.
pub(super) fn cost(page: &mut Page, run: &Run, depth: Depth) {
    let written = run.wear.written_bytes;
    let text = flashlag_views::cost(run);
    page.paragraph(Role::Ink, &format!("{text}."));
    if depth == Depth::Full
        && written > Bytes::ZERO
        && let Some(reason) = run.wear.life_percent.reason()
    {
        page.paragraph(Role::Muted, &format!("Share of the device's life: unknown, {reason}."));
    }
}

/// The paths of files, one line each, for the end of a summary: `Report  report.html`.
pub fn files(named: &[(&str, &str)], style: Style) -> String {
    let mut page = Page::new(style);
    for (what, path) in named {
        let mut head = Line::new(style);
        head.add(Role::Muted, what);
        page.hanging(&head, 11, Role::Strong, path);
    }
    page.finish()
}
