//! Markdown with GitHub's tables.

mod comparison;
mod run;

use std::fmt::Write;

use flashlag_units::sanitize;
use flashlag_views::{Cell, Column, Table, TableRow};

pub(crate) use comparison::comparison;
pub(crate) use run::run;

/// A text escaped for Markdown.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in sanitize(text).chars() {
        if matches!(
            character,
            '\\' | '`'
                | '*'
                | '_'
                | '['
                | ']'
                | '<'
                | '>'
                | '|'
                | '~'
                | '&'
                | '#'
                | '!'
                | '$'
                | '@'
        ) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// A table: the first column to the left, the others to the right.
fn table(text: &mut String, head: &[&str], rows: &[Vec<String>]) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(text, "| {} |", head.join(" | "));
    let _ = writeln!(text, "|---|{}", "---:|".repeat(head.len().saturating_sub(1)));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| escape(cell)).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text.push('\n');
}

/// Rows of figures under the titles of their columns.
fn figures(text: &mut String, model: &Table, rows: &[TableRow]) {
    figures_headed(text, model, rows, Column::title_with_unit);
}

/// The same, with a head for each column.
fn figures_headed(text: &mut String, model: &Table, rows: &[TableRow], head: fn(Column) -> String) {
    let titles: Vec<String> = model.columns.iter().map(|column| head(*column)).collect();
    let head: Vec<&str> =
        [model.title].into_iter().chain(titles.iter().map(String::as_str)).collect();
    let row = |row: &TableRow| {
        let mark = if row.trusted() { "" } else { " ✕" };
        let remark = row.remark.as_ref().map(|remark| format!(" ({remark})"));
        let label = format!("{}{mark}{}", row.label, remark.unwrap_or_default());
        [label].into_iter().chain(row.cells.iter().map(Cell::text)).collect()
    };
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    table(text, &head, &rows);
}
