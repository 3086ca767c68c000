use flashlag_explain::{Finding, WaitGroup, WaitSection, format};

use flashlag_schema::Run;

use crate::line::{Line, Page};
use crate::style::Role;

/// Where the wait goes: a full bar for each group.
pub(super) fn waits(page: &mut Page, run: &Run) {
    let Some(WaitSection { heading, what, groups }) = flashlag_explain::waits(run) else { return };
    page.paragraph(Role::Strong, &heading);
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
    let (label, bar) = if room >= 76 { (30, 24) } else { (18, 14) };
    let mut line = Line::new(style);
    let role = if group.failures.is_empty() { Role::Ink } else { Role::Muted };
    let wide = format!("{} {}, {}", group.label, group.range, group.stage.to_lowercase());
    let name = if room >= 76 { &wide } else { group.label };
    line.left(role, name, label);
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

/// What to change, costliest first.
pub(super) fn findings(page: &mut Page, run: &Run) {
    let findings = flashlag_explain::findings(run);
    if findings.causes.is_empty() {
        return;
    }
    page.paragraph(Role::Strong, &findings.heading);
    let per = findings.causes.first().map(|finding| finding.per).unwrap_or("saves");
    page.paragraph(Role::Muted, &format!("Seconds of waiting added to 1,000 {per}:"));
    for finding in &findings.causes {
        one(page, finding);
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

fn one(page: &mut Page, finding: &Finding) {
    let mut head = Line::new(page.style());
    let cost = seconds(finding.cost_s_per_1000);
    head.right(Role::Late, &cost, 8);
    page.hanging(&head, 10, Role::Ink, &format!("{}: {}.", finding.cause, finding.would));
    let fix = match &finding.try_this {
        Some(command) => format!("{} Try: {command}", finding.fix),
        None => finding.fix.clone(),
    };
    let indent = Line::new(page.style());
    page.hanging(&indent, 10, Role::Strong, &fix);
    if !finding.evidence.is_empty() {
        page.hanging(&indent, 10, Role::Muted, &finding.evidence);
    }
}

/// `39 s`, `4.1 s`, `0.3 s`.
fn seconds(seconds: f64) -> String {
    if !seconds.is_finite() {
        return format::NONE.to_owned();
    }
    if seconds < 9.95 { format!("{seconds:.1} s") } else { format!("{seconds:.0} s") }
}
