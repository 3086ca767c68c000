//! What a sync sends, and when.

use super::*;
use crate::stack_file::StackFile;
use flashlag_device::{Completion, Device, Durability, Op, Request, SyncCall};

const PAGE: Bytes = Bytes(4096);

#[test]
fn nobarrier_sends_no_flush_and_the_same_writes() {
    for spec in FILESYSTEMS {
        let saved = |spec: &str| {
            let stack = stack(spec);
            sent(&stack, || {
                for name in ["one", "two"] {
                    let file = stack.create(name).unwrap();
                    stack.write(file, Bytes::ZERO, &[1; 10_000]).unwrap();
                    stack.sync(file, false).unwrap();
                    stack.sync_directory().unwrap();
                }
                stack.pass_until(Nanos::from_secs(100));
            })
        };
        let (with, without) = (saved(spec), saved(&format!("{spec},nobarrier")));
        assert!(with.flushes >= 2, "{spec}: {with:?}");
        assert_eq!(without.flushes, 0, "{spec}: {without:?}");
        let written = |ledger: &Ledger| (ledger.writes, ledger.written_bytes);
        assert_eq!(written(&with), written(&without), "{spec}");
    }
}

#[test]
fn a_second_fsync_within_a_tick_commits_nothing() {
    let stack = stack("ext4");
    let file = stack.create("test").unwrap();
    stack.write(file, Bytes::ZERO, &[1; 4096]).unwrap();
    stack.sync(file, false).unwrap();
    let overwrite = || {
        sent(&stack, || {
            stack.write(file, Bytes::ZERO, &[2; 4096]).unwrap();
            stack.sync(file, false).unwrap();
        })
    };
    let flushes_and_writes = |ledger: Ledger| (ledger.flushes, ledger.writes);
    stack.pass_until(Nanos::from_millis(20));
    // Data, descriptor with the inode, commit block.
    assert_eq!(flushes_and_writes(overwrite()), (2, 3), "the first in a tick");
    assert_eq!(flushes_and_writes(overwrite()), (1, 1), "the second: data and a flush");
    stack.pass_until(Nanos::from_millis(30));
    assert_eq!(flushes_and_writes(overwrite()), (2, 3), "the first of the next tick");
}

#[test]
fn fdatasync_of_a_page_in_place_commits_nothing_at_all() {
    let stack = stack("ext4");
    let file = stack.create("test").unwrap();
    stack.write(file, Bytes::ZERO, &[1; 4096]).unwrap();
    stack.sync(file, true).unwrap();
    for at in 1..5 {
        stack.pass_until(Nanos::from_millis(at * 50));
        let cost = sent(&stack, || {
            stack.write(file, Bytes::ZERO, &[2; 4096]).unwrap();
            stack.sync(file, true).unwrap();
        });
        assert_eq!((cost.flushes, cost.writes), (1, 1));
    }
}

/// Flushes and time of durable writes to eight pages, `depth` at a time.
fn eight_writes(spec: &str, depth: u32) -> (u64, Nanos) {
    let stack = stack_of(spec, 8, &StackModel::default());
    let file = stack.create("test").unwrap();
    let span = Bytes::from_mib(1);
    stack.write_nothing(file, Bytes::ZERO, span, true).unwrap();
    stack.sync(file, false).unwrap();
    let mut device = StackFile::new(&stack, file, span, PAGE, depth, true, SyncCall::Data);
    let mut time = Nanos::ZERO;
    let cost = sent(&stack, || {
        time = timed(&stack, || {
            let mut done: Vec<Completion> = Vec::new();
            for page in 0..8 {
                let (slot, offset) = (page % depth, Bytes(u64::from(page) * PAGE.0));
                let durability = Durability::Flush;
                let op = Op::Write;
                let one = Request { slot, op, offset, length: PAGE, durability };
                device.submit(one).unwrap();
                if slot + 1 == depth {
                    device.reap(depth, &mut done).unwrap();
                }
            }
            assert!(done.iter().all(|one| one.result.is_ok() && one.flush_from.is_some()));
            assert_eq!(done.len(), 8);
        });
    });
    (cost.flushes, time)
}

#[test]
fn writers_that_wait_together_share_a_sync() {
    for spec in ["raw", "ext4", "f2fs,noipu"] {
        let (alone, slow) = eight_writes(spec, 1);
        let (shared, quick) = eight_writes(spec, 8);
        assert_eq!((alone, shared), (8, 1), "{spec}: flushes");
        assert!(quick.0 * 6 < slow.0, "{spec}: {quick} against {slow}");
    }
}

