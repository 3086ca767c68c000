use flashlag_schema::trace::{
    BlockFlags, BlockOperation, FailedCall, Trace, TraceAction, TraceDevice, TraceEvent, TraceFile,
};
use flashlag_spec::TraceFileKind;
use flashlag_spec::replay::{
    LARGEST_REQUEST, ReplayCall, ReplayKind, ReplayLevel, ReplaySave, TraceTransactions,
};
use flashlag_spec::scenario::{Replay, Scenario, Test};
use flashlag_units::{Bytes, Nanos};
use proptest::prelude::*;

use super::*;

/// A `[[replay]]` with more keys.
fn asked(keys: &str) -> Replay {
    let text = format!(
        "name = \"x\"\n[[replay]]\nname = \"r\"\ntrace = \"t\"\n{keys}\n[[step]]\nmeasure = [\"r\"]\n"
    );
    match Scenario::parse(&text, &[]).unwrap().tests.remove("r") {
        Some(Test::Replay(replay)) => replay,
        other => panic!("{other:?}"),
    }
}

fn event(t: u64, task: u32, action: TraceAction) -> TraceEvent {
    TraceEvent { t_ns: Nanos(t), took_ns: Some(Nanos(t / 2)), task: Some(task), action }
}

fn write(file: u32, offset: u64, bytes: u64) -> TraceAction {
    TraceAction::Write { file, offset: Some(offset), bytes: Bytes(bytes) }
}

fn read(file: u32, offset: Option<u64>, bytes: u64) -> TraceAction {
    TraceAction::Read { file, offset, bytes: Bytes(bytes) }
}

fn trace(kinds: &[TraceFileKind], events: Vec<TraceEvent>) -> Trace {
    let file = |kind: &TraceFileKind| TraceFile {
        path: Some("/data/../../etc/\u{1b}[31mpasswd\n".to_owned()),
        kind: *kind,
        ..TraceFile::default()
    };
    let devices = vec![TraceDevice { name: "8,0".to_owned(), below: None }; 2];
    let events = events.into();
    Trace { files: kinds.iter().map(file).collect(), devices, events, ..Trace::default() }
}

fn block(operation: BlockOperation, offset: u64, bytes: u64, flags: BlockFlags) -> TraceAction {
    let bytes = Bytes(bytes);
    TraceAction::Block { device: 0, operation, offset, bytes, flags, queued_ns: None, file: None }
}

const OTHER: TraceFileKind = TraceFileKind::Other;

fn of(trace: &Trace, keys: &str) -> ReplayStream {
    replay_stream(trace, "sum", &asked(keys)).unwrap()
}

#[test]
fn a_trace_without_an_operation_of_the_layer_is_refused_with_what_it_lacks() {
    let refused = |trace: &Trace, keys: &str| replay_stream(trace, "", &asked(keys)).unwrap_err();
    let calls = trace(&[OTHER], vec![event(1, 1, write(0, 0, 1))]);
    assert!(refused(&Trace::default(), "").to_string().contains("no block request"));
    assert!(refused(&calls, "as = \"blocks\"").to_string().contains("no block request"));
    assert!(refused(&Trace::default(), "as = \"calls\"").to_string().contains("no system call"));
}

#[test]
fn what_is_read_and_what_lies_before_a_write_was_there_before_the_trace() {
    let events = vec![
        event(0, 1, read(0, Some(8192), 4096)),
        event(1, 1, write(0, 40_960, 4096)),
        event(2, 1, write(1, 0, 100)),
        event(3, 1, read(1, Some(0), 100)),
        event(4, 1, TraceAction::Open { file: 2, truncated: true, created: true }),
        event(5, 1, read(2, Some(0), 100)),
        event(6, 1, TraceAction::Open { file: 3, truncated: false, created: true }),
        event(7, 1, write(3, 0, 50)),
        event(8, 1, read(4, None, 30)),
        event(9, 1, read(4, None, 30)),
    ];
    let stream = of(&trace(&[OTHER; 5], events), "");
    let before: Vec<_> = stream.files.iter().map(|file| file.before.map(|size| size.0)).collect();
    assert_eq!(before, [Some(40_960), Some(0), None, None, Some(60)]);
    assert_eq!(stream.ops.last().map(|op| op.offset), Some(30), "one read follows the other");
    assert_eq!(stream.written(), Bytes(4096 + 100 + 50));
    assert_eq!(stream.laid_out(), Bytes(40_960 + 60));
    assert_eq!(stream.room, Bytes(45_056 + 100 + 50 + 60));
}

