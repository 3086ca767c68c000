//! Threads on cores, and the driver's time for each command, against closed forms.

use super::*;
use crate::stack_file::StackFile;
use flashlag_device::{Completion, Device, Durability, Op, Request, SyncCall};

const KIB: u64 = 1024;

/// When each of a number of 4 KiB reads begins and ends, in microseconds. There is one read per
/// slot, all submitted at once to a device with `units` parallel units; no two are neighbours.
fn read_at_once(model: &StackModel, units: u32, threads: u32, depth: u32) -> Vec<(u64, u64)> {
    read_each(8 * KIB, model, units, (threads, depth))
}

/// The same with reads that begin at multiples of `step`.
fn read_each(step: u64, model: &StackModel, units: u32, lanes: (u32, u32)) -> Vec<(u64, u64)> {
    read_from(&stack_of("raw", units, model), step, lanes)
}

/// The same on an existing stack, with `threads` threads of `depth` each.
fn read_from(stack: &RamStack, step: u64, (threads, depth): (u32, u32)) -> Vec<(u64, u64)> {
    let file = stack.create("test").unwrap();
    let span = Bytes::from_mib(1);
    stack.write_nothing(file, Bytes::ZERO, span, true).unwrap();
    // Let the driver finish what laying out the file sent.
    stack.pass_until(Nanos::from_secs(1));
    let slots = threads * depth;
    let device = StackFile::new(stack, file, span, span, slots, true, SyncCall::Data);
    let mut device = device.with_threads(threads);
    let from = stack.clock().now();
    for slot in 0..slots {
        let (offset, length) = (Bytes(u64::from(slot) * step), Bytes(4 * KIB));
        let request = Request { slot, op: Op::Read, offset, length, durability: Durability::None };
        device.submit(request).unwrap();
    }
    let mut done: Vec<Completion> = Vec::new();
    device.reap(slots, &mut done).unwrap();
    done.sort_by_key(|done| done.slot);
    let micros = |time: Nanos| time.since(from).0 / 1000;
    done.iter().map(|done| (micros(done.started), micros(done.ended))).collect()
}

#[test]
fn each_thread_has_a_core_while_there_are_enough_and_its_own_calls_follow_one_another() {
    let model = |cores| StackModel { call: micros(20), cores, ..StackModel::default() };
    let ends = |cores, threads, depth| {
        let times = read_at_once(&model(cores), 16, threads, depth);
        times.into_iter().map(|(_, ended)| ended).collect::<Vec<u64>>()
    };
    // A call and a read take 120; a core is free 20 later.
    assert_eq!(ends(None, 4, 1), [120, 140, 160, 180]);
    assert_eq!(ends(Some(1), 4, 1), [120, 140, 160, 180]);
    assert_eq!(ends(Some(2), 4, 1), [120, 120, 140, 140]);
    assert_eq!(ends(Some(4), 4, 1), [120, 120, 120, 120]);
    assert_eq!(ends(Some(8), 2, 2), [120, 140, 120, 140]);
    assert_eq!(ends(Some(8), 1, 3), [120, 140, 160]);
}

#[test]
fn a_call_that_waits_for_its_thread_begins_when_the_thread_is_free() {
    let model = StackModel { call: micros(20), cores: Some(2), ..StackModel::default() };
    assert_eq!(read_at_once(&model, 16, 1, 3), [(0, 120), (20, 140), (40, 160)]);
}

/// When the last of `count` simultaneous reads ends on a device that does one at a time.
fn last_of(count: u32, model: &StackModel) -> u64 {
    let times = read_at_once(model, 1, 1, count);
    times.into_iter().map(|(_, ended)| ended).max().unwrap()
}

#[test]
fn with_one_tag_a_command_takes_the_driver_and_the_device_one_after_the_other() {
    let model = StackModel { issue: micros(10), complete: micros(28), ..StackModel::default() };
    for count in [1, 2, 8] {
        let n = u64::from(count);
        let one = StackModel { tags: Some(1), ..model.clone() };
        assert_eq!(last_of(count, &one), n * (10 + 100 + 28));
        // A second tag hides the driver behind the device.
        let two = StackModel { tags: Some(2), ..model.clone() };
        assert_eq!(last_of(count, &two), 10 + n * 100 + 28);
        assert_eq!(last_of(count, &model), 10 + n * 100 + 28);
    }
}

#[test]
fn neighbours_that_wait_for_a_tag_are_one_command_and_end_together() {
    let model = StackModel { issue: micros(10), complete: micros(28), ..StackModel::default() };
    let ends = |tags| -> Vec<u64> {
        let model = StackModel { tags: Some(tags), ..model.clone() };
        let times = read_each(4 * KIB, &model, 1, (1, 8));
        times.into_iter().map(|(_, ended)| ended).collect()
    };
    // The first read goes alone; the other seven wait and are merged into one.
    assert_eq!(ends(1), [138, 276, 276, 276, 276, 276, 276, 276]);
    assert_eq!(ends(2), [138, 238, 338, 338, 338, 338, 338, 338]);
}

#[test]
fn the_slowest_of_driver_device_and_interrupt_sets_the_pace() {
    let model = |issue, complete| StackModel {
        issue: micros(issue),
        complete: micros(complete),
        ..StackModel::default()
    };
    for (issue, complete) in [(150, 28), (10, 150), (150, 150), (10, 28), (0, 0)] {
        let slowest = 100.max(issue).max(complete);
        let expected = issue + 100 + complete + 7 * slowest;
        assert_eq!(last_of(8, &model(issue, complete)), expected, "{issue} {complete}");
    }
}

#[test]
fn direct_calls_cost_their_own_time_per_kib_and_buffered_calls_that_of_the_copy() {
    let model =
        StackModel { per_kib: micros(4), per_kib_direct: Some(micros(1)), ..StackModel::default() };
    let stack = stack_of("raw", 1, &model);
    let file = stack.create("test").unwrap();
    let bytes = Bytes(64 * KIB);
    let write =
        |direct| timed(&stack, || stack.write_nothing(file, Bytes::ZERO, bytes, direct).unwrap());
    assert_eq!(write(true), WRITE.plus(Nanos::from_micros(64)));
    assert_eq!(write(false), Nanos::from_micros(4 * 64));
}

#[test]
fn a_merged_read_is_decrypted_piece_by_piece() {
    let mut model = StackModel { tags: Some(1), ..StackModel::default() };
    model.encryption.read_per_kib = micros(1);
    let ends = |spec: &str| -> Vec<u64> {
        let times = read_from(&stack_of(spec, 1, &model), 4 * KIB, (1, 4));
        times.into_iter().map(|(_, ended)| ended).collect()
    };
    assert_eq!(ends("raw"), [100, 200, 200, 200]);
    // One thread decrypts: 4 us for each of the three that complete together.
    assert_eq!(ends("raw,encrypt"), [104, 204, 208, 212]);
}
