use flashlag_device::{
    Completion, Device, DeviceError, Geometry, MonotonicClock, NullDevice, Request,
};
use flashlag_units::Nanos;

use crate::psync::PsyncDevice;
use crate::uring::UringDevice;

/// One of the engine's devices, chosen at run time.
#[derive(Debug)]
pub enum AnyDevice {
    /// `pread` and `pwrite`.
    Psync(Box<PsyncDevice>),
    /// io_uring.
    Uring(Box<UringDevice>),
    /// A device that does nothing.
    Null(NullDevice),
}

/// Calls the same method of the device in use.
macro_rules! each {
    ($device:expr, $inner:ident => $call:expr) => {
        match $device {
            AnyDevice::Psync($inner) => $call,
            AnyDevice::Uring($inner) => $call,
            AnyDevice::Null($inner) => $call,
        }
    };
}

impl Device for AnyDevice {
    type Clock = MonotonicClock;

    #[inline]
    fn clock(&self) -> &MonotonicClock {
        each!(self, device => device.clock())
    }

    #[inline]
    fn geometry(&self) -> Geometry {
        each!(self, device => device.geometry())
    }

    #[inline]
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        each!(self, device => device.buffer(slot))
    }

    #[inline]
    fn submit(&mut self, request: Request) -> Result<(), DeviceError> {
        each!(self, device => device.submit(request))
    }

    #[inline]
    fn reap(&mut self, at_least: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError> {
        each!(self, device => device.reap(at_least, completed))
    }

    #[inline]
    fn wait_until(&mut self, time: Nanos) {
        each!(self, device => device.wait_until(time))
    }
}
