//! `docs/store.md` lists the columns that there are. To write the lists anew:
//! `FLASHLAG_UPDATE_DOCS=1 cargo test -p flashlag-store --test it documented`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use flashlag_store::{ColumnOf, Kind, PHASES, RUNS, Selection, Store, selected};

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
    for (name, lines) in [("runs", lines(RUNS)), ("phases", lines(PHASES))] {
        let made = format!("\n\n| column | type | |\n|---|---|---|\n{lines}\n");
        flashlag_testing::between_marks("docs/store.md", name, &made);
    }
}

/// The statements of `flashlag store` in the document: conditions of `list`, parts of `query`, whole statements.
fn statements(text: &str) -> Vec<String> {
    let quoted = |line: &str| -> Vec<String> {
        line.split('"').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let of = |line: &str| {
        let line = line.trim();
        let quoted = quoted(line);
        let condition = quoted.last().cloned();
        match () {
            () if line.starts_with("flashlag store list") => {
                let from = "runs".to_owned();
                Some(selected(&Selection { from, columns: Vec::new(), condition }))
            }
            () if line.contains("store query --") => {
                let columns = line.split("--columns ").nth(1)?.split(' ').next()?;
                let columns = columns.split(',').map(str::to_owned).collect();
                Some(selected(&Selection { from: "phases".to_owned(), columns, condition }))
            }
            () if line.starts_with("flashlag store query \"") => condition,
            () => None,
        }
    };
    text.lines().filter_map(of).collect()
}

#[test]
fn what_the_documents_queries_filter_by_has_an_index() {
    let documents = ["store.md", "site.md", "sharing.md", "sweeps.md"];
    let path = |name: &str| format!("{}/../../docs/{name}", env!("CARGO_MANIFEST_DIR"));
    let text: String =
        documents.iter().map(|name| std::fs::read_to_string(path(name)).unwrap()).collect();
    let mut all = statements(&text);
    assert!(all.len() >= 3, "{all:?}");
    all.push("SELECT file FROM runs WHERE standing = 'good'".to_owned());
    all.push("SELECT file FROM runs ORDER BY device, started, file".to_owned());
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    drop(Store::open(place).unwrap());
    let index = rusqlite::Connection::open(folder.path().join(".flashlag-index.sqlite")).unwrap();
    for sql in all {
        let mut plan = index.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps = plan.query_map([], |row| row.get::<_, String>(3)).unwrap();
        let steps: Vec<String> = steps.map(Result::unwrap).collect();
        let whole = |step: &&String| {
            (step.starts_with("SCAN") || step.contains("TEMP B-TREE FOR GROUP"))
                && !step.contains("INDEX")
        };
        let scanned: Vec<&String> = steps.iter().filter(whole).collect();
        assert!(scanned.is_empty(), "{sql}: {steps:?}");
    }
}
