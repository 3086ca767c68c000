use std::cell::Cell;
use std::rc::Rc;

use flashlag_units::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// Where a device's time comes from.
pub trait Clock {
    /// Now, from an arbitrary zero; never goes back.
    fn now(&self) -> Nanos;
}

/// `CLOCK_MONOTONIC`: real time, not slewed backwards, stands still while suspended.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonotonicClock;

impl Clock for MonotonicClock {
    #[inline]
    fn now(&self) -> Nanos {
        let time = clock_gettime(ClockId::Monotonic);
        Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }
}

/// Virtual time, moved only by the device that owns it; clones share it.
#[derive(Clone, Debug, Default)]
pub struct VirtualClock(Rc<Cell<Nanos>>);

impl VirtualClock {
    /// Moves on to `time`; does nothing where that is in the past.
    pub fn advance_to(&self, time: Nanos) {
        self.0.set(self.0.get().max(time));
    }
}

impl Clock for VirtualClock {
    #[inline]
    fn now(&self) -> Nanos {
        self.0.get()
    }
}
