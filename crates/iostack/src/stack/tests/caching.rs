//! The page cache: what reads and writes reach the device, and when.

use super::*;
use crate::cache::{DIRTY_PAGES, READ_AHEAD};
use crate::fs::FileId;

const PAGE: u64 = 4096;

/// A file of this many pages that is on the device and not in memory.
fn cold(stack: &RamStack, pages: u64) -> FileId {
    let file = stack.create("test").unwrap();
    let mut at = 0;
    while at < pages * PAGE {
        let length = (pages * PAGE - at).min(1 << 20);
        stack.write_nothing(file, Bytes(at), Bytes(length), true).unwrap();
        at += length;
    }
    stack.sync(file, false).unwrap();
    file
}

fn read(stack: &RamStack, file: FileId, page: u64) -> Ledger {
    let mut into = [0; PAGE as usize];
    sent(stack, || {
        assert_eq!(stack.read(file, Bytes(page * PAGE), &mut into).unwrap(), PAGE as usize);
    })
}

#[test]
fn what_was_read_or_written_is_read_again_for_nothing() {
    for spec in FILESYSTEMS {
        let stack = stack(spec);
        let file = cold(&stack, 64);
        assert_eq!(read(&stack, file, 7).read_bytes, Bytes(PAGE), "{spec}");
        assert_eq!(read(&stack, file, 7).reads, 0, "{spec}");
        stack.write(file, Bytes(40 * PAGE), &[1; PAGE as usize]).unwrap();
        assert_eq!(read(&stack, file, 40).reads, 0, "{spec}");
        // A direct write makes the cached page stale.
        stack.write_nothing(file, Bytes(7 * PAGE), Bytes(PAGE), true).unwrap();
        assert_eq!(read(&stack, file, 7).reads, 1, "{spec}");
    }
}

#[test]
fn reading_in_order_reads_ahead_and_at_random_does_not() {
    for spec in FILESYSTEMS {
        let stack = stack(spec);
        let file = cold(&stack, 1024);
        let all: Vec<Ledger> = (0..257).map(|page| read(&stack, file, page)).collect();
        let reads: u64 = all.iter().map(|one| one.reads).sum();
        assert_eq!(reads, 1 + 256 * PAGE / READ_AHEAD, "{spec}");
        for page in [900, 500, 700, 300] {
            assert_eq!(read(&stack, file, page).read_bytes, Bytes(PAGE), "{spec}");
        }
    }
}

#[test]
fn what_is_written_stays_in_memory_until_there_is_too_much_of_it() {
    for spec in FILESYSTEMS {
        let stack = stack(spec);
        let file = stack.create("test").unwrap();
        let chunk = 256 * PAGE;
        let most = DIRTY_PAGES as u64 * PAGE;
        let write = |at: u64| {
            sent(&stack, || stack.write_nothing(file, Bytes(at), Bytes(chunk), false).unwrap())
        };
        for at in (0..most).step_by(chunk as usize) {
            assert_eq!(write(at).writes, 0, "{spec}: {at} bytes are dirty");
        }
        for at in (most..2 * most).step_by(chunk as usize) {
            let written = write(at).written_bytes;
            assert!(written >= Bytes(chunk), "{spec}: the writer pays: {written}");
        }
    }
}

#[test]
fn pages_are_written_back_when_they_have_been_dirty_for_thirty_seconds() {
    for spec in ["raw", "ext4,nobarrier", "f2fs"] {
        let stack = stack(spec);
        let file = stack.create("test").unwrap();
        stack.sync(file, false).unwrap();
        stack.pass_until(Nanos::from_secs(10));
        stack.write(file, Bytes::ZERO, &[1; 3 * PAGE as usize]).unwrap();
        let until = |seconds| sent(&stack, || stack.pass_until(Nanos::from_secs(seconds)));
        // The size is in the inode, which is committed earlier than the pages are written.
        until(39);
        assert_eq!(stack.0.borrow().cache.dirty_pages(), 3, "{spec}");
        let written = until(46);
        assert!(written.written_bytes >= Bytes(3 * PAGE), "{spec}: {written:?}");
        assert_eq!(stack.0.borrow().cache.dirty_pages(), 0, "{spec}");
        stack.pass_until(Nanos::from_secs(200));
        let sync = sent(&stack, || stack.sync(file, true).unwrap());
        assert!(sync.written_bytes < Bytes(3 * PAGE), "{spec}: nothing is left to write: {sync:?}");
    }
}
