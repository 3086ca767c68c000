//! Think times: in no latency, in the elapsed time, and accounted for to the nanosecond.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flashlag_device::{
    Clock, Device, Durability, Latency, NoWaitMeter, RamDevice, SchedulerTimes, Service,
    VirtualClock, WaitMeter,
};
use flashlag_engine::{EndReason, Job, JobOutcome, Limits, Watch, drive};
use flashlag_spec::scenario::{Arrivals, IoOperation, Pattern, ThreadSpans};
use flashlag_units::{Bytes, Nanos};

const BLOCK: Bytes = Bytes(4096);
const WRITE: Nanos = Nanos::from_millis(1);
const THINK: Nanos = Nanos::from_millis(4);

fn job(depth: u32, limits: Limits) -> Job {
    Job {
        operation: IoOperation::Write,
        pattern: Pattern::Random,
        block: BLOCK,
        span: Bytes::from_mib(1),
        queue_depth: depth,
        threads: 1,
        thread: None,
        thread_spans: ThreadSpans::Disjoint,
        read_percent: 0,
        // Durable itself: no flush at the end.
        durability: Durability::Write,
        arrivals: Arrivals::default(),
        think: THINK,
        limits,
        seed: 1,
        interval: Nanos::from_millis(100),
        stall_over: Nanos::from_secs(1),
        verify: false,
    }
}

fn ops(ops: u64) -> Limits {
    Limits { bytes: Some(Bytes(ops * BLOCK.0)), ..Limits::default() }
}

/// Writes of a millisecond, as many at once as there are slots.
fn device(slots: u32) -> RamDevice<VirtualClock> {
    let (write, flush) = (Latency::Fixed(WRITE), Latency::Fixed(Nanos::ZERO));
    let service = Service { read: write, write, flush, units: slots };
    RamDevice::simulated(Bytes::from_mib(1), slots, BLOCK, service, 1)
}

fn run(device: &mut RamDevice<VirtualClock>, job: &Job) -> JobOutcome {
    let stop = AtomicBool::new(false);
    drive(device, job, &mut Watch::new(&stop, NoWaitMeter))
}

fn millis(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

#[test]
fn a_rest_between_each_two_operations_is_in_the_elapsed_time_and_in_no_latency() {
    let driven = run(&mut device(1), &job(1, ops(100)));
    assert_eq!(driven.recorded.elapsed, millis(100 + 99 * 4), "none after the last");
    assert_eq!(driven.thought, millis(99 * 4));
    let latency = &driven.recorded.latency;
    assert_eq!((latency.count(), latency.sum(), latency.max()), (100, millis(100), Some(WRITE)));
    let series: u64 = driven.recorded.intervals.iter().map(|interval| interval.ops()).sum();
    assert_eq!(series, 100);
}

#[test]
fn each_of_several_operations_in_flight_has_rests_of_its_own() {
    let driven = run(&mut device(4), &job(4, ops(100)));
    // 25 rounds of four.
    assert_eq!(driven.recorded.elapsed, millis(25 + 24 * 4));
    assert_eq!(driven.thought, millis(96 * 4));
    assert_eq!(driven.recorded.latency.sum(), millis(100));
    let threads = Job { threads: 2, queue_depth: 2, ..job(4, ops(100)) };
    let both = run(&mut device(4), &threads);
    assert_eq!((both.recorded.elapsed, both.thought), (driven.recorded.elapsed, driven.thought));
}

#[test]
fn a_time_limit_ends_a_phase_in_a_rest_without_waiting_for_its_end() {
    let limits = Limits { time: Some(millis(10)), ..Limits::default() };
    // They begin at 0 and 5 ms; the third would at 10.
    let driven = run(&mut device(1), &job(1, limits));
    assert_eq!((driven.recorded.latency.count(), driven.recorded.elapsed), (2, millis(6)));
    assert_eq!((driven.thought, driven.ended), (THINK, EndReason::Limit));
}

#[test]
fn a_rest_across_the_end_of_the_warm_up_counts_from_there() {
    let limits = Limits { warmup: Some(millis(7)), ..ops(3) };
    let driven = run(&mut device(1), &job(1, limits));
    // The second operation ends at 6 ms, its rest at 10, where counting begins.
    assert_eq!(driven.recorded.latency.count(), 3);
    assert_eq!(driven.recorded.elapsed, millis(3 + 2 * 4));
    assert_eq!(driven.thought, millis(2 * 4));
}

/// A thread that is on the CPU all the time.
struct Busy(VirtualClock);

impl WaitMeter for Busy {
    fn read(&self) -> Option<SchedulerTimes> {
        Some(SchedulerTimes { on_cpu: self.0.now(), runnable: Nanos::ZERO })
    }
}

#[test]
fn the_split_of_the_threads_time_leaves_rests_out() {
    let mut device = device(1);
    let meter = Busy(device.clock().clone());
    let stop = AtomicBool::new(false);
    let driven = drive(&mut device, &job(1, ops(50)), &mut Watch::new(&stop, meter));
    let time = driven.time.expect("a meter");
    assert_eq!(time.total(), driven.recorded.elapsed.saturating_since(driven.thought));
    assert_eq!((time.on_cpu, time.blocked), (millis(50), Nanos::ZERO));
}

#[test]
fn the_stop_flag_is_seen_within_a_long_rest() {
    let mut device = RamDevice::new(Bytes::from_mib(1), 1, BLOCK);
    let stop = AtomicBool::new(false);
    let resting = Job { think: Nanos::from_secs(3600), ..job(1, ops(2)) };
    let began = Instant::now();
    let driven = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            stop.store(true, Ordering::Relaxed);
        });
        drive(&mut device, &resting, &mut Watch::new(&stop, NoWaitMeter))
    });
    assert_eq!(driven.ended, EndReason::Stopped);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

#[test]
fn on_a_real_clock_a_rest_is_slept_and_no_operation_is_late() {
    let mut device = RamDevice::new(Bytes::from_mib(1), 1, BLOCK);
    let resting = Job { think: millis(2), ..job(1, ops(20)) };
    let stop = AtomicBool::new(false);
    let driven = drive(&mut device, &resting, &mut Watch::new(&stop, NoWaitMeter));
    assert!(driven.thought >= millis(19 * 2), "{}", driven.thought);
    let busy = driven.recorded.latency.sum();
    assert!(driven.recorded.elapsed >= busy.plus(driven.thought), "{busy}");
}
