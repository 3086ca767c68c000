//! The loop in virtual time: the record is exactly what the device was asked to do.

use std::sync::atomic::AtomicBool;

use flashlag_device::{
    Clock, Device, Durability, Latency, NoWaitMeter, RamDevice, SchedulerTimes, Service,
    VirtualClock, WaitMeter,
};
use flashlag_engine::{EndReason, Job, JobOutcome, Limits, Watch, drive};
use flashlag_spec::scenario::{Arrivals, IoOperation, Pattern, Schedule};
use flashlag_stats::Percentile;
use flashlag_testing::{FaultDevice, Faults};
use flashlag_units::{Bytes, Nanos};
use flashlag_workload::Damage;
use proptest::prelude::*;

const SIZE: Bytes = Bytes::from_mib(1);
const BLOCK: Bytes = Bytes(4096);

fn job(ops: u64) -> Job {
    Job {
        operation: IoOperation::Write,
        pattern: Pattern::Random,
        block: BLOCK,
        span: SIZE,
        queue_depth: 1,
        threads: 1,
        thread: None,
        thread_spans: flashlag_spec::scenario::ThreadSpans::Disjoint,
        read_percent: 0,
        durability: Durability::None,
        arrivals: Arrivals::default(),
        think: Nanos::ZERO,
        limits: Limits { bytes: Some(Bytes(ops * BLOCK.0)), ..Limits::default() },
        seed: 1,
        interval: Nanos::from_millis(100),
        stall_over: Nanos::from_millis(40),
        verify: false,
    }
}

fn service(write: Latency, units: u32) -> Service {
    let read = Latency::Fixed(Nanos::from_micros(10));
    Service { read, write, flush: Latency::Fixed(Nanos::from_micros(100)), units }
}

fn ram(slots: u32, service: Service, seed: u64) -> RamDevice<VirtualClock> {
    RamDevice::simulated(SIZE, slots, BLOCK, service, seed)
}

fn run<D: Device>(device: &mut D, job: &Job) -> JobOutcome {
    let stop = AtomicBool::new(false);
    drive(device, job, &mut Watch::new(&stop, NoWaitMeter))
}

/// The value of rank ⌈p·n⌉, by sorting.
fn exact(values: &[Nanos], percentile: Percentile) -> Nanos {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let rank = percentile.rank(sorted.len() as u64).expect("values");
    sorted[rank as usize - 1]
}

fn within_one_percent(seen: Nanos, expected: Nanos) -> bool {
    seen.0.abs_diff(expected.0) as f64 <= expected.0 as f64 * 0.01
}

/// A percentile that lies on the step between the two modes: one value more or less decides.
const PERCENTILES: [u16; 6] = [100, 5000, 9000, 9800, 9950, 9990];

#[test]
fn every_percentile_of_an_injected_bimodal_device_is_within_one_percent() {
    for seed in 0..8 {
        let latency = Latency::Bimodal {
            usual: Nanos::from_micros(200),
            slow: Nanos::from_millis(50),
            slow_per_million: 10_000,
        };
        let faults = Faults { seed, latency: Some(latency), keep_added: true, ..Faults::default() };
        let inner = ram(1, service(Latency::Fixed(Nanos::from_micros(5)), 1), seed);
        let mut device = FaultDevice::new(inner, faults);
        let driven = run(&mut device, &job(20_000));
        let true_latencies: Vec<Nanos> =
            device.added()[..20_000].iter().map(|added| added.plus(Nanos(5_000))).collect();
        for percentile in PERCENTILES.map(Percentile) {
            let seen = driven.recorded.latency.percentile(percentile).expect("enough");
            let expected = exact(&true_latencies, percentile);
            let what = format!("seed {seed}: {percentile:?} is {seen}, should be {expected}");
            assert!(within_one_percent(seen, expected), "{what}");
        }
        let slow = |latency: &&Nanos| **latency > Nanos::from_millis(40);
        let stalls = true_latencies.iter().filter(slow).count() as u64;
        assert_eq!(driven.recorded.stalls_seen, stalls, "seed {seed}: every stall is found");
        assert_eq!(driven.recorded.stalls.len() as u64, stalls, "seed {seed}: and kept");
        assert_eq!(driven.recorded.latency.max(), true_latencies.iter().max().copied());
        assert_eq!(driven.time, None, "virtual time asks the machine nothing");
    }
}

