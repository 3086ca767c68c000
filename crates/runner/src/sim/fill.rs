//! A fill in virtual time: a device of blocks that are each written once, in the order of the fill.

use std::cell::Cell;

use flashlag_device::{Completion, Device, DeviceError, Geometry, Request};
use flashlag_units::{Bytes, Nanos};
use flashlag_workload::Permutation;

/// Places the ascending blocks of a job: as they are, or each once in random order; and keeps
/// account of how full the storage is.
#[derive(Debug)]
pub(super) struct Placed<'a, D> {
    pub device: D,
    pub block: Bytes,
    /// `None` for ascending.
    pub order: Option<Permutation>,
    /// How full the storage is, the filesystem's own blocks included.
    pub filled: &'a Cell<Bytes>,
}

impl<D: Device> Device for Placed<'_, D> {
    type Clock = D::Clock;

    fn clock(&self) -> &D::Clock {
        self.device.clock()
    }

    fn geometry(&self) -> Geometry {
        self.device.geometry()
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.device.buffer(slot)
    }

    fn submit(&mut self, mut request: Request) -> Result<(), DeviceError> {
        if let Some(order) = &self.order
            && let Some(block) = order.at(request.offset.0 / self.block.0.max(1))
        {
            request.offset = Bytes(block * self.block.0);
        }
        self.device.submit(request)?;
        self.filled.set(self.filled.get().plus(request.length));
        Ok(())
    }

    fn reap(&mut self, at_least: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError> {
        self.device.reap(at_least, completed)
    }

    fn wait_until(&mut self, time: Nanos) {
        self.device.wait_until(time);
    }
}
