use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::rc::Rc;

use flashlag_spec::Downgrade;
use flashlag_spec::scenario::{JournalMode, Save, Statement, Synchronous};
use flashlag_units::Bytes;
use rusqlite::{Connection, OpenFlags};

use crate::content::Content;
use crate::error::SqliteError;
use crate::storage::Storage;

/// SQLite's default page size, also that of memory and of most filesystems.
const PAGE_BYTES: u32 = 4096;
/// Page cache of all databases of a job together, and the most and the least of one. SQLite's
/// default is 2 MiB each, or 128 MiB for 64 databases.
const CACHE_KIB_TOGETHER: u32 = 4096;
const CACHE_KIB: (u32, u32) = (64, 1024);

const CREATE: &str = "CREATE TABLE saves (id INTEGER PRIMARY KEY, content BLOB NOT NULL)";
const INSERT: &str = "INSERT INTO saves (id, content) VALUES (?1, ?2)";
const UPDATE: &str = "UPDATE saves SET content = ?2 WHERE id = ?1";
const DELETE: &str = "DELETE FROM saves WHERE id = ?1";

/// An open database.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    pub(crate) index: u32,
    storage: Rc<dyn Storage>,
}

/// File name of a job's database.
pub(crate) fn file_name(index: u32) -> String {
    format!("save-{index}.db")
}

/// The statement of a save, with the row's number and, except for deletes, its content as
/// parameters.
pub(crate) fn sql_of(statement: Statement) -> &'static str {
    match statement {
        Statement::Insert => INSERT,
        Statement::Update => UPDATE,
        Statement::Delete => DELETE,
    }
}

impl Database {
    /// Makes an empty database in place of any that has its name.
    pub(crate) fn create(
        storage: &Rc<dyn Storage>,
        index: u32,
        databases: u32,
    ) -> Result<Database, SqliteError> {
        let name = file_name(index);
        remove_files(storage.as_ref(), &name)?;
        let path = storage.path(&name);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | storage.open_flags();
        let failed = |error| storage.failure("open", &path, &error);
        let connection = match storage.vfs() {
            Some(vfs) => Connection::open_with_flags_and_vfs(&path, flags, vfs),
            None => Connection::open_with_flags(&path, flags),
        };
        let connection = connection.map_err(failed)?;
        let cache = (CACHE_KIB_TOGETHER / databases.max(1)).clamp(CACHE_KIB.0, CACHE_KIB.1);
        connection.pragma_update(None, "page_size", PAGE_BYTES).map_err(failed)?;
        connection.pragma_update(None, "cache_size", -i64::from(cache)).map_err(failed)?;
        let failed = |error| storage.failure("create a table in", &path, &error);
        connection.execute_batch(CREATE).map_err(failed)?;
        Ok(Database { connection, path, index, storage: Rc::clone(storage) })
    }

    /// The error for a failure of SQLite; to be called right after it.
    pub(crate) fn failure(&self, operation: &'static str, error: &rusqlite::Error) -> SqliteError {
        self.storage.failure(operation, &self.path, error)
    }

    /// Adds rows, in one transaction.
    pub(crate) fn insert_rows(
        &self,
        rows: RangeInclusive<i64>,
        content: &mut Content,
    ) -> Result<(), SqliteError> {
        let failed = |error| self.failure("add rows to", &error);
        let transaction = self.connection.unchecked_transaction().map_err(failed)?;
        let mut statement = transaction.prepare_cached(INSERT).map_err(failed)?;
        for row in rows {
            statement.execute((row, content.of(self.index, row, 0))).map_err(failed)?;
        }
        drop(statement);
        transaction.commit().map_err(failed)
    }

    /// Begins a transaction of several statements, which [`Database::commit`] ends.
    pub(crate) fn begin(&self) -> Result<(), SqliteError> {
        self.execute("BEGIN IMMEDIATE", "begin a transaction in")
    }

    /// Commits the transaction.
    pub(crate) fn commit(&self) -> Result<(), SqliteError> {
        self.execute("COMMIT", "save to")
    }

    fn execute(&self, sql: &str, operation: &'static str) -> Result<(), SqliteError> {
        // Prepared once for a connection.
        let prepared = self.connection.prepare_cached(sql);
        let done = prepared.and_then(|mut statement| statement.raw_execute());
        done.map(drop).map_err(|error| self.failure(operation, &error))
    }

