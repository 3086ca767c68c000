//! The end of a run on a terminal: the answer first, then the picture, the figures, what to do
//! about it, what was not to be trusted, and what it cost.

mod cost;
mod figures;
mod stages;
mod trust;
mod why;

use flashlag_explain::{Believe, Headline, StripGroup, headline, strip};
use flashlag_explain::{Judgement, format};
use flashlag_schema::Run;

use crate::line::{Line, Page};
use crate::picture::{Bar, Picture};
use crate::style::{Role, Style};
use crate::text::sanitize;

pub use cost::files;
pub use trust::trust;

/// The summary of a run, at most `style.width` columns wide.
pub fn summary(run: &Run, style: Style) -> String {
    let mut page = Page::new(style);
    let headline = headline(run);
    title(&mut page, run);
    page.gap();
    answer(&mut page, &headline);
    if headline.no_verdict.is_some() {
        // Why there is none comes before figures that must not be quoted.
        page.gap();
        trust::not_passed(&mut page, run);
    }
    page.gap();
    picture(&mut page, run);
    page.gap();
    figures::tests(&mut page, run);
    page.gap();
    figures::durable_writes(&mut page, run);
    page.gap();
    figures::saves(&mut page, run);
    page.gap();
    stages::fills(&mut page, run);
    page.gap();
    stages::events(&mut page, run);
    page.gap();
    why::waits(&mut page, run);
    page.gap();
    why::findings(&mut page, run);
    page.gap();
    if headline.no_verdict.is_none() {
        trust::not_passed(&mut page, run);
    }
    page.gap();
    cost::not_done(&mut page, run);
    page.gap();
    cost::cost(&mut page, run);
    page.finish()
}

/// What ran, on what.
fn title(page: &mut Page, run: &Run) {
    let program = format!("flashlag {}", run.flashlag.version);
    let text = format!("{program}  {}  {}", run.scenario.name, device(run));
    let mut line = Line::new(page.style());
    line.add(Role::Muted, &sanitize_each(&text));
    if line.used() <= page.style().columns() {
        page.push(&line);
    } else {
        page.paragraph(Role::Muted, &sanitize(&text));
    }
}

/// Keeps the double spaces between the parts.
fn sanitize_each(text: &str) -> String {
    text.split("  ").map(sanitize).collect::<Vec<_>>().join("  ")
}

/// `Sample Tablet T, 32 GB emmc, f2fs`: what could be read of it, else the target as typed.
fn device(run: &Run) -> String {
    let environment = &run.environment;
    let size = environment.device.size_bytes.value().map(|bytes| bytes.to_string());
    let kind = environment.device.kind.value().cloned();
    let disk: Vec<String> = size.into_iter().chain(kind).collect();
    let parts = [
        environment.software.machine.value().cloned(),
        (!disk.is_empty()).then(|| disk.join(" ")),
        environment.filesystem.kind.value().cloned(),
    ];
    let known: Vec<String> = parts.into_iter().flatten().collect();
    if known.is_empty() { run.target.name.clone() } else { known.join(", ") }
}

fn answer(page: &mut Page, headline: &Headline) {
    page.paragraph(Role::Strong, &headline.sentence);
    if !headline.more.is_empty() {
        page.paragraph(Role::Ink, &headline.more);
    }
    let Believe { sentence, .. } = &headline.believe;
    if !sentence.is_empty() {
        let mut head = Line::new(page.style());
        head.add(Role::Strong, "Can you believe it? ");
        page.hanging_after(&head, Role::Ink, sentence);
    }
}

/// The strip, its key and its footnotes.
fn picture(page: &mut Page, run: &Run) {
    let strip = strip(run);
    let rows = || strip.groups.iter().flat_map(|group| &group.rows);
    if rows().next().is_none() {
        return;
    }
    let picture = Picture::over(page.style(), rows().map(Bar::from));
    picture.head(page);
    for StripGroup { title, rows, .. } in &strip.groups {
        page.paragraph(Role::Strong, title);
        for row in rows {
            picture.bar(page, &Bar::from(row));
        }
    }
    picture.foot(page);
    key(page);
    caveats(page, rows().map(|row| (row.label.as_str(), &row.judgement)));
}

fn key(page: &mut Page) {
    let texts = [
        "● median  ━ to p99  ─┤ to p99.9  ◇ longest  log scale  late: over 16.67 ms",
        "● median  ━ to p99  ─┤ to p99.9  ◇ longest  log scale",
        "● p50 ━ p99 ─┤ p99.9 ◇ longest",
    ];
    let mut line = Line::new(page.style());
    let room = page.style().columns();
    let fits = texts.iter().find(|text| crate::text::width(text) <= room);
    line.add(Role::Muted, fits.unwrap_or(&texts[2]));
    page.push(&line);
}

/// How many caveats are told one by one.
const CAVEATS: usize = 3;

/// What must be said beside a verdict, and which rows have none.
fn caveats<'a>(page: &mut Page, rows: impl Iterator<Item = (&'a str, &'a Judgement)>) {
    let told: Vec<(&str, &String)> = rows
        .filter_map(|(label, judgement)| match judgement {
            Judgement::Judged { caveat: Some(caveat), .. } => Some((label, caveat)),
            _ => None,
        })
        .collect();
    for (label, caveat) in told.iter().take(CAVEATS) {
        let mut head = Line::new(page.style());
        head.add(Role::Muted, "*");
        page.hanging(&head, 2, Role::Muted, &format!("{label}: {caveat}"));
    }
    if told.len() > CAVEATS {
        let more = format::count((told.len() - CAVEATS) as u64);
        page.paragraph(Role::Muted, &format!("* and {more} more rows over few values"));
    }
}
