//! What a trace adds up to, derived another way.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use flashlag_schema::trace::{
    BlockFlags, BlockOperation, Trace, TraceAction, TraceFile, TraceLayer, TraceSource,
    TraceStalled, TraceTask, TraceWrites,
};
use flashlag_spec::TraceFileKind;
use flashlag_trace::{Builder, add_up, import, write_trace};
use flashlag_units::{Bytes, Nanos};
use proptest::prelude::*;

fn block(operation: BlockOperation, bytes: u64, flags: BlockFlags) -> TraceAction {
    let (offset, bytes, queued_ns, file) = (0, Bytes(bytes), None, None);
    TraceAction::Block { device: 0, operation, offset, bytes, flags, queued_ns, file }
}

fn action() -> impl Strategy<Value = TraceAction> {
    let file = 0..5_u32;
    let flags = any::<(bool, bool, bool)>().prop_map(|(meta, journal, preflush)| BlockFlags {
        meta,
        journal,
        preflush,
        ..BlockFlags::default()
    });
    let operation = prop_oneof![
        Just(BlockOperation::Read),
        Just(BlockOperation::Write),
        Just(BlockOperation::Flush),
        Just(BlockOperation::Discard),
    ];
    prop_oneof![
        (file.clone(), prop::option::of(0..9_u64), 0..5000_u64).prop_map(
            |(file, offset, bytes)| { TraceAction::Write { file, offset, bytes: Bytes(bytes) } }
        ),
        (file.clone(), any::<bool>())
            .prop_map(|(file, data_only)| TraceAction::Sync { file, data_only }),
        (file.clone(), any::<u16>())
            .prop_map(|(file, bytes)| TraceAction::Truncate { file, bytes: Bytes(bytes.into()) }),
        file.clone().prop_map(|file| TraceAction::Unlink { file }),
        file.prop_map(|file| TraceAction::Close { file }),
        (operation, 0..9000_u64, flags).prop_map(|(op, bytes, flags)| block(op, bytes, flags)),
    ]
}

/// A trace with four threads and five files: a database with its journal and log, a file, a pipe.
fn trace() -> impl Strategy<Value = Trace> {
    let event = (0..1_000_000_u64, prop::option::of(0..2_000_000_000_u64), 0..4_u32, action());
    prop::collection::vec(event, 0..120).prop_map(|events| {
        let mut builder = Builder::new(TraceSource {
            layers: vec![TraceLayer::SystemCalls, TraceLayer::Block],
            ..TraceSource::default()
        });
        for tid in 0..4 {
            builder.task(TraceTask { tid: Some(tid), pid: Some(0), ..TraceTask::default() });
        }
        for (path, kind) in [
            ("/a.db", TraceFileKind::Database),
            ("/a.db-journal", TraceFileKind::Journal),
            ("/a.db-wal", TraceFileKind::Wal),
            ("/x", TraceFileKind::Other),
            ("pipe:[1]", TraceFileKind::NotStorage),
        ] {
            let path = Some(path.to_owned());
            builder.file(TraceFile { path, kind, ..TraceFile::default() });
        }
        builder.device("8,0");
        for (t, took, task, action) in events {
            builder.event(Nanos(t), took.map(Nanos), Some(task), action);
        }
        builder.finish()
    })
}

fn plus(sum: TraceWrites, more: TraceWrites) -> TraceWrites {
    TraceWrites { count: sum.count + more.count, bytes: sum.bytes.plus(more.bytes) }
}