    /// Sets journal mode and `synchronous` and reads them back; the result lists what SQLite did
    /// not accept.
    pub(crate) fn set_modes(&self, save: &Save) -> Result<Vec<Downgrade>, SqliteError> {
        let failed = |error| self.failure("set the journal mode of", &error);
        let wanted = journal_name(save.journal);
        let journal: String = self
            .connection
            .pragma_update_and_check(None, "journal_mode", wanted, |row| row.get(0))
            .map_err(failed)?;
        let failed = |error| self.failure("set `synchronous` of", &error);
        let level = synchronous_level(save.synchronous);
        self.connection.pragma_update(None, "synchronous", level).map_err(failed)?;
        let effective: i64 = self
            .connection
            .pragma_query_value(None, "synchronous", |row| row.get(0))
            .map_err(failed)?;
        let failed = |error| self.failure("set the limits of the journal of", &error);
        if let Some(pages) = save.wal_autocheckpoint {
            self.connection.pragma_update(None, "wal_autocheckpoint", pages).map_err(failed)?;
        }
        if let Some(limit) = save.journal_size_limit {
            // At most a tebibyte: it fits.
            let limit = limit.0.0 as i64;
            self.connection.pragma_update(None, "journal_size_limit", limit).map_err(failed)?;
        }
        Ok(downgrades(save, &journal, effective))
    }
}

/// Differences between the requested modes and SQLite's.
fn downgrades(save: &Save, journal: &str, level: i64) -> Vec<Downgrade> {
    let mut downgrades = Vec::new();
    let wanted = journal_name(save.journal);
    if !journal.eq_ignore_ascii_case(wanted) {
        downgrades.push(Downgrade {
            requested: format!("journal_mode={wanted}"),
            effective: format!("journal_mode={}", journal.to_ascii_uppercase()),
            reason:
                "SQLite does not accept it on this filesystem (WAL needs shared memory maps and \
                     file locks)"
                    .to_owned(),
        });
    }
    if level != synchronous_level(save.synchronous) {
        downgrades.push(Downgrade {
            requested: format!("synchronous={}", synchronous_level(save.synchronous)),
            effective: format!("synchronous={level}"),
            reason: "SQLite does not take it".to_owned(),
        });
    }
    downgrades
}

/// Removes a database and all files that SQLite puts beside it.
pub(crate) fn remove_files(storage: &dyn Storage, database: &str) -> Result<(), SqliteError> {
    for suffix in ["", "-journal", "-wal", "-shm"] {
        storage.remove(&format!("{database}{suffix}"))?;
    }
    Ok(())
}

/// Most bytes of content in one transaction of the first rows.
pub(crate) const CHUNK: Bytes = Bytes::from_mib(4);

fn journal_name(journal: JournalMode) -> &'static str {
    match journal {
        JournalMode::Delete => "DELETE",
        JournalMode::Truncate => "TRUNCATE",
        JournalMode::Persist => "PERSIST",
        JournalMode::Wal => "WAL",
        JournalMode::Memory => "MEMORY",
        JournalMode::Off => "OFF",
    }
}

/// The number that `PRAGMA synchronous` returns for a mode.
fn synchronous_level(synchronous: Synchronous) -> i64 {
    match synchronous {
        Synchronous::Extra => 3,
        Synchronous::Full => 2,
        Synchronous::Normal => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlag_spec::scenario::{Arrivals, SyncCall};
    use flashlag_units::Text;

    #[test]
    fn an_answer_other_than_what_was_asked_for_is_a_downgrade() {
        let save = Save {
            name: "test".to_owned(),
            statement: Statement::Insert,
            journal: JournalMode::Wal,
            synchronous: Synchronous::Full,
            sync_call: SyncCall::default(),
            atomic: None,
            wal_autocheckpoint: None,
            journal_size_limit: None,
            statements: 1,
            row: Text(Bytes(100)),
            rows: 0,
            databases: 1,
            saves: Some(1),
            time: None,
            min_saves: None,
            arrivals: Arrivals::default(),
            think: None,
            background: None,
        };
        assert_eq!(downgrades(&save, "wal", 2), vec![]);
        let found = downgrades(&save, "delete", 1);
        assert_eq!(found[0].requested, "journal_mode=WAL");
        assert_eq!(found[0].effective, "journal_mode=DELETE");
        assert_eq!(found[1].requested, "synchronous=2");
        assert_eq!(found[1].effective, "synchronous=1");
    }
}