#[test]
fn what_changed_is_committed_after_five_seconds_unasked() {
    let stack = stack("ext4");
    stack.create("test").unwrap();
    let until = |seconds| sent(&stack, || stack.pass_until(Nanos::from_millis(seconds)));
    assert_eq!(until(4_990), Ledger::default());
    let commit = until(5_100);
    assert_eq!((commit.writes, commit.flushes), (2, 2));
    assert_eq!(until(29_000), Ledger::default());
    // Changed blocks are written back after thirty seconds.
    let places = until(40_000);
    assert!(places.writes > 0 && places.flushes == 0, "{places:?}");
    assert_eq!(until(200_000), Ledger::default());
}

#[test]
fn f2fs_makes_a_checkpoint_every_minute_where_something_changed() {
    let stack = stack("f2fs");
    let file = stack.create("test").unwrap();
    stack.write_nothing(file, Bytes::ZERO, PAGE, true).unwrap();
    let until = |seconds| sent(&stack, || stack.pass_until(Nanos::from_secs(seconds)));
    assert_eq!(until(59), Ledger::default());
    let checkpoint = until(61);
    assert_eq!(checkpoint.flushes, 2);
    assert!(checkpoint.writes >= 4, "{checkpoint:?}");
    assert_eq!(until(200), Ledger::default());
}

#[test]
fn a_commit_waits_for_the_one_that_is_under_way() {
    let stack = stack_of("ext4", 16, &StackModel::default());
    let files = ["one", "two"].map(|name| stack.create(name).unwrap());
    stack.sync_directory().unwrap();
    let from = stack.clock().now();
    let mut inner = stack.0.borrow_mut();
    let pids = files.map(|file| {
        // Each has a page of its own and then a commit: the second begins while the first is in
        // flight.
        let written = inner.begin_write(file, 0, PAGE.0, false).unwrap();
        inner.wait(written).unwrap();
        inner.begin_sync(Some(file), true).unwrap()
    });
    let [first, second] = pids.map(|pid| inner.wait(pid).unwrap());
    // Log, flush, commit block, flush. The device does sixteen things in parallel; the journal does
    // one.
    let commit = WRITE.plus(FLUSH).plus(WRITE).plus(FLUSH);
    assert_eq!(first.since(from), WRITE.plus(commit));
    assert_eq!(second.since(first), commit);
}

/// Writes and flushes of the first fsync of a new file of one page.
fn committed(spec: &str, fua: bool) -> (u64, u64) {
    let stack = stack_of(spec, 1, &StackModel { fua, ..StackModel::default() });
    let file = stack.create("test").unwrap();
    stack.write_nothing(file, Bytes::ZERO, PAGE, true).unwrap();
    let sent = sent(&stack, || stack.sync(file, false).unwrap());
    (sent.writes, sent.flushes)
}

#[test]
fn the_block_that_makes_a_commit_valid_is_durable_itself_or_takes_a_flush_after_it() {
    // Descriptor and blocks, flush, commit block.
    assert_eq!(committed("ext4", true), (2, 1));
    assert_eq!(committed("ext4", false), (2, 2));
    assert_eq!(committed("ext4,nobarrier", true), (2, 0));
    // Below device-mapper there is one flush more if the device has no FUA.
    assert_eq!(committed("ext4,encrypt", false), (2, 3));
    assert_eq!(committed("ext4,encrypt", true), (2, 1));
    assert_eq!(committed("ext4,fast_commit", false), (1, 2));
    assert_eq!(committed("ext4,fast_commit", true), (1, 1));
    assert_eq!(committed("ext4,fast_commit,encrypt", false), (1, 3));
}

#[test]
fn in_fsync_mode_nobarrier_a_checkpoint_flushes_and_an_fsync_does_not() {
    assert_eq!(committed("f2fs", false), (1, 1));
    assert_eq!(committed("f2fs,fsync_mode=nobarrier", false), (1, 0));
    assert_eq!(committed("f2fs,nobarrier", false), (1, 0));
    let checkpoint = |spec| {
        let stack = stack(spec);
        stack.create("test").unwrap();
        sent(&stack, || stack.sync_directory().unwrap()).flushes
    };
    assert_eq!(checkpoint("f2fs"), 2);
    assert_eq!(checkpoint("f2fs,fsync_mode=nobarrier"), 2);
    assert_eq!(checkpoint("f2fs,nobarrier"), 0);
}

#[test]
fn after_a_fast_commit_the_transaction_is_committed_within_five_seconds() {
    let stack = stack("ext4,fast_commit");
    let file = stack.create("test").unwrap();
    stack.write_nothing(file, Bytes::ZERO, PAGE, true).unwrap();
    stack.sync(file, false).unwrap();
    let later = sent(&stack, || stack.pass_until(Nanos::from_secs(6)));
    // Descriptor, five blocks of metadata and the commit block, in two writes.
    assert_eq!((later.writes, later.flushes), (2, 2));
    assert!(later.written_bytes >= Bytes(7 * PAGE.0), "{later:?}");
}

