//! The table of a trace and its replay recognize the same SQLite transactions.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use flashlag_schema::trace::{Trace, TraceAction, TraceFile, TraceSource, TraceTask};
use flashlag_spec::TraceFileKind;
use flashlag_spec::scenario::{Replay, Scenario, Test};
use flashlag_trace::replay_stream;
use flashlag_trace::{Builder, add_up};
use flashlag_units::{Bytes, Nanos};
use proptest::prelude::*;

const DATABASE: u32 = 0;
const JOURNAL: u32 = 1;
const LOG: u32 = 2;

/// What SQLite does with a database, one step after the other.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A transaction with a journal that is deleted at its end.
    Rollback,
    /// One that is taken back before the database is written.
    TakenBack,
    /// A transaction whose frames are synced.
    Synced(u8),
    /// Frames that nobody syncs, as with `synchronous=NORMAL`.
    Unsynced(u8),
    /// The log is synced and copied into the database.
    Checkpoint,
}

fn calls(step: Step, calls: &mut Vec<TraceAction>) {
    let write = |file, bytes| TraceAction::Write { file, offset: Some(4096), bytes: Bytes(bytes) };
    let sync = |file| TraceAction::Sync { file, data_only: true };
    let journal = [write(JOURNAL, 512), sync(JOURNAL)];
    let gone = TraceAction::Unlink { file: JOURNAL };
    let frames = |count: u8| (0..=count % 3).map(move |_| write(LOG, 4120));
    match step {
        Step::Rollback => {
            calls.extend(journal);
            calls.extend([write(DATABASE, 4096), sync(DATABASE), gone]);
        }
        Step::TakenBack => calls.extend(journal.into_iter().chain([gone])),
        Step::Synced(count) => calls.extend(frames(count).chain([sync(LOG)])),
        Step::Unsynced(count) => calls.extend(frames(count)),
        Step::Checkpoint => calls.extend([sync(LOG), write(DATABASE, 4096), sync(DATABASE)]),
    }
}

fn trace(steps: &[Step]) -> Trace {
    let mut builder = Builder::new(TraceSource::default());
    let task = builder.task(TraceTask { tid: Some(1), ..TraceTask::default() });
    for (path, kind) in [
        ("/a.db", TraceFileKind::Database),
        ("/a.db-journal", TraceFileKind::Journal),
        ("/a.db-wal", TraceFileKind::Wal),
    ] {
        builder.file(TraceFile { path: Some(path.to_owned()), kind, ..TraceFile::default() });
    }
    let mut all = Vec::new();
    steps.iter().for_each(|step| calls(*step, &mut all));
    for (at, action) in (1..).zip(all) {
        builder.event(Nanos(at * 1000), Some(Nanos(500)), Some(task), action);
    }
    builder.finish()
}

fn asked() -> Replay {
    let text =
        "name = \"x\"\n[[replay]]\nname = \"r\"\ntrace = \"t\"\n[[step]]\nmeasure = [\"r\"]\n";
    match Scenario::parse(text, &[]).unwrap().tests.remove("r") {
        Some(Test::Replay(replay)) => replay,
        other => panic!("{other:?}"),
    }
}

/// A database has a journal or a log.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let rollback = prop_oneof![Just(Step::Rollback), Just(Step::TakenBack)];
    let log = prop_oneof![
        any::<u8>().prop_map(Step::Synced),
        any::<u8>().prop_map(Step::Unsynced),
        Just(Step::Checkpoint),
    ];
    prop_oneof![proptest::collection::vec(rollback, 1..20), proptest::collection::vec(log, 1..20),]
}

proptest! {
    #[test]
    fn the_table_and_the_replay_count_the_same_transactions(steps in steps()) {
        let trace = trace(&steps);
        let commits: u64 = add_up(&trace).databases.iter().map(|database| database.commits).sum();
        let stream = replay_stream(&trace, "sum", &asked()).unwrap();
        let replayed = stream.transactions().map_or(0, |all| all.rollback + all.log);
        prop_assert_eq!(replayed, commits, "{:?}", steps);
    }
}
