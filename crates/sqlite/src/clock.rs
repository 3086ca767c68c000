use std::cell::Cell;
use std::rc::Rc;

use flashlag_device::Clock;
use flashlag_units::Nanos;

use crate::storage::Place;

/// The clock of a measured test: the place's clock without pauses. A pause counts in no elapsed
/// time, moves no schedule and makes nothing late.
#[derive(Debug)]
pub(crate) struct PhaseClock {
    place: Rc<dyn Place>,
    paused: Cell<Nanos>,
}

impl PhaseClock {
    pub(crate) fn new(place: Rc<dyn Place>) -> PhaseClock {
        PhaseClock { place, paused: Cell::default() }
    }

    /// Does `work` in a pause; returns its result and its time.
    pub(crate) fn pause<T>(&self, work: impl FnOnce() -> T) -> (T, Nanos) {
        let from = self.place.clock().now();
        let result = work();
        let took = self.place.clock().now().since(from);
        self.paused.set(self.paused.get().plus(took));
        (result, took)
    }

    /// Sum of all pauses: how far this clock is behind the place's.
    pub(crate) fn paused(&self) -> Nanos {
        self.paused.get()
    }

    /// Does `work` in a pause if `pauses`. In a closed loop our own readings between two saves are
    /// a pause, so that they slow nothing down; a schedule goes on meanwhile, as its clients would.
    pub(crate) fn pause_if<T>(&self, pauses: bool, work: impl FnOnce() -> T) -> (T, Nanos) {
        if pauses { self.pause(work) } else { (work(), Nanos::ZERO) }
    }
}

impl Clock for PhaseClock {
    #[inline]
    fn now(&self) -> Nanos {
        self.place.clock().now().since(self.paused.get())
    }

    fn pass_until(&self, time: Nanos) {
        self.place.clock().pass_until(time.plus(self.paused.get()));
    }
}
