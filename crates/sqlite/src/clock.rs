use std::cell::Cell;

use flashlag_device::{Clock, MonotonicClock};
use flashlag_units::Nanos;

/// The monotonic clock without the pauses of a phase: what happens in one is in no elapsed time,
/// moves no schedule and makes nothing late.
#[derive(Debug, Default)]
pub(crate) struct PhaseClock {
    paused: Cell<Nanos>,
}

impl PhaseClock {
    /// Does `work` while this clock stands still, and tells how long that took.
    pub(crate) fn pause<T>(&self, work: impl FnOnce() -> T) -> (T, Nanos) {
        let from = MonotonicClock.now();
        let result = work();
        let took = MonotonicClock.now().since(from);
        self.paused.set(self.paused.get().plus(took));
        (result, took)
    }
}

impl Clock for PhaseClock {
    #[inline]
    fn now(&self) -> Nanos {
        MonotonicClock.now().since(self.paused.get())
    }

    fn pass_until(&self, time: Nanos) {
        MonotonicClock.pass_until(time.plus(self.paused.get()));
    }
}
