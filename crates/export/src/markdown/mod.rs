//! Markdown with GitHub's tables.

mod comparison;
mod run;

use std::fmt::Write;

use flashlag_units::{Nanos, sanitize};
use flashlag_views::format;

pub(crate) use comparison::comparison;
pub(crate) use run::run;

/// Text that Markdown shows as it is.
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

fn ms(value: Option<Nanos>) -> String {
    value.map_or_else(|| format::NONE.to_owned(), format::ms)
}
