//! A store in a folder.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use crate::common::{put, three};
use flashlag_store::{
    Outcome, Standing, Store, Table, TableFormat, Value, phases_table, read_folder, runs_table,
};
use flashlag_testing::sample;

const INDEX: &str = ".flashlag-index.sqlite";

fn open(folder: &Path) -> Store {
    Store::open(folder.to_str().unwrap()).unwrap()
}

fn everything(folder: &Path) -> [Table; 2] {
    let mut store = open(folder);
    ["runs", "phases"]
        .map(|table| store.query(&format!("SELECT * FROM {table} ORDER BY file, rowid")).unwrap())
}

#[test]
fn the_index_has_the_tables_that_the_files_make_and_is_made_again_from_them() {
    let folder = tempfile::tempdir().unwrap();
    for (name, run) in three() {
        put(folder.path(), name, &run);
    }
    put(folder.path(), "copy.json", &sample::quick());
    let entries = read_folder(folder.path()).unwrap();
    let [runs, phases] = everything(folder.path());
    assert_eq!(runs, runs_table(&entries));
    assert_eq!(phases, phases_table(&entries));
    assert!(phases.rows.len() > 20);
    let before = everything(folder.path());
    std::fs::remove_file(folder.path().join(INDEX)).unwrap();
    assert_eq!(everything(folder.path()), before);
    std::fs::write(
        folder.path().join(INDEX),
        "no database, but long enough to be read as one".repeat(99),
    )
    .unwrap();
    assert_eq!(everything(folder.path()), before);
}

#[test]
fn files_that_come_change_and_go_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let names = |table: &Table| -> Vec<(String, String)> {
        table.rows.iter().map(|row| (row[0].plain(), row[1].plain())).collect()
    };
    let good = |name: &str| (name.to_owned(), "good".to_owned());
    put(folder.path(), "a.json", &sample::quick());
    assert_eq!(names(&everything(folder.path())[0]), [good("a.json")]);
    put(folder.path(), "b.json", &sample::quick());
    let copy = ("b.json".to_owned(), "copy".to_owned());
    assert_eq!(names(&everything(folder.path())[0]), [good("a.json"), copy]);
    // The copy counts once its original is gone.
    std::fs::remove_file(folder.path().join("a.json")).unwrap();
    assert_eq!(names(&everything(folder.path())[0]), [good("b.json")]);
    std::fs::write(folder.path().join("b.json"), "{}").unwrap();
    let unreadable = ("b.json".to_owned(), "unreadable".to_owned());
    assert_eq!(names(&everything(folder.path())[0]), [unreadable]);
}

#[test]
fn what_is_added_is_copied_once_and_what_is_no_run_is_refused_beside_it() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let run = put(from.path(), "run.json", &sample::quick());
    std::fs::create_dir(from.path().join("2")).unwrap();
    let other = put(&from.path().join("2"), "run.json", &sample::sqlite());
    let old = from.path().join("old.json");
    std::fs::write(&old, "{\"schema\": \"flashlag.run/0\"}").unwrap();
    let added = open(to.path()).add(&[run.clone(), old, other, run]).unwrap();
    let outcomes: Vec<&Outcome> = added.iter().map(|added| &added.outcome).collect();
    let named = |outcome: &Outcome| match outcome {
        Outcome::New { name, standing: Standing::Good, .. } => name.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(named(outcomes[0]), "run.json");
    assert!(named(outcomes[2]).starts_with("run-"));
    let Outcome::Refused { reason } = outcomes[1] else { panic!("{:?}", outcomes[1]) };
    assert!(reason.contains("flashlag.run/0") && reason.contains("this flashlag reads"));
    let runs = &everything(to.path())[0];
    assert_eq!(runs.rows.len(), 2, "{runs:?}");
    assert_eq!(std::fs::read(from.path().join("run.json")).unwrap(), {
        std::fs::read(to.path().join("run.json")).unwrap()
    });
}

#[test]
fn what_a_killed_writer_left_is_no_run_and_hurts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.json", &sample::quick());
    std::fs::write(folder.path().join(".adding-x1"), "half a fi").unwrap();
    let before = everything(folder.path());
    assert_eq!(before[0].rows.len(), 1);
    // Rows without a stamp, as if the process ended between: they are read again.
    let index = rusqlite::Connection::open(folder.path().join(INDEX)).unwrap();
    index.execute_batch("DELETE FROM files; UPDATE runs SET standing = 'copy'").unwrap();
    drop(index);
    assert_eq!(everything(folder.path()), before);
}

#[test]
fn a_query_reads_and_can_not_write() {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "a.json", &sample::quick());
    let mut store = open(folder.path());
    let target = folder.path().join("stolen.db");
    for sql in [
        "DELETE FROM runs".to_owned(),
        "WITH a AS (SELECT 1) DELETE FROM runs".to_owned(),
        "PRAGMA writable_schema = 1".to_owned(),
        format!("ATTACH '{}' AS x", target.display()),
        format!("VACUUM INTO '{}'", target.display()),
        "SELECT 1; DELETE FROM runs".to_owned(),
        "SELECT load_extension('x')".to_owned(),
        "SELECT nothing FROM nowhere".to_owned(),
    ] {
        let error = store.query(&sql).unwrap_err().to_string();
        assert!(error.contains("docs/store.md"), "{sql}: {error}");
    }
    assert!(!target.exists());
    let table = store.query("SELECT count(*) AS n, max(p99_ns) / 2.0 AS half FROM phases").unwrap();
    assert_eq!(table.columns[0].name, "n");
    assert!(matches!(table.rows[0][0], Value::Integer(n) if n > 5));
    assert!(matches!(table.rows[0][1], Value::Real(_)));
}

#[test]
fn csv_and_json_have_the_same_cells_and_no_formula() {
    let folder = tempfile::tempdir().unwrap();
    let run =
        crate::common::changed(sample::quick(), |run| run.label = Some("=1+1,\"x\"".to_owned()));
    put(folder.path(), "a.json", &run);
    let table = runs_table(&read_folder(folder.path()).unwrap());
    let csv = String::from_utf8(TableFormat::Csv.write(&table, 80).unwrap()).unwrap();
    assert!(csv.contains(",\"'=1+1,\"\"x\"\"\","), "{csv}");
    let json = TableFormat::Json.write(&table, 80).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json[0]["device"], "=1+1,\"x\"");
    assert_eq!(json[0]["seed"].as_u64(), Some(run.scenario.seed));
    assert_eq!(
        json[0]["size_bytes"],
        serde_json::to_value(&run).unwrap()["environment"]["device"]["size_bytes"]
    );
}
