//! Blocks of text, lists and small tables.

use askama::Template;
use flashlag_schema::{CheckId, CheckStatus};
use flashlag_units::Bytes;
use flashlag_views::page::{Block, CheckLine, Flag, Matrix, status_name};
use flashlag_views::{LayerShare, Layered, WaitGroup, WaitPart, WaitSection, format};

use crate::chart::{plain_bar, split_bar, status_icon};
use crate::markup::Markup;

/// Blocks that consist of text alone.
#[derive(Template)]
#[template(path = "block/plain.html")]
struct Plain<'a> {
    block: &'a Block,
}

pub(super) fn plain(block: &Block) -> Markup {
    Markup::of(&Plain { block })
}

/// The anchor of a check on the page.
fn anchor(id: CheckId) -> String {
    format!("check-{}", id.name().replace('_', "-"))
}

#[derive(Template)]
#[template(
    source = " <a class=\"flag\" href=\"#{{ href }}\" aria-label=\"failed check: {{ claim }}\">✕ failed check</a>",
    ext = "html"
)]
struct FlagLink<'a> {
    href: String,
    claim: &'a str,
}

/// A link to the failed check of a row, after its label; empty without one.
pub(crate) fn flagged(flag: Option<&Flag>) -> Markup {
    flag.map_or_else(Markup::default, |flag| {
        Markup::of(&FlagLink { href: anchor(flag.check), claim: &flag.claim })
    })
}

fn named(status: &CheckStatus) -> &'static str {
    status_name(*status)
}

fn icon(status: &CheckStatus) -> Markup {
    status_icon(*status)
}

#[derive(Template)]
#[template(path = "block/trust.html")]
struct Checks<'a> {
    /// For each check: its anchor, if it is the first of its kind, its icon, and the check itself.
    checks: Vec<(Option<String>, Markup, &'a CheckLine)>,
}

pub(super) fn checks(checks: &[CheckLine]) -> Markup {
    let row = |(index, check): (usize, &'_ CheckLine)| {
        let seen = checks.iter().take(index).any(|before| before.id == check.id);
        (!seen).then(|| anchor(check.id))
    };
    let rows = checks.iter().enumerate().map(|one| (row(one), status_icon(one.1.status), one.1));
    Markup::of(&Checks { checks: rows.collect() })
}

#[derive(Template)]
#[template(path = "block/layered.html")]
struct Layers {
    caption: String,
    rows: Vec<LayerRow>,
}

struct LayerRow {
    name: &'static str,
    bytes: String,
    bytes_bar: Option<Markup>,
    time: String,
    time_bar: Option<Markup>,
    detail: String,
}

pub(super) fn layers(layered: &Layered) -> Markup {
    let most = layered.most_bytes().max(1.0);
    let unknown = || format::NONE.to_owned();
    let row = |row: &LayerShare| LayerRow {
        name: row.name,
        bytes: row.bytes.map_or_else(unknown, |bytes| Bytes(bytes.round() as u64).to_string()),
        bytes_bar: row.bytes.map(|bytes| plain_bar(bytes / most)),
        time: row.time.map_or_else(unknown, format::time),
        time_bar: row.time.map(|_| plain_bar(layered.share(row))),
        detail: row.detail(),
    };
    let rows = layered.rows.iter().map(row).collect();
    Markup::of(&Layers { caption: layered.caption(), rows })
}

#[derive(Template)]
#[template(path = "block/waits.html")]
struct Waits<'a> {
    what: &'a str,
    rows: Vec<WaitRow>,
}

struct WaitRow {
    label: String,
    range: String,
    flag: Markup,
    doubt: bool,
    mean: String,
    bar: Markup,
    parts: [(String, String); 3],
}

pub(super) fn waits(waits: &WaitSection) -> Markup {
    let part = |part: WaitPart| (format::time(part.time), format::share(part.share));
    let row = |group: &WaitGroup| WaitRow {
        label: format!("{}, {}", group.label, group.stage.to_lowercase()),
        range: format!("{}, n = {}; {}", group.range, format::count(group.n), group.basis()),
        flag: flagged(Flag::of(&group.failures).as_ref()),
        doubt: !group.failures.is_empty(),
        mean: format::time(group.mean),
        bar: split_bar(group),
        parts: [group.on_cpu, group.waiting_for_cpu, group.blocked].map(part),
    };
    Markup::of(&Waits { what: &waits.what, rows: waits.groups.iter().map(row).collect() })
}

#[derive(Template)]
#[template(path = "block/matrix.html")]
struct MatrixTable<'a> {
    matrix: &'a Matrix,
}

pub(super) fn matrix(matrix: &Matrix) -> Markup {
    Markup::of(&MatrixTable { matrix })
}
