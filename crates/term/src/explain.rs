//! What storage a path is on and why a run lagged: findings, layers, their state.

use flashlag_schema::finding::{Finding, Severity};
use flashlag_schema::{Environment, Run};
use flashlag_units::{Bytes, sanitize};
use flashlag_views::{
    FindingList, Layered, ListedFinding, format, headline, in_words, layered, layers, machine,
    no_purpose_measured, state, story,
};

use crate::line::{Line, Page};
use crate::style::{Role, Style};
use crate::summary::{in_short, other_purposes, over_time, title};

/// Column of the second words of a line.
const INDENT: usize = 21;
/// Findings that are printed without `-v`.
const LISTED: usize = 5;

/// The layers below a path or on a phone, and what to change about them. `subject` is as typed.
pub fn set_up(
    subject: &str,
    environment: &Environment,
    findings: &[Finding],
    style: Style,
    full: bool,
) -> String {
    let mut page = Page::new(style);
    let machine = machine(environment).map(|machine| format!(" on {machine}"));
    page.paragraph(Role::Muted, &(sanitize(subject) + &machine.unwrap_or_default()));
    page.gap();
    let list = in_words(None, Some(environment), findings);
    listed(&mut page, &list, full);
    if findings.iter().any(|one| one.severity != Severity::Misleading) {
        page.gap();
        page.paragraph(
            Role::Muted,
            "How much each would gain here was not measured: `flashlag run quick -o RUN.json`, then \
             `flashlag explain RUN.json`.",
        );
    }
    page.gap();
    page.paragraph(Role::Muted, &no_purpose_measured());
    page.gap();
    below(&mut page, environment, None);
    page.finish()
}

/// The story of a run in five sentences, what each layer did, then the findings by what they cost, and
/// what the storage lay on.
pub fn explained(run: &Run, findings: &[Finding], style: Style, full: bool) -> String {
    let mut page = Page::new(style);
    in_sentences(&mut page, run, findings, full);
    other_purposes(&mut page, run, full);
    if let Some(layered) = layered(run) {
        page.gap();
        through(&mut page, &layered);
    }
    page.gap();
    listed(&mut page, &in_words(Some(run), Some(&run.environment), findings), full);
    ruled_out(&mut page, run);
    // A simulation, and a file of an older version, say nothing about layers.
    if !run.environment.layers.is_empty() {
        page.gap();
        below(&mut page, &run.environment, Some(run));
    }
    page.finish()
}

/// The five sentences, whether to believe them, and what happened over time.
fn in_sentences(page: &mut Page, run: &Run, findings: &[Finding], full: bool) {
    title(page, run);
    page.gap();
    let story = story(run, findings);
    for (index, sentence) in story.sentences().into_iter().enumerate() {
        let role = if index == 1 { Role::Strong } else { Role::Ink };
        page.paragraph(role, sentence);
    }
    page.gap();
    let headline = headline(run);
    page.paragraph(Role::Ink, &headline.believe.statement);
    if headline.no_verdict.is_some() {
        page.gap();
        in_short(page, run, headline.no_verdict.as_ref());
    }
    page.gap();
    over_time(page, run, full);
}

/// Columns of a bar.
const BAR: usize = 12;

/// One save or write, layer by layer.
fn through(page: &mut Page, layered: &Layered) {
    let Layered { one, title, mean, rows } = layered;
    let mean = format::time(*mean);
    page.paragraph(Role::Strong, &format!("A mean {one} of {mean}, layer by layer ({title})"));
    let wide = page.style().columns() >= 76;
    let most = layered.most_bytes().max(1.0);
    let bar = |share: f64| {
        let columns = (share * BAR as f64).ceil().clamp(0.0, BAR as f64) as usize;
        "█".repeat(columns)
    };
    for row in rows {
        let mut head = Line::new(page.style());
        head.add(Role::Ink, "  ").left(Role::Muted, row.name, 13);
        let bytes = row.bytes.map(|bytes| Bytes(bytes.round() as u64).to_string());
        head.right(Role::Ink, &bytes.unwrap_or_default(), 8).add(Role::Ink, " ");
        if wide {
            let share = row.bytes.unwrap_or_default() / most;
            head.left(Role::InTime, &bar(share), BAR).add(Role::Ink, " ");
        }
        let time = row.time.map(format::time).unwrap_or_default();
        head.right(Role::Ink, &time, 8).add(Role::Ink, " ");
        if wide {
            head.left(Role::Late, &bar(layered.share(row)), BAR).add(Role::Ink, " ");
        }
        let indent = head.used();
        page.hanging(&head, indent, Role::Muted, &row.detail());
    }
}