#[test]
fn a_strict_mount_writes_the_page_with_a_files_old_end_at_each_call_that_makes_it_larger() {
    // Pages written by appending `step` bytes at a time, after a first call that moves data out of
    // the inode and before any sync.
    let written = |spec: &str, step: usize, calls: u64| {
        let stack = stack(spec);
        let file = stack.create("test").unwrap();
        stack.write(file, Bytes::ZERO, &[1; 4000]).unwrap();
        let mut at = 4000;
        let sent = sent(&stack, || {
            for _ in 0..calls {
                stack.write(file, Bytes(at), &vec![1; step]).unwrap();
                at += step as u64;
            }
        });
        (sent.writes, sent.written_bytes)
    };
    assert_eq!(written("f2fs,fsync_mode=strict", 24, 4), (4, Bytes(4 * PAGE.0)));
    // 4,000, 4,048 and 4,096: an end exactly between two pages rewrites no page.
    assert_eq!(written("f2fs,fsync_mode=strict", 48, 3), (2, Bytes(2 * PAGE.0)));
    assert_eq!(written("f2fs", 24, 4), (0, Bytes::ZERO));
    assert_eq!(written("ext4", 24, 4), (0, Bytes::ZERO));
}

#[test]
fn callers_that_need_a_checkpoint_at_once_share_one() {
    for spec in ["f2fs", "f2fs,checkpoint_merge"] {
        for callers in [1, 2, 8] {
            let stack = stack(spec);
            let ledger = sent(&stack, || {
                (0..callers).for_each(|number| {
                    stack.create(&number.to_string()).unwrap();
                });
                let inner = &mut *stack.0.borrow_mut();
                let begun: Vec<_> =
                    (0..callers).map(|_| inner.begin_sync(None, false).unwrap()).collect();
                begun.into_iter().for_each(|pid| {
                    inner.wait(pid).unwrap();
                });
            });
            assert_eq!(ledger.flushes, 2, "{spec}, {callers} callers");
            // A directory and an inode each; the pack's head with its summary, and its tail.
            let blocks = 1 + callers + 2 + 1;
            assert_eq!(ledger.written_bytes, Bytes(blocks * 4096), "{spec}, {callers} callers");
        }
    }
}

#[test]
fn an_atomic_write_returns_before_its_node_is_written_and_the_next_one_waits_for_the_node() {
    let stack = stack("f2fs");
    let file = stack.create("test").unwrap();
    stack.write(file, Bytes::ZERO, &[1; 4096]).unwrap();
    stack.sync(file, true).unwrap();
    let atomic = || timed(&stack, || stack.write_atomically(file, &[(0, &[2; 4096])]).unwrap());
    // A flush, the node, and since this device has no FUA another flush.
    let node = FLUSH.plus(WRITE).plus(FLUSH);
    assert_eq!(atomic(), WRITE, "alone");
    assert_eq!(timed(&stack, || stack.sync(file, true).unwrap()), Nanos::ZERO, "nothing to do");
    assert_eq!(atomic(), node.plus(WRITE), "at once after another");
    stack.pass_until(stack.clock().now().plus(Nanos::from_millis(10)));
    assert_eq!(atomic(), WRITE, "after a rest");
    // The fsync of another file waits, too: its node follows in the same log.
    let other = stack.create("other").unwrap();
    stack.write(other, Bytes::ZERO, &[1; 4096]).unwrap();
    assert!(timed(&stack, || stack.sync(other, true).unwrap()) > node);
}

#[test]
fn the_data_of_an_atomic_write_goes_beside_the_node_of_the_one_before() {
    let node = FLUSH.plus(WRITE).plus(FLUSH);
    // If pages wait in memory, the data follows as well.
    for (spec, after_another) in [("f2fs", node), ("f2fs,inmem", node.plus(WRITE))] {
        // A device with two units does both in parallel: the node waits for its flush meanwhile.
        let stack = stack_of(spec, 2, &StackModel::default());
        let file = stack.create("test").unwrap();
        stack.write(file, Bytes::ZERO, &[1; 4096]).unwrap();
        stack.sync(file, true).unwrap();
        let atomic = || timed(&stack, || stack.write_atomically(file, &[(0, &[2; 4096])]).unwrap());
        // The second's node follows both, so a third one waits as long.
        let times = [atomic(), atomic(), atomic()];
        assert_eq!(times, [WRITE, after_another, after_another], "{spec}");
    }
}