#[test]
fn stalls_are_where_they_were() {
    let faults =
        Faults { latency: Some(Latency::Fixed(Nanos::from_millis(50))), ..Faults::default() };
    let inner = ram(1, service(Latency::Fixed(Nanos::ZERO), 1), 0);
    let driven = run(&mut FaultDevice::new(inner, faults), &job(3));
    let at: Vec<u64> = driven.recorded.stalls.iter().map(|stall| stall.at.0).collect();
    assert_eq!(at, [0, 50_000_000, 100_000_000]);
    assert!(driven.recorded.stalls.iter().all(|stall| stall.length == Nanos::from_millis(50)));
}

#[test]
fn operations_in_flight_at_the_end_of_the_warm_up_are_not_counted() {
    let write = Latency::Fixed(Nanos::from_micros(100));
    for depth in [1, 4, 16] {
        let warmup = Some(Nanos::from_millis(10));
        let limits = Limits { warmup, bytes: Some(Bytes(200 * BLOCK.0)), ..Limits::default() };
        let job = Job { queue_depth: depth, limits, ..job(0) };
        let driven = run(&mut ram(depth, service(write, 1), 0), &job);
        // One unit: the last of the warm-up's operations has all those in flight before it.
        let uncounted = driven.moved.0 / BLOCK.0 - driven.recorded.latency.count();
        assert_eq!(driven.recorded.latency.count(), 200, "depth {depth}");
        assert_eq!(uncounted, 100 + u64::from(depth) - 1, "depth {depth}");
    }
}

#[test]
fn a_queue_makes_each_wait_for_the_ones_before_it() {
    let write = Latency::Fixed(Nanos::from_micros(100));
    let driven = run(&mut ram(8, service(write, 1), 0), &Job { queue_depth: 8, ..job(800) });
    // One unit: 8 in flight, each begun when one ended, so each waits for 7 others and itself.
    let median = driven.recorded.latency.percentile(Percentile::P50).expect("enough");
    assert!(within_one_percent(median, Nanos::from_micros(800)), "{median}");
    let flush = driven.final_flush.expect("the writes were not durable");
    assert_eq!(driven.recorded.elapsed, Nanos::from_micros(800 * 100).plus(flush));
}

#[test]
fn units_work_side_by_side() {
    let write = Latency::Fixed(Nanos::from_micros(100));
    let driven = run(&mut ram(8, service(write, 8), 0), &Job { queue_depth: 8, ..job(800) });
    let flush = driven.final_flush.expect("the writes were not durable");
    assert_eq!(driven.recorded.elapsed, Nanos::from_micros(100 * 100).plus(flush));
    assert_eq!(driven.recorded.latency.max(), Some(Nanos::from_micros(100)));
}

#[test]
fn the_flush_of_a_durable_write_is_kept_apart() {
    let write = Latency::Fixed(Nanos::from_micros(20));
    let mut device = ram(4, service(write, 1), 0);
    let driven = run(&mut device, &Job { durability: Durability::Flush, ..job(100) });
    assert_eq!(driven.recorded.flush.count(), 100);
    assert_eq!(driven.recorded.flush.max(), Some(Nanos::from_micros(100)));
    assert_eq!(driven.recorded.latency.min(), Some(Nanos::from_micros(120)));
    assert_eq!((driven.final_flush, device.counts().flushes), (None, 0));
    assert_eq!(device.counts().flushed_writes, 100);
}

