//! Mixed jobs keep their two kinds apart, and threads are merged into what one test did: exactly, on
//! devices whose every latency is known.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use flashlag_device::{
    Budget, Clock, Completion, Device, DeviceError, Durability, Geometry, Latency, MonotonicClock,
    NoWaitMeter, NullDevice, RamDevice, Request, SchedulerTimes, Service, VirtualClock, WaitMeter,
};
use flashlag_engine::{
    EndReason, Job, JobOutcome, Limits, ThreadsWatch, Watch, drive, drive_threads,
};
use flashlag_spec::scenario::{Arrivals, IoOperation, Pattern, Schedule, ThreadSpans};
use flashlag_stats::Histogram;
use flashlag_testing::{FaultDevice, Faults};
use flashlag_units::{Bytes, Nanos};

const SIZE: Bytes = Bytes::from_mib(1);
const BLOCK: Bytes = Bytes(4096);
const READ: Nanos = Nanos::from_micros(10);
const WRITE: Nanos = Nanos::from_micros(200);

fn job(ops: u64) -> Job {
    Job {
        operation: IoOperation::Mixed,
        pattern: Pattern::Random,
        block: BLOCK,
        span: SIZE,
        queue_depth: 1,
        threads: 1,
        thread: None,
        thread_spans: ThreadSpans::Disjoint,
        read_percent: 70,
        durability: Durability::None,
        arrivals: Arrivals::default(),
        think: Nanos::ZERO,
        limits: Limits { bytes: Some(Bytes(ops * BLOCK.0)), ..Limits::default() },
        seed: 1,
        interval: Nanos::from_millis(10),
        stall_over: Nanos::from_millis(40),
        verify: false,
    }
}

/// As many requests at once as it has slots, each of a known length.
fn ram(slots: u32) -> RamDevice<VirtualClock> {
    let service = Service {
        read: Latency::Fixed(READ),
        write: Latency::Fixed(WRITE),
        flush: Latency::Fixed(Nanos::from_micros(100)),
        units: slots,
    };
    RamDevice::simulated(SIZE, slots, BLOCK, service, 1)
}

fn run<D: Device>(device: &mut D, job: &Job) -> JobOutcome {
    let stop = AtomicBool::new(false);
    drive(device, job, &mut Watch::new(&stop, NoWaitMeter))
}

fn only(histogram: &Histogram, value: Nanos) {
    assert_eq!((histogram.min(), histogram.max()), (Some(value), Some(value)));
}

#[test]
fn reads_and_writes_of_a_mixed_job_each_keep_their_own_histogram() {
    for depth in [1, 8] {
        let driven = run(&mut ram(depth), &Job { queue_depth: depth, ..job(10_000) });
        let sides = driven.sides.unwrap();
        let (reads, writes) = (sides.read.latency.count(), sides.write.latency.count());
        assert_eq!(reads + writes, 10_000);
        // Five standard deviations of 10,000 draws at 70 %.
        assert!(reads.abs_diff(7_000) < 230, "{reads}");
        only(&sides.read.latency, READ);
        only(&sides.write.latency, WRITE);
        assert_eq!(driven.written, Bytes(writes * BLOCK.0));
        assert_eq!(driven.moved, Bytes(10_000 * BLOCK.0));
        assert_eq!(sides.read.bytes, Bytes(reads * BLOCK.0));
        assert_eq!(sides.read.elapsed, driven.recorded.elapsed);
        assert_eq!(driven.final_flush, Some(Nanos::from_micros(100)));
        let mut both = sides.read.latency.clone();
        both.merge(&sides.write.latency);
        assert_eq!(both, driven.recorded.latency);
        let in_series: u64 = sides.write.intervals.iter().map(flashlag_stats::Interval::ops).sum();
        assert_eq!(in_series, writes);
    }
}

#[test]
fn a_mixed_open_loop_counts_every_slot_once_and_responses_by_kind() {
    let arrivals = Arrivals { per_second: Some(5_000.0), schedule: Schedule::Poisson };
    let limits = Limits { time: Some(Nanos::from_secs(1)), ..Limits::default() };
    // One at a time: 200 µs a write and 200 µs between two, so that some begin late.
    let driven = run(&mut ram(1), &Job { arrivals, limits, read_percent: 10, ..job(1) });
    let sides = driven.sides.unwrap();
    assert_eq!(sides.read.response.count(), sides.read.latency.count());
    assert_eq!(sides.write.response.count(), sides.write.latency.count());
    let missed = sides.read.missed_slots + sides.write.missed_slots;
    assert_eq!(missed, driven.recorded.missed_slots);
    assert!(sides.write.missed_slots > 3 * sides.read.missed_slots, "{sides:?}");
}

