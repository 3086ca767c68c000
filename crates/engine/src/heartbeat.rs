//! Finds times when this process was stopped: a thread that only wakes up at intervals notices when
//! it did not.
//!
//! A process that was stopped (SIGSTOP, Ctrl-Z, a debugger), frozen with its cgroup (Android does
//! this to cached apps) or suspended with its machine looks to the scheduler's figures exactly like
//! one that waited for storage: it was neither running nor runnable. But then no other thread ran
//! either, whereas a wait for storage does not affect this one.
//!
//! A late beat may have other reasons, which are subtracted: waiting for a CPU (the thread's own
//! `schedstat`), running, a page of the program that had to be read again (its major faults), or a
//! hypervisor that ran another machine (`steal`, which the CPU check looks at). What remains is a
//! stop, from [`SHORTEST`] on.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::meter::ThreadWaitMeter;
use flashlag_device::{Clock, MonotonicClock, ProcessStat, SchedulerTimes, WaitMeter};
use flashlag_stats::Stop;
use flashlag_units::Nanos;

/// The interval of beats: a hundred a second, each takes a few microseconds.
pub const PERIOD: Nanos = Nanos::from_millis(10);
/// A beat that is late by less than this, after what is explained, is no stop.
pub const SHORTEST: Nanos = Nanos::from_millis(10);
/// How often the costlier explanations for a late beat, and the temperature, are read.
const LOOK_EVERY: Nanos = Nanos::from_millis(250);
/// The most stops that are kept: enough for hours of consecutive stops of 10 ms.
const MOST_STOPS: usize = 100_000;
/// How long a caller waits for the beat that reveals the latest stop.
const PATIENCE: Duration = Duration::from_secs(2);
/// The value for "no temperature".
const NONE: i64 = i64::MIN;

/// Reads the storage's temperature, in millidegrees Celsius, in the heartbeat's thread.
pub type ReadTemperature = Box<dyn FnMut() -> Option<i64> + Send>;

/// The thread. It ends when this is dropped.
#[derive(Debug)]
pub struct Heartbeat {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    ends: AtomicBool,
    /// When the last beat was.
    beaten: AtomicU64,
    temperature: AtomicI64,
    stops: Mutex<Vec<Stop>>,
}

impl Heartbeat {
    /// Starts the thread. Fails if the kernel keeps no scheduler statistics, so that a stop can't
    /// be told from a busy machine, or if no thread can be started.
    pub fn start(temperature: ReadTemperature) -> io::Result<Heartbeat> {
        let shared = Arc::new(Shared {
            ends: AtomicBool::new(false),
            beaten: AtomicU64::new(MonotonicClock.now().0),
            temperature: AtomicI64::new(NONE),
            stops: Mutex::default(),
        });
        let (opened, answer) = mpsc::sync_channel(1);
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("heartbeat".to_owned()).spawn(move || {
            // The meter and the files belong to the thread that opens them.
            match Excuses::open() {
                Ok(excuses) => {
                    let _ = opened.send(Ok(()));
                    beat(&of_thread, excuses, temperature);
                }
                Err(error) => {
                    let _ = opened.send(Err(error));
                }
            }
        })?;
        answer.recv().unwrap_or_else(|_| Err(io::Error::other("its thread ended")))?;
        Ok(Heartbeat { shared, thread: Some(thread) })
    }

