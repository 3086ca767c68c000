//! Sleeping until a time, on a system that wakes sleepers late.

use std::cell::Cell;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use flashlag_device::{Clock, MonotonicClock};
use flashlag_units::Nanos;
use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::Timespec;

/// Most lateness of one sleep that enters the average, in nanoseconds: an overloaded machine must
/// not distort it.
const LATE_MOST: u64 = 80_000;
/// Weight of the average, in sleeps.
const MEMORY: u64 = 16;

thread_local! {
    static PREPARED: Cell<bool> = const { Cell::new(false) };
}

/// Moving average of the lateness of all threads' sleeps, in nanoseconds.
static LATE: AtomicU64 = AtomicU64::new(30_000);
/// Only one thread spins at a time: more would take CPU time from the clients.
static SPINS: AtomicBool = AtomicBool::new(false);

/// Waits until a time of `CLOCK_MONOTONIC`; returns how late it is.
///
/// The kernel wakes a sleeper late, by tens of microseconds if its CPU was idle. So this sleeps
/// shorter by the usual lateness, and one thread at a time spins for the rest.
pub(crate) fn until(deadline: Nanos) -> Nanos {
    if !PREPARED.replace(true) {
        // The kernel wakes sleepers together within their timer slack, usually 50 µs. If the slack
        // can't be reduced, they wake that much later, which the statistics show.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
    }
    let early = LATE.load(Relaxed);
    let wake = Nanos(deadline.0.saturating_sub(early + early / 4));
    if MonotonicClock.now() < wake {
        sleep_until(wake);
        learn(MonotonicClock.now().saturating_since(wake));
    }
    if MonotonicClock.now() < deadline {
        if SPINS.swap(true, Relaxed) {
            sleep_until(deadline);
        } else {
            while MonotonicClock.now() < deadline {
                std::hint::spin_loop();
            }
            SPINS.store(false, Relaxed);
        }
    }
    MonotonicClock.now().saturating_since(deadline)
}

fn learn(late: Nanos) {
    let before = LATE.load(Relaxed);
    let after = (before * (MEMORY - 1) + late.0.min(LATE_MOST)) / MEMORY;
    LATE.store(after, Relaxed);
}

fn sleep_until(moment: Nanos) {
    let request = Timespec {
        tv_sec: (moment.0 / 1_000_000_000) as i64,
        tv_nsec: (moment.0 % 1_000_000_000) as _,
    };
    while MonotonicClock.now() < moment {
        // EINTR: sleep again until the deadline.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &request);
    }
}
