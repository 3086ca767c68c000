//! The results of `flashlag-predict`: a forecast, a sweep, a check of a profile, a fit.

mod change;
mod check;
#[cfg(feature = "fit")]
mod fit;
#[cfg(feature = "fit")]
mod left_out;
mod spread;
mod years;

pub use change::{forecast, sweep};
pub use check::check;
#[cfg(feature = "fit")]
pub use fit::fit;
#[cfg(feature = "fit")]
pub use left_out::left_out;

use flashlag_units::Nanos;

use crate::line::{Line, Page};
use crate::style::Role;
use crate::table::Table;

/// The cell of a missing figure.
const NONE: &str = "-";

/// A paragraph that begins with `head`; its other lines are indented.
fn item(page: &mut Page, head: &str, indent: usize, text: &str) {
    let mut line = Line::new(page.style());
    line.add(Role::Ink, head);
    page.hanging(&line, indent, Role::Ink, text);
}

/// A table of figures: the first title is that of the labels.
fn figures(titles: &[&str]) -> Table {
    let (labels, columns) = titles.split_first().unwrap_or((&"", &[]));
    columns.iter().fold(Table::new(labels), |table, title| table.column(title, 0))
}

/// A row of ordinary cells.
fn row(table: &mut Table, label: &str, cells: impl IntoIterator<Item = String>) {
    table.row((Role::Ink, label), cells.into_iter().map(|cell| (Role::Ink, cell)).collect());
}

/// Warnings, which come first.
fn warnings(page: &mut Page, warnings: &[String]) {
    for warning in warnings {
        let mut head = Line::new(page.style());
        head.add(Role::Late, "Warning: ");
        page.hanging(&head, 2, Role::Ink, warning);
    }
    page.gap();
}

/// A list below its title; nothing if it is empty.
fn list(page: &mut Page, title: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    page.gap();
    page.paragraph(Role::Strong, title);
    for text in items {
        item(page, "- ", 2, text);
    }
}

/// Three significant digits: `0.45`, `10.6`, `183`.
fn number(value: f64) -> String {
    let size = value.abs();
    let digits = match size {
        _ if !value.is_finite() => return "-".to_owned(),
        _ if size >= 100.0 => 0,
        _ if size >= 10.0 => 1,
        _ if size >= 1.0 || size == 0.0 => 2,
        _ if size >= 0.1 => 3,
        _ => 4,
    };
    format!("{value:.digits$}")
}

/// A time in nanoseconds, with its unit.
fn time(nanos: f64) -> String {
    Nanos(nanos.max(0.0).round() as u64).to_string()
}

/// A change with its sign: `+4.2`, `-31`.
fn signed(value: f64) -> String {
    if value.abs() >= 99.5 { format!("{value:+.0}") } else { format!("{value:+.1}") }
}