#[test]
fn names_of_the_trace_are_nowhere_and_those_of_flashlag_end_as_the_kind_wants() {
    let kinds = [TraceFileKind::Database, TraceFileKind::Journal, TraceFileKind::Wal, OTHER];
    let events = (0..4u32).map(|file| event(0, 1, write(file, 0, 1))).collect();
    let stream = of(&trace(&kinds, events), "");
    let names: Vec<String> =
        stream.files.iter().enumerate().map(|(index, file)| file.name(index)).collect();
    assert_eq!(names, ["replay0.db", "replay1.db-journal", "replay2.db-wal", "replay3.dat"]);
    let sent = format!("{stream:?}");
    assert!(!sent.contains("etc") && !sent.contains("passwd"), "{sent}");
}

#[test]
fn pipes_directories_and_files_that_are_not_there_are_left_out_and_counted() {
    let events = vec![
        event(0, 1, write(0, 0, 1)),
        event(0, 1, write(1, 0, 1)),
        event(0, 1, TraceAction::Sync { file: 1, data_only: false }),
        event(0, 1, write(7, 0, 1)),
        event(0, 1, TraceAction::SyncAll),
    ];
    let kinds = [TraceFileKind::NotStorage, TraceFileKind::Directory];
    let stream = of(&trace(&kinds, events), "");
    let calls: Vec<ReplayCall> = stream.ops.iter().map(|op| op.call).collect();
    assert_eq!(calls, [ReplayCall::SyncDirectory, ReplayCall::SyncAll]);
    assert!(stream.notes[0].starts_with("2 calls on pipes"), "{:?}", stream.notes);
    assert!(stream.notes[1].starts_with("1 calls name no file"), "{:?}", stream.notes);
    assert!(stream.files.is_empty());
}

#[test]
fn offsets_of_any_size_and_writes_of_gigabytes_stay_within_the_span_and_keep_their_bytes() {
    let events = vec![
        event(0, 1, write(0, 1 << 63, 4096)),
        event(1, 1, write(0, u64::MAX, 4096)),
        event(2, 1, write(0, 0, 4 << 30)),
        event(3, 1, read(0, Some(u64::MAX - 5), 10)),
    ];
    let stream = of(&trace(&[OTHER], events), "span = \"1MiB\"");
    let span = 1 << 20;
    assert!(stream.ops.iter().all(|op| op.offset + op.bytes <= span), "{:?}", stream.ops.len());
    assert_eq!(stream.written(), Bytes(2 * 4096 + (4 << 30)));
    assert!(stream.laid_out() <= Bytes(span) && stream.room <= Bytes(span));
    assert!(stream.notes[0].contains("are folded"), "{:?}", stream.notes);
}

#[test]
fn events_in_any_order_begin_with_the_first_and_one_event_is_a_trace() {
    let events = vec![event(900, 1, write(0, 0, 1)), event(400, 2, write(0, 1, 1))];
    let stream = of(&trace(&[OTHER], events), "");
    let at: Vec<_> = stream.ops.iter().map(|op| (op.at.0, op.thread, op.offset)).collect();
    assert_eq!(at, [(0, 0, 1), (500, 1, 0)]);
    assert_eq!((stream.threads, stream.lasts()), (2, Nanos(500)));
    let one = of(&trace(&[OTHER], vec![event(7, 1, read(0, Some(0), 5))]), "");
    assert_eq!((one.ops.len(), one.lasts(), one.level), (1, Nanos::ZERO, ReplayLevel::Calls));
    let limited =
        |keys| of(&trace(&[OTHER], (0..9).map(|t| event(t, 1, write(0, t, 1))).collect()), keys);
    assert_eq!(limited("ops = 3").ops.len(), 3);
    assert_eq!(limited("time = \"5ns\"").ops.len(), 5);
}

#[test]
fn threads_beyond_the_most_share_one_and_the_order_within_each_stays() {
    let events = (0..200u32).map(|task| event(u64::from(task), task, write(0, 0, 1))).collect();
    let stream = of(&trace(&[OTHER], events), "");
    assert_eq!(stream.threads, MOST_THREADS);
    assert!(stream.ops.iter().all(|op| op.thread < MOST_THREADS));
    assert!(stream.notes[0].starts_with("136 threads"), "{:?}", stream.notes);
}

