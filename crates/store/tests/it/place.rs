//! Where a run stands among those of a table: every place is computed another way, and what is no such table is
//! refused with what it lacks.
#![cfg(feature = "parquet")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;

use crate::common::{columns, put, three};
use flashlag_schema::Run;
use flashlag_store::{
    Among, ColumnError, Entry, FEWEST, Kind, OVERLOADED, Placed, Rank, Store, Table, TableFormat,
    Value, place, read_file, read_folder, results_table,
};
use flashlag_testing::sample;
use tempfile::TempDir;

/// A run, and a folder for tables.
struct Scene {
    folder: TempDir,
    mine: Entry,
}

impl Scene {
    fn of(run: &Run) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let path = put(folder.path(), "mine.json", run);
        let mine = read_file(folder.path(), &path);
        assert!(mine.is_good(), "{:?}", mine.run.reason);
        Scene { folder, mine }
    }

    /// The place of the run in this table.
    fn placed(&self, table: &Table) -> Result<Placed, ColumnError> {
        place(&self.mine, &mut columns(&self.written(table))?)
    }

    fn written(&self, table: &Table) -> PathBuf {
        let path = self.folder.path().join("results.parquet");
        std::fs::write(&path, TableFormat::Parquet.write(table, 0).unwrap()).unwrap();
        path
    }

    /// The rows of as many other runs as there are changes, which are like the run but for the change.
    fn others<T>(&self, changes: &[T], change: impl Fn(&T, &mut Cells<'_>)) -> Table {
        let own = results_table([&self.mine]);
        let mut table = Table { columns: own.columns.clone(), rows: Vec::new() };
        for (number, one) in changes.iter().enumerate() {
            for row in &own.rows {
                let mut row = row.clone();
                let mut cells = Cells { table: &own, row: &mut row };
                cells.set("run", Value::Text(format!("{number:064x}")));
                change(one, &mut cells);
                table.rows.push(row);
            }
        }
        table
    }
}

/// A row that cells are changed in.
struct Cells<'a> {
    table: &'a Table,
    row: &'a mut Vec<Value>,
}

impl Cells<'_> {
    fn set(&mut self, column: &str, value: Value) {
        let at = at(self.table, column);
        self.row[at] = value;
    }

    fn set_text(&mut self, column: &str, text: &str) {
        self.set(column, Value::Text(text.to_owned()));
    }
}

fn at(table: &Table, column: &str) -> usize {
    table.columns.iter().position(|it| it.name == column).unwrap_or_else(|| panic!("{column}"))
}

fn without(table: &Table, column: &str) -> Table {
    let gone = at(table, column);
    let mut table = table.clone();
    table.columns.remove(gone);
    table.rows.iter_mut().for_each(|row| drop(row.remove(gone)));
    table
}

/// Latencies around `middle`, with ties, the same in each test.
fn latencies(count: usize, middle: u64) -> Vec<u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ count as u64;
    let draw = |_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        middle / 2 + (state >> 40) % 9 * (middle / 8)
    };
    (0..count).map(draw).collect()
}

/// The percentile by sorting: the middle of the places that the value has among the others.
fn by_sorting(others: &[u64], own: u64) -> Option<f64> {
    let mut sorted = others.to_vec();
    sorted.sort_unstable();
    let places = sorted.partition_point(|it| *it < own) + sorted.partition_point(|it| *it <= own);
    (others.len() >= FEWEST).then(|| 50.0 * places as f64 / others.len() as f64)
}

fn rank(placed: &Placed, test: usize, figure: usize, among: Among) -> Rank {
    let at = Among::ALL.iter().position(|it| *it == among).unwrap();
    placed.tests[test].figures[figure].ranks[at]
}

