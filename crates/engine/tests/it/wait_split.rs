//! Where a thread waits is reported right: executing, waiting for a CPU, or blocked.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use flashlag_device::{Device, Latency, MonotonicClock, RamDevice, SchedulerTimes, WaitMeter};
use flashlag_engine::ThreadWaitMeter;
use flashlag_engine::{Job, Limits, Watch, drive};
use flashlag_spec::scenario::{Arrivals, IoOperation, Pattern};
use flashlag_stats::{Percentile, WaitSplit};
use flashlag_testing::{FaultDevice, Faults};
use flashlag_units::{Bytes, Nanos};

/// These tests measure the machine: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn meter() -> Option<ThreadWaitMeter> {
    let meter = ThreadWaitMeter::open();
    if let Err(error) = &meter {
        flashlag_need::skip(error);
    }
    meter.ok()
}

fn split_while(meter: &ThreadWaitMeter, work: impl FnOnce()) -> WaitSplit {
    let read = || meter.read().expect("it could be read before");
    let (from, began): (SchedulerTimes, _) = (read(), Instant::now());
    work();
    let (to, elapsed) = (read(), began.elapsed());
    let on_cpu = to.on_cpu.saturating_since(from.on_cpu);
    WaitSplit::of(elapsed.into(), on_cpu, to.runnable.saturating_since(from.runnable))
}

fn spin(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        std::hint::spin_loop();
    }
}

fn share(part: Nanos, whole: Nanos) -> f64 {
    part.0 as f64 / whole.0 as f64
}

/// Clock ticks that a hypervisor took from all CPUs since boot; zero where it tells none.
fn stolen_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let total = stat.lines().next().unwrap_or_default();
    total.split_whitespace().nth(8).and_then(|ticks| ticks.parse().ok()).unwrap_or(0)
}

/// What these tests tell of a meter shows in one try of five, whatever else the machine does; what
/// is wrong with a meter shows in all of them.
fn in_one_of_five(mut attempt: impl FnMut() -> Result<(), String>) {
    let tries: Vec<String> = (0..5).map_while(|_| attempt().err()).collect();
    assert!(tries.len() < 5, "in none of five tries: {tries:#?}");
}

fn hold(holds: bool, seen: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(seen()) }
}

