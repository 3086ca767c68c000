//! Saves in virtual time, on fake files.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod transactions;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use flashlag_device::NoWaitMeter;
use flashlag_spec::scenario::{
    Arrivals, JournalMode, Save, Schedule, Statement, SyncCall, Synchronous,
};
use flashlag_stats::Percentile;
use flashlag_units::{Bytes, Nanos, Text};
use rusqlite::Connection;

use crate::vfs::fake::Fake;
use crate::vfs::{Files, MountGuard, NAME};
use crate::{PreparedSaves, SaveJob, SaveWatch, SavesOutcome, SqliteError, remove_databases_on};

const JOURNALS: [JournalMode; 6] = [
    JournalMode::Delete,
    JournalMode::Truncate,
    JournalMode::Persist,
    JournalMode::Wal,
    JournalMode::Memory,
    JournalMode::Off,
];

fn save(statement: Statement, journal: JournalMode, rows: u64, saves: Option<u64>) -> Save {
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
        saves,
        time: None,
        min_saves: None,
        arrivals: Arrivals::default(),
        think: None,
        background: None,
    }
}

fn job(save: &Save) -> SaveJob<'_> {
    let (interval, stall_over) = (Nanos::from_millis(20), Nanos::from_millis(100));
    SaveJob { save, directory: Path::new(""), seed: 7, interval, stall_over }
}

fn run(save: &Save, files: &Fake, cpu: Nanos) -> Result<SavesOutcome, SqliteError> {
    let job = job(save);
    let stop = AtomicBool::new(false);
    let prepared = PreparedSaves::prepare_on(Box::new(files.clone()), &job, cpu, &stop)?;
    prepared.run(SaveWatch::new(&stop, None::<NoWaitMeter>))
}

fn open(files: &Fake, index: u32) -> (Connection, MountGuard) {
    let mounted = MountGuard::new(Box::new(files.clone()), 1);
    let path = mounted.path(&format!("save-{index}.db"));
    (Connection::open_with_flags_and_vfs(path, Default::default(), NAME).unwrap(), mounted)
}

fn rows_of_a_sound(files: &Fake, index: u32) -> u64 {
    let (database, _mounted) = open(files, index);
    let sound: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    database.query_row("SELECT count(*) FROM saves", [], |row| row.get::<_, i64>(0)).unwrap() as u64
}

#[test]
fn every_cell_of_the_matrix_saves_what_it_says_in_every_database() {
    for statement in [Statement::Insert, Statement::Update, Statement::Delete] {
        for journal in JOURNALS {
            for level in [Synchronous::Extra, Synchronous::Full, Synchronous::Normal] {
                let cell = format!("{statement:?} {journal:?} {level:?}");
                let mut save = save(statement, journal, 40, Some(25));
                (save.synchronous, save.databases) = (level, 2);
                let files = Fake::new(1 << 24);
                let saved = run(&save, &files, Nanos::ZERO).unwrap();
                assert_eq!((saved.error, saved.downgrades), (None, vec![]), "{cell}");
                assert_eq!(saved.recorded.latency.count(), 25, "{cell}");
                assert!(!saved.cut_short && saved.time.is_none(), "{cell}");
                let expected = match statement {
                    Statement::Insert => 65,
                    Statement::Update => 40,
                    Statement::Delete => 15 + saved.top_ups.rows,
                };
                for index in 0..2 {
                    assert_eq!(rows_of_a_sound(&files, index), expected, "{cell}");
                }
            }
        }
    }
}

#[test]
fn sqlite_writes_what_it_writes_to_a_real_directory_in_as_many_calls() {
    for statement in [Statement::Insert, Statement::Update, Statement::Delete] {
        for journal in JOURNALS {
            for level in [Synchronous::Extra, Synchronous::Full, Synchronous::Normal] {
                let mut save = save(statement, journal, 300, Some(25));
                save.synchronous = level;
                let directory = tempfile::TempDir::new().unwrap();
                let job = SaveJob { directory: directory.path(), ..job(&save) };
                let stop = AtomicBool::new(false);
                let watch = SaveWatch::new(&stop, None::<NoWaitMeter>);
                let real = crate::run(&job, watch).unwrap();
                if real.page_bytes.value().is_none() {
                    return flashlag_need::skip(real.page_bytes.reason().unwrap_or_default());
                }
                let simulated = run(&save, &Fake::new(1 << 24), Nanos::ZERO).unwrap();
                let cell = format!("{statement:?} {journal:?} {level:?}");
                // The `-shm` file of a real log begins with a byte in each of its eight pages.
                let beside = if journal == JournalMode::Wal { 8 } else { 0 };
                let wrote = |saved: &SavesOutcome| {
                    (saved.page_bytes.value().unwrap().0, *saved.write_calls.value().unwrap())
                };
                let (bytes, calls) = wrote(&simulated);
                assert_eq!((bytes + beside, calls + beside), wrote(&real), "{cell}");
                assert_eq!(simulated.prepared_bytes, real.prepared_bytes, "{cell}");
                assert_eq!(simulated.grew.count(), real.grew.count(), "{cell}");
                assert_eq!(simulated.database_bytes, real.database_bytes, "{cell}");
            }
        }
    }
}

