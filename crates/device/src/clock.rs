use std::cell::Cell;
use std::rc::Rc;

use flashlag_units::Nanos;

/// Where a device's time comes from.
pub trait Clock {
    /// Now, from an arbitrary zero; never goes back.
    fn now(&self) -> Nanos;

    /// Lets time pass until `time`; returns at once if that is in the past. Real clocks sleep, and
    /// spin at the end, since sleeps end late; virtual clocks advance.
    fn pass_until(&self, time: Nanos);
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
