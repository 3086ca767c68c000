//! CSV as in RFC 4180, but lines end with a line feed.

mod comparison;
mod history;
mod run;

use flashlag_units::{Nanos, sanitize};

pub(crate) use comparison::comparison;
pub(crate) use history::history;
pub(crate) use run::run;

/// Milliseconds, exact: six decimals are nanoseconds.
fn millis(nanos: Nanos) -> String {
    format!("{}.{:06}", nanos.0 / 1_000_000, nanos.0 % 1_000_000)
}

/// A field, quoted as RFC 4180 requires, and escaped if a spreadsheet would take it for a formula.
fn quoted(text: &str) -> String {
    let text = sanitize(text);
    let text = match text.chars().next() {
        Some('=' | '+' | '-' | '@') => format!("'{text}"),
        _ => text,
    };
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}
