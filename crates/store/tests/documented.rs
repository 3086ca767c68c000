//! `docs/store.md` lists the columns that there are.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use flashlag_store::{ColumnOf, Kind, PHASES, RUNS};

fn lines<R>(columns: &[ColumnOf<R>]) -> String {
    let kind = |kind| match kind {
        Kind::Integer => "integer",
        Kind::Real => "real",
        Kind::Boolean => "boolean",
        Kind::Text => "text",
    };
    let line = |it: &ColumnOf<R>| format!("| `{}` | {} | {} |\n", it.name, kind(it.kind), it.about);
    columns.iter().map(line).collect()
}

#[test]
fn every_column_is_documented_in_its_order() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/store.md");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(&lines(RUNS)), "{}", lines(RUNS));
    assert!(text.contains(&lines(PHASES)), "{}", lines(PHASES));
}
