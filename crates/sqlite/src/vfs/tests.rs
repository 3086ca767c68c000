//! SQLite on files that are not the operating system's.

#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use flashlag_units::Nanos;
use rusqlite::{Connection, OpenFlags};

use super::fake::Fake;
use super::{Files, MountGuard, NAME, register};

fn mounted(limit: u64) -> (Fake, MountGuard) {
    register().expect("SQLite takes it");
    let fake = Fake::new(limit);
    (fake.clone(), MountGuard::new(Box::new(fake), 1))
}

fn open(mounted: &MountGuard, modes: &str) -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let path = mounted.path("test.db");
    let connection = Connection::open_with_flags_and_vfs(path, flags, NAME).expect("opens");
    connection.execute_batch(modes).expect("sets modes");
    connection
}

/// The calls of the third of three one-row transactions, without reads.
fn calls_of_a_commit(modes: &str) -> Vec<String> {
    let (fake, mounted) = mounted(1 << 20);
    let connection = open(&mounted, modes);
    connection.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, c BLOB)").expect("creates");
    let mut insert = connection.prepare("INSERT INTO t (c) VALUES (zeroblob(100))").expect("ok");
    insert.execute([]).expect("inserts");
    insert.execute([]).expect("inserts");
    fake.take_calls();
    insert.execute([]).expect("inserts");
    fake.take_calls().into_iter().filter(|call| !call.starts_with("read")).collect()
}

#[test]
fn where_writes_are_atomic_a_save_is_one_of_them_and_has_no_journal() {
    for journal in ["delete", "truncate", "persist"] {
        register().unwrap();
        let fake = Fake::new(1 << 20).atomic();
        let mounted = MountGuard::new(Box::new(fake.clone()), 1);
        let connection = open(&mounted, &format!("PRAGMA journal_mode={journal}"));
        connection.execute_batch("CREATE TABLE t (c BLOB); INSERT INTO t VALUES (1)").unwrap();
        fake.take_calls();
        let before = mounted.writes().bytes;
        connection.execute("INSERT INTO t VALUES (zeroblob(100))", []).unwrap();
        let calls: Vec<String> =
            fake.take_calls().into_iter().filter(|call| !call.starts_with("read")).collect();
        let expected = [
            "write test.db 0+4096",
            "write test.db 4096+4096",
            "commit test.db 0+2",
            // SQLite syncs the database all the same.
            "sync test.db 0+0",
        ];
        assert_eq!(calls, expected, "{journal}");
        assert_eq!(mounted.writes().bytes - before, 2 * 4096, "{journal}: they are counted");
        drop(connection);
        let rows = open(&mounted, "").query_row("SELECT count(*) FROM t", [], |row| row.get(0));
        assert_eq!(rows, Ok(2), "{journal}");
    }
}

#[test]
fn an_atomic_write_without_room_leaves_the_database_as_it_was() {
    register().unwrap();
    let fake = Fake::new(1 << 20).atomic();
    let mounted = MountGuard::new(Box::new(fake.clone()), 1);
    let connection = open(&mounted, "PRAGMA journal_mode=DELETE");
    connection.execute_batch("CREATE TABLE t (c BLOB); INSERT INTO t VALUES (1)").unwrap();
    fake.limit(4 * 4096);
    assert!(connection.execute("INSERT INTO t VALUES (zeroblob(100000))", []).is_err());
    drop(connection);
    fake.limit(1 << 20);
    let connection = open(&mounted, "");
    let whole = connection.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
    assert_eq!(whole.as_deref(), Ok("ok"));
    let rows = connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0));
    assert_eq!(rows, Ok(1));
    connection.execute("INSERT INTO t VALUES (zeroblob(100000))", []).unwrap();
}

#[test]
fn a_rollback_journal_makes_the_calls_that_the_unix_vfs_makes() {
    let calls = calls_of_a_commit("PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL");
    // As strace shows them on a real directory: header, two records of three writes each, both
    // syncs of the journal, the pages in place.
    assert_eq!(
        calls,
        [
            "create test.db-journal 0+0",
            "write test.db-journal 0+512",
            "write test.db-journal 512+4",
            "write test.db-journal 516+4096",
            "write test.db-journal 4612+4",
            "write test.db-journal 4616+4",
            "write test.db-journal 4620+4096",
            "write test.db-journal 8716+4",
            "sync test.db-journal 0+0",
            "sync the directory",
            "write test.db-journal 0+12",
            "sync test.db-journal 0+0",
            "write test.db 0+4096",
            "write test.db 4096+4096",
            "sync test.db 0+0",
            "delete test.db-journal 0+0",
        ]
    );
}

