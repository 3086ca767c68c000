//! The reviewers' table: stages by tests, with a bar for each cell.

use askama::Template;
use flashlag_schema::Run;
use flashlag_views::{Column, Lifecycle, LifecycleCell, for_people, format, lifecycle, sizes};

use super::{Flag, Section};
use crate::chart::share_bar;
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "section/lifecycle.html")]
pub(crate) struct LifecycleTable {
    pub(crate) caption: String,
    pub(crate) columns: Vec<TestColumn>,
    pub(crate) rows: Vec<Row>,
}

pub(crate) struct TestColumn {
    pub(crate) title: String,
    pub(crate) durable: bool,
}

pub(crate) struct Row {
    label: String,
    flag: Option<Flag>,
    skipped: Option<String>,
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

/// The section; `None` for a run of one stage.
pub(super) fn section(run: &Run) -> Option<Section> {
    let table = lifecycle(run)?;
    let heading = table.heading.clone();
    Some(Section {
        id: "lifecycle",
        name: "Lifecycle",
        heading,
        side: vec![
            "The reviewers’ order: measure new, fill, measure, delete, trim, measure.".to_owned(),
        ],
        body: Markup::of(&view(run, &table)),
    })
}

/// Durable writes by size; `None` without them, or for a run of one stage.
pub(super) fn by_size(run: &Run) -> Option<Section> {
    lifecycle(run)?;
    let table = sizes(run)?;
    Some(Section {
        id: "sizes",
        name: "Sizes",
        heading: table.heading.clone(),
        side: vec![
            "A device writes whole units: where the time of a durable write steps up, one more is \
             written."
                .to_owned(),
        ],
        body: Markup::of(&view(run, &table)),
    })
}

/// The table of one run.
fn view(run: &Run, table: &Lifecycle) -> LifecycleTable {
    let columns = table
        .columns
        .iter()
        .map(|column| TestColumn { title: column.title.clone(), durable: column.durable });
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
            format!("{caption} {}", for_people(run, note))
        }
        None => CAPTION.to_owned(),
    };
    let rows = table.rows.iter().map(|row| Row {
        label: row.label.clone(),
        flag: Flag::of(run, &row.failures),
        skipped: row.skipped.clone(),
        cells: row
            .cells
            .iter()
            .zip(&best)
            .map(|(cell, best)| cell.as_ref().map(|cell| view_cell(cell, *best)))
            .collect(),
    });
    LifecycleTable { caption, columns: columns.collect(), rows: rows.collect() }
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
