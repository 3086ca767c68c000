use flashlag_device::{Clock, MonotonicClock};
use flashlag_units::Nanos;

use flashlag_spec::target::TimeScale;

/// The device's own clock: real time, scaled. It stops while the power is off.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceClock {
    scale: TimeScale,
    real: Nanos,
    device: Nanos,
    running: bool,
}

impl DeviceClock {
    /// A clock that shows the time `device` now.
    pub(crate) fn new(scale: TimeScale, device: Nanos) -> DeviceClock {
        DeviceClock { scale, real: MonotonicClock.now(), device, running: true }
    }

    pub(crate) fn now(&self) -> Nanos {
        if !self.running {
            return self.device;
        }
        self.device.plus(self.scale.device(MonotonicClock.now().since(self.real)))
    }

    /// When, in real time, the device's clock shows a time.
    pub(crate) fn real(&self, device: Nanos) -> Nanos {
        self.real.plus(self.scale.real(device.saturating_since(self.device)))
    }

    /// Stops the clock at a time.
    pub(crate) fn stop(&mut self, at: Nanos) {
        (self.device, self.running) = (at, false);
    }

    /// Starts the clock again.
    pub(crate) fn resume(&mut self) {
        if !self.running {
            *self = DeviceClock::new(self.scale, self.device);
        }
    }

    /// Changes the clock's speed from now on.
    pub(crate) fn set_scale(&mut self, scale: TimeScale) {
        let (now, running) = (self.now(), self.running);
        *self = DeviceClock { running, ..DeviceClock::new(scale, now) };
    }

    pub(crate) fn scale(&self) -> TimeScale {
        self.scale
    }
}