#[test]
fn the_same_seed_gives_the_same_mixture_and_the_payload_is_proved() {
    let job = Job { verify: true, queue_depth: 4, ..job(3_000) };
    let (one, again) = (run(&mut ram(4), &job), run(&mut ram(4), &job));
    assert_eq!(one.recorded, again.recorded);
    assert_eq!(one.sides, again.sides);
    let verified = one.verified.unwrap();
    assert!(verified.is_proved() && verified.blocks > 200, "{verified:?}");
    let other = run(&mut ram(4), &Job { seed: 2, ..job });
    assert_ne!(one.sides, other.sides);
}

#[test]
fn a_budget_of_written_bytes_ends_a_mixed_job_before_it_is_exceeded() {
    let time = Some(Nanos::from_secs(100));
    let limits = Limits { time, warmup: Some(Nanos::from_millis(2)), ..Limits::default() };
    let stop = AtomicBool::new(false);
    let mut watch = Watch::new(&stop, NoWaitMeter);
    watch.budget = Some(Budget::of(Bytes(100 * BLOCK.0 + 1)));
    let driven = drive(&mut ram(1), &Job { limits, ..job(1) }, &mut watch);
    assert_eq!((driven.written, driven.ended), (Bytes(100 * BLOCK.0), EndReason::Limit));
    assert!(driven.out_of_budget && driven.moved > driven.written);
}

/// What was asked of a device.
struct Watched<'a, D> {
    device: D,
    seen: &'a Mutex<Vec<u64>>,
}

impl<D: Device> Device for Watched<'_, D> {
    type Clock = D::Clock;

    fn clock(&self) -> &D::Clock {
        self.device.clock()
    }

    fn geometry(&self) -> Geometry {
        self.device.geometry()
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.device.buffer(slot)
    }

    fn submit(&mut self, request: Request) -> Result<(), DeviceError> {
        if request.length > Bytes::ZERO {
            self.seen.lock().unwrap().push(request.offset.0 / BLOCK.0);
        }
        self.device.submit(request)
    }

    fn reap(&mut self, at_least: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError> {
        self.device.reap(at_least, completed)
    }

    fn wait_until(&mut self, time: Nanos) {
        self.device.wait_until(time);
    }
}

#[test]
fn submitters_in_virtual_time_are_as_many_in_flight_and_each_on_its_own_part() {
    for spans in [ThreadSpans::Disjoint, ThreadSpans::Shared, ThreadSpans::Same] {
        let seen = Mutex::new(Vec::new());
        let reads = Job {
            operation: IoOperation::Read,
            pattern: Pattern::Sequential,
            threads: 4,
            queue_depth: 2,
            thread_spans: spans,
            ..job(800)
        };
        let driven = run(&mut Watched { device: ram(8), seen: &seen }, &reads);
        assert_eq!(driven.recorded.latency.count(), 800);
        // Eight at once: 100 rounds of one read each.
        assert_eq!(driven.recorded.elapsed, Nanos(100 * READ.0));
        let seen = seen.into_inner().unwrap();
        // 256 blocks: the four begin at 0, 64, 128 and 192, and 100 blocks each are longer than 64.
        let mut first: Vec<u64> = seen[..8].to_vec();
        first.sort_unstable();
        let apart = [0, 1, 64, 65, 128, 129, 192, 193];
        let same = [0, 0, 0, 0, 1, 1, 1, 1];
        assert_eq!(first, if spans == ThreadSpans::Same { same } else { apart });
        let times = |block: u64| seen.iter().filter(|one| **one == block).count();
        match spans {
            // Of its 200 reads each thread does its 64 blocks three times, and eight once more.
            ThreadSpans::Disjoint => assert_eq!((times(0), times(8), times(63)), (4, 3, 3)),
            ThreadSpans::Shared => assert!((0..256).all(|block| times(block) >= 3)),
            // Each the first 200 blocks.
            ThreadSpans::Same => assert_eq!((times(0), times(199), times(200)), (4, 4, 0)),
        }
    }
}

