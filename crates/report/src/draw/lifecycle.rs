//! The reviewers' table: stages by tests, with a bar for each cell.

use askama::Template;
use flashlag_views::page::Flag;
use flashlag_views::{Column, Lifecycle, LifecycleCell, LifecycleColumn, format};

use super::flagged;
use crate::chart::share_bar;
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "block/lifecycle.html")]
struct LifecycleTable<'a> {
    caption: String,
    columns: &'a [LifecycleColumn],
    rows: Vec<Row<'a>>,
}

struct Row<'a> {
    label: &'a str,
    flag: Markup,
    skipped: Option<&'a str>,
    cells: Vec<Option<Cell>>,
}

struct Cell {
    speed: String,
    share: String,
    low: bool,
    doubt: bool,
    cut_short: bool,
    percentiles: String,
    bar: Markup,
}

const CAPTION: &str = "Throughput in MB/s (10⁶ bytes) and as a share of the first row; below it, median and \
                       p99 latency. Bars: share of the column’s best. Rust: below half of the first row.";
const CAPTION_BESIDE: &str = "Simulated throughput in MB/s (10⁶ bytes) and as a share of the first row; below \
                              it, median and p99 latency, and what reviewers measured on the real \
                              device. Bars: share of the column’s best. Rust: below half of the first row.";

pub(super) fn table(table: &Lifecycle) -> Markup {
    let best: Vec<f64> = (0..table.columns.len())
        .map(|column| {
            let cells = table.rows.iter().filter_map(|row| row.cells.get(column)?.as_ref());
            cells
                .map(|cell| cell.bytes_per_sec)
                .filter(|speed| speed.is_finite())
                .fold(0.0, f64::max)
        })
        .collect();
    let caption = match &table.published {
        Some(note) => {
            let mut cells = table.rows.iter().flat_map(|row| &row.cells).flatten();
            let beside = cells.any(|cell| cell.published.is_some());
            let caption = if beside { CAPTION_BESIDE } else { CAPTION };
            format!("{caption} {note}")
        }
        None => CAPTION.to_owned(),
    };
    let rows = table.rows.iter().map(|row| Row {
        label: &row.label,
        flag: flagged(Flag::of(&row.failures).as_ref()),
        skipped: row.skipped.as_deref(),
        cells: row
            .cells
            .iter()
            .zip(&best)
            .map(|(cell, best)| cell.as_ref().map(|cell| view_cell(cell, *best)))
            .collect(),
    });
    Markup::of(&LifecycleTable { caption, columns: &table.columns, rows: rows.collect() })
}

fn view_cell(cell: &LifecycleCell, best: f64) -> Cell {
    let doubt = !cell.failures.is_empty();
    let low = !doubt && cell.is_low();
    let text = |column: Column| cell.cell(column).text();
    let latency = [(Column::P50, cell.p50), (Column::P99, cell.p99)].into_iter();
    let latency = latency.filter_map(|(column, value)| {
        value.map(|value| format!("{} {}", column.title(), format::time(value)))
    });
    let published = Column::Published;
    let published = cell.published.map(|_| format!("{} {}", published.title(), text(published)));
    Cell {
        speed: text(Column::Speed),
        share: cell.share_of_new.map(|_| text(Column::ShareOfNew)).unwrap_or_default(),
        low,
        doubt,
        cut_short: cell.cut_short,
        percentiles: latency.chain(published).collect::<Vec<_>>().join(" · "),
        bar: share_bar(if best > 0.0 { cell.bytes_per_sec / best } else { 0.0 }, low),
    }
}