proptest! {
    #[test]
    fn rows_and_layers_add_up_to_the_events(trace in trace()) {
        let ledger = add_up(&trace);
        let none = TraceWrites::default();
        let (mut calls, mut writes, mut discards) = (none, none, none);
        let (mut syncs, mut waited) = (0_u64, 0_u64);
        for event in &trace.events {
            match event.action {
                TraceAction::Write { file, bytes, .. } if file != 4 => {
                    calls = plus(calls, TraceWrites { count: 1, bytes });
                }
                TraceAction::Sync { .. } => {
                    syncs += 1;
                    waited += event.took_ns.unwrap_or_default().0;
                }
                TraceAction::Block { operation: BlockOperation::Write, bytes, .. } => {
                    writes = plus(writes, TraceWrites { count: 1, bytes });
                }
                TraceAction::Block { operation: BlockOperation::Discard, bytes, .. } => {
                    discards = plus(discards, TraceWrites { count: 1, bytes });
                }
                _ => {}
            }
        }
        prop_assert_eq!(ledger.layers.calls, Some(calls));
        prop_assert_eq!(ledger.layers.syncs, Some(syncs));
        prop_assert_eq!(ledger.layers.block, Some(writes));
        prop_assert_eq!(ledger.layers.discards, Some(discards));
        let rows = &ledger.writers;
        let of_rows = rows.iter().filter_map(|row| row.calls).fold(TraceWrites::default(), plus);
        prop_assert_eq!(of_rows, calls);
        let of_rows = rows.iter().filter_map(|row| row.block).fold(TraceWrites::default(), plus);
        prop_assert_eq!(of_rows, plus(writes, discards));
        let of_syncs: Vec<_> = rows.iter().filter_map(|row| row.syncs.as_ref()).collect();
        prop_assert_eq!(of_syncs.iter().map(|sync| sync.count).sum::<u64>(), syncs);
        prop_assert_eq!(of_syncs.iter().map(|sync| sync.waited_ns.0).sum::<u64>(), waited);
        // A commit has a write to the journal or the log at least, and fsyncs are counted once.
        let commits: u64 = ledger.databases.iter().map(|database| database.commits).sum();
        prop_assert!(commits <= calls.count);
        prop_assert!(ledger.databases.iter().map(|database| database.syncs).sum::<u64>() <= syncs);
        prop_assert!(ledger.databases.iter().all(|database| database.bytes.0 <= calls.bytes.0));
    }

    #[test]
    fn a_stored_trace_is_the_same_when_read(trace in trace()) {
        let text = write_trace(Vec::new(), &trace).unwrap();
        prop_assert_eq!(import(&text[..], None).unwrap().trace, trace);
    }

    #[test]
    fn stalls_are_what_their_definition_says(trace in trace()) {
        let ledger = add_up(&trace);
        let is_sync = |action: &TraceAction| matches!(action, TraceAction::Sync { .. });
        let syncs = trace.events.iter().filter(|event| is_sync(&event.action));
        let lengths: Vec<u64> = syncs.filter_map(|event| event.took_ns).map(|took| took.0).collect();
        // The median: at most half of all are shorter, and at most half longer.
        let median = lengths.iter().copied().filter(|median| {
            let shorter = lengths.iter().filter(|length| *length < median).count();
            let longer = lengths.iter().filter(|length| *length > median).count();
            2 * shorter <= lengths.len() && 2 * longer <= lengths.len()
        }).min().unwrap_or(0);
        let limit = (10 * median).max(100_000_000);
        let expected = lengths.iter().filter(|length| **length > limit).count();
        let stalls = ledger.stalls.listed.iter().filter(|stall| stall.what == TraceStalled::Sync);
        prop_assert_eq!(stalls.count(), expected);
    }
}

#[test]
fn what_a_source_does_not_record_is_absent() {
    let text = "1 open(\"/a\", O_WRONLY) = 3\n1 write(3, \"x\", 1) = 1\n1 fsync(3) = 0 <0.1>\n";
    let ledger = add_up(&import(text.as_bytes(), None).unwrap().trace);
    assert_eq!(ledger.layers.calls, Some(TraceWrites { count: 1, bytes: Bytes(1) }));
    assert_eq!(
        (ledger.layers.block, ledger.layers.flushes, ledger.layers.pages),
        (None, None, None)
    );
    assert!(ledger.writers.iter().all(|row| row.block.is_none() && row.calls.is_some()));
    let blk = "8,0 1 1 0.5 7 Q WS 8 + 8 [x]\n8,0 1 2 0.6 0 C WS 8 + 8 [0]\n";
    let ledger = add_up(&import(blk.as_bytes(), None).unwrap().trace);
    assert_eq!((ledger.layers.calls, ledger.layers.syncs), (None, None));
    assert!(ledger.writers.iter().all(|row| row.syncs.is_none() && row.block.is_some()));
}

