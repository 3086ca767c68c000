//! The SQLite index of a folder: `.flashlag-index.sqlite`, which can be rebuilt from the files at
//! any time.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, ToSql, params_from_iter};

use crate::copies::{before_copies, find_copies};
use crate::entry::Entry;
use crate::error::StoreError;
use crate::files::run_files;
use crate::read::{name_in, read_files};
use crate::rows::{PHASES, RUNS, RunRow, cells};
use crate::sql::{create, indexes, insert, made_by, refused, tables};
use crate::standing::Standing;
use crate::table::{Column, Kind, Table, Value};

/// The name of the index in its folder; hidden, so that it is not taken for a run file.
const NAME: &str = ".flashlag-index.sqlite";

/// How long to wait for another flashlag that writes the index.
const PATIENCE: Duration = Duration::from_secs(20);

/// Files to read before storing them: bounds the memory for a large folder.
const BATCH: usize = 500;

/// The index of a folder.
pub struct Index {
    folder: PathBuf,
    connection: Connection,
}

/// What the index stores about a file: if size and time are unchanged, so are the contents.
#[derive(PartialEq)]
struct Stamp {
    bytes: i64,
    changed_ns: i64,
}

impl Index {
    /// Opens the index of a folder and updates it: reads new and changed files, removes those that
    /// are gone. Rebuilds an index that is damaged or of another version.
    pub fn open(folder: &Path) -> Result<Index, StoreError> {
        let path = folder.join(NAME);
        let index = match Index::try_open(folder, &path) {
            Ok(index) => index,
            Err(StoreError::Sqlite { error, .. }) if is_damaged(&error) => {
                std::fs::remove_file(&path).map_err(|error| StoreError::Io {
                    operation: "remove the damaged index",
                    path: path.clone(),
                    error,
                })?;
                Index::try_open(folder, &path)?
            }
            Err(error) => return Err(error),
        };
        Ok(index)
    }

    fn try_open(folder: &Path, path: &Path) -> Result<Index, StoreError> {
        let fail = |error| StoreError::Sqlite { path: path.to_owned(), error };
        let connection = Connection::open(path).map_err(fail)?;
        let mut index = Index { folder: folder.to_owned(), connection };
        index.prepare().map_err(fail)?;
        index.update()?;
        Ok(index)
    }

    /// Creates the tables, empty if they were of another version.
    fn prepare(&mut self) -> rusqlite::Result<()> {
        self.connection.busy_timeout(PATIENCE)?;
        let change =
            self.connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        change.execute("CREATE TABLE IF NOT EXISTS made (by TEXT)", [])?;
        let found: Option<String> =
            change.query_row("SELECT max(by) FROM made", [], |row| row.get(0))?;
        if found.as_deref() != Some(made_by().as_str()) {
            change.execute_batch("DROP TABLE IF EXISTS files; DELETE FROM made")?;
            for (name, columns) in tables() {
                change.execute(&format!("DROP TABLE IF EXISTS {name}"), [])?;
                change.execute(&create(name, &columns, type_of), [])?;
            }
            change.execute_batch(
                "CREATE TABLE files (file TEXT PRIMARY KEY, bytes INTEGER, changed_ns INTEGER)",
            )?;
            change.execute_batch(&indexes(""))?;
            change.execute("INSERT INTO made VALUES (?1)", [made_by()])?;
        }
        change.commit()
    }

    /// Reads new and changed files. Each batch is a transaction: after a kill, the next update
    /// continues.
    fn update(&mut self) -> Result<(), StoreError> {
        let folder = self.folder.clone();
        let paths = run_files(&folder).map_err(|error| StoreError::Io {
            operation: "list the folder",
            path: folder.clone(),
            error,
        })?;
        let (known, mut gone) = self.known()?;
        let mut fresh = Vec::new();
        for path in paths {
            let name = name_in(&folder, &path);
            let Ok(stamp) = stamp_of(&path) else { continue };
            gone.remove(&name);
            if known.get(&name) != Some(&stamp) {
                fresh.push((path, name, stamp));
            }
        }
        for batch in fresh.chunks(BATCH) {
            let paths: Vec<PathBuf> = batch.iter().map(|(path, ..)| path.clone()).collect();
            let entries = read_files(&folder, &paths);
            let rows = batch.iter().zip(&entries);
            self.in_transaction(|change| {
                rows.clone().try_for_each(|((_, name, stamp), entry)| {
                    forget(change, name)?;
                    store(change, name, stamp, entry)
                })
            })?;
        }
        self.in_transaction(|change| gone.iter().try_for_each(|name| forget(change, name)))?;
        // Always, since the previous update may have been killed before this.
        self.settle_copies()
    }

