use flashlag_schema::{CheckStatus, Run};
use flashlag_units::InOrder;
use flashlag_views::{Finding, LagVerdict, WaitGroup, WaitSection, format, strip};

use super::figures::Depth;
use crate::line::{Line, Page};
use crate::style::Role;

/// The parts of a wait: in full, a bar for each group.
pub(super) fn waits(page: &mut Page, run: &Run, depth: Depth) {
    // With failed checks the split is uncertain, so only -v shows it.
    if depth == Depth::Short && has_failed(run) {
        return;
    }
    let Some(WaitSection { heading, what, groups }) = flashlag_views::waits(run) else { return };
    page.paragraph(if depth == Depth::Full { Role::Strong } else { Role::Ink }, &heading);
    if depth == Depth::Short {
        return;
    }
    page.paragraph(
        Role::Muted,
        &format!("{what}: █ blocked on storage, ▓ waiting for a CPU, ░ on a CPU"),
    );
    for group in &groups {
        wait(page, group);
    }
}

fn wait(page: &mut Page, group: &WaitGroup) {
    let style = page.style();
    let room = style.columns();
    let (label, bar) = if room >= 76 { (31, 21) } else { (15, 12) };
    let mut line = Line::new(style);
    let role = if group.failures.is_empty() { Role::Ink } else { Role::Muted };
    let wide = format!("{} {}, {}", group.label, group.range, group.stage.to_lowercase());
    let name = if room >= 76 { &wide } else { group.label };
    line.left(role, name, label - 1).add(Role::Ink, " ");
    let columns = |share: f64| ((share * bar as f64).round().max(0.0) as usize).min(bar);
    let blocked = columns(group.blocked.share);
    let waiting = columns(group.waiting_for_cpu.share).min(bar - blocked);
    line.add(Role::InTime, &"█".repeat(blocked));
    line.add(Role::Unknown, &"▓".repeat(waiting));
    line.add(Role::Muted, &"░".repeat(bar - blocked - waiting));
    line.right(role, &format::time(group.mean), 9);
    for part in [&group.blocked, &group.waiting_for_cpu, &group.on_cpu] {
        line.right(role, &format::share(part.share), 6);
    }
    page.push(&line);
}

/// Number of findings in the short summary.
const LISTED: usize = 2;

/// The findings, costliest first.
pub(super) fn findings(page: &mut Page, run: &Run, depth: Depth) {
    // The short summary leaves out waits that users do not notice.
    if depth == Depth::Short && !hitches(run) {
        return;
    }
    let findings = flashlag_views::findings(run);
    let listed = match depth {
        Depth::Full => usize::MAX,
        // Failed checks have advice of their own, and a run without stages must fit a screen.
        Depth::Short if has_failed(run) && flashlag_views::lifecycle(run).is_none() => 1,
        Depth::Short => LISTED,
    };
    let causes = || findings.causes.iter().take(listed);
    if findings.causes.is_empty() {
        no_cause(page, run);
        return;
    }
    if depth == Depth::Full {
        page.paragraph(Role::Strong, &findings.heading);
    }
    let mut counted: Vec<&str> = causes().map(|one| one.per).collect();
    counted.order();
    counted.dedup();
    let counted = counted.join(" or ");
    let all = findings.causes.len();
    let of = if all > listed { format!(" ({listed} of {all}, -v: all)") } else { String::new() };
    let heading = format!("What to do, by the seconds of waiting added to 1,000 {counted}{of}:");
    page.paragraph(Role::Strong, &heading);
    for finding in causes() {
        one(page, finding, depth);
    }
    if depth == Depth::Short {
        return;
    }
    if let Some(overlap) = &findings.overlap {
        page.paragraph(Role::Muted, overlap);
    }
    for ruled_out in &findings.ruled_out {
        let mut head = Line::new(page.style());
        head.right(Role::Muted, "not", 8);
        page.hanging(&head, 10, Role::Muted, &ruled_out.sentence);
    }
}

fn has_failed(run: &Run) -> bool {
    run.trust.checks.iter().any(|check| check.status == CheckStatus::Fail)
}

/// Whether a row is worse than smooth.
fn hitches(run: &Run) -> bool {
    let rows = strip(run).groups.into_iter().flat_map(|group| group.rows);
    rows.filter_map(|row| row.judgement.verdict()).max() > Some(LagVerdict::Smooth)
}

/// For a row that lags: the scenario that would measure its causes, unless this run did.
fn no_cause(page: &mut Page, run: &Run) {
    let rows = strip(run).groups.into_iter().flat_map(|group| group.rows);
    let lags = rows.filter_map(|row| row.judgement.verdict()).max() >= Some(LagVerdict::Lags);
    if lags {
        let replayed = run.phases.iter().any(|phase| phase.replay.is_some());
        let text = if replayed {
            "What to do: ‘flashlag explain FILE’, with the file of this run, says what the app waited \
             for and forecasts what changes would gain."
        } else {
            "What to do: this run measured nothing to compare it by. ‘flashlag run quick’ tries both \
             journals, ‘flashlag run lifecycle’ new, full, deleted and trimmed."
        };
        page.paragraph(Role::Strong, text);
    }
}

fn one(page: &mut Page, finding: &Finding, depth: Depth) {
    let mut head = Line::new(page.style());
    head.right(Role::Late, &seconds(finding.cost_s_per_1000), 8);
    let Finding { cause, would, fix, try_this, evidence, .. } = finding;
    let mut text = format!("{cause}: {}.", would.trim_end_matches('.'));
    match (depth, try_this) {
        (Depth::Short, Some(command)) => text += &format!(" Try: {command}"),
        (Depth::Short, None) => text += &format!(" {fix}"),
        (Depth::Full, _) => {}
    }
    page.hanging(&head, 10, Role::Ink, &text);
    if depth == Depth::Full {
        let command = try_this.as_ref().map(|command| format!(" Try: {command}"));
        let indent = Line::new(page.style());
        let fix = format!("{fix}{}", command.unwrap_or_default());
        page.hanging(&indent, 10, Role::Strong, &fix);
        page.hanging(&indent, 10, Role::Muted, evidence);
    }
}

/// `39 s`, `4.1 s`, `0.3 s`.
fn seconds(seconds: f64) -> String {
    if !seconds.is_finite() {
        return format::NONE.to_owned();
    }
    if seconds < 9.95 {
        format!("{seconds:.1} s")
    } else {
        format!("{} s", format::count(seconds.round() as u64))
    }
}
