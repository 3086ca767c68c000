//! Several statements per transaction, think times, and the call that makes a file durable.

use super::*;

/// The calls of saves, without those that make the databases.
fn calls_of_saves(save: &Save, files: &Fake) -> (SavesOutcome, Vec<String>) {
    let job = job(save);
    let stop = AtomicBool::new(false);
    let prepared =
        PreparedSaves::prepare_on(Box::new(files.clone()), &job, Nanos::ZERO, &stop).unwrap();
    files.take_calls();
    let mut calls = Vec::new();
    let mut ended = || calls = files.take_calls();
    let watch =
        SaveWatch { on_end: Some(&mut ended), ..SaveWatch::new(&stop, None::<NoWaitMeter>) };
    let saved = prepared.run(watch).unwrap();
    (saved, calls)
}

fn count(calls: &[String], call: &str) -> usize {
    let of_files = calls.iter().filter(|one| *one != "sync the directory");
    of_files.filter(|one| one.split(' ').next() == Some(call)).count()
}

#[test]
fn all_statements_of_a_save_are_made_durable_by_one_commit() {
    for statement in [Statement::Insert, Statement::Update, Statement::Delete] {
        for (journal, syncs) in [(JournalMode::Wal, 1), (JournalMode::Delete, 3)] {
            let mut save = save(statement, journal, 400, Some(10));
            (save.statements, save.databases) = (25, 2);
            let files = Fake::new(1 << 24);
            let (saved, calls) = calls_of_saves(&save, &files);
            let cell = format!("{statement:?} {journal:?}");
            assert_eq!((saved.error, saved.recorded.latency.count()), (None, 10), "{cell}");
            assert_eq!(saved.app_bytes, Bytes(10 * 25 * 2 * 100), "{cell}");
            // The calls repeat for each database, and the log's header precedes its first frames.
            // Rows are put back by a transaction of their own.
            let expected = 10 * 2 * syncs;
            let others = saved.top_ups.count as usize * 2 * syncs + 2;
            let made = count(&calls, "sync");
            assert!((expected..=expected + others).contains(&made), "{cell}: {made} {others}");
            let rows = match statement {
                Statement::Insert => 400 + 250,
                Statement::Update => 400,
                Statement::Delete => 150 + saved.top_ups.rows,
            };
            for index in 0..2 {
                assert_eq!(rows_of_a_sound(&files, index), rows, "{cell}");
            }
        }
    }
}

#[test]
fn statements_of_one_transaction_share_pages_and_the_commit() {
    let wrote = |statements: u32| {
        let mut save =
            save(Statement::Insert, JournalMode::Wal, 0, Some(100 / u64::from(statements)));
        save.statements = statements;
        run(&save, &Fake::new(1 << 24), Nanos::ZERO).unwrap()
    };
    let (alone, together) = (wrote(1), wrote(10));
    assert_eq!(alone.app_bytes, together.app_bytes);
    // A hundred rows of a hundred bytes fill three leaves: a commit writes one of them, now and then two.
    let bytes = |saved: &SavesOutcome| saved.page_bytes.value().unwrap().0;
    assert!(bytes(&together) * 4 < bytes(&alone), "{} {}", bytes(&together), bytes(&alone));
    assert!(together.recorded.elapsed.0 * 4 < alone.recorded.elapsed.0);
    // Computing time is counted once per statement.
    let mut save = save(Statement::Update, JournalMode::Memory, 40, Some(10));
    save.statements = 10;
    let cpu = Nanos::from_millis(1);
    let saved = run(&save, &Fake::new(1 << 24), cpu).unwrap();
    assert!(saved.recorded.elapsed >= Nanos::from_millis(100), "{}", saved.recorded.elapsed);
}

#[test]
fn fsync_takes_the_place_of_every_fdatasync_and_of_nothing_else() {
    for journal in JOURNALS {
        let calls = |sync_call| {
            let save = Save { sync_call, ..save(Statement::Update, journal, 40, Some(5)) };
            calls_of_saves(&save, &Fake::new(1 << 24)).1
        };
        let data = calls(SyncCall::Fdatasync);
        assert_eq!(count(&data, "fsync"), 0, "{journal:?}");
        let renamed: Vec<String> = data
            .into_iter()
            .map(|call| match call.strip_prefix("sync the directory") {
                Some(_) => call,
                None => call.replacen("sync ", "fsync ", 1),
            })
            .collect();
        assert_eq!(calls(SyncCall::Fsync), renamed, "{journal:?}");
    }
}

#[test]
fn think_times_pass_in_virtual_time_and_are_in_no_latency() {
    let think = Nanos::from_millis(50);
    let mut save = save(Statement::Update, JournalMode::Wal, 40, Some(20));
    let at_once = run(&save, &Fake::new(1 << 24), Nanos::ZERO).unwrap();
    save.think = Some(Text(think));
    let rested = run(&save, &Fake::new(1 << 24), Nanos::ZERO).unwrap();
    assert_eq!(rested.recorded.latency, at_once.recorded.latency);
    assert_eq!(rested.thought, Nanos(19 * think.0));
    assert_eq!(rested.recorded.elapsed, at_once.recorded.elapsed.plus(rested.thought));
    assert_eq!(rested.recorded.response.count(), 0);
    // A time limit ends the phase before a rest that would exceed the limit.
    (save.saves, save.time) = (None, Some(Text(Nanos(5 * think.0))));
    let limited = run(&save, &Fake::new(1 << 24), Nanos::ZERO).unwrap();
    assert_eq!(limited.recorded.latency.count(), 5);
    assert!(limited.recorded.elapsed <= Nanos(5 * think.0), "{}", limited.recorded.elapsed);
}
