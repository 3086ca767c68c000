use std::cell::Cell;
use std::rc::Rc;

use flashlag_units::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// Where a device's time comes from.
pub trait Clock {
    /// Now, from an arbitrary zero; never goes back.
    fn now(&self) -> Nanos;

    /// Lets time pass until `time`; returns at once if that is in the past. Real clocks sleep, and
    /// spin at the end, since sleeps end late; virtual clocks advance.
    fn pass_until(&self, time: Nanos);
}

/// Sleeps on a machine that is not overloaded end at most this late: spin for that long.
const SPIN_FROM: Nanos = Nanos::from_micros(60);

/// `CLOCK_MONOTONIC`: real time, never set back; it stops while the machine is suspended.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonotonicClock;

impl Clock for MonotonicClock {
    #[inline]
    fn now(&self) -> Nanos {
        let time = clock_gettime(ClockId::Monotonic);
        Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }

    fn pass_until(&self, time: Nanos) {
        loop {
            let left = time.saturating_since(self.now());
            if left == Nanos::ZERO {
                return;
            }
            if left > SPIN_FROM {
                std::thread::sleep(left.saturating_since(SPIN_FROM).into());
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

/// Virtual time, advanced only by the device that owns it; clones share it.
#[derive(Clone, Debug, Default)]
pub struct VirtualClock(Rc<Cell<Nanos>>);

impl VirtualClock {
    /// Advances to `time`; does nothing if that is in the past.
    pub fn advance_to(&self, time: Nanos) {
        self.0.set(self.0.get().max(time));
    }
}

impl Clock for VirtualClock {
    #[inline]
    fn now(&self) -> Nanos {
        self.0.get()
    }

    fn pass_until(&self, time: Nanos) {
        self.advance_to(time);
    }
}