/// Threads that do nothing but run, `per_cpu` for each CPU, until dropped.
struct Hogs {
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Hogs {
    fn start(per_cpu: usize) -> Hogs {
        let stop = Arc::new(AtomicBool::new(false));
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let hog = |_| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        let threads = (0..cpus * per_cpu).map(hog).collect();
        std::thread::sleep(Duration::from_millis(50));
        Hogs { stop, threads }
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[test]
fn spinning_is_on_the_cpu_or_waiting_for_it_but_never_blocked() {
    let _alone = ALONE.lock();
    let Some(meter) = meter() else { return };
    in_one_of_five(|| {
        let split = split_while(&meter, || spin(Duration::from_millis(50)));
        // A hypervisor that takes the CPU away is the only thing that is in neither.
        let beside = share(split.on_cpu.plus(split.runnable), split.total());
        hold(beside > 0.9, || format!("{split:?}"))
    });
}

#[test]
fn a_short_spin_is_seen_at_once() {
    let _alone = ALONE.lock();
    let Some(meter) = meter() else { return };
    // Shorter than a tick: schedstat's own sum would not have moved yet.
    in_one_of_five(|| {
        let seen = (0..50).filter(|_| {
            let split = split_while(&meter, || spin(Duration::from_micros(200)));
            share(split.on_cpu, split.total()) > 0.9
        });
        let seen = seen.count();
        hold(seen > 10, || format!("{seen} of 50 spins of 200 µs were seen on the CPU"))
    });
}

#[test]
fn sleeping_is_blocked() {
    let _alone = ALONE.lock();
    let Some(meter) = meter() else { return };
    let split = split_while(&meter, || std::thread::sleep(Duration::from_millis(50)));
    assert!(split.blocked >= Nanos::from_millis(45), "{split:?}");
}

#[test]
fn spinning_beside_hogs_is_waiting_for_a_cpu() {
    let _alone = ALONE.lock();
    let Some(meter) = meter() else { return };
    let hogs = Hogs::start(3);
    in_one_of_five(|| {
        let split = split_while(&meter, || spin(Duration::from_millis(400)));
        // A fair scheduler gives one CPU in four.
        let waited = share(split.runnable, split.total()) > 0.4;
        let blocked = share(split.blocked, split.total()) > 0.1;
        hold(waited && !blocked, || format!("{split:?}"))
    });
    drop(hogs);
}

fn job(time: Nanos) -> Job {
    Job {
        operation: IoOperation::Write,
        pattern: Pattern::Random,
        block: Bytes(4096),
        span: Bytes::from_mib(1),
        queue_depth: 1,
        threads: 1,
        thread: None,
        thread_spans: flashlag_spec::scenario::ThreadSpans::Disjoint,
        read_percent: 0,
        durability: flashlag_device::Durability::None,
        arrivals: Arrivals::default(),
        think: Nanos::ZERO,
        limits: Limits { time: Some(time), ..Limits::default() },
        seed: 1,
        interval: Nanos::from_millis(100),
        stall_over: Nanos::from_millis(20),
        verify: false,
    }
}

/// A device whose writes take `usual`, and one in a hundred 50 ms, asleep.
fn sleeper(seed: u64) -> FaultDevice<RamDevice<MonotonicClock>> {
    let (usual, slow) = (Nanos::from_micros(200), Nanos::from_millis(50));
    let latency = Some(Latency::Bimodal { usual, slow, slow_per_million: 10_000 });
    let faults = Faults { seed, latency, keep_added: true, ..Faults::default() };
    FaultDevice::new(RamDevice::new(Bytes::from_mib(1), 1, Bytes(4096)), faults)
}

/// A scheduler whose account can be read at first, and then never.
struct Fails(std::cell::Cell<bool>);

impl WaitMeter for Fails {
    fn read(&self) -> Option<SchedulerTimes> {
        let first = self.0.replace(false);
        first.then_some(SchedulerTimes { on_cpu: Nanos::ZERO, runnable: Nanos::ZERO })
    }
}

#[test]
fn a_stall_is_counted_where_the_scheduler_can_not_be_read() {
    let stop = AtomicBool::new(false);
    let mut device = sleeper(3);
    let meter = Fails(std::cell::Cell::new(true));
    let driven = drive(&mut device, &job(Nanos::from_secs(1)), &mut Watch::new(&stop, meter));
    let injected = device.added().iter().filter(|added| **added > Nanos::from_millis(20)).count();
    assert!(injected > 3, "only {injected} were injected");
    let recorded = &driven.recorded;
    assert!(recorded.stalls_seen >= injected as u64, "{} of {injected}", recorded.stalls_seen);
    assert!(recorded.stalls.iter().all(|stall| stall.split.is_none()), "{:?}", recorded.stalls);
}

#[test]
fn every_stall_of_a_real_sleeping_device_is_found_and_is_blocked() {
    let _alone = ALONE.lock();
    let Some(meter) = meter() else { return };
    let stop = AtomicBool::new(false);
    let mut device = sleeper(2);
    let driven = drive(&mut device, &job(Nanos::from_secs(3)), &mut Watch::new(&stop, meter));
    let injected = device.added().iter().filter(|added| **added > Nanos::from_millis(20)).count();
    assert!(injected > 10, "only {injected} were injected");
    let recorded = &driven.recorded;
    // A busy machine adds stalls of its own, but none goes missing.
    assert!(recorded.stalls_seen >= injected as u64, "{} of {injected}", recorded.stalls_seen);
    let of_device = recorded.stalls.iter().filter(|stall| stall.length >= Nanos::from_millis(50));
    let blocked = of_device
        .filter(|stall| stall.split.is_some_and(|split| split.blocked >= Nanos::from_millis(47)));
    assert!(blocked.count() >= injected, "each of them slept for 50 ms: {:?}", recorded.stalls);
    // The injected figures, in real time: never too low; too high only by what the machine adds.
    let median = recorded.latency.percentile(Percentile::P50).expect("enough");
    assert!(median >= Nanos::from_micros(198), "{median}");
    let time = driven.time.expect("there is a meter");
    assert!(share(time.blocked, time.total()) > 0.5, "{time:?}");
    assert!(recorded.waits.occupied().any(|(class, _)| class == 25), "50 ms is in [2^25, 2^26) ns");
}

#[test]
fn stalls_beside_hogs_are_kept_apart_from_those_of_the_device() {
    let _alone = ALONE.lock();
    let Some(meter) = meter() else { return };
    let stop = AtomicBool::new(false);
    let hogs = Hogs::start(4);
    in_one_of_five(|| {
        // Never sleeps: each of its stalls is a wait for a CPU.
        let mut device = RamDevice::new(Bytes::from_mib(1), 1, Bytes(4096));
        let job = Job { stall_over: Nanos::from_micros(500), ..job(Nanos::from_secs(1)) };
        let driven = drive(&mut device, &job, &mut Watch::new(&stop, &meter));
        let time = driven.time.expect("there is a meter");
        let waited = share(time.runnable, time.total()) > 0.4;
        let blocked = share(time.blocked, time.total()) > 0.1;
        let stalls = &driven.recorded.stalls;
        let of_cpu = stalls
            .iter()
            .filter(|stall| stall.split.is_some_and(|split| split.runnable.0 * 2 > stall.length.0));
        let is_split = of_cpu.count() * 10 >= stalls.len() * 9;
        hold(waited && !blocked && is_split, || format!("{time:?}: {stalls:?}"))
    });
    drop(hogs);
}

#[test]
fn a_sleeping_device_beside_hogs_has_both_parts_in_its_split() {
    let _alone = ALONE.lock();
    let Some(meter) = meter() else { return };
    let stop = AtomicBool::new(false);
    let mut device = sleeper(4);
    let hogs = Hogs::start(3);
    let stolen_before = stolen_ticks();
    let driven = drive(&mut device, &job(Nanos::from_secs(3)), &mut Watch::new(&stop, meter));
    let stolen = stolen_ticks() - stolen_before;
    drop(hogs);
    let slow = driven.recorded.stalls.iter().filter(|stall| stall.length >= Nanos::from_millis(50));
    let (mut all, mut wrong) = (0, Vec::new());
    for stall in slow {
        let split = stall.split.expect("every stall is split");
        assert_eq!(split.total(), stall.length, "{stall:?}");
        // It slept for 50 ms (less the last 60 µs); whatever is beyond was not storage.
        let slept = Nanos::from_millis(50);
        let off = split.blocked.0.abs_diff(slept.0);
        let injected = split.blocked >= Nanos::from_millis(40);
        all += 1;
        if injected && off >= 5_000_000 {
            wrong.push(stall);
        }
    }
    // Time that a hypervisor takes is in no figure of the scheduler's and reads as blocked: a few
    // stalls may have met it, where it took any.
    let allowed = if stolen > 0 { all / 10 + 1 } else { 0 };
    assert!(wrong.len() <= allowed, "{} of {all}, {stolen} ticks stolen: {wrong:?}", wrong.len());
    assert!(device.geometry().keeps_data);
}