/// Suspicions that the measurements refute.
fn ruled_out(page: &mut Page, run: &Run) {
    let refuted = flashlag_views::findings(run).ruled_out;
    if !refuted.is_empty() {
        page.gap();
    }
    for one in refuted {
        let mut head = Line::new(page.style());
        head.right(Role::Muted, "not", 8);
        page.hanging(&head, 10, Role::Muted, &one.sentence);
    }
}

fn listed(page: &mut Page, list: &FindingList, full: bool) {
    page.paragraph(Role::Strong, &format!("{}.", list.heading));
    let most = if full { usize::MAX } else { LISTED };
    for one in list.findings.iter().take(most) {
        page.gap();
        piece(page, one, full);
    }
    let more = list.findings.len().saturating_sub(most);
    if more > 0 {
        page.gap();
        page.paragraph(Role::Muted, &format!("{more} more with -v."));
    }
    if list.findings.iter().any(|one| one.cost_s_per_1000.is_some()) {
        page.gap();
        page.paragraph(
            Role::Muted,
            "Seconds are what each adds to 1,000 operations. Costs overlap: removing one shrinks the \
             others.",
        );
    }
}

fn piece(page: &mut Page, finding: &ListedFinding, full: bool) {
    let role = match finding.severity {
        Severity::Danger => Role::Late,
        Severity::Misleading => Role::Muted,
        _ => Role::Strong,
    };
    let mut head = Line::new(page.style());
    let cost = finding.cost_s_per_1000.filter(|cost| *cost > 0.0);
    let mark = match (finding.severity, cost) {
        (Severity::Danger, _) | (_, None) => finding.mark.to_owned(),
        (_, Some(cost)) => format::seconds(cost),
    };
    head.right(role, &mark, 8);
    page.hanging(&head, 10, Role::Ink, &finding.finding);
    let indent = Line::new(page.style());
    if let Some(effect) = &finding.effect {
        page.hanging(&indent, 10, Role::Ink, effect);
    }
    page.hanging(&indent, 10, Role::Strong, &finding.action);
    if let Some(price) = finding.price {
        page.hanging(
            &indent,
            10,
            Role::Ink,
            &format!("The price: {}", format::decapitalized(price)),
        );
    }
    page.hanging(&indent, 10, Role::Muted, &format!("Seen: {}", finding.evidence.join("; ")));
    for (index, command) in finding.commands.iter().enumerate() {
        let head = if index == 0 { "Try: " } else { "     " };
        let mut line = Line::new(page.style());
        line.right(Role::Muted, head, 15);
        page.hanging(&line, 15, Role::Muted, command);
    }
    if full {
        if let Some(unknown) = &finding.unknown {
            page.hanging(&indent, 10, Role::Muted, &format!("No figure: {unknown}."));
        }
        page.hanging(&indent, 10, Role::Muted, &format!("Why: {}", finding.source));
    }
}

fn below(page: &mut Page, environment: &Environment, run: Option<&Run>) {
    let rows = layers(environment);
    if rows.is_empty() {
        let reason = environment.filesystem.kind.reason().unwrap_or("nothing is known");
        page.paragraph(Role::Ink, &format!("What a write passes through is not known: {reason}."));
        return;
    }
    page.paragraph(Role::Strong, "A write passes through");
    for row in rows {
        let mut head = Line::new(page.style());
        head.add(Role::Ink, "  ").left(Role::Muted, row.what, INDENT - 2);
        page.hanging(&head, INDENT, Role::Ink, &row.name);
    }
    let state = state(environment, run);
    if !state.is_empty() {
        page.gap();
        page.paragraph(Role::Strong, "Its state");
    }
    for (subject, words) in state {
        let mut head = Line::new(page.style());
        head.add(Role::Ink, "  ").left(Role::Muted, subject, INDENT - 2);
        page.hanging(&head, INDENT, Role::Ink, &words);
    }
}
