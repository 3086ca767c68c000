//! Writers beside what is measured.

use flashlag_device::SyncCall;

use super::*;
use crate::background::BackgroundJob;
use crate::fs::FileId;

pub(super) fn job(file: FileId) -> BackgroundJob {
    BackgroundJob {
        writes: true,
        random: false,
        files: file.into(),
        span: Bytes::from_mib(16),
        block: Bytes::from_kib(64),
        depth: 4,
        durable: None,
        think: Nanos::ZERO,
        seed: 1,
    }
}

pub(super) fn laid_out(stack: &RamStack, name: &str, span: Bytes) -> FileId {
    let file = stack.create(name).unwrap();
    stack.write_nothing(file, Bytes::ZERO, span, true).unwrap();
    stack.sync(file, false).unwrap();
    file
}

/// How long a hundred saves take without and with a writer beside them.
fn saves(spec: &str, units: u32) -> (Nanos, Nanos) {
    let stack = stack_of(spec, units, &StackModel::default());
    let file = laid_out(&stack, "test", Bytes::from_mib(1));
    let beside = laid_out(&stack, "beside", Bytes::from_mib(16));
    let saves = || {
        timed(&stack, || {
            for page in 0..100 {
                stack.write(file, Bytes(page * 4096), &[1; 4096]).unwrap();
                stack.sync(file, true).unwrap();
            }
        })
    };
    let alone = saves();
    stack.start_background(job(beside)).unwrap();
    let busy = saves();
    let total = stack.end_background().unwrap();
    assert!(total.ops > 50, "{spec}: {total:?}");
    assert_eq!(total.bytes, Bytes(total.ops * (64 << 10)), "{spec}");
    (alone, busy)
}

#[test]
fn a_writer_beside_a_sync_slows_it_where_the_device_does_one_thing_at_a_time() {
    for spec in FILESYSTEMS {
        let (alone, busy) = saves(spec, 1);
        assert!(busy.0 > 2 * alone.0, "{spec}: {busy} against {alone}");
        let (alone, busy) = saves(spec, 32);
        assert!(busy.0 < 2 * alone.0, "{spec}, with room: {busy} against {alone}");
    }
}

#[test]
fn a_writer_on_a_schedule_keeps_to_it() {
    let stack = stack("ext4");
    let file = laid_out(&stack, "beside", Bytes::from_mib(16));
    let every = Nanos::from_millis(10);
    let due = (0..).map(move |count| Nanos(every.0 * count));
    stack.start_background_paced(job(file), due).unwrap();
    let from = stack.clock().now();
    stack.pass_until(from.plus(Nanos::from_secs(2)));
    let total = stack.end_background().unwrap();
    assert!((199..=201).contains(&total.ops), "{total:?}");
    // The job ends when its schedule does.
    stack.start_background_paced(job(file), [Nanos::ZERO; 7].into_iter()).unwrap();
    stack.pass_until(stack.clock().now().plus(Nanos::from_secs(1)));
    assert_eq!(stack.end_background().unwrap().ops, 7);
}

#[test]
fn nobody_waits_for_a_paced_writers_next_start() {
    let after = Nanos::from_secs(2);
    for spec in FILESYSTEMS {
        for durable in [None, Some(SyncCall::Data), Some(SyncCall::All)] {
            let stack = stack(spec);
            let file = laid_out(&stack, "test", Bytes::from_mib(1));
            let beside = laid_out(&stack, "beside", Bytes::from_mib(16));
            let due = (1..).map(move |count| Nanos(after.0 * count));
            stack.start_background_paced(BackgroundJob { durable, ..job(beside) }, due).unwrap();
            let from = stack.clock().now();
            while stack.clock().now().since(from).0 < 3 * after.0 {
                let took = timed(&stack, || {
                    stack.write(file, Bytes::ZERO, &[1; 4096]).unwrap();
                    stack.sync(file, true).unwrap();
                });
                // Time for a commit of all trees or a checkpoint, and the writer's own 64 KiB.
                let most = Nanos::from_millis(200);
                assert!(took < most, "{spec}, {durable:?}: {took} at {}", stack.clock().now());
            }
            // Ending the job does not take any time either.
            let ends = timed(&stack, || {
                let total = stack.end_background().unwrap();
                assert!((2..=3).contains(&total.ops), "{spec}, {durable:?}: {total:?}");
            });
            assert!(ends < after, "{spec}, {durable:?}: {ends}");
        }
    }
}

#[test]
fn a_durable_writer_flushes_for_each_of_its_writes() {
    for spec in FILESYSTEMS {
        let stack = stack(spec);
        let file = laid_out(&stack, "beside", Bytes::from_mib(16));
        let cost = sent(&stack, || {
            let one = BackgroundJob { durable: Some(SyncCall::Data), depth: 1, ..job(file) };
            stack.start_background(one).unwrap();
            stack.pass_until(stack.clock().now().plus(Nanos::from_secs(1)));
            let total = stack.end_background().unwrap();
            // A write and a flush each, one after the other; on Btrfs also two copies of the log,
            // and a superblock with a flush of its own.
            let (writes, flushes) = if spec == "btrfs" { (4, 2) } else { (1, 1) };
            let each = writes * WRITE.0 + flushes * FLUSH.0;
            // The first commit writes all trees if it made a chunk.
            assert!(total.ops.abs_diff(1_000_000_000 / each) <= 1, "{spec}: {total:?}");
        });
        assert!(cost.flushes >= if spec == "btrfs" { 620 } else { 760 }, "{spec}: {cost:?}");
    }
}

#[test]
fn reading_beside_does_not_write() {
    let stack = stack("f2fs");
    let file = laid_out(&stack, "beside", Bytes::from_mib(16));
    let cost = sent(&stack, || {
        let reader = BackgroundJob { writes: false, random: true, ..job(file) };
        stack.start_background(reader).unwrap();
        stack.pass_until(stack.clock().now().plus(Nanos::from_secs(1)));
        stack.end_background().unwrap();
    });
    assert_eq!(cost.writes, 0);
    assert!(cost.reads.abs_diff(1_000_000_000 / READ.0) <= 8, "{cost:?}");
}

#[test]
fn a_reader_of_nothing_is_refused() {
    let stack = stack("ext4");
    let file = stack.create("empty").unwrap();
    let reader = BackgroundJob { writes: false, ..job(file) };
    let error = stack.start_background(reader).unwrap_err().to_string();
    assert!(error.contains("empty"), "{error}");
}
