//! What the tests of saves share.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use flashlag_engine::ThreadWaitMeter;
use flashlag_spec::scenario::{Arrivals, JournalMode, Save, Statement, SyncCall, Synchronous};
use flashlag_sqlite::{SaveJob, SaveWatch, SavesOutcome, run};
use flashlag_units::{Bytes, Nanos, Text};
use rusqlite::Connection;
use tempfile::TempDir;

pub const STATEMENTS: [Statement; 3] = [Statement::Insert, Statement::Update, Statement::Delete];
pub const JOURNALS: [JournalMode; 6] = [
    JournalMode::Delete,
    JournalMode::Truncate,
    JournalMode::Persist,
    JournalMode::Wal,
    JournalMode::Memory,
    JournalMode::Off,
];
pub const LEVELS: [Synchronous; 3] = [Synchronous::Extra, Synchronous::Full, Synchronous::Normal];

/// A directory in memory where there is one: what is asserted of it is what a save leaves, not that
/// it survives, and thousands of syncs of a disk take half a minute.
pub fn in_memory() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
    made.unwrap()
}

/// `saves` saves over `rows` rows of 100 bytes in one database.
pub fn save(statement: Statement, journal: JournalMode, rows: u64, saves: u64) -> Save {
    Save {
        name: "test".to_owned(),
        statement,
        journal,
        synchronous: Synchronous::Full,
        sync_call: SyncCall::default(),
        atomic: None,
        wal_autocheckpoint: None,
        journal_size_limit: None,
        statements: 1,
        row: Text(Bytes(100)),
        rows,
        databases: 1,
        saves: Some(saves),
        time: None,
        min_saves: None,
        arrivals: Arrivals::default(),
        think: None,
        background: None,
    }
}

pub fn job<'a>(save: &'a Save, directory: &'a Path) -> SaveJob<'a> {
    let (interval, stall_over) = (Nanos::from_millis(20), Nanos::from_millis(100));
    SaveJob { save, directory, seed: 7, interval, stall_over }
}

/// Runs a job to its end with a meter.
pub fn done(job: &SaveJob<'_>) -> SavesOutcome {
    let stop = AtomicBool::new(false);
    run(job, SaveWatch::new(&stop, ThreadWaitMeter::open().ok())).unwrap()
}

/// A second connection, after the job has closed its own.
pub fn open(directory: &Path, index: u32) -> Connection {
    Connection::open(directory.join(format!("save-{index}.db"))).unwrap()
}

pub fn count_rows(database: &Connection) -> u64 {
    let count: i64 =
        database.query_row("SELECT count(*) FROM saves", [], |row| row.get(0)).unwrap();
    count as u64
}

/// All rows, in order.
pub fn rows(database: &Connection) -> Vec<(i64, Vec<u8>)> {
    let mut statement = database.prepare("SELECT id, content FROM saves ORDER BY id").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

pub fn is_sound(database: &Connection) -> bool {
    let answer: String =
        database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    answer == "ok"
}