#[test]
fn a_save_takes_the_virtual_time_of_its_calls_and_of_what_is_computed() {
    // A frame is two writes of 10 µs and a sync of 1 ms.
    for (cpu, micros) in [(Nanos::ZERO, 1020), (Nanos::from_micros(500), 1520)] {
        let files = Fake::new(1 << 24);
        let save = save(Statement::Update, JournalMode::Wal, 40, Some(100));
        let saved = run(&save, &files, cpu).unwrap();
        let median = saved.recorded.latency.quantile(Percentile::P50).unwrap().0;
        assert!(median.abs_diff(micros * 1000) < micros * 10, "{median}");
        // The elapsed time and the bytes count it as well: a page and its header.
        let elapsed = saved.recorded.elapsed.0;
        assert!((100 * micros * 1000..101 * micros * 1000 + 2_000_000).contains(&elapsed));
        let bytes = saved.page_bytes.value().unwrap().0;
        assert!((100 * 4120..100 * 4120 + 64).contains(&bytes), "{bytes}");
        assert!((200..=201).contains(saved.write_calls.value().unwrap()));
        assert!(saved.prepared_bytes.value().unwrap().0 > 8192);
    }
}

#[test]
fn an_open_loop_waits_in_virtual_time_and_counts_response_from_the_schedule() {
    let mut save = save(Statement::Update, JournalMode::Wal, 40, None);
    save.time = Some(Text(Nanos::from_secs(10)));
    save.arrivals = Arrivals { per_second: Some(50.0), schedule: Schedule::Fixed };
    let files = Fake::new(1 << 24);
    let recorded = run(&save, &files, Nanos::ZERO).unwrap().recorded;
    assert!((499..=501).contains(&recorded.latency.count()), "{}", recorded.latency.count());
    assert_eq!(recorded.missed_slots, 0);
    assert!(recorded.elapsed.0.abs_diff(10_000_000_000) < 30_000_000, "{}", recorded.elapsed);
    assert_eq!(recorded.response.sum(), recorded.latency.sum(), "none waits for another");
    // Twice the rate that is possible: each save waits longer than the one before.
    save.arrivals.per_second = Some(2000.0);
    let recorded = run(&save, &Fake::new(1 << 24), Nanos::ZERO).unwrap().recorded;
    assert!(recorded.missed_slots > 5000, "{}", recorded.missed_slots);
    assert!(recorded.response.quantile(Percentile::P50) > Some(Nanos::from_secs(1)));
}

#[test]
fn two_runs_of_one_seed_are_the_same() {
    for journal in JOURNALS {
        let mut save = save(Statement::Delete, journal, 200, None);
        save.time = Some(Text(Nanos::from_secs(2)));
        save.arrivals = Arrivals { per_second: Some(100.0), schedule: Schedule::Poisson };
        let once = || {
            let saved = run(&save, &Fake::new(1 << 24), Nanos::from_micros(7)).unwrap();
            assert_eq!(saved.error, None);
            format!("{saved:?}")
        };
        assert_eq!(once(), once(), "{journal:?}");
    }
}

#[test]
fn no_space_is_a_clean_error_that_keeps_the_saves_before_it() {
    for journal in JOURNALS {
        let files = Fake::new(200_000);
        let save = save(Statement::Insert, journal, 10, Some(u64::MAX));
        let saved = run(&save, &files, Nanos::ZERO).unwrap();
        let count = saved.recorded.latency.count();
        assert!(saved.cut_short && count > 20, "{journal:?}: {count}");
        let error = saved.error.unwrap();
        assert!(error.is_no_space(), "{journal:?}: {error}");
        let said = error.to_string();
        for part in ["save to save-0.db", "write the fake", "SQLITE_FULL (13)", "free some space"] {
            assert!(said.contains(part), "{journal:?}: {said}");
        }
        // No save is lost, unless there was no journal to roll back with.
        if journal != JournalMode::Off {
            assert_eq!(rows_of_a_sound(&files, 0), 10 + count, "{journal:?}");
        }
    }
    let save = save(Statement::Insert, JournalMode::Delete, 100_000, Some(1));
    let error = run(&save, &Fake::new(200_000), Nanos::ZERO).unwrap_err();
    assert!(error.is_no_space() && error.operation == "add rows to", "{error}");
}

