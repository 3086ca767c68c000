use flashlag_stats::Waited;
use flashlag_units::{Bytes, Nanos};

use crate::error::DeviceError;
use crate::request::{Completion, Device, Geometry, Request};

/// The part of a device from an offset on, addressed from 0.
#[derive(Debug)]
pub struct Shifted<D> {
    device: D,
    by: Bytes,
}

impl<D: Device> Shifted<D> {
    /// The part of `device` from `by` on; empty beyond its end.
    pub fn new(device: D, by: Bytes) -> Shifted<D> {
        Shifted { device, by }
    }
}

impl<D: Device> Device for Shifted<D> {
    type Clock = D::Clock;

    fn clock(&self) -> &D::Clock {
        self.device.clock()
    }

    fn geometry(&self) -> Geometry {
        let geometry = self.device.geometry();
        Geometry { size: geometry.size.saturating_minus(self.by), ..geometry }
    }

    #[inline]
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.device.buffer(slot)
    }

    #[inline]
    fn submit(&mut self, mut request: Request) -> Result<(), DeviceError> {
        request.offset = request.offset.plus(self.by);
        self.device.submit(request)
    }

    #[inline]
    fn reap(&mut self, at_least: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError> {
        self.device.reap(at_least, completed)
    }

    fn wait_until(&mut self, time: Nanos) {
        self.device.wait_until(time);
    }

    #[inline]
    fn waited(&mut self, slot: u32) -> Option<Waited> {
        self.device.waited(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ram::RamDevice;
    use crate::request::{Durability, Op};

    #[test]
    fn what_is_written_at_its_start_lies_at_the_offset() {
        let ram = RamDevice::new(Bytes(65_536), 1, Bytes(4096));
        let mut device = Shifted::new(ram, Bytes(8192));
        assert_eq!(device.geometry().size, Bytes(57_344));
        device.buffer(0)[..512].fill(7);
        let request = Request {
            slot: 0,
            op: Op::Write,
            offset: Bytes::ZERO,
            length: Bytes(512),
            durability: Durability::None,
        };
        device.submit(request).unwrap();
        device.reap(1, &mut Vec::new()).unwrap();
        let inner = &mut device.device;
        inner
            .submit(Request { op: Op::Read, offset: Bytes(7680), length: Bytes(1024), ..request })
            .unwrap();
        inner.reap(1, &mut Vec::new()).unwrap();
        assert_eq!(inner.buffer(0)[511..513], [0, 7]);
    }
}