    /// The files in the index: with their stamps, and as a set to remove from.
    fn known(&self) -> Result<(HashMap<String, Stamp>, HashSet<String>), StoreError> {
        let read = || -> rusqlite::Result<HashMap<String, Stamp>> {
            let sql = "SELECT file, bytes, changed_ns FROM files";
            let mut statement = self.connection.prepare(sql)?;
            let rows = statement.query_map([], |row| {
                Ok((row.get(0)?, Stamp { bytes: row.get(1)?, changed_ns: row.get(2)? }))
            })?;
            rows.collect()
        };
        let known = read().map_err(|error| self.fail(error))?;
        let names = known.keys().cloned().collect();
        Ok((known, names))
    }

    /// Finds copies over all files of the index.
    fn settle_copies(&mut self) -> Result<(), StoreError> {
        let read = || -> rusqlite::Result<Vec<Entry>> {
            let sql = "SELECT file, standing, reason, run, measurement_sha256, copy_of, shared \
                       FROM runs ORDER BY file";
            let mut statement = self.connection.prepare(sql)?;
            let rows = statement.query_map([], standing_of)?;
            rows.collect()
        };
        let before = read().map_err(|error| self.fail(error))?;
        let mut after: Vec<Entry> = before.iter().cloned().map(before_copies).collect();
        find_copies(&mut after);
        let changed: Vec<&Entry> =
            after.iter().zip(&before).filter(|(new, old)| new != old).map(|(new, _)| new).collect();
        self.in_transaction(|change| {
            changed.iter().try_for_each(|entry| {
                let RunRow { file, standing, reason, copy_of, .. } = &entry.run;
                let sql =
                    "UPDATE runs SET standing = ?2, reason = ?3, copy_of = ?4 WHERE file = ?1";
                change.execute(sql, (file, standing.name(), reason, copy_of)).map(drop)
            })
        })
    }

    fn in_transaction(
        &mut self,
        work: impl FnOnce(&rusqlite::Transaction<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let change = self.connection.transaction();
        let done = change.and_then(|change| work(&change).and_then(|()| change.commit()));
        done.map_err(|error| self.fail(error))
    }

    fn fail(&self, error: rusqlite::Error) -> StoreError {
        StoreError::Sqlite { path: self.folder.join(NAME), error }
    }

    /// Standing and reason of a file, once copies are known.
    pub fn standing(&self, name: &str) -> Option<(Standing, Option<String>)> {
        let sql = "SELECT standing, reason FROM runs WHERE file = ?1";
        let row = self.connection.query_row(sql, [name], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?))
        });
        let (standing, reason) = row.ok()?;
        Some((Standing::named(&standing)?, reason))
    }

    /// The result of a statement that reads.
    pub fn query(&self, sql: &str) -> Result<Table, StoreError> {
        if let Some(reason) = refused(sql) {
            return Err(StoreError::Query(reason));
        }
        let read = || -> rusqlite::Result<Table> {
            // Uses a separate connection that can't write, whatever the statement is.
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(self.folder.join(NAME), flags)?;
            connection.busy_timeout(PATIENCE)?;
            table_of(&connection, sql)
        };
        read().map_err(|error| StoreError::Query(error.to_string()))
    }
}

/// Whether the file is no database, or a damaged one.
fn is_damaged(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
}

fn type_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Integer => "INTEGER",
        Kind::Real => "REAL",
        Kind::Boolean => "BOOLEAN",
        Kind::Text => "TEXT",
    }
}