#[test]
fn an_open_loop_counts_from_the_intended_start() {
    // A write every millisecond; the 100th takes a second. Nothing may hide behind it.
    let faults = Faults { ..Faults::default() };
    let inner = ram(1, service(Latency::Fixed(Nanos::from_micros(100)), 1), 0);
    let mut device = StallOnce { inner: FaultDevice::new(inner, faults), count: 0 };
    let arrivals = Arrivals { per_second: Some(1_000.0), schedule: Schedule::Fixed };
    let driven = run(&mut device, &Job { arrivals, ..job(3_000) });
    let response = &driven.recorded.response;
    assert_eq!(driven.recorded.latency.count(), 3_000);
    assert_eq!(response.count(), 3_000);
    assert_eq!(response.max(), Some(Nanos::from_secs(1)));
    // The backlog is worked off at 0.1 ms each against 1 ms of schedule: the k-th after the stall
    // responds in 1 s − 0.9 ms · k, so 1,111 are late, evenly from 1 s to 0.1 ms.
    let late = response.count_over(Nanos::from_micros(101));
    assert!((1_095..=1_112).contains(&late), "{late} are late");
    let half = response.count_over(Nanos::from_millis(500));
    assert!((550..=562).contains(&half), "{half} waited for more than half a second");
    // The latency from the device's view has one slow write only.
    assert_eq!(driven.recorded.latency.count_over(Nanos::from_millis(1)), 1);
    // Late by more than a period: all of those but the last two or so.
    assert!(driven.recorded.missed_slots.abs_diff(1_110) <= 2, "{}", driven.recorded.missed_slots);
}

/// The 100th write takes a second.
struct StallOnce {
    inner: FaultDevice<RamDevice<VirtualClock>>,
    count: u64,
}

impl Device for StallOnce {
    type Clock = VirtualClock;
    fn clock(&self) -> &VirtualClock {
        self.inner.clock()
    }
    fn geometry(&self) -> flashlag_device::Geometry {
        self.inner.geometry()
    }
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.inner.buffer(slot)
    }
    fn submit(
        &mut self,
        request: flashlag_device::Request,
    ) -> Result<(), flashlag_device::DeviceError> {
        self.count += 1;
        self.inner.submit(request)
    }
    fn reap(
        &mut self,
        at_least: u32,
        completed: &mut Vec<flashlag_device::Completion>,
    ) -> Result<(), flashlag_device::DeviceError> {
        self.inner.reap(at_least, completed)?;
        if self.count == 100
            && let Some(done) = completed.last_mut()
        {
            self.count += 1;
            done.ended = done.started.plus(Nanos::from_secs(1));
            self.inner.clock().advance_to(done.ended);
        }
        Ok(())
    }
    fn wait_until(&mut self, time: Nanos) {
        self.inner.wait_until(time);
    }
}

#[test]
fn slots_that_never_began_are_missed() {
    // Twice as many arrivals as the device can serve.
    let write = Latency::Fixed(Nanos::from_millis(2));
    let arrivals = Arrivals { per_second: Some(1_000.0), schedule: Schedule::Fixed };
    let limits = Limits { time: Some(Nanos::from_secs(1)), ..Limits::default() };
    let mut device = ram(1, service(write, 1), 0);
    let driven = run(&mut device, &Job { arrivals, limits, ..job(1) });
    let began = driven.recorded.latency.count();
    assert_eq!(began, 500);
    // 500 never began; of those that did, all but the first two began over a period late.
    assert!(driven.recorded.missed_slots.abs_diff(998) <= 2, "{}", driven.recorded.missed_slots);
}

#[test]
fn an_error_keeps_what_was_recorded() {
    let eio = rustix::io::Errno::IO;
    for depth in [1, 4] {
        let faults = Faults { fails: vec![(51, eio)], ..Faults::default() };
        let inner = ram(4, service(Latency::Fixed(Nanos::from_micros(10)), 2), 0);
        let job = Job { queue_depth: depth, ..job(1_000) };
        let driven = run(&mut FaultDevice::new(inner, faults), &job);
        let EndReason::Error(error) = &driven.ended else { panic!("{:?}", driven.ended) };
        assert_eq!(error.errno, Some(eio.raw_os_error()));
        let kept = driven.recorded.latency.count();
        assert!((50..=54).contains(&kept), "depth {depth}: {kept}");
    }
}

