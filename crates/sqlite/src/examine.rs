//! Checks a database after a crash.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::database::file_name;
use crate::error::SqliteError;

/// Result of examining a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examination {
    /// Number of rows, if they can be counted.
    pub rows: u64,
    /// Faults found by `PRAGMA integrity_check`; empty if there are none.
    pub damage: Option<String>,
}

/// Opens the first database of a job in `directory` as a program would after a crash, which rolls
/// an unfinished transaction back or forward, and checks it.
pub fn examine(directory: &Path) -> Result<Examination, SqliteError> {
    let path = directory.join(file_name(0));
    let failed = |what, error: &rusqlite::Error| SqliteError::wrong(what, &path, error.to_string());
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&path, flags);
    let connection = connection.map_err(|error| failed("open", &error))?;
    let answer = connection.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
    let answer = answer.map_err(|error| failed("check", &error))?;
    let rows = connection.query_row("SELECT count(*) FROM saves", [], |row| row.get::<_, i64>(0));
    let rows = rows.map_err(|error| failed("count the rows of", &error))?;
    let damage = (answer != "ok").then_some(answer);
    Ok(Examination { rows: u64::try_from(rows).unwrap_or_default(), damage })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sound_database_is_counted_and_a_damaged_one_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(file_name(0));
        assert!(examine(folder.path()).is_err(), "there is none yet");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch("CREATE TABLE saves (id INTEGER PRIMARY KEY, content BLOB)")
            .unwrap();
        for _ in 0..300 {
            connection.execute("INSERT INTO saves (content) VALUES (randomblob(100))", []).unwrap();
        }
        drop(connection);
        assert_eq!(examine(folder.path()).unwrap(), Examination { rows: 300, damage: None });
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[4096 * 2..4096 * 3].fill(0);
        std::fs::write(&path, bytes).unwrap();
        let after = examine(folder.path());
        assert!(!matches!(after, Ok(Examination { damage: None, .. })), "{after:?}");
    }
}