#[test]
fn a_commit_has_the_blocks_of_its_thread_and_of_the_journal_and_of_nobody_else() {
    let mut builder = Builder::new(TraceSource::default());
    let task = |builder: &mut Builder, tid: u32, name: &str| {
        let thread = Some(name.to_owned());
        builder.task(TraceTask { tid: Some(tid), thread, ..TraceTask::default() })
    };
    let (app, journal) = (task(&mut builder, 1, "app"), task(&mut builder, 2, "jbd2/sda1-8"));
    let other = task(&mut builder, 3, "other");
    let file = |builder: &mut Builder, path: &str| {
        builder.file(TraceFile { path: Some(path.to_owned()), ..TraceFile::default() })
    };
    let log = file(&mut builder, "/a.db-wal");
    file(&mut builder, "/a.db");
    builder.device("8,0");
    let frame = TraceAction::Write { file: log, offset: Some(32), bytes: Bytes(4120) };
    builder.event(Nanos(100), Some(Nanos(1)), Some(app), frame);
    let sync = TraceAction::Sync { file: log, data_only: true };
    builder.event(Nanos(200), Some(Nanos(300)), Some(app), sync);
    let mut request = |t: u64, task: u32, bytes: u64| {
        let write = block(BlockOperation::Write, bytes, BlockFlags::default());
        builder.event(Nanos(t), Some(Nanos(10)), Some(task), write);
    };
    // Before, within, within by others, at the very end, after.
    request(50, app, 1);
    request(250, app, 10);
    request(260, journal, 100);
    request(270, other, 1_000);
    request(500, app, 10_000);
    request(501, app, 100_000);
    let mut trace = builder.finish();
    flashlag_trace::recognize(&mut trace);
    let database = &add_up(&trace).databases[0];
    assert_eq!(database.commits, 1);
    assert_eq!(database.block, Some(TraceWrites { count: 3, bytes: Bytes(10_110) }));
    assert_eq!(database.page_bytes, Bytes(4096));
}

/// A disk, a partition of it, a loop device with its file there, and a disk beside; the loop device is
/// asked for 3 writes, of which 2 reach the disk.
fn stacked(relations: bool) -> Trace {
    let mut builder =
        Builder::new(TraceSource { layers: vec![TraceLayer::Block], ..TraceSource::default() });
    let indexes = ["loop0", "vda", "vdb"].map(|name| builder.device(name));
    if relations {
        builder.relate(|name| match name {
            "loop0" => Some(vec!["vda1".to_owned()]),
            "vda1" => Some(vec!["vda".to_owned()]),
            _ => Some(Vec::new()),
        });
    }
    let writes = [(0, 100), (0, 200), (0, 400), (1, 300), (1, 100), (2, 7)];
    for (at, (which, bytes)) in writes.into_iter().enumerate() {
        let TraceAction::Block { operation, offset, flags, queued_ns, file, .. } =
            block(BlockOperation::Write, 0, BlockFlags::default())
        else {
            unreachable!("a block request")
        };
        let (device, bytes) = (indexes[which], Bytes(bytes));
        let action =
            TraceAction::Block { device, operation, offset, bytes, flags, queued_ns, file };
        builder.event(Nanos(at as u64), None, None, action);
    }
    builder.finish()
}

#[test]
fn a_byte_that_one_device_passes_on_to_another_counts_once_where_the_relation_is_known() {
    let trace = stacked(true);
    // The stored form has the relation.
    let mut stored = Vec::new();
    write_trace(&mut stored, &trace).unwrap();
    let again = import(&stored[..], None).unwrap().trace;
    assert_eq!(again.devices, trace.devices);
    for trace in [trace, again] {
        let ledger = add_up(&trace);
        // What the two disks were asked for.
        let disks = TraceWrites { count: 3, bytes: Bytes(300 + 100 + 7) };
        assert_eq!(ledger.layers.block, Some(disks));
        let shown: Vec<(&str, bool, u64)> = ledger
            .devices
            .iter()
            .map(|device| (device.name.as_str(), device.counted, device.writes.bytes.0))
            .collect();
        assert_eq!(shown, [("loop0", false, 700), ("vda", true, 400), ("vdb", true, 7)]);
    }
    let ledger = add_up(&stacked(false));
    assert_eq!(ledger.layers.block.unwrap().bytes, Bytes(1107));
    assert!(ledger.devices.iter().all(|device| device.counted && device.below.is_none()));
}

#[test]
fn devices_in_a_circle_and_of_no_number_end() {
    let mut builder = Builder::new(TraceSource::default());
    let _ = builder.device("a");
    builder.relate(|name| {
        Some(if name == "a" { vec!["b".to_owned(), "a".to_owned()] } else { vec!["a".to_owned()] })
    });
    let action = block(BlockOperation::Write, 5, BlockFlags::default());
    builder.event(Nanos::ZERO, None, None, action);
    if let TraceAction::Block { offset, bytes, operation, flags, queued_ns, file, .. } = action {
        let beyond =
            TraceAction::Block { device: 9, offset, bytes, operation, flags, queued_ns, file };
        builder.event(Nanos::ZERO, None, None, beyond);
    }
    let ledger = add_up(&builder.finish());
    assert_eq!(ledger.layers.block, Some(TraceWrites { count: 2, bytes: Bytes(10) }));
}
