//! Waiting until a moment, as exactly as the system wakes sleepers.

use std::cell::Cell;
use std::num::NonZeroU64;

use flashlag_device::{Clock, MonotonicClock};
use flashlag_units::Nanos;
use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
use rustix::time::Timespec;

thread_local! {
    static PREPARED: Cell<bool> = const { Cell::new(false) };
}

/// Sleeps until a moment of `CLOCK_MONOTONIC`; says how much later it is.
pub(crate) fn until(deadline: Nanos) -> Nanos {
    if !PREPARED.replace(true) {
        // Sleepers are woken together with others that are due within their slack, 50 µs as a
        // rule. Where that can't be changed they are late by it, which the statistics show.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
    }
    let request = Timespec {
        tv_sec: (deadline.0 / 1_000_000_000) as i64,
        tv_nsec: (deadline.0 % 1_000_000_000) as _,
    };
    loop {
        let now = MonotonicClock.now();
        if now >= deadline {
            return now.since(deadline);
        }
        // A signal ends it early: then again.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &request);
    }
}
