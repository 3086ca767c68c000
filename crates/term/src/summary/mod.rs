//! The end of a run on a terminal: the answer first, then the picture, the figures, what to do
//! about it, what was not to be trusted, and what it cost.

mod commits;
mod cost;
mod figures;
mod stages;
mod trust;
mod why;

use flashlag_explain::kind_name;
use flashlag_explain::{Headline, StripGroup, headline, strip};
use flashlag_schema::Run;

use crate::line::{Line, Page};
use crate::picture::{Bar, Picture, caveats, key};
use crate::style::{Role, Style};
use crate::text::{sanitize, sanitize_parts};

pub use cost::files;
pub use trust::trust;

/// The summary of a run: what a person wants to know when it ends. At most `style.width` columns
/// wide.
pub fn summary(run: &Run, style: Style) -> String {
    write(run, style, Depth::Short)
}

/// The summary with everything that the run holds: where the tests stand among published devices,
/// where each wait went, every stalled phase, the evidence of every finding and every check.
pub fn summary_in_full(run: &Run, style: Style) -> String {
    write(run, style, Depth::Full)
}

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    Short,
    Full,
}

fn write(run: &Run, style: Style, depth: Depth) -> String {
    let mut page = Page::new(style);
    let headline = headline(run);
    title(&mut page, run);
    page.gap();
    answer(&mut page, &headline);
    if headline.no_verdict.is_some() {
        // Why there is none comes before figures that must not be quoted.
        page.gap();
        trust::checks(&mut page, run, depth);
    }
    let sections: [fn(&mut Page, &Run, Depth); 11] = [
        picture,
        figures::tests,
        figures::sizes,
        figures::durable_writes,
        figures::saves,
        commits::commits,
        stages::fills,
        stages::events,
        why::findings,
        why::waits,
        figures::places,
    ];
    for section in sections {
        page.gap();
        section(&mut page, run, depth);
    }
    page.gap();
    if headline.no_verdict.is_none() {
        trust::checks(&mut page, run, depth);
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
    line.add(Role::Muted, &sanitize_parts(&text));
    if line.used() <= page.style().columns() {
        page.push(&line);
    } else {
        page.paragraph(Role::Muted, &sanitize(&text));
    }
}

/// `Sample Tablet T, 32 GB emmc, f2fs`: what could be read of it, else the target as typed.
fn device(run: &Run) -> String {
    let environment = &run.environment;
    let size = environment.device.size_bytes.value().map(|bytes| bytes.to_string());
    let kind = environment.device.kind.value().map(|kind| kind_name(kind).to_owned());
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
    page.paragraph(Role::Ink, &headline.believe.statement);
}

/// The strip, its key and its footnotes.
fn picture(page: &mut Page, run: &Run, _: Depth) {
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