#[test]
fn a_rollback_transaction_ends_with_the_sync_of_its_database_and_one_of_a_log_with_that_of_the_log()
{
    let sync = |file| TraceAction::Sync { file, data_only: true };
    let actions = vec![
        TraceAction::Open { file: 1, truncated: false, created: true },
        write(1, 0, 512),
        sync(1),
        write(0, 0, 4096),
        sync(0),
        TraceAction::Unlink { file: 1 },
        // Rolled back: no write to the database.
        write(1, 0, 512),
        sync(1),
        TraceAction::Unlink { file: 1 },
        // A log with two frames per commit; then a checkpoint, which syncs the log itself.
        write(2, 0, 4120),
        write(2, 4120, 4120),
        sync(2),
        sync(2),
        write(0, 0, 4096),
        sync(0),
        // Frames that only a checkpoint makes durable, as with synchronous=NORMAL.
        write(2, 0, 4120),
        sync(2),
        write(0, 0, 4096),
        sync(0),
    ];
    let kinds = [TraceFileKind::Database, TraceFileKind::Journal, TraceFileKind::Wal];
    let events = (0..).zip(actions).map(|(t, action)| event(t, 1, action)).collect();
    let stream = of(&trace(&kinds, events), "");
    let (rollback, log) = (false, true);
    let wanted =
        [ReplaySave { first: 0, last: 4, log: rollback }, ReplaySave { first: 9, last: 11, log }];
    assert_eq!(stream.saves, wanted);
    let counted = TraceTransactions { rollback: 1, log: 1 };
    assert_eq!(stream.transactions(), Some(counted));
}

#[test]
fn block_requests_keep_their_neighbours_however_far_apart_they_are() {
    let far = 100 << 30;
    let plain = BlockFlags::default();
    let events = vec![
        event(0, 1, block(BlockOperation::Write, far, 4096, plain)),
        event(0, 1, block(BlockOperation::Write, far + 4096, 4096, plain)),
        event(0, 1, block(BlockOperation::Read, 0, 512, plain)),
    ];
    let stream = of(&trace(&[], events), "");
    let places: Vec<_> = stream.ops.iter().map(|op| (op.offset, op.bytes)).collect();
    assert_eq!(places, [(262_144, 4096), (266_240, 4096), (0, 512)]);
    assert_eq!(stream.span, Bytes(2 * 262_144));
    // The requests use more than there is room for: their addresses are taken modulo the span.
    let spread = (0..5u64)
        .map(|n| event(n, 1, block(BlockOperation::Write, n << 30, 4096, plain)))
        .collect();
    let folded = of(&trace(&[], spread), "span = \"1MiB\"");
    assert_eq!(folded.span, Bytes(1 << 20));
    assert!(folded.ops.iter().all(|op| op.offset == 0), "multiples of the span are all 0");
    assert!(folded.notes[0].contains("folded"), "{:?}", folded.notes);
}

#[test]
fn flushes_before_a_write_large_requests_and_discards_become_what_a_kernel_makes_of_them() {
    let flags = BlockFlags { preflush: true, fua: true, ..BlockFlags::default() };
    let plain = BlockFlags::default();
    let events = vec![
        event(0, 1, block(BlockOperation::Write, 0, 512, flags)),
        event(1, 1, block(BlockOperation::Write, 0, 3 << 20, plain)),
        event(2, 1, block(BlockOperation::Discard, 0, 1 << 40, plain)),
        event(3, 1, block(BlockOperation::Write, 0, 0, flags)),
        event(4, 1, block(BlockOperation::Write, 0, 0, plain)),
        event(5, 1, block(BlockOperation::Flush, 0, 0, plain)),
    ];
    let stream = of(&trace(&[], events), "");
    let calls: Vec<_> = stream.ops.iter().map(|op| (op.call, op.bytes)).collect();
    let largest = LARGEST_REQUEST.0;
    use ReplayCall::{BlockDiscard, BlockFlush, BlockWrite, BlockWriteDurable};
    let expected = [
        (BlockFlush, 0),
        (BlockWriteDurable, 512),
        (BlockWrite, largest),
        (BlockWrite, largest),
        (BlockWrite, largest),
        (BlockDiscard, largest),
        (BlockFlush, 0),
        (BlockFlush, 0),
    ];
    assert_eq!(calls, expected);
    assert_eq!(stream.written(), Bytes(512 + (3 << 20)));
}

