//! The summary of a run on a terminal: first the verdict and what to do about it, then the picture,
//! the figures, the failed checks, and the cost.

mod card;
mod commits;
mod cost;
mod figures;
mod rates;
mod replayed;
mod required;
mod stages;
mod trust;
mod why;

use flashlag_schema::Run;
use flashlag_units::sanitize;
use flashlag_views::page::{named_rows, storage};
use flashlag_views::{
    Headline, StripGroup, StripRow, device_name, filesystem_name, headline, strip, two_times,
};

use crate::line::{Line, Page};
use crate::picture::{Bar, Picture, caveat, caveats, key};
use crate::style::{Role, Style};
use crate::text::sanitize_parts;

pub use cost::files;
use figures::{Depth, has_many_saves};
pub(crate) use required::others as other_purposes;
pub(crate) use trust::in_short;
pub use trust::trust;

/// The verdict of a run as one paragraph: how the device lags, and whether to believe that.
pub fn verdict(run: &Run, style: Style) -> String {
    let Headline { sentence, more, believe, no_verdict } = headline(run);
    let failed = no_verdict.map(|why| why.failed_checks()).unwrap_or_default();
    let parts = [sentence, failed, more, believe.statement];
    let parts: Vec<&str> =
        parts.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    let mut page = Page::new(style);
    page.paragraph(Role::Ink, &parts.join(" "));
    page.finish()
}

/// The short summary of a run, at most `style.width` columns wide.
pub fn summary(run: &Run, style: Style) -> String {
    write(run, style, Depth::Short)
}

/// The full summary of a run: also steady states, ranks among published devices, the number of saves
/// longer than a frame, the parts of each wait, every stalled phase, and the evidence of every finding
/// and check.
pub fn summary_in_full(run: &Run, style: Style) -> String {
    write(run, style, Depth::Full)
}

fn write(run: &Run, style: Style, depth: Depth) -> String {
    let mut page = Page::new(style);
    let headline = headline(run);
    title(&mut page, run);
    page.gap();
    answer(&mut page, &headline);
    let checks = |page: &mut Page| match depth {
        Depth::Short => trust::in_short(page, run, headline.no_verdict.as_ref()),
        Depth::Full => trust::checks(page, run),
    };
    if headline.no_verdict.is_some() {
        // The reason of a missing verdict comes before figures that must not be quoted.
        page.gap();
        checks(&mut page);
    }
    let sections: &[fn(&mut Page, &Run, Depth)] = match depth {
        Depth::Short => &[
            card::proof,
            required::good_enough,
            rates::rates_of,
            why::findings,
            picture,
            figures::tests,
            replayed::replayed,
            commits::commits,
            stages::fills,
            stages::events,
            why::waits,
            required::purposes,
        ],
        Depth::Full => &[
            card::proof,
            required::good_enough,
            rates::rates_of,
            why::findings,
            picture,
            figures::tests,
            replayed::replayed,
            figures::sizes,
            figures::durable_writes,
            figures::saves,
            commits::commits,
            stages::fills,
            stages::events,
            why::waits,
            required::purposes,
            figures::places,
        ],
    };
    for section in sections {
        page.gap();
        section(&mut page, run, depth);
    }
    page.gap();
    if headline.no_verdict.is_none() {
        checks(&mut page);
    }
    cost::not_done(&mut page, run, depth);
    page.gap();
    cost::cost(&mut page, run, depth);
    page.finish()
}

/// The stalls and changes of a run.
pub(crate) fn over_time(page: &mut Page, run: &Run, full: bool) {
    stages::events(page, run, if full { Depth::Full } else { Depth::Short });
}

/// The scenario, the device and the machine.
pub(crate) fn title(page: &mut Page, run: &Run) {
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

/// The device with its known properties: `Sample Tablet T, 32 GB eMMC, f2fs`.
fn device(run: &Run) -> String {
    let parts = [Some(device_name(run)), storage(run), filesystem_name(run)];
    parts.into_iter().flatten().collect::<Vec<String>>().join(", ")
}

fn answer(page: &mut Page, headline: &Headline) {
    page.paragraph(Role::Strong, &headline.sentence);
    if !headline.more.is_empty() {
        page.paragraph(Role::Ink, &headline.more);
    }
    page.paragraph(Role::Ink, &headline.believe.statement);
}

/// The picture, its key and its footnotes.
fn picture(page: &mut Page, run: &Run, depth: Depth) {
    let strip = strip(run);
    let rows = || strip.groups.iter().flat_map(|group| &group.rows);
    if rows().next().is_none() {
        return;
    }
    let rated = depth == Depth::Short && has_many_saves(run);
    let bar = |row| Bar { rate: rated.then(|| rate(run, row)).flatten(), ..Bar::from(row) };
    let picture = Picture::over(page.style(), rows().map(bar));
    picture.head(page);
    for StripGroup { title, rows, .. } in &strip.groups {
        page.paragraph(Role::Strong, title);
        for row in rows {
            picture.bar(page, &bar(row));
        }
    }
    picture.foot(page);
    key(page, rows().any(|row| !row.trusted()));
    let names = named_rows(&strip);
    let judgements = names.iter().map(String::as_str).zip(rows().map(|row| &row.judgement));
    match depth {
        Depth::Short => caveat(page, judgements),
        Depth::Full => caveats(page, judgements),
    }
    if let Some(note) = two_times(run, &strip) {
        page.paragraph(Role::Muted, &note);
    }
}

/// Operations a second of a row's phase.
fn rate(run: &Run, row: &StripRow) -> Option<f64> {
    run.phases.get(row.phase).map(|phase| phase.ops_per_sec)
}