#[test]
fn no_space_is_kept_apart_from_other_errors_and_keeps_what_was_recorded() {
    let faults = Faults { room: Some(Bytes(100 * 4096)), ..Faults::default() };
    let inner = ram(1, service(Latency::Fixed(Nanos::from_micros(10)), 1), 0);
    let driven = run(&mut FaultDevice::new(inner, faults), &job(1_000));
    assert!(matches!(driven.ended, EndReason::NoSpace(_)), "{:?}", driven.ended);
    assert_eq!(driven.recorded.latency.count(), 100);
    assert!(driven.final_flush.is_some(), "what was written is made durable all the same");
}

#[test]
fn a_device_that_is_gone_is_an_error_and_no_hang() {
    let gone_from = Some((10, rustix::io::Errno::NODEV));
    for depth in [1, 4] {
        let faults = Faults { gone_from, ..Faults::default() };
        let inner = ram(4, service(Latency::Fixed(Nanos::from_micros(10)), 2), 0);
        let job = Job { queue_depth: depth, verify: true, ..job(1_000) };
        let driven = run(&mut FaultDevice::new(inner, faults), &job);
        let error = driven.ended.error().expect("it is gone").to_string();
        assert!(error.contains("no longer exists"), "{error}");
        assert_eq!(driven.recorded.latency.count(), 9);
        assert!(!driven.verified.expect("asked for").is_proved());
    }
}

#[test]
fn lost_torn_and_flipped_writes_are_found_by_reading_back() {
    let faults = [
        Faults { lost_writes: vec![40], ..Faults::default() },
        Faults { torn_writes: vec![41], ..Faults::default() },
        Faults { seed: 3, flipped_writes: vec![42], ..Faults::default() },
    ];
    for (index, faults) in faults.into_iter().enumerate() {
        let inner = ram(4, service(Latency::Fixed(Nanos::from_micros(10)), 2), 0);
        // Each block once: no later write may cover the damage.
        let job = Job { pattern: Pattern::Sequential, verify: true, queue_depth: 4, ..job(200) };
        let driven = run(&mut FaultDevice::new(inner, faults), &job);
        let verified = driven.verified.expect("asked for");
        assert_eq!((verified.blocks, verified.mismatches), (200, 1), "{verified:?}");
        let found = verified.first[0].found;
        match index {
            0 | 1 => assert_eq!(found, Damage::Zero),
            _ => assert!(matches!(found, Damage::Corrupt | Damage::Foreign), "{found:?}"),
        }
        assert!(!verified.is_proved());
    }
}

#[test]
fn blocks_written_again_and_again_at_depth_are_proved() {
    let write = Latency::Uniform(Nanos::from_micros(5), Nanos::from_micros(500));
    let job = Job { span: Bytes(16 * 4096), queue_depth: 8, verify: true, ..job(2_000) };
    let driven = run(&mut ram(8, service(write, 8), 5), &job);
    let verified = driven.verified.expect("asked for");
    assert!(verified.is_proved(), "{verified:?}");
    assert_eq!(verified.blocks, 16);
}

#[test]
fn a_warm_up_is_not_counted() {
    let limits = Limits {
        time: Some(Nanos::from_millis(10)),
        warmup: Some(Nanos::from_millis(5)),
        ..Limits::default()
    };
    let mut device = ram(1, service(Latency::Fixed(Nanos::from_micros(100)), 1), 0);
    let driven = run(&mut device, &Job { limits, ..job(1) });
    assert_eq!(driven.recorded.latency.count(), 100);
    assert_eq!(device.counts().writes, 150);
    assert_eq!(driven.moved, Bytes(150 * 4096));
}

#[test]
fn too_few_operations_stretch_the_time_up_to_four_times() {
    for (min_ops, expected) in [(None, 10), (Some(5), 10), (Some(25), 25), (Some(100), 40)] {
        let time = Some(Nanos::from_millis(10));
        let limits = Limits { time, min_ops, ..Limits::default() };
        let mut device = ram(1, service(Latency::Fixed(Nanos::from_millis(1)), 1), 0);
        let driven = run(&mut device, &Job { limits, ..job(1) });
        assert_eq!(driven.recorded.latency.count(), expected, "{min_ops:?}");
    }
}

