//! What a path lies on: its layers, their state, and advice.

use flashlag_schema::{Environment, Run};
use flashlag_units::sanitize;
use flashlag_views::{Advice, SetUp, advice, layers, machine, state};

use crate::line::{Line, Page};
use crate::style::{Role, Style};
use crate::summary::story;

/// Column of the second words of a line.
const INDENT: usize = 21;

/// What is below a path, and what to change about it. `subject` is the path as typed.
pub fn set_up(subject: &str, environment: &Environment, style: Style, full: bool) -> String {
    let mut page = Page::new(style);
    let machine = machine(environment).map(|machine| format!(" on {machine}"));
    page.paragraph(Role::Muted, &(sanitize(subject) + &machine.unwrap_or_default()));
    page.gap();
    all_of(&mut page, environment, full);
    page.finish()
}

/// The story of a run: its verdict, what was waited for and the causes, then what the storage lay on.
pub fn explained(run: &Run, style: Style, full: bool) -> String {
    let mut page = Page::new(style);
    story(&mut page, run, full);
    // A simulation, and a file of an older version, say nothing of layers.
    if !run.environment.layers.is_empty() {
        page.gap();
        all_of(&mut page, &run.environment, full);
    }
    page.finish()
}

fn all_of(page: &mut Page, environment: &Environment, full: bool) {
    let SetUp { heading, advice } = advice(environment);
    page.paragraph(Role::Strong, &format!("{heading}."));
    for one in &advice {
        page.gap();
        piece(page, one, full);
    }
    page.gap();
    below(page, environment);
}

fn piece(page: &mut Page, advice: &Advice, full: bool) {
    let role = match advice.mark {
        "danger" => Role::Late,
        "note" => Role::Muted,
        _ => Role::Strong,
    };
    let mut head = Line::new(page.style());
    head.right(role, advice.mark, 8);
    page.hanging(&head, 10, Role::Ink, advice.finding);
    let indent = Line::new(page.style());
    page.hanging(&indent, 10, Role::Strong, advice.action);
    if let Some(price) = advice.price {
        page.hanging(&indent, 10, Role::Ink, &format!("The price: {}", lowered(price)));
    }
    page.hanging(&indent, 10, Role::Muted, &format!("Seen: {}", advice.evidence.join("; ")));
    if full {
        page.hanging(&indent, 10, Role::Muted, &format!("Why: {}", advice.source));
    }
}

fn lowered(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

fn below(page: &mut Page, environment: &Environment) {
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
    let state = state(environment);
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