#[test]
fn the_depth_of_a_request_is_how_many_were_in_flight_when_it_was_issued() {
    let plain = BlockFlags::default();
    let request = |t, took| TraceEvent {
        t_ns: Nanos(t),
        took_ns: took,
        task: None,
        action: block(BlockOperation::Read, 0, 512, plain),
    };
    let took = |time| Some(Nanos(time));
    let events = vec![
        request(0, took(10)),
        request(5, took(10)),
        request(10, took(1)),
        request(20, None),
        request(21, None),
    ];
    let stream = of(&trace(&[], events), "");
    let depths: Vec<u32> = stream.ops.iter().map(|op| op.depth).collect();
    assert_eq!(depths, [1, 2, 2, 1, 1]);
}

/// Any event at all.
fn any_event() -> impl Strategy<Value = TraceEvent> {
    let file = 0..6u32;
    let offset = prop::option::of(any::<u64>());
    let operations = prop_oneof![
        Just(BlockOperation::Read),
        Just(BlockOperation::Write),
        Just(BlockOperation::Discard),
        Just(BlockOperation::Flush),
    ];
    let small = prop_oneof![0..1u64 << 24, Just(1 << 32)];
    let action = prop_oneof![
        (file.clone(), offset.clone(), small.clone()).prop_map(|(file, offset, bytes)| {
            TraceAction::Write { file, offset, bytes: Bytes(bytes) }
        }),
        (file.clone(), offset, any::<u64>().prop_map(|bytes| bytes >> 30)).prop_map(
            |(file, offset, bytes)| TraceAction::Read { file, offset, bytes: Bytes(bytes) }
        ),
        (file.clone(), any::<u64>())
            .prop_map(|(file, bytes)| TraceAction::Truncate { file, bytes: Bytes(bytes) }),
        (file.clone(), file.clone()).prop_map(|(file, to)| TraceAction::Rename { file, to }),
        file.clone().prop_map(|file| TraceAction::Unlink { file }),
        (file, any::<bool>()).prop_map(|(file, data_only)| TraceAction::Sync { file, data_only }),
        (operations, any::<u64>(), small, any::<bool>()).prop_map(|(operation, at, bytes, fua)| {
            block(operation, at, bytes, BlockFlags { fua, preflush: fua, ..BlockFlags::default() })
        }),
    ];
    (any::<u64>(), prop::option::of(any::<u64>()), prop::option::of(0..99u32), action).prop_map(
        |(t, took, task, action)| TraceEvent {
            t_ns: Nanos(t),
            took_ns: took.map(Nanos),
            task,
            action,
        },
    )
}

proptest! {
    #[test]
    fn whatever_the_trace_operations_are_in_order_in_known_files_and_within_the_span(
        events in prop::collection::vec(any_event(), 1..40), blocks: bool,
    ) {
        let kinds = [OTHER, TraceFileKind::Database, TraceFileKind::Journal, OTHER, OTHER];
        let keys = if blocks { "as = \"blocks\"\nspan = \"2MiB\"" } else { "as = \"calls\"\nspan = \"2MiB\"" };
        let Ok(stream) = replay_stream(&trace(&kinds, events), "", &asked(keys)) else {
            return Ok(());
        };
        let span = 2 << 20;
        prop_assert!(stream.span.0 <= span);
        for pair in stream.ops.windows(2) {
            prop_assert!(pair[0].at <= pair[1].at);
        }
        for op in &stream.ops {
            prop_assert!(op.thread < stream.threads);
            if blocks {
                prop_assert!(op.offset + op.bytes <= stream.span.0.max(1), "{op:?}");
                prop_assert!(op.bytes <= LARGEST_REQUEST.0);
            } else {
                prop_assert!((op.file as usize) < stream.files.len() || op.call == ReplayCall::SyncAll);
                if op.call.kind() == ReplayKind::Write {
                    prop_assert!(op.offset + op.bytes <= span, "{op:?}");
                }
            }
        }
        for save in &stream.saves {
            let (first, last) = (stream.ops[save.first as usize], stream.ops[save.last as usize]);
            prop_assert!(save.first < save.last && first.thread == last.thread);
        }
    }
}

#[test]
fn a_call_that_failed_is_no_operation_of_a_replay() {
    let failed = TraceAction::Failed { call: FailedCall::Write, file: Some(0), error: 28 };
    let events =
        vec![event(0, 0, write(0, 0, 4096)), event(1, 0, failed), event(2, 0, write(0, 4096, 1))];
    let stream = of(&trace(&[OTHER], events), "ops = 2");
    assert_eq!(stream.ops.iter().map(|op| op.bytes).collect::<Vec<_>>(), [4096, 1]);
}
