//! The clocks of this machine.

use flashlag_units::Nanos;
use rustix::time::{ClockId, clock_gettime};

use crate::clock::Clock;

/// Sleeps on a machine that is not overloaded end at most this late: spin for that long.
const SPIN_FROM: Nanos = Nanos::from_micros(60);

/// The time on a clock of the kernel: since the machine's start, since 1970, or CPU time so far.
#[inline]
pub fn read_clock(id: ClockId) -> Nanos {
    let time = clock_gettime(id);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// `CLOCK_MONOTONIC`: real time, never set back; it stops while the machine is suspended.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonotonicClock;

impl Clock for MonotonicClock {
    #[inline]
    fn now(&self) -> Nanos {
        read_clock(ClockId::Monotonic)
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
