//! Discards of free space.

use super::*;

const SPAN: Bytes = Bytes::from_mib(32);

fn deleted(stack: &RamStack) -> Bytes {
    let file = stack.create("gone").unwrap();
    stack.write_nothing(file, Bytes::ZERO, SPAN, true).unwrap();
    stack.sync(file, false).unwrap();
    let cost = sent(stack, || {
        stack.delete("gone").unwrap();
        stack.sync_directory().unwrap();
    });
    cost.discarded_bytes
}

#[test]
fn a_delete_discards_at_once_or_leaves_it_to_fstrim() {
    for (spec, at_once) in [
        ("ext4", false),
        ("ext4,discard", true),
        ("f2fs,noipu", true),
        ("f2fs,nodiscard", false),
        ("raw", false),
        ("raw,discard", true),
    ] {
        let stack = stack(spec);
        let discarded = deleted(&stack);
        if at_once {
            assert!(discarded.0 + (4 << 20) > SPAN.0 && discarded <= SPAN, "{spec}: {discarded}");
        } else {
            assert_eq!(discarded, Bytes::ZERO, "{spec}");
            let mut trimmed = Bytes::ZERO;
            let cost = sent(&stack, || trimmed = stack.trim().unwrap());
            assert!(trimmed.0 + (4 << 20) > SPAN.0, "{spec}: {trimmed}");
            assert_eq!(cost.discarded_bytes, trimmed, "{spec}: what is returned was sent");
        }
    }
}

#[test]
fn space_that_is_written_again_before_its_discard_is_sent_is_not_discarded() {
    // The kernel's own commit discards a deleted file's blocks while a new file takes its place.
    let stack = stack("ext4,discard");
    let first = stack.create("first").unwrap();
    stack.write_nothing(first, Bytes::ZERO, SPAN, true).unwrap();
    stack.sync(first, false).unwrap();
    stack.delete("first").unwrap();
    let begun = stack.0.borrow_mut().begin_sync(None, false).unwrap();
    let second = stack.create("second").unwrap();
    let mut discarded = Bytes::ZERO;
    let cost = sent(&stack, || {
        // Begin before the commit is written and its discards are sent.
        let pid = stack.0.borrow_mut().begin_write(second, 0, SPAN.0, true).unwrap();
        stack.0.borrow_mut().wait(pid).unwrap();
        stack.0.borrow_mut().wait(begun).unwrap();
    });
    discarded = discarded.plus(cost.discarded_bytes);
    let inner = stack.0.borrow();
    let again: u64 = inner.fs.locate(second, 0, SPAN.0).iter().map(|run| run.length).sum();
    assert_eq!(again, SPAN.0);
    assert!(discarded.0 <= 1 << 20, "{discarded} of what is in use");
}