#[test]
fn a_place_is_the_one_that_sorting_gives_in_tables_of_any_size() {
    let scene = Scene::of(&sample::quick());
    for size in [0, 1, 2, 3, FEWEST - 1, FEWEST, FEWEST + 1, 37, 1000] {
        let own = scene.placed(&scene.others(&[(); 0], |(), _| ())).unwrap().tests;
        assert!(own.len() > 1, "{own:?}");
        let middle = own[0].figures[0].own_ns.unwrap();
        let drawn: Vec<(u64, u64)> =
            latencies(size, middle).into_iter().map(|it| (it, 3 * it)).collect();
        let table = scene.others(&drawn, |(p50, p99), cells| {
            cells.set("p50_ns", (*p50).into());
            cells.set("p99_ns", (*p99).into());
        });
        let placed = scene.placed(&table).unwrap();
        assert_eq!(placed.runs, size);
        for (test, own) in own.iter().enumerate() {
            for (figure, of) in [|it: &(u64, u64)| it.0, |it: &(u64, u64)| it.1].iter().enumerate()
            {
                let others: Vec<u64> = drawn.iter().map(of).collect();
                let Some(own) = own.figures[figure].own_ns else { continue };
                for among in Among::ALL {
                    let rank = rank(&placed, test, figure, among);
                    assert_eq!(rank.others, size, "{among:?}");
                    assert_eq!(rank.slower_than_percent(), by_sorting(&others, own), "{size}");
                }
            }
        }
    }
}

#[test]
fn the_run_itself_and_what_does_not_count_are_no_others_and_a_run_counts_once() {
    let scene = Scene::of(&sample::quick());
    let table = scene.others(&["good", "copy", "untrusted", "unverified", "good"], |it, cells| {
        cells.set_text("standing", it);
    });
    let rows = table.rows.len() / 5;
    let mut with_itself = table.clone();
    with_itself.rows.extend(results_table([&scene.mine]).rows);
    with_itself.rows.extend_from_slice(&table.rows[..rows]);
    let placed = scene.placed(&with_itself).unwrap();
    assert_eq!(placed, scene.placed(&table).unwrap());
    assert_eq!((placed.runs, rank(&placed, 0, 0, Among::Model).others), (2, 2));
    // A copy that was shared has the same checksum.
    let shared = flashlag_share::shared(&sample::quick()).unwrap().run;
    let path = put(scene.folder.path(), "shared.json", &shared);
    let copy = read_file(scene.folder.path(), &path);
    let mut columns = columns(&scene.written(&with_itself)).unwrap();
    assert_eq!(place(&copy, &mut columns).unwrap().runs, 2);
}

#[test]
fn others_are_told_apart_by_model_class_age_fill_and_world() {
    let scene = Scene::of(&sample::quick());
    let changes = [
        ("model", "Another"),
        ("kind", "another"),
        ("age", "up to 100% of life used"),
        ("age", "up to 39% of life used"),
        ("target", "simulated"),
        ("target", "phone"),
        ("title", "Another test"),
        ("no_flush", "nobarrier"),
        ("durable", "another"),
    ];
    let table = scene.others(&changes, |(column, text), cells| cells.set_text(column, text));
    let placed = scene.placed(&table).unwrap();
    let others = Among::ALL.map(|among| rank(&placed, 0, 0, among).others);
    // Comparable are those of another model, kind, age (two) and kind of real target.
    assert_eq!(others, [4, 3, 4, 3]);
    let fills: Vec<f64> = vec![5.0, 49.0, 55.0, 85.0, 99.0];
    let table = scene.others(&fills, |fill, cells| cells.set("filled_percent", (*fill).into()));
    let placed = scene.placed(&table).unwrap();
    let own = placed.tests[0].fill;
    let alike =
        fills.iter().filter(|it| own == Some(flashlag_store::fill_class(Some(**it)))).count();
    assert!(own.is_some() && (1..5).contains(&alike), "{own:?}");
    assert_eq!(Among::ALL.map(|among| rank(&placed, 0, 0, among).others), [5, alike, 5, alike]);
}

#[test]
fn a_run_without_model_class_and_age_is_of_no_ones_kind() {
    let mut run = sample::quick();
    run.environment.device.model = flashlag_spec::Reading::unavailable("not reported");
    run.environment.device.kind = flashlag_spec::Reading::unavailable("not reported");
    run.environment.device.life = flashlag_spec::Reading::unavailable("not reported");
    let scene = Scene::of(&crate::common::changed(run, |_| ()));
    let placed = scene.placed(&scene.others(&[(); 30], |(), _| ())).unwrap();
    assert_eq!((placed.model.as_deref(), placed.age.as_deref()), (None, None));
    assert_eq!(Among::ALL.map(|among| rank(&placed, 0, 0, among).others), [0; 4]);
}