#[test]
fn a_log_makes_the_calls_that_the_unix_vfs_makes() {
    let calls = calls_of_a_commit("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL");
    let frame = ["write test.db-wal 16512+24", "write test.db-wal 16536+4096"];
    assert_eq!(calls, [&frame[..], &["sync test.db-wal 0+0"]].concat());
    let calls = calls_of_a_commit("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL");
    assert_eq!(calls, frame);
}

#[test]
fn connections_of_a_thread_share_a_database_and_its_locks() {
    for journal in ["DELETE", "WAL"] {
        let (_, mounted) = mounted(1 << 20);
        let writer = open(&mounted, &format!("PRAGMA journal_mode={journal}"));
        writer
            .execute_batch("CREATE TABLE t (c); BEGIN IMMEDIATE; INSERT INTO t VALUES (1)")
            .unwrap();
        let other = open(&mounted, "PRAGMA busy_timeout=50");
        let refused = other.execute_batch("INSERT INTO t VALUES (2)").unwrap_err();
        let code = refused.sqlite_error_code();
        assert_eq!(code, Some(rusqlite::ErrorCode::DatabaseBusy), "{journal}: {refused}");
        writer.execute_batch("COMMIT").unwrap();
        other.execute_batch("INSERT INTO t VALUES (2)").unwrap();
        let rows = |from: &Connection| {
            from.query_row("SELECT count(*) FROM t", [], |row| row.get::<_, i64>(0)).unwrap()
        };
        assert_eq!((rows(&writer), rows(&other)), (2, 2), "{journal}");
    }
}

#[test]
fn waiting_for_a_lock_takes_virtual_time_only() {
    let (fake, mounted) = mounted(1 << 20);
    let writer = open(&mounted, "CREATE TABLE t (c); BEGIN IMMEDIATE");
    let other = open(&mounted, "PRAGMA busy_timeout=3600000");
    let began = (std::time::Instant::now(), fake.clock().now());
    assert!(other.execute_batch("INSERT INTO t VALUES (2)").is_err());
    assert!(began.0.elapsed().as_secs() < 600);
    assert!(fake.clock().now().since(began.1) >= Nanos::from_secs(3500));
    drop(writer);
}

#[test]
fn a_rolled_back_journal_is_played_back_when_it_is_found() {
    let (fake, mounted) = mounted(1 << 20);
    let connection =
        open(&mounted, "CREATE TABLE t (c BLOB); INSERT INTO t VALUES (zeroblob(9000))");
    // With so small a cache, pages of the unfinished transaction spill into the database.
    let unfinished = "PRAGMA cache_size=5; BEGIN; UPDATE t SET c=randomblob(9000);
        INSERT INTO t VALUES (randomblob(200000))";
    connection.execute_batch(unfinished).unwrap();
    let after = fake.copy();
    drop(connection);
    assert!(after.names().contains(&"test.db-journal".to_owned()), "{:?}", after.names());
    let mounted = MountGuard::new(Box::new(after.clone()), 1);
    let recovered = open(&mounted, "");
    let is_whole = "SELECT count(*)=1 AND min(c=zeroblob(9000)) FROM t";
    assert!(recovered.query_row(is_whole, [], |row| row.get::<_, bool>(0)).unwrap());
    assert!(!after.names().contains(&"test.db-journal".to_owned()));
}

#[test]
fn a_mount_that_is_gone_is_an_error_and_frees_nothing_that_is_in_use() {
    let (_, mounted) = mounted(1 << 20);
    let connection = open(&mounted, "PRAGMA journal_mode=WAL; CREATE TABLE t (c)");
    drop(mounted);
    assert!(connection.execute_batch("INSERT INTO t VALUES (1)").is_err());
    assert!(connection.query_row("SELECT * FROM t", [], |_| Ok(())).is_err());
}

#[test]
fn another_thread_finds_no_file() {
    let (_, mounted) = mounted(1 << 20);
    let connection = open(&mounted, "PRAGMA journal_mode=WAL; CREATE TABLE t (c)");
    std::thread::scope(|scope| {
        let use_there = || {
            assert!(connection.execute_batch("INSERT INTO t VALUES (1)").is_err());
            connection
        };
        let connection = scope.spawn(use_there).join().unwrap();
        connection.execute_batch("INSERT INTO t VALUES (1)").unwrap();
    });
}
