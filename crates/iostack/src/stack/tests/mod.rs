//! Stacks over memory in virtual time, with service times that make closed forms easy.

mod background;
mod caching;
mod contents;
mod cores;
mod costs;
mod discards;
mod durability;
mod elevators;
mod failures;
mod pieces;
mod rest;
mod speeds;

use flashlag_device::{Clock, Latency, RamDevice, Service, VirtualClock};
use flashlag_spec::profile::StackModel;
use flashlag_units::{Bytes, Nanos, Text};

use super::Stack;
use crate::ledger::Ledger;
use crate::spec::StackSpec;

type RamStack = Stack<RamDevice<VirtualClock>>;

const CAPACITY: Bytes = Bytes::from_mib(256);
const READ: Nanos = Nanos::from_micros(100);
const WRITE: Nanos = Nanos::from_micros(300);
const FLUSH: Nanos = Nanos::from_micros(1000);
const FILESYSTEMS: [&str; 4] = ["raw", "ext4", "f2fs", "btrfs"];

/// A device with `units` parallel units, whose writes take `write` each.
fn device(write: Nanos, units: u32) -> RamDevice<VirtualClock> {
    let service = Service {
        read: Latency::Fixed(READ),
        write: Latency::Fixed(write),
        flush: Latency::Fixed(FLUSH),
        units,
    };
    RamDevice::simulated(CAPACITY, 16, Bytes::from_mib(1), service, 1)
}

/// Software that takes no time, on a device with `units` parallel units.
fn stack_of(spec: &str, units: u32, model: &StackModel) -> RamStack {
    Stack::mount(device(WRITE, units), StackSpec::parse(spec).unwrap(), model).unwrap()
}

fn stack(spec: &str) -> RamStack {
    stack_of(spec, 1, &StackModel::default())
}

/// How long something takes.
fn timed(stack: &RamStack, act: impl FnOnce()) -> Nanos {
    let from = stack.clock().now();
    act();
    stack.clock().now().since(from)
}

/// What a function sends to the device.
fn sent(stack: &RamStack, act: impl FnOnce()) -> Ledger {
    let before = stack.ledger();
    act();
    let now = stack.ledger();
    Ledger {
        call_bytes: now.call_bytes.minus(before.call_bytes),
        read_bytes: now.read_bytes.minus(before.read_bytes),
        reads: now.reads - before.reads,
        written_bytes: now.written_bytes.minus(before.written_bytes),
        writes: now.writes - before.writes,
        flushes: now.flushes - before.flushes,
        discarded_bytes: now.discarded_bytes.minus(before.discarded_bytes),
        ..now
    }
}

fn micros(count: u64) -> Text<Nanos> {
    Text(Nanos::from_micros(count))
}
