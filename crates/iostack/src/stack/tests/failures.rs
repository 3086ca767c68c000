//! Failing devices: every sync reports the error, and nothing waits forever.

use flashlag_device::{Completion, Device, Durability, Op, Request, SyncCall};
use flashlag_testing::{FaultDevice, Faults};
use rustix::io::Errno;

use super::*;
use crate::background::BackgroundJob;
use crate::fs::FileId;
use crate::stack_file::StackFile;

type Faulty = Stack<FaultDevice<RamDevice<VirtualClock>>>;

/// A device that fails every operation from this one on.
fn gone_from(spec: &str, operation: u64) -> Faulty {
    let faults = Faults { gone_from: Some((operation, Errno::IO)), ..Faults::default() };
    let spec = StackSpec::parse(spec).unwrap();
    Stack::mount(FaultDevice::new(device(WRITE, 1), faults), spec, &StackModel::default()).unwrap()
}

fn is_reported(error: &flashlag_device::DeviceError) -> bool {
    error.errno == Some(Errno::IO.raw_os_error())
}

#[test]
fn a_sync_reports_its_data_its_commit_and_its_flush() {
    for spec in FILESYSTEMS {
        // Count the operations of a save without failures.
        let save = |stack: &Faulty| {
            let file = stack.create("test")?;
            stack.write(file, Bytes::ZERO, &[1; 9000])?;
            stack.sync(file, false)
        };
        let well = gone_from(spec, u64::MAX);
        save(&well).unwrap();
        let ledger = well.ledger();
        let operations = ledger.writes + ledger.flushes;
        assert!(operations >= 2, "{spec}");
        for operation in 1..=operations {
            let error = save(&gone_from(spec, operation)).unwrap_err();
            assert!(is_reported(&error), "{spec}, operation {operation}: {error}");
        }
    }
}

#[test]
fn an_error_in_the_background_is_reported_by_the_next_sync_once() {
    let stack = gone_from("raw", 1);
    let file = stack.create("test").unwrap();
    stack.write(file, Bytes::ZERO, &[1; 4096]).unwrap();
    // Writeback after thirty seconds fails.
    stack.pass_until(Nanos::from_secs(60));
    let error = stack.sync(file, true).unwrap_err();
    assert!(is_reported(&error), "{error}");
}

#[test]
fn a_background_job_on_a_device_that_is_gone_ends_and_time_goes_on() {
    for spec in FILESYSTEMS {
        let stack = gone_from(spec, 300);
        let file: FileId = stack.create("beside").unwrap();
        stack.write_nothing(file, Bytes::ZERO, Bytes::from_mib(1), true).unwrap();
        let job = BackgroundJob {
            writes: true,
            random: true,
            files: file.into(),
            span: Bytes::from_mib(1),
            block: Bytes(4096),
            depth: 4,
            durable: Some(SyncCall::Data),
            think: Nanos::ZERO,
            seed: 1,
        };
        stack.start_background(job).unwrap();
        stack.pass_until(Nanos::from_secs(100));
        assert_eq!(stack.clock().now(), Nanos::from_secs(100), "{spec}");
        let total = stack.end_background().unwrap();
        assert!(total.ops > 50 && total.ops < 300, "{spec}: {total:?}");
        assert!(stack.sync(file, true).is_err(), "{spec}: the next sync tells");
    }
}

#[test]
fn the_error_of_a_merged_command_is_that_of_each_request_in_it() {
    let stack = gone_from("raw", 1);
    let file = stack.create("test").unwrap();
    // Sixteen have a slot; the others wait and are merged into one command.
    let (depth, block) = (24, Bytes(4096));
    let span = Bytes(u64::from(depth) * block.0);
    let mut device = StackFile::new(&stack, file, span, block, depth, true, SyncCall::Data);
    for slot in 0..depth {
        let offset = Bytes(u64::from(slot) * block.0);
        let request =
            Request { slot, op: Op::Write, offset, length: block, durability: Durability::None };
        device.submit(request).unwrap();
    }
    let mut done = Vec::new();
    device.reap(depth, &mut done).unwrap();
    assert_eq!(done.len(), 24);
    assert!(done.iter().all(|one: &Completion| one.result.is_err()), "{done:?}");
}
