//! The edges of the loop in virtual time: where exactly a slot is late, a schedule begins, a budget
//! ends, an interval is judged, and what a device is never asked for.

use std::cell::Cell;
use std::sync::atomic::AtomicBool;

use flashlag_device::{
    Budget, Clock, Completion, Device, DeviceError, Durability, Geometry, Latency, NoWaitMeter,
    NullDevice, Op, RamDevice, Request, SchedulerTimes, Service, VirtualClock, WaitMeter,
};
use flashlag_engine::{EndReason, Job, JobOutcome, Limits, Watch, drive};
use flashlag_spec::scenario::{Arrivals, IoOperation, Pattern, Schedule, ThreadSpans};
use flashlag_stats::Interval;
use flashlag_testing::{FaultDevice, Faults};
use flashlag_units::{Bytes, Nanos};
use rustix::io::Errno;

const SIZE: Bytes = Bytes::from_mib(1);
const BLOCK: Bytes = Bytes(4096);
const MS: Nanos = Nanos::from_millis(1);
const EVERY_MS: Arrivals = Arrivals { per_second: Some(1_000.0), schedule: Schedule::Fixed };

fn blocks(count: u64) -> Bytes {
    Bytes(count * BLOCK.0)
}

/// Durable writes over the whole device, until `limits`.
fn job(limits: Limits) -> Job {
    Job {
        operation: IoOperation::Write,
        pattern: Pattern::Sequential,
        block: BLOCK,
        span: SIZE,
        queue_depth: 1,
        threads: 1,
        thread: None,
        thread_spans: ThreadSpans::Disjoint,
        read_percent: 0,
        durability: Durability::Write,
        arrivals: Arrivals::default(),
        think: Nanos::ZERO,
        limits,
        seed: 1,
        interval: Nanos::from_millis(100),
        stall_over: Nanos::from_secs(1),
        verify: false,
    }
}

fn ops(count: u64) -> Limits {
    Limits { bytes: Some(blocks(count)), ..Limits::default() }
}

/// One request at a time, each of which takes `each`; a flush takes nothing.
fn ram(slots: u32, each: Nanos) -> RamDevice<VirtualClock> {
    let (read, write) = (Latency::Fixed(each), Latency::Fixed(each));
    let service = Service { read, write, ..Service::INSTANT };
    RamDevice::simulated(SIZE, slots, BLOCK, service, 1)
}

fn run<D: Device>(device: &mut D, job: &Job) -> JobOutcome {
    let stop = AtomicBool::new(false);
    drive(device, job, &mut Watch::new(&stop, NoWaitMeter))
}

/// A device that keeps the moment of each request and how often a buffer was asked for, and holds
/// the loop to waiting only for what is in flight.
struct Strict<D> {
    device: D,
    begun: Vec<Nanos>,
    buffers: u64,
    in_flight: u64,
}

impl<D: Device> Strict<D> {
    fn new(device: D) -> Strict<D> {
        Strict { device, begun: Vec::new(), buffers: 0, in_flight: 0 }
    }
}

impl<D: Device> Device for Strict<D> {
    type Clock = D::Clock;

    fn clock(&self) -> &D::Clock {
        self.device.clock()
    }

    fn geometry(&self) -> Geometry {
        self.device.geometry()
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.buffers += 1;
        self.device.buffer(slot)
    }

    fn submit(&mut self, request: Request) -> Result<(), DeviceError> {
        if request.op != Op::Flush {
            self.begun.push(self.device.clock().now());
        }
        self.in_flight += 1;
        self.device.submit(request)
    }