#[test]
fn an_overloaded_test_is_slower_than_one_that_was_not() {
    let scene = Scene::of(&sample::quick());
    let table = scene.others(&[false, true, true], |is_overloaded, cells| {
        if *is_overloaded {
            cells.set("overloaded", true.into());
            cells.set("p50_ns", Value::Null);
            cells.set("p99_ns", Value::Null);
        }
    });
    let placed = scene.placed(&table).unwrap();
    assert_eq!(rank(&placed, 0, 0, Among::Model), Rank { others: 3, faster: 0, equal: 1 });
    let scene = Scene::of(&sample::overloaded());
    let table = scene.others(&[1_000_000_u64; 2], |p50, cells| {
        cells.set("overloaded", false.into());
        cells.set("p50_ns", (*p50).into());
    });
    let placed = scene.placed(&table).unwrap();
    let test = placed.tests.iter().find(|it| it.figures[0].own_ns == Some(OVERLOADED)).unwrap();
    assert_eq!(test.figures[0].ranks[2], Rank { others: 2, faster: 2, equal: 0 });
}

#[test]
fn only_the_columns_that_are_compared_are_needed_and_a_missing_one_is_named() {
    let scene = Scene::of(&sample::quick());
    let table = scene.others(&[(); 25], |(), _| ());
    let whole = scene.placed(&table).unwrap();
    let mut needed = Vec::new();
    for column in &table.columns {
        match scene.placed(&without(&table, &column.name)) {
            Ok(placed) => assert_eq!(placed, whole, "{}", column.name),
            Err(error) => {
                let said = error.to_string();
                assert!(said.contains(&format!("has no column `{}`", column.name)), "{said}");
                needed.push(column.name.as_str());
            }
        }
    }
    assert_eq!(needed.len(), 23, "{needed:?}");
    for unneeded in ["file", "device", "p90_ns", "started", "bytes_per_sec"] {
        assert!(!needed.contains(&unneeded), "{needed:?}");
    }
}

#[test]
fn other_units_are_refused_and_whole_numbers_as_floating_point_are_not() {
    let scene = Scene::of(&sample::quick());
    let table = scene.others(&[(); 25], |(), _| ());
    let whole = scene.placed(&table).unwrap();
    let mut milliseconds = table.clone();
    let p99 = at(&table, "p99_ns");
    milliseconds.columns[p99].name = "p99_ms".to_owned();
    let said = scene.placed(&milliseconds).unwrap_err().to_string();
    assert!(said.contains("has no column `p99_ns`") && said.contains("store query"), "{said}");
    let mut floating = table.clone();
    for column in ["p50_ns", "p99_ns", "block_bytes", "queue_depth"] {
        floating.columns[at(&table, column)].kind = Kind::Real;
    }
    assert_eq!(scene.placed(&floating).unwrap(), whole);
    let mut words = table.clone();
    words.columns[p99].kind = Kind::Text;
    assert!(
        scene.placed(&words).unwrap().tests[0].figures[1].ranks.iter().all(|it| it.others == 0)
    );
}

#[test]
fn what_is_no_such_table_is_refused_with_the_way_to_one() {
    let scene = Scene::of(&sample::quick());
    let table = scene.others(&[(); 3], |(), _| ());
    let path = scene.folder.path().join("results.csv");
    for contents in [TableFormat::Csv.write(&table, 0).unwrap(), Vec::new(), b"PAR1".to_vec()] {
        std::fs::write(&path, contents).unwrap();
        let said = columns(&path).err().unwrap().to_string();
        assert!(said.contains("results.csv as a table in Parquet: "), "{said}");
        assert!(said.contains("data/phases.parquet of a site"), "{said}");
    }
    assert!(columns(scene.folder.path()).is_err());
}

#[test]
fn a_store_and_a_site_make_the_same_table() {
    let folder = tempfile::tempdir().unwrap();
    for (name, run) in three() {
        put(folder.path(), name, &run);
    }
    let entries = read_folder(folder.path()).unwrap();
    let from = "phases".to_owned();
    let all = flashlag_store::Selection { from, ..flashlag_store::Selection::default() };
    let sql = flashlag_store::selected(&all);
    let queried = Store::open(folder.path().to_str().unwrap()).unwrap().query(&sql).unwrap();
    assert_eq!(queried, results_table(&entries));
}