#[test]
fn a_phase_ends_when_its_watch_has_enough() {
    let stop = AtomicBool::new(false);
    let mut enough = |intervals: &[flashlag_stats::Interval]| intervals.len() >= 3;
    let mut watch = Watch::new(&stop, NoWaitMeter);
    watch.enough = Some(&mut enough);
    let mut device = ram(1, service(Latency::Fixed(Nanos::from_millis(1)), 1), 0);
    let driven = drive(&mut device, &job(100_000), &mut watch);
    assert_eq!(driven.ended, EndReason::Enough);
    assert_eq!(driven.recorded.latency.count(), 300);
}

#[test]
fn a_raised_stop_flag_ends_it_before_it_begins() {
    let stop = AtomicBool::new(true);
    let mut device = ram(1, Service::INSTANT, 0);
    let driven = drive(&mut device, &job(100), &mut Watch::new(&stop, NoWaitMeter));
    assert_eq!((driven.ended, driven.recorded.latency.count()), (EndReason::Stopped, 0));
}

proptest! {
    #[test]
    fn the_same_seed_gives_the_same_record(seed: u64, depth in 1u32..9, open: bool) {
        let write = Latency::Uniform(Nanos::from_micros(5), Nanos::from_millis(3));
        let per_second = open.then_some(2_000.0);
        let arrivals = Arrivals { per_second, schedule: Schedule::Poisson };
        let job = Job { seed, queue_depth: depth, arrivals, ..job(500) };
        let record = || run(&mut ram(8, service(write, 3), seed), &job).recorded;
        prop_assert_eq!(record(), record());
    }

    #[test]
    fn every_operation_is_recorded_once(seed: u64, depth in 1u32..9, ops in 1u64..400) {
        let write = Latency::Uniform(Nanos::from_micros(5), Nanos::from_millis(3));
        let mut device = ram(8, service(write, 3), seed);
        let driven = run(&mut device, &Job { queue_depth: depth, seed, ..job(ops) });
        prop_assert_eq!(driven.recorded.latency.count(), ops);
        prop_assert_eq!(device.counts().writes, ops);
        prop_assert_eq!(driven.recorded.bytes, Bytes(ops * 4096));
        let ops_in_intervals: u64 = driven.recorded.intervals.iter().map(|i| i.ops()).sum();
        prop_assert_eq!(ops_in_intervals, ops);
    }
}

/// Each reading takes `cost`; all time is spent on the CPU.
struct Costly {
    clock: VirtualClock,
    cost: Nanos,
}

impl WaitMeter for Costly {
    fn read(&self) -> Option<SchedulerTimes> {
        self.clock.advance_to(self.clock.now().plus(self.cost));
        Some(SchedulerTimes { on_cpu: self.clock.now(), runnable: Nanos::ZERO })
    }
}

#[test]
fn of_short_operations_as_many_are_sampled_as_readings_are_cheap() {
    // A reading may cost a quarter of a percent of the time: one in 400 times its cost, and so, of
    // operations of 50 µs, one in 4 at half a microsecond, and one in 20, a window a millisecond,
    // where it costs more than that allows.
    for (cost, one_in) in [(500, 4..=9), (2_000, 15..=25)] {
        let mut device = ram(1, service(Latency::Fixed(Nanos::from_micros(50)), 1), 0);
        let meter = Costly { clock: device.clock().clone(), cost: Nanos(cost) };
        let stop = AtomicBool::new(false);
        let driven = drive(&mut device, &job(10_000), &mut Watch::new(&stop, meter));
        let sampled: u64 = driven.recorded.waits.occupied().map(|(_, class)| class.ops).sum();
        let ops = driven.recorded.latency.count();
        assert!(one_in.contains(&(ops / sampled.max(1))), "{sampled} of {ops} at {cost} ns");
    }
}