    fn reap(&mut self, at_least: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError> {
        assert!(u64::from(at_least) <= self.in_flight, "waits for what is not in flight");
        let before = completed.len();
        let reaped = self.device.reap(at_least, completed);
        self.in_flight -= (completed.len() - before) as u64;
        reaped
    }

    fn wait_until(&mut self, time: Nanos) {
        self.device.wait_until(time);
    }
}

/// A meter of which one reading takes a while: the first at or after `from`, past the 17 that find out
/// what a reading costs.
struct Pausing {
    clock: VirtualClock,
    readings: Cell<u32>,
    from: Nanos,
    pause: Cell<Nanos>,
}

impl WaitMeter for Pausing {
    fn read(&self) -> Option<SchedulerTimes> {
        self.readings.set(self.readings.get() + 1);
        let now = self.clock.now();
        if self.readings.get() > 17 && now >= self.from {
            self.clock.advance_to(now.plus(self.pause.take()));
        }
        Some(SchedulerTimes::default())
    }
}

/// The moments at which writes began: one a millisecond, 0.1 ms each, beside a meter whose first
/// reading from `from` on takes 0.3 ms.
fn begun_beside_a_pause(limits: Limits, from: Nanos) -> (Vec<u64>, JobOutcome) {
    let mut device = Strict::new(ram(1, Nanos::from_micros(100)));
    let clock = device.clock().clone();
    let pause = Cell::new(Nanos::from_micros(300));
    let meter = Pausing { clock, readings: Cell::new(0), from, pause };
    let stop = AtomicBool::new(false);
    let paced = Job { arrivals: EVERY_MS, ..job(limits) };
    let driven = drive(&mut device, &paced, &mut Watch::new(&stop, meter));
    (device.begun.iter().map(|at| at.0 / 1_000).collect(), driven)
}

#[test]
fn a_schedule_begins_with_the_first_moment_that_counts() {
    let (begun, driven) = begun_beside_a_pause(ops(4), Nanos::ZERO);
    assert_eq!(begun, [300, 1_300, 2_300, 3_300]);
    assert_eq!(driven.recorded.response.max(), Some(Nanos::from_micros(100)));
    // From the end of that reading to the end of the last write.
    assert_eq!(driven.recorded.elapsed, Nanos::from_micros(3_100));
    assert_eq!(driven.recorded.missed_slots, 0);
}

#[test]
fn a_schedule_goes_on_through_the_end_of_the_warm_up() {
    // The warm-up is over when the write at 3 ms has ended; then the reading takes its time.
    let warmup = Some(Nanos::from_micros(2_500));
    let limits = Limits { warmup, ..ops(3) };
    let (begun, driven) = begun_beside_a_pause(limits, Nanos::from_micros(3_050));
    assert_eq!(begun, [0, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000]);
    assert_eq!(driven.recorded.latency.count(), 3);
    // From 3.4 ms to 6.1 ms.
    assert_eq!(driven.recorded.elapsed, Nanos::from_micros(2_700));
}

#[test]
fn a_slot_is_missed_where_it_began_more_than_a_period_late_and_not_at_a_period() {
    // The second write begins when the first has ended: a period late, or a nanosecond more.
    for (write, missed) in [(2_000_000, 0), (2_000_001, 1)] {
        let paced = Job { arrivals: EVERY_MS, ..job(ops(2)) };
        let driven = run(&mut ram(1, Nanos(write)), &paced);
        assert_eq!(driven.recorded.missed_slots, missed, "writes of {write} ns");
    }
}

#[test]
fn slots_that_began_late_and_those_due_before_the_end_are_missed_and_no_others() {
    // Writes of two periods: the k-th begins k periods late, and all from the third on too late.
    let second = Some(Nanos::from_secs(1));
    for (limits, began, missed) in [
        // 500 begin in the second, and 500 others were due in it.
        (Limits { time: second, ..Limits::default() }, 500, 498 + 500),
        // Of 600, no more than 100 others would have begun.
        (Limits { time: second, ..ops(600) }, 500, 498 + 100),
        // All ten have begun: the schedule has no others.
        (ops(10), 10, 8),
        // All ten are done long before the time is up.
        (Limits { time: second, ..ops(10) }, 10, 8),
    ] {
        let paced = Job { arrivals: EVERY_MS, ..job(limits) };
        let driven = run(&mut ram(1, Nanos::from_millis(2)), &paced);
        assert_eq!(driven.recorded.latency.count(), began, "{limits:?}");
        assert_eq!(driven.recorded.missed_slots, missed, "{limits:?}");
    }
}

#[test]
fn a_slot_due_at_the_very_end_is_not_missed() {
    // The write of 3 ms ends when the time is up: those due at 1 and 2 ms are missed, at 3 ms none.
    let limits = Limits { time: Some(Nanos::from_millis(3)), ..Limits::default() };
    let paced = Job { arrivals: EVERY_MS, ..job(limits) };
    let driven = run(&mut ram(1, Nanos::from_millis(3)), &paced);
    assert_eq!((driven.recorded.latency.count(), driven.recorded.missed_slots), (1, 2));
}

#[test]
fn a_limit_smaller_than_the_warm_up_still_measures_that_much_after_it() {
    let warm = Job { queue_depth: 2, ..job(Limits { warmup: Some(Nanos(5 * MS.0)), ..ops(3) }) };
    let driven = run(&mut ram(2, MS), &warm);
    assert_eq!((driven.recorded.latency.count(), driven.ended), (3, EndReason::Limit));
    // Five in the warm-up, and one that began in it and ended after it.
    assert_eq!(driven.moved, blocks(9));
}

fn run_within(budget: Bytes, job: &Job) -> JobOutcome {
    let stop = AtomicBool::new(false);
    let mut watch = Watch::new(&stop, NoWaitMeter);
    watch.budget = Some(Budget::of(budget));
    drive(&mut ram(1, MS), job, &mut watch)
}

#[test]
fn a_budget_is_used_to_its_last_whole_block_and_said_to_be_out_only_where_it_ended_the_job() {
    let endless = job(Limits::default());
    let cut = run_within(Bytes(blocks(10).0 + 4095), &endless);
    assert_eq!((cut.written, cut.out_of_budget), (blocks(10), true));
    assert_eq!(cut.ended, EndReason::Limit);
    let whole = run_within(blocks(10), &job(ops(10)));
    assert_eq!((whole.written, whole.out_of_budget), (blocks(10), false));
    // The warm-up's five are written too.
    let warmup = Some(Nanos::from_millis(5));
    let warm = run_within(blocks(20), &job(Limits { warmup, ..Limits::default() }));
    assert_eq!((warm.written, warm.recorded.latency.count()), (blocks(20), 15));
}

#[test]
fn reads_take_nothing_from_the_budget() {
    let reads = Job { operation: IoOperation::Read, ..job(ops(10)) };
    let driven = run_within(Bytes::ZERO, &reads);
    assert_eq!((driven.moved, driven.out_of_budget), (blocks(10), false));
}

#[test]
fn an_interval_is_judged_once_at_its_end_and_the_temperature_read_once_at_its_start() {
    let stop = AtomicBool::new(false);
    let (mut judged, mut readings) = (Vec::new(), 0);
    let mut enough = |intervals: &[Interval]| {
        judged.push(intervals.len());
        false
    };
    let mut temperature = || {
        readings += 1;
        Some(40_000 + readings)
    };
    let mut watch = Watch::new(&stop, NoWaitMeter);
    watch.enough = Some(&mut enough);
    watch.temperature = Some(&mut temperature);
    let driven = drive(&mut ram(1, MS), &job(ops(450)), &mut watch);
    assert_eq!(judged, [1, 2, 3, 4]);
    let read: Vec<Option<i64>> =
        driven.recorded.intervals.iter().map(|one| one.temperature_millicelsius).collect();
    // An interval has the temperature at its start, the first one too: a short test has no other.
    let expected = (1..=5).map(|reading| Some(40_000 + reading));
    assert_eq!(read, expected.collect::<Vec<_>>());
}

#[test]
fn no_payload_is_made_for_reads_nor_where_nothing_is_kept() {
    let mut device = Strict::new(ram(1, MS));
    run(&mut device, &Job { operation: IoOperation::Read, ..job(ops(10)) });
    assert_eq!(device.buffers, 0);
    let mut device = Strict::new(NullDevice::new(SIZE, 1, BLOCK));
    run(&mut device, &job(ops(10)));
    assert_eq!(device.buffers, 0);
    let mut device = Strict::new(ram(1, MS));
    run(&mut device, &job(ops(10)));
    assert_eq!(device.buffers, 10);
}

#[test]
fn whatever_ends_a_job_what_is_in_flight_is_waited_for_and_recorded() {
    let queued = Job { queue_depth: 4, ..job(Limits::default()) };
    let stop = AtomicBool::new(false);
    let mut enough = |intervals: &[Interval]| intervals.len() == 2;
    let mut watch = Watch::new(&stop, NoWaitMeter);
    watch.enough = Some(&mut enough);
    let mut device = Strict::new(ram(4, MS));
    let driven = drive(&mut device, &queued, &mut watch);
    assert_eq!(driven.ended, EndReason::Enough);
    // Two intervals of 100 writes, one at a time, and the three others in flight.
    assert_eq!(driven.recorded.latency.count(), 203);
    assert_eq!((driven.moved, device.in_flight), (blocks(203), 0));

    let faults = Faults { fails: vec![(11, Errno::IO)], ..Faults::default() };
    let mut device = Strict::new(FaultDevice::new(ram(4, MS), faults));
    let driven = run(&mut device, &queued);
    assert!(matches!(driven.ended, EndReason::Error(_)), "{:?}", driven.ended);
    let recorded = blocks(driven.recorded.latency.count() + 1);
    assert_eq!((driven.moved, device.in_flight), (recorded, 0), "all but the one that failed");
}

#[test]
fn a_final_flush_that_fails_is_the_end_of_the_job_unless_an_error_ended_it_before() {
    let run = |fails: Vec<(u64, Errno)>| {
        let mut device = FaultDevice::new(ram(1, MS), Faults { fails, ..Faults::default() });
        run(&mut device, &Job { durability: Durability::None, ..job(ops(10)) })
    };
    let flush = run(vec![(11, Errno::IO)]);
    assert!(matches!(flush.ended, EndReason::Error(_)), "{:?}", flush.ended);
    assert_eq!((flush.final_flush, flush.recorded.latency.count()), (None, 10));
    let both = run(vec![(5, Errno::NOSPC), (6, Errno::IO)]);
    assert!(matches!(both.ended, EndReason::NoSpace(_)), "{:?}", both.ended);
}

#[test]
fn only_writes_that_are_not_durable_each_are_flushed_at_the_end() {
    let flushes = |operation, durability, limits| {
        let mut device = ram(1, MS);
        let driven = run(&mut device, &Job { operation, durability, ..job(limits) });
        assert_eq!(driven.final_flush.is_some(), device.counts().flushes > 0);
        device.counts().flushes
    };
    let (read, write) = (IoOperation::Read, IoOperation::Write);
    assert_eq!(flushes(write, Durability::None, ops(3)), 1);
    assert_eq!(flushes(write, Durability::Write, ops(3)), 0);
    assert_eq!(flushes(write, Durability::Flush, ops(3)), 0);
    assert_eq!(flushes(read, Durability::None, ops(3)), 0);
}

/// A meter in virtual time: half of it on the CPU, a quarter waiting for one.
struct Halves(VirtualClock);

impl WaitMeter for Halves {
    fn read(&self) -> Option<SchedulerTimes> {
        let now = self.0.now().0;
        Some(SchedulerTimes { on_cpu: Nanos(now / 2), runnable: Nanos(now / 4) })
    }
}

#[test]
fn a_sampled_operations_split_is_that_of_its_own_time() {
    let mut device = ram(1, MS);
    let meter = Halves(device.clock().clone());
    let stop = AtomicBool::new(false);
    let driven = drive(&mut device, &job(ops(100)), &mut Watch::new(&stop, meter));
    let classes: Vec<_> = driven.recorded.waits.occupied().collect();
    assert_eq!(classes.len(), 1, "{classes:?}");
    let class = &classes[0].1;
    assert_eq!(class.ops, 100, "a reading costs nothing here");
    let (on_cpu, runnable) = (class.split.on_cpu, class.split.runnable);
    assert_eq!((on_cpu, runnable), (Nanos::from_millis(50), Nanos::from_millis(25)));
    assert_eq!(class.split.blocked, Nanos::from_millis(25));
}

#[test]
fn every_stall_has_a_split_however_short_it_is() {
    // Each reading costs 2 µs, so that of operations of 50 µs few would be sampled.
    let mut device = ram(1, Nanos::from_micros(50));
    let clock = device.clock().clone();
    let stop = AtomicBool::new(false);
    let stalls = Job { stall_over: Nanos::from_micros(49), ..job(ops(60)) };
    let driven = drive(&mut device, &stalls, &mut Watch::new(&stop, Costly(clock)));
    assert_eq!(driven.recorded.stalls_seen, 60);
    assert!(driven.recorded.stalls.iter().all(|stall| stall.split.is_some()));
    let without = run(&mut ram(1, Nanos::from_micros(50)), &stalls);
    assert_eq!(without.recorded.stalls_seen, 60, "without a meter they are stalls all the same");
    assert!(without.recorded.stalls.iter().all(|stall| stall.split.is_none()));
}

/// Each reading takes 2 µs.
struct Costly(VirtualClock);

impl WaitMeter for Costly {
    fn read(&self) -> Option<SchedulerTimes> {
        self.0.advance_to(self.0.now().plus(Nanos::from_micros(2)));
        Some(SchedulerTimes::default())
    }
}
