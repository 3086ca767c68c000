//! The table of all devices, on pages that need no script; with one, the first page searches, sorts
//! and filters all rows.

use askama::Template;
use flashlag_explain::LagVerdict;
use flashlag_report::parts::Markup;
use flashlag_spec::PackedText;
use flashlag_views::format;

use crate::cells::{Cell, cells};
use crate::frame::{Page, embedded};
use crate::model::{Row, Site};
use crate::{Options, data, words};

/// Rows on the first page, which must open at once, and on each further page.
const FIRST: usize = 200;
const EACH: usize = 1000;

/// Packed by the build script.
static SCRIPT: PackedText = PackedText::new(include_bytes!(concat!(env!("OUT_DIR"), "/index.js")));

#[derive(Template)]
#[template(path = "index.html")]
struct Body {
    heading: String,
    lede: String,
    /// The number of this page from 1, and the number of pages.
    page: (usize, usize),
    rows: Vec<Line>,
    before: Option<String>,
    after: Option<String>,
    /// Whether any run had a mount option that keeps a sync from flushing the device.
    no_flush: bool,
    /// Whether the page has the script's controls.
    controls: bool,
}

/// A row in words.
struct Line {
    href: String,
    device: String,
    kind: String,
    size: String,
    filesystem: String,
    age: String,
    fill: String,
    runs: String,
    verdict: (&'static str, &'static str),
    cells: Vec<Cell>,
}

/// Every page of the table: path and page.
pub(crate) fn pages(site: &Site<'_>, options: &Options) -> Vec<(String, String)> {
    let (first, rest) = site.rows.split_at(site.rows.len().min(FIRST));
    let parts: Vec<&[Row]> = std::iter::once(first).chain(rest.chunks(EACH)).collect();
    let count = parts.len();
    let path = |page: usize| match page {
        1 => "index.html".to_owned(),
        page => format!("devices-{page}.html"),
    };
    let no_flush = site.is_any_without_flush();
    let page = |(at, rows): (usize, &&[Row])| {
        let number = at + 1;
        let body = Body {
            heading: heading(site),
            lede: lede(site),
            page: (number, count),
            rows: rows.iter().map(|row| line(site, row)).collect(),
            before: (number > 1).then(|| path(number - 1)),
            after: (number < count).then(|| path(number + 1)),
            no_flush,
            controls: number == 1,
        };
        let page = Page {
            title: format!("{}: how their storage lags", heading(site)),
            root: "",
            style: Markup::default(),
            body: Markup::of(&body),
            script: (number == 1).then(|| (SCRIPT.text(), embedded(&data::table(site)))),
        };
        (path(number), page.html(site, options))
    };
    parts.iter().enumerate().map(page).collect()
}

fn heading(site: &Site<'_>) -> String {
    let runs = site.entries.iter().filter(|entry| entry.is_good()).count();
    format!("{}, {}", words::counted(site.devices.len(), "device"), words::counted(runs, "run"))
}

/// How many rows have each verdict.
fn lede(site: &Site<'_>) -> String {
    let of = |verdict| site.rows.iter().filter(|row| row.verdict == verdict).count();
    let all = LagVerdict::ALL.into_iter().map(Some).chain([None]);
    let counted = all.map(|it| (of(it), words::verdict(it).0)).filter(|(count, _)| *count > 0);
    let parts: Vec<String> =
        counted.map(|(count, word)| format!("{word} {}", format::count(count as u64))).collect();
    if parts.is_empty() {
        "No run counts yet.".to_owned()
    } else {
        format!("By device and set-up: {}.", parts.join(", "))
    }
}

fn line(site: &Site<'_>, row: &Row) -> Line {
    let device = &site.devices[row.device];
    let facts = device.facts(site);
    Line {
        href: device.path(),
        device: device.name.clone(),
        kind: words::kind(facts.and_then(|facts| facts.kind.as_deref())),
        size: words::size(facts.and_then(|facts| facts.size_bytes)),
        filesystem: row.set_up.filesystem.clone(),
        age: row.set_up.age.clone(),
        fill: row.set_up.fill_and_state(),
        runs: format::count(row.runs.len() as u64),
        verdict: words::verdict(row.verdict),
        cells: cells(row),
    }
}
