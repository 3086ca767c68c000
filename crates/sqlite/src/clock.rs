use std::cell::Cell;
use std::rc::Rc;

use flashlag_device::Clock;
use flashlag_units::Nanos;

use crate::place::Place;

/// A place's clock without the pauses of a phase: what happens in one is in no elapsed time, moves
/// no schedule and makes nothing late.
#[derive(Debug)]
pub(crate) struct PhaseClock {
    place: Rc<dyn Place>,
    paused: Cell<Nanos>,
}

impl PhaseClock {
    pub(crate) fn new(place: Rc<dyn Place>) -> PhaseClock {
        PhaseClock { place, paused: Cell::default() }
    }

    /// Does `work` while this clock stands still, and tells how long that took.
    pub(crate) fn pause<T>(&self, work: impl FnOnce() -> T) -> (T, Nanos) {
        let from = self.place.clock().now();
        let result = work();
        let took = self.place.clock().now().since(from);
        self.paused.set(self.paused.get().plus(took));
        (result, took)
    }

    /// How far it is behind the place's clock.
    pub(crate) fn paused(&self) -> Nanos {
        self.paused.get()
    }

    /// Our own readings between two saves: in a closed loop this clock stands still for them, so that
    /// they slow nothing down. A schedule goes on meanwhile, as its clients would.
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
