//! Fragmented files: what growing by small synced writes costs a later read.

use super::*;
use crate::fs::FileId;

const PAGE: Bytes = Bytes::from_kib(4);
/// Size of a read that the block layer sends as one request if the file is contiguous.
const READ_AT_ONCE: Bytes = Bytes::from_kib(128);

/// Files that grow alternately, one synced page at a time.
fn grown(spec: &str, files: u64, pages: u64) -> (RamStack, FileId) {
    let stack = stack(spec);
    let made: Vec<FileId> =
        (0..files).map(|number| stack.create(&format!("file-{number}")).unwrap()).collect();
    for page in 0..pages {
        for file in &made {
            stack.write(*file, Bytes(page * PAGE.0), &[1; 4096]).unwrap();
            stack.sync(*file, true).unwrap();
        }
    }
    stack.pass_until(stack.clock().now().plus(Nanos::from_secs(120)));
    (stack, made[0])
}

/// Requests and time of reading a file once from start to end.
fn read(stack: &RamStack, file: FileId) -> (u64, Nanos) {
    let size = stack.size(file);
    let mut inner = stack.0.borrow_mut();
    let (before, from) = (inner.scheduler.ledger.reads, inner.now());
    for offset in (0..size.0).step_by(READ_AT_ONCE.0 as usize) {
        let plan = inner.direct_read_plan(file, offset, READ_AT_ONCE.0.min(size.0 - offset));
        let pid = inner.spawn(plan);
        inner.wait(pid).unwrap();
    }
    (inner.scheduler.ledger.reads - before, inner.now().since(from))
}

#[test]
fn a_file_that_grew_beside_another_is_read_in_as_many_requests_as_it_has_pieces() {
    let pages = 256;
    let whole = pages * PAGE.0 / READ_AT_ONCE.0;
    // On F2FS the pages of both files alternate in one log. On ext4 (docs/model.md) the first 16
    // pages do, then come pieces of 16, 32, 64 and 128 pages, which reads of 32 pages send as 1, 1,
    // 2 and 4 requests.
    let on_ext4 = 16 + 1 + 1 + 2 + 4;
    for (spec, files, requests) in [
        ("f2fs", 1, whole),
        ("f2fs", 2, pages),
        ("f2fs", 4, pages),
        ("ext4", 1, whole),
        ("ext4", 2, on_ext4),
        ("ext4", 4, on_ext4),
    ] {
        let (stack, file) = grown(spec, files, pages);
        let (sent, time) = read(&stack, file);
        assert_eq!(sent, requests, "{spec}, {files} files");
        // The device does one thing at a time, so time is proportional to requests.
        assert_eq!(time, Nanos(requests * READ.0), "{spec}, {files} files");
    }
}

#[test]
fn a_file_that_grew_on_a_used_filesystem_fills_its_holes() {
    // Every other 64 KiB is free: beyond what is reserved for small files no run is longer.
    let stack = stack("ext4");
    let piece = Bytes::from_kib(64);
    let (mut number, mut kept) = (0, Vec::new());
    while stack.free() > Bytes::from_mib(1) {
        let file = stack.create(&format!("file-{number}")).unwrap();
        stack.write_nothing(file, Bytes::ZERO, piece, true).unwrap();
        kept.push(file);
        number += 1;
    }
    for number in (0..number).step_by(2) {
        stack.delete(&format!("file-{number}")).unwrap();
    }
    stack.sync_directory().unwrap();
    let file = stack.create("new").unwrap();
    let pages = 1024;
    for page in 0..pages {
        stack.write_nothing(file, Bytes(page * PAGE.0), PAGE, true).unwrap();
        stack.sync(file, true).unwrap();
    }
    let (requests, _) = read(&stack, file);
    // Sixteen pages a piece: one request for each hole that it fills, and one more, since the
    // file's map takes a block of a hole.
    assert_eq!(requests, pages / 16 + 1);
}
