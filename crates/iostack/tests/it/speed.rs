//! Simulating must not be what takes the time: far less of it than the device that is simulated.

use std::collections::VecDeque;
use std::time::Duration;

use flashlag_device::{
    Clock, Completion, Device, DeviceError, Durability, Geometry, Op, Request, SyncCall,
    VirtualClock,
};
use flashlag_iostack::{Stack, StackFile, StackSpec};
use flashlag_spec::profile::StackModel;
use flashlag_units::{Bytes, Nanos};
use rustix::time::{ClockId, clock_gettime};

const SLOTS: u32 = 256;

/// Takes a microsecond for each request, and next to none of the CPU's.
#[derive(Debug, Default)]
struct Quick {
    clock: VirtualClock,
    line: VecDeque<(Nanos, u32)>,
}

impl Device for Quick {
    type Clock = VirtualClock;

    fn clock(&self) -> &VirtualClock {
        &self.clock
    }

    fn geometry(&self) -> Geometry {
        Geometry {
            size: Bytes::from_mib(32 << 10),
            alignment: Bytes(512),
            slots: SLOTS,
            buffer: Bytes::from_mib(4),
            keeps_data: false,
        }
    }

    fn buffer(&mut self, _: u32) -> &mut [u8] {
        &mut []
    }

    fn submit(&mut self, request: Request) -> Result<(), DeviceError> {
        let now = self.clock.now();
        let before = self.line.back().map_or(now, |(ended, _)| now.max(*ended));
        self.line.push_back((before.plus(Nanos::from_micros(1)), request.slot));
        Ok(())
    }

    fn reap(&mut self, _: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError> {
        let now = self.clock.now();
        while let Some((ended, slot)) = self.line.pop_front_if(|(ended, _)| *ended <= now) {
            let (started, flush_from) = (ended, None);
            completed.push(Completion { slot, started, flush_from, ended, result: Ok(()) });
        }
        Ok(())
    }

    fn wait_until(&mut self, time: Nanos) {
        let next = self.line.front().map_or(Nanos::MAX, |(ended, _)| *ended);
        self.clock.pass_until(time.min(next));
    }
}

/// The CPU time of this thread so far: on a busy machine, the time by the wall is the others'.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().unwrap()
}

fn stack(spec: &str) -> Stack<Quick> {
    let spec = StackSpec::parse(spec).unwrap();
    Stack::mount(Quick::default(), spec, &StackModel::default()).unwrap()
}

#[test]
fn twenty_gigabytes_one_after_the_other_take_far_less_than_a_second_of_cpu_each() {
    for spec in ["raw", "ext4", "f2fs", "btrfs"] {
        for direct in [true, false] {
            let stack = stack(spec);
            let file = stack.create("test").unwrap();
            let (block, from) = (Bytes::from_mib(1), cpu_time());
            for mib in 0..20_000 {
                stack.write_nothing(file, Bytes::from_mib(mib), block, direct).unwrap();
            }
            let took = cpu_time() - from;
            assert!(took < Duration::from_secs(10), "{spec}, direct {direct}: {took:?}");
        }
    }
}

/// CPU time of a durable write with `depth` under way.
fn each(spec: &str, depth: u32) -> Duration {
    const OPS: u64 = 50_000;
    let stack = stack(spec);
    let file = stack.create("test").unwrap();
    let (span, block) = (Bytes::from_mib(256), Bytes(4096));
    stack.write_nothing(file, Bytes::ZERO, span, true).unwrap();
    let mut device = StackFile::new(&stack, file, span, block, depth, true, SyncCall::Data);
    let from = cpu_time();
    let (mut submitted, mut ended, mut done) = (0, 0, Vec::new());
    let mut free: Vec<u32> = (0..depth).collect();
    while ended < OPS {
        while let Some(slot) = free.pop() {
            let offset = Bytes(submitted * 7919 % (span.0 / block.0) * block.0);
            let durability = Durability::Flush;
            let one = Request { slot, op: Op::Write, offset, length: block, durability };
            device.submit(one).unwrap();
            submitted += 1;
        }
        device.reap(1, &mut done).unwrap();
        ended += done.len() as u64;
        free.extend(done.drain(..).map(|one| one.slot));
    }
    (cpu_time() - from) / OPS as u32
}

#[test]
fn a_write_of_256_under_way_costs_no_more_cpu_than_a_few_of_one() {
    for spec in ["raw", "ext4", "f2fs", "btrfs"] {
        let (one, many) = (each(spec, 1), each(spec, SLOTS));
        assert!(many < one * 8, "{spec}: {many:?} against {one:?}");
    }
}
