//! What software adds to a call, against closed forms.

use super::*;
use crate::stack_file::StackFile;
use flashlag_device::{Completion, Device, Durability, Op, Request, SyncCall};

const KIB: u64 = 1024;

/// How long a request on a laid-out file takes.
fn request(spec: &str, model: &StackModel, op: Op, length: u64) -> Nanos {
    let stack = stack_of(spec, 1, model);
    let file = stack.create("test").unwrap();
    let span = Bytes::from_mib(1);
    stack.write_nothing(file, Bytes::ZERO, span, true).unwrap();
    stack.sync(file, false).unwrap();
    let mut device = StackFile::new(&stack, file, span, span, 1, true, SyncCall::Data);
    let (offset, length) = (Bytes::ZERO, Bytes(length));
    let asked = Request { slot: 0, op, offset, length, durability: Durability::None };
    device.submit(asked).unwrap();
    let mut done: Vec<Completion> = Vec::new();
    device.reap(1, &mut done).unwrap();
    done[0].ended.since(done[0].started)
}

#[test]
fn encryption_costs_its_time_per_kib_in_each_direction_and_per_request() {
    let mut model = StackModel::default();
    model.encryption.read_per_kib = micros(7);
    model.encryption.write_per_kib = micros(11);
    model.encryption.per_request = micros(13);
    for spec in FILESYSTEMS {
        let encrypted = format!("{spec},encrypt");
        for kib in [4, 64, 1024] {
            let time = |op| request(&encrypted, &model, op, kib * KIB);
            let micros = Nanos::from_micros;
            assert_eq!(time(Op::Read), READ.plus(micros(13 + 7 * kib)), "{spec} {kib} KiB");
            assert_eq!(time(Op::Write), WRITE.plus(micros(13 + 11 * kib)), "{spec} {kib} KiB");
            assert_eq!(request(spec, &model, Op::Read, kib * KIB), READ, "{spec}: not encrypted");
            assert_eq!(request(spec, &model, Op::Write, kib * KIB), WRITE, "{spec}: not encrypted");
        }
    }
}

/// How long each of three simultaneous requests takes on an encrypted device that handles all of
/// them in parallel.
fn three_at_once(model: &StackModel, op: Op) -> Vec<Nanos> {
    let stack = stack_of("raw,encrypt", 4, model);
    let file = stack.create("test").unwrap();
    let span = Bytes::from_mib(1);
    stack.write_nothing(file, Bytes::ZERO, span, true).unwrap();
    let mut device = StackFile::new(&stack, file, span, span, 3, true, SyncCall::Data);
    for slot in 0..3 {
        let (offset, length) = (Bytes(u64::from(slot) * 64 * KIB), Bytes(64 * KIB));
        let request = Request { slot, op, offset, length, durability: Durability::None };
        device.submit(request).unwrap();
    }
    let mut done: Vec<Completion> = Vec::new();
    device.reap(3, &mut done).unwrap();
    done.iter().map(|done| done.ended.since(done.started)).collect()
}

#[test]
fn one_thread_encrypts_so_requests_wait_for_those_before_them() {
    let mut model = StackModel::default();
    model.encryption.read_per_kib = micros(7);
    model.encryption.write_per_kib = micros(11);
    // Writes are encrypted one after another and then written in parallel; reads the other way
    // round.
    let turns = |each: u64| [1, 2, 3].map(|turn| Nanos::from_micros(turn * each * 64));
    assert_eq!(three_at_once(&model, Op::Write), turns(11).map(|time| WRITE.plus(time)));
    assert_eq!(three_at_once(&model, Op::Read), turns(7).map(|time| READ.plus(time)));
}

#[test]
fn a_call_costs_its_time_and_that_of_its_kib() {
    let model = StackModel { call: micros(20), per_kib: micros(2), ..StackModel::default() };
    for spec in FILESYSTEMS {
        let time = request(spec, &model, Op::Read, 64 * KIB);
        assert_eq!(time, READ.plus(Nanos::from_micros(20 + 128)), "{spec}");
    }
}

#[test]
fn fuse_costs_a_round_trip_for_each_128_kib_and_a_copy() {
    let model = StackModel {
        call: micros(20),
        per_kib: micros(2),
        sync_call: micros(50),
        fuse_call: micros(100),
        fuse_per_kib: micros(3),
        ..StackModel::default()
    };
    for (spec, fuse) in [("ext4", 0), ("ext4,fuse", 1), ("ext4,fuse,esdfs", 0)] {
        for (kib, requests) in [(4, 1), (128, 1), (129, 2), (300, 3)] {
            let stack = stack_of(spec, 1, &model);
            let file = stack.create("test").unwrap();
            let bytes = Bytes(kib * KIB);
            // A write into the page cache does not use the device.
            let time = timed(&stack, || {
                stack.write_nothing(file, Bytes::ZERO, bytes, false).unwrap();
            });
            let expected = 20 + 2 * kib + fuse * (100 * requests + 3 * kib);
            assert_eq!(time, Nanos::from_micros(expected), "{spec} {kib} KiB");
        }
    }
}

#[test]
fn an_fsync_through_fuse_costs_one_round_trip_more() {
    let model =
        StackModel { sync_call: micros(50), fuse_call: micros(100), ..StackModel::default() };
    let time = |spec| {
        let stack = stack_of(spec, 1, &model);
        let file = stack.create("test").unwrap();
        stack.sync(file, false).unwrap();
        timed(&stack, || stack.sync(file, false).unwrap())
    };
    assert_eq!(time("ext4"), FLUSH.plus(Nanos::from_micros(50)));
    assert_eq!(time("ext4,fuse"), FLUSH.plus(Nanos::from_micros(150)));
}