#[test]
fn old_databases_are_replaced_and_those_of_before_can_be_removed() {
    let files = Fake::new(1 << 24);
    let save = save(Statement::Insert, JournalMode::Persist, 5, Some(5));
    run(&save, &files, Nanos::ZERO).unwrap();
    run(&save, &files, Nanos::ZERO).unwrap();
    assert_eq!(rows_of_a_sound(&files, 0), 10);
    assert_eq!(files.names(), ["save-0.db", "save-0.db-journal"]);
    let job = job(&save);
    remove_databases_on(Box::new(files.clone()), &job).unwrap();
    assert_eq!(files.names(), Vec::<String>::new());
}

#[test]
fn the_virtual_clock_moves_while_rows_are_put_back_but_no_figure_does() {
    let files = Fake::new(1 << 24);
    let save = save(Statement::Delete, JournalMode::Delete, 100, Some(300));
    let began = files.clock().now();
    let saved = run(&save, &files, Nanos::ZERO).unwrap();
    let (took, elapsed) = (saved.top_ups.took, saved.recorded.elapsed);
    assert!(saved.top_ups.count >= 5 && took > Nanos::ZERO);
    assert!(elapsed.plus(took) <= files.clock().now().since(began));
    assert!(elapsed.0.abs_diff(saved.recorded.latency.sum().0) < 1000);
}

/// Runs a job on a machine that takes `reading` to read its counters, at the end of each interval
/// and after the last save.
fn run_with_slow_readings(save: &Save, reading: Nanos) -> SavesOutcome {
    let files = Fake::new(1 << 24);
    let job = job(save);
    let stop = AtomicBool::new(false);
    let cpu = Nanos::from_micros(30);
    let prepared = PreparedSaves::prepare_on(Box::new(files.clone()), &job, cpu, &stop).unwrap();
    let pass = |files: &Fake| {
        let clock = files.clock();
        clock.pass_until(clock.now().plus(reading));
    };
    let mut at_interval = |_: &mut flashlag_stats::Recorder| {
        pass(&files);
        std::ops::ControlFlow::Continue(())
    };
    let mut at_end = || pass(&files);
    let watch = SaveWatch {
        on_interval: Some(&mut at_interval),
        on_end: Some(&mut at_end),
        ..SaveWatch::new(&stop, None::<NoWaitMeter>)
    };
    prepared.run(watch).unwrap()
}

#[test]
fn reading_counters_takes_none_of_the_time_of_saves() {
    for journal in JOURNALS {
        for statement in [Statement::Insert, Statement::Update, Statement::Delete] {
            let save = save(statement, journal, 300, Some(200));
            let quick = run_with_slow_readings(&save, Nanos::ZERO).recorded;
            let slow = run_with_slow_readings(&save, Nanos::from_secs(3)).recorded;
            let cell = format!("{statement:?} {journal:?}");
            assert_eq!(slow.elapsed, quick.elapsed, "{cell}");
            assert_eq!(slow.latency, quick.latency, "{cell}");
            // Nothing but saves takes time here.
            assert_eq!(slow.elapsed, slow.latency.sum(), "{cell}");
        }
    }
}

#[test]
fn a_slow_reading_after_the_last_save_misses_no_slot_of_the_schedule() {
    let mut save = save(Statement::Update, JournalMode::Memory, 100, None);
    save.time = Some(Text(Nanos::from_secs(60)));
    save.arrivals = Arrivals { per_second: Some(100.0), schedule: Schedule::Fixed };
    let stopped_early = |reading| {
        let files = Fake::new(1 << 24);
        let stop = AtomicBool::new(false);
        let job = job(&save);
        let prepared =
            PreparedSaves::prepare_on(Box::new(files.clone()), &job, Nanos(1), &stop).unwrap();
        let mut at_interval =
            |_: &mut flashlag_stats::Recorder| std::ops::ControlFlow::Break("enough".to_owned());
        let mut at_end = || files.clock().pass_until(files.clock().now().plus(reading));
        let watch = SaveWatch {
            on_interval: Some(&mut at_interval),
            on_end: Some(&mut at_end),
            ..SaveWatch::new(&stop, None::<NoWaitMeter>)
        };
        prepared.run(watch).unwrap().recorded
    };
    let (quick, slow) = (stopped_early(Nanos::ZERO), stopped_early(Nanos::from_secs(5)));
    assert_eq!((quick.missed_slots, quick.elapsed), (slow.missed_slots, slow.elapsed));
    assert!(slow.missed_slots <= 1, "{}", slow.missed_slots);
}