    /// The stops up to now. Waits for the beat that reveals a stop that has just ended: a hundredth
    /// of a second, longer on a busy machine. `None` if that beat does not come.
    pub fn stops(&self) -> Option<Vec<Stop>> {
        let now = MonotonicClock.now();
        let mut waited = Duration::ZERO;
        while self.shared.beaten.load(Ordering::Acquire) < now.0 {
            if waited >= PATIENCE {
                return None;
            }
            let nap = Duration::from_millis(2);
            std::thread::sleep(nap);
            waited += nap;
        }
        Some(self.shared.stops.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// The storage's temperature, at most a quarter of a second old.
    #[inline]
    pub fn temperature(&self) -> Option<i64> {
        let read = self.shared.temperature.load(Ordering::Relaxed);
        (read != NONE).then_some(read)
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn beat(shared: &Shared, mut excuses: Excuses, mut temperature: ReadTemperature) {
    let clock = MonotonicClock;
    let mut looked = Nanos::ZERO;
    while !shared.ends.load(Ordering::Relaxed) {
        let before = clock.now();
        if before.since(looked) >= LOOK_EVERY {
            looked = before;
            shared.temperature.store(temperature().unwrap_or(NONE), Ordering::Relaxed);
            excuses.look();
        }
        excuses.begin();
        let due = clock.now().plus(PERIOD);
        std::thread::sleep(PERIOD.into());
        let now = clock.now();
        if let Some(stop) = excuses.unexplained(due, now) {
            let mut stops = shared.stops.lock().unwrap_or_else(PoisonError::into_inner);
            if stops.len() < MOST_STOPS {
                stops.push(stop);
            }
        }
        shared.beaten.store(now.0, Ordering::Release);
    }
}

/// Other explanations for a late beat of the thread that opens it.
#[derive(Debug)]
pub struct Excuses {
    meter: ThreadWaitMeter,
    times: Option<SchedulerTimes>,
    stat: File,
    faults: Option<u64>,
    system: Option<File>,
    /// Of all processors, in ticks.
    stolen: Option<u64>,
}

impl Excuses {
    /// Opens the thread's files. Fails if the kernel keeps no scheduler statistics.
    pub fn open() -> io::Result<Excuses> {
        let mut excuses = Excuses {
            meter: ThreadWaitMeter::open()?,
            times: None,
            stat: File::open("/proc/thread-self/stat")?,
            faults: None,
            system: File::open("/proc/stat").ok(),
            stolen: None,
        };
        excuses.look();
        Ok(excuses)
    }

    /// Reads the explanations that cost more than a few microseconds.
    pub fn look(&mut self) {
        self.faults = self.faults_now();
        self.stolen = self.stolen_now();
    }

    /// Begins to sleep.
    pub fn begin(&mut self) {
        self.times = self.meter.read();
    }

    /// The part of a beat's lateness (`due`, came at `now`) that nothing explains, if it is long
    /// enough for a stop.
    pub fn unexplained(&mut self, due: Nanos, now: Nanos) -> Option<Stop> {
        let late = now.saturating_since(due);
        if late < SHORTEST {
            return None;
        }
        let (before, after) = (self.times?, self.meter.read()?);
        let runnable = after.runnable.saturating_since(before.runnable);
        let on_cpu = after.on_cpu.saturating_since(before.on_cpu);
        let left = late.saturating_since(runnable).saturating_since(on_cpu);
        let (faults, stolen) = (self.faults, self.stolen);
        self.look();
        let fetched = self.faults.zip(faults).is_none_or(|(now, before)| now > before);
        // A tick is 10 ms in /proc (USER_HZ is 100 on every Linux).
        let ticks = self.stolen.zip(stolen).map_or(0, |(now, before)| now.saturating_sub(before));
        let stolen = Nanos::from_millis(ticks.saturating_mul(10));
        let is_stop = left >= SHORTEST && !fetched && stolen.0 < left.0 / 2;
        // After the stop the thread waited for a CPU, so the stop is the first part.
        is_stop.then(|| Stop { from: due, to: due.plus(left) })
    }

    /// Time that the hypervisor had taken from all processors when the costlier explanations were last read.
    pub fn stolen(&self) -> Option<Nanos> {
        // A tick is 10 ms in /proc (USER_HZ is 100 on every Linux).
        self.stolen.map(|ticks| Nanos::from_millis(ticks.saturating_mul(10)))
    }

    /// Major page faults of this thread.
    fn faults_now(&self) -> Option<u64> {
        ProcessStat::parse(&read(&self.stat)?).map(|stat| stat.major_faults)
    }

    /// Time taken by the hypervisor.
    fn stolen_now(&self) -> Option<u64> {
        let text = read(self.system.as_ref()?)?;
        text.strip_prefix("cpu ")?.split_whitespace().nth(7)?.parse().ok()
    }
}

/// The first line, as far as it fits.
fn read(file: &File) -> Option<String> {
    let mut text = [0u8; 512];
    let length = file.read_at(&mut text, 0).ok()?;
    let text = String::from_utf8_lossy(&text[..length]);
    text.lines().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_knows_its_faults_and_the_machine_its_stolen_time() {
        let excuses = Excuses::open().unwrap();
        assert!(excuses.faults_now().is_some());
        assert!(excuses.stolen_now().is_some());
    }

    #[test]
    fn a_late_beat_that_nothing_explains_is_a_stop_and_one_in_time_is_none() {
        let mut excuses = Excuses::open().unwrap();
        excuses.begin();
        let due = Nanos::from_secs(1);
        assert_eq!(excuses.unexplained(due, due.plus(Nanos::from_millis(9))), None);
        // No time passed for the thread itself: it was neither runnable nor running.
        let stop = excuses.unexplained(due, due.plus(Nanos::from_secs(2))).unwrap();
        assert_eq!(stop.from, due);
        assert!(stop.to > due.plus(Nanos::from_millis(1_900)), "{stop:?}");
    }

    #[test]
    fn a_thread_that_computes_is_late_but_was_not_stopped() {
        let mut excuses = Excuses::open().unwrap();
        excuses.begin();
        let due = MonotonicClock.now();
        while MonotonicClock.now() < due.plus(Nanos::from_millis(40)) {
            std::hint::spin_loop();
        }
        assert_eq!(excuses.unexplained(due, MonotonicClock.now()), None);
    }

    #[test]
    fn the_temperature_is_what_was_read_last() {
        let heartbeat = Heartbeat::start(Box::new(|| Some(41_000))).unwrap();
        assert!(heartbeat.stops().is_some());
        assert_eq!(heartbeat.temperature(), Some(41_000));
        let none = Heartbeat::start(Box::new(|| None)).unwrap();
        assert!(none.stops().is_some());
        assert_eq!(none.temperature(), None);
    }

    #[test]
    fn its_thread_has_ended_once_it_is_dropped() {
        let held = Arc::new(());
        let of_thread = Arc::clone(&held);
        let temperature = move || {
            let _held = &of_thread;
            None
        };
        let heartbeat = Heartbeat::start(Box::new(temperature)).unwrap();
        assert_eq!(Arc::strong_count(&held), 2);
        drop(heartbeat);
        assert_eq!(Arc::strong_count(&held), 1, "the thread would hold the other");
    }
}