#[test]
fn one_thread_is_the_job_as_it_always_was() {
    let one = Job { operation: IoOperation::Write, queue_depth: 4, ..job(2_000) };
    let shared = Job { thread_spans: ThreadSpans::Shared, ..one.clone() };
    assert_eq!(run(&mut ram(4), &one).recorded, run(&mut ram(4), &shared).recorded);
}

#[test]
fn a_schedule_is_shared_out_so_that_all_threads_together_keep_it() {
    let arrivals = Arrivals { per_second: Some(1_000.0), schedule: Schedule::Fixed };
    let limits = Limits { time: Some(Nanos::from_secs(1)), ..Limits::default() };
    let job = Job { operation: IoOperation::Read, threads: 5, arrivals, limits, ..job(1) };
    let driven = run(&mut ram(5), &job);
    assert_eq!(driven.recorded.latency.count(), 1_000);
    assert_eq!(driven.recorded.missed_slots, 0);
    only(&driven.recorded.response, READ);
}

fn watch(stop: &AtomicBool) -> ThreadsWatch<'_> {
    ThreadsWatch { stop, live: None, temperature: None, budget: None }
}

fn threads<D: Device>(
    job: &Job,
    open: impl Fn(u32) -> Result<D, DeviceError> + Sync,
) -> Result<JobOutcome, DeviceError> {
    let stop = AtomicBool::new(false);
    drive_threads(open, || NoWaitMeter, job, &mut watch(&stop))
}

#[test]
fn threads_share_the_limit_operation_by_operation_and_their_records_are_one() {
    let job = Job { threads: 4, queue_depth: 2, ..job(40_001) };
    let driven = threads(&job, |_| Ok(ram(2))).unwrap();
    assert_eq!(driven.recorded.latency.count(), 40_001);
    assert_eq!(driven.moved, Bytes(40_001 * BLOCK.0));
    assert_eq!(driven.ended, EndReason::Limit);
    let sides = driven.sides.unwrap();
    only(&sides.read.latency, READ);
    only(&sides.write.latency, WRITE);
    assert_eq!(Bytes(sides.write.latency.count() * BLOCK.0), driven.written);
    let in_series: u64 = driven.recorded.intervals.iter().map(flashlag_stats::Interval::ops).sum();
    assert_eq!(in_series, 40_001);
}

#[test]
fn threads_write_disjoint_parts_and_every_byte_is_proved() {
    // By time: in virtual time a thread that is first could take all of a shared limit.
    let limits = Limits { time: Some(Nanos(1_000 * WRITE.0)), ..Limits::default() };
    let operation = IoOperation::Write;
    let job = Job { operation, threads: 3, verify: true, limits, ..job(1) };
    let driven = threads(&job, |_| Ok(ram(1))).unwrap();
    let verified = driven.verified.unwrap();
    assert!(verified.is_proved(), "{verified:?}");
    // A third of 256 blocks each; nearly all of them were written in a thousand draws.
    assert!((200..=255).contains(&verified.blocks), "{verified:?}");
    // Where threads write the same blocks, none can say what should be there.
    let shared = Job { thread_spans: ThreadSpans::Shared, ..job };
    assert_eq!(threads(&shared, |_| Ok(ram(1))).unwrap().verified, None);
}

#[test]
fn threads_on_a_null_device_in_real_time_end_at_their_time_together() {
    let limits = Limits { time: Some(Nanos::from_millis(60)), ..Limits::default() };
    let job = Job { threads: 4, limits, ..job(1) };
    let null = |_| Ok(NullDevice::new(SIZE, 1, BLOCK));
    let driven = threads(&job, null).unwrap();
    assert!(driven.recorded.elapsed >= Nanos::from_millis(60), "{}", driven.recorded.elapsed);
    assert!(driven.recorded.latency.count() > 1_000);
    assert_eq!(driven.ended, EndReason::Limit);
}

/// A meter that says of every thread that it ran a quarter of the time.
struct Quarter(MonotonicClock);

impl WaitMeter for Quarter {
    fn read(&self) -> Option<SchedulerTimes> {
        let now = self.0.now();
        Some(SchedulerTimes { on_cpu: Nanos(now.0 / 4), runnable: Nanos::ZERO })
    }
}

