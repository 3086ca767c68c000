use flashlag_units::sanitize;

use crate::table::{Table, Value};

/// The table as CSV, with a header.
pub fn csv(table: &Table) -> String {
    let head: Vec<String> = table.columns.iter().map(|column| quoted(&column.name)).collect();
    let mut csv = head.join(",") + "\n";
    for row in &table.rows {
        for (at, value) in row.iter().enumerate() {
            if at > 0 {
                csv.push(',');
            }
            csv += &match value {
                Value::Text(text) => quoted(text),
                other => other.plain(),
            };
        }
        csv.push('\n');
    }
    csv
}

/// A text, quoted if necessary, and escaped if a spreadsheet would take it for a formula.
fn quoted(text: &str) -> String {
    let text = sanitize(text);
    let text = match text.chars().next() {
        Some('=' | '+' | '-' | '@') => format!("'{text}"),
        _ => text,
    };
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}