fn stamp_of(path: &Path) -> std::io::Result<Stamp> {
    let meta = std::fs::symlink_metadata(path)?;
    let changed = meta.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let number = |value: u128| i64::try_from(value).unwrap_or(i64::MAX);
    Ok(Stamp { bytes: number(meta.len().into()), changed_ns: number(changed.as_nanos()) })
}

fn forget(change: &rusqlite::Transaction<'_>, name: &str) -> rusqlite::Result<()> {
    for table in ["files", "runs", "phases"] {
        let sql = format!("DELETE FROM {table} WHERE file = ?1");
        change.prepare_cached(&sql)?.execute([name])?;
    }
    Ok(())
}

fn store(
    change: &rusqlite::Transaction<'_>,
    name: &str,
    stamp: &Stamp,
    entry: &Entry,
) -> rusqlite::Result<()> {
    let row = |table: &str, values: Vec<Value>| {
        let sql = insert(table, values.len(), '?');
        change.prepare_cached(&sql)?.execute(params_from_iter(values.iter())).map(drop)
    };
    row("runs", cells(RUNS, &entry.run))?;
    entry.phases.iter().try_for_each(|phase| row("phases", cells(PHASES, &phase.row)))?;
    let stamp = (name, stamp.bytes, stamp.changed_ns);
    change.prepare_cached("INSERT INTO files VALUES (?1, ?2, ?3)")?.execute(stamp).map(drop)
}

/// The part of a row that decides whether it is a copy.
fn standing_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<Entry> {
    let standing: String = row.get(1)?;
    let marks = (row.get(3)?, row.get(4)?, row.get(5)?);
    Ok(Entry::standing_only(row.get(0)?, &standing, row.get(2)?, marks, row.get(6)?))
}

fn table_of(connection: &Connection, sql: &str) -> rusqlite::Result<Table> {
    let mut statement = connection.prepare(sql)?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let declared: Vec<Option<Kind>> =
        statement.columns().map(|column| column.decl_type().and_then(kind_of)).collect();
    let mut rows = statement.query([])?;
    let mut found: Vec<Vec<Value>> = Vec::new();
    while let Some(row) = rows.next()? {
        let cell = |at: usize| row.get_ref(at).map(|value| value_of(value, declared[at]));
        found.push((0..names.len()).map(cell).collect::<rusqlite::Result<_>>()?);
    }
    let columns = names.into_iter().enumerate().map(|(at, name)| Column {
        name,
        kind: declared[at].unwrap_or_else(|| kind_in(&found, at)),
    });
    Ok(Table { columns: columns.collect(), rows: found })
}

fn kind_of(declared: &str) -> Option<Kind> {
    [Kind::Integer, Kind::Real, Kind::Boolean, Kind::Text]
        .into_iter()
        .find(|kind| type_of(*kind) == declared)
}

/// The type of a computed column, from its values.
fn kind_in(rows: &[Vec<Value>], at: usize) -> Kind {
    let kinds = rows.iter().filter_map(|row| match row.get(at) {
        Some(Value::Integer(_)) => Some(Kind::Integer),
        Some(Value::Real(_)) => Some(Kind::Real),
        Some(Value::Boolean(_)) => Some(Kind::Boolean),
        Some(Value::Text(_)) => Some(Kind::Text),
        Some(Value::Null) | None => None,
    });
    let both = |a: Kind, b: Kind| match (a, b) {
        (a, b) if a == b => a,
        (Kind::Integer | Kind::Real, Kind::Integer | Kind::Real) => Kind::Real,
        _ => Kind::Text,
    };
    kinds.reduce(both).unwrap_or(Kind::Text)
}

fn value_of(value: ValueRef<'_>, declared: Option<Kind>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) if declared == Some(Kind::Boolean) => Value::Boolean(value != 0),
        ValueRef::Integer(value) => Value::Integer(value),
        ValueRef::Real(value) => Value::Real(value),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Text(crate::read::hex(bytes)),
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Value::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Value::Integer(value) => ToSqlOutput::Owned((*value).into()),
            Value::Real(value) => ToSqlOutput::Owned((*value).into()),
            Value::Boolean(value) => ToSqlOutput::Owned((*value).into()),
            Value::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}