#[test]
fn the_split_of_waits_is_the_sum_over_all_threads() {
    let limits = Limits { time: Some(Nanos::from_millis(80)), ..Limits::default() };
    let job = Job { threads: 3, limits, ..job(1) };
    let stop = AtomicBool::new(false);
    let null = |_| Ok::<_, DeviceError>(NullDevice::new(SIZE, 1, BLOCK));
    let driven = drive_threads(null, || Quarter(MonotonicClock), &job, &mut watch(&stop)).unwrap();
    let time = driven.time.unwrap();
    let share = time.on_cpu.0 as f64 / time.total().0 as f64;
    assert!((share - 0.25).abs() < 0.02, "{share}");
    // More than one thread could have had, however late they were scheduled.
    assert!(time.total() > driven.recorded.elapsed, "{}", time.total());
}

#[test]
fn an_error_in_one_thread_ends_all_and_what_was_done_is_kept() {
    let limits = Limits { time: Some(Nanos::from_secs(3600)), ..Limits::default() };
    let job = Job { operation: IoOperation::Write, threads: 4, limits, ..job(1) };
    let open = |thread| {
        let gone_from = (thread == 2).then_some((500, rustix::io::Errno::IO));
        let faults = Faults { gone_from, ..Faults::default() };
        Ok(FaultDevice::new(NullDevice::new(SIZE, 1, BLOCK), faults))
    };
    let driven = threads(&job, open).unwrap();
    assert!(matches!(driven.ended, EndReason::Error(_)), "{:?}", driven.ended);
    assert!(driven.recorded.latency.count() >= 499, "{}", driven.recorded.latency.count());
}

#[test]
fn a_thread_that_cannot_open_its_device_is_an_error_and_nothing_is_done() {
    let opened = Mutex::new(0);
    let open = |thread| {
        *opened.lock().unwrap() += 1;
        match thread {
            3 => Err(ram(1)
                .submit(Request {
                    slot: 9,
                    op: flashlag_device::Op::Read,
                    offset: Bytes::ZERO,
                    length: BLOCK,
                    durability: Durability::None,
                })
                .unwrap_err()),
            _ => Ok(ram(1)),
        }
    };
    let error = threads(&Job { threads: 4, ..job(100) }, open).unwrap_err();
    assert!(error.to_string().contains("slot"), "{error}");
    assert_eq!(*opened.lock().unwrap(), 4);
}

#[test]
fn raising_stop_ends_every_thread() {
    let limits = Limits { time: Some(Nanos::from_secs(3600)), ..Limits::default() };
    let job = Job { threads: 3, limits, ..job(1) };
    let stop = AtomicBool::new(false);
    let driven = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(30));
            stop.store(true, Ordering::Relaxed);
        });
        let null = |_| Ok::<_, DeviceError>(NullDevice::new(SIZE, 1, BLOCK));
        drive_threads(null, || NoWaitMeter, &job, &mut watch(&stop)).unwrap()
    });
    assert_eq!(driven.ended, EndReason::Stopped);
    assert!(driven.recorded.latency.count() > 0);
}

#[test]
fn progress_is_the_sum_of_all_threads() {
    let live = std::sync::Arc::new(flashlag_stats::live::Live::default());
    let limits = Limits { time: Some(Nanos::from_millis(400)), ..Limits::default() };
    let job = Job { threads: 2, limits, ..job(1) };
    let stop = AtomicBool::new(false);
    let mut readings = 0;
    let mut temperature = || {
        readings += 1;
        Some(41_000)
    };
    let watch = &mut ThreadsWatch {
        stop: &stop,
        live: Some(std::sync::Arc::clone(&live)),
        temperature: Some(&mut temperature),
        budget: None,
    };
    let null = |_| Ok::<_, DeviceError>(NullDevice::new(SIZE, 1, BLOCK));
    let driven = drive_threads(null, || NoWaitMeter, &job, watch).unwrap();
    let shown = live.snapshot();
    assert!(shown.ops > 0 && shown.ops <= driven.recorded.latency.count(), "{shown:?}");
    assert_eq!(shown.bytes, Bytes(shown.ops * BLOCK.0));
    assert!(readings > 0);
    let warm = |interval: &flashlag_stats::Interval| interval.temperature_millicelsius;
    assert!(driven.recorded.intervals.iter().all(|one| warm(one) == Some(41_000)));
}
