use flashlag_units::Bytes;

use crate::clock::Clock;
use crate::error::DeviceError;
use crate::monotonic::MonotonicClock;
use crate::request::{Completion, Device, Durability, Geometry, Op, Request};

/// Completes everything at once and keeps nothing; a read leaves its buffer as it is. Measuring it
/// measures the cost of measuring.
#[derive(Debug)]
pub struct NullDevice<C: Clock = MonotonicClock> {
    clock: C,
    geometry: Geometry,
    buffers: Vec<u8>,
    completed: Vec<Completion>,
}

impl NullDevice {
    /// A device of `size` with `slots` slots, for requests of up to `buffer` bytes.
    pub fn new(size: Bytes, slots: u32, buffer: Bytes) -> NullDevice {
        NullDevice::with_clock(MonotonicClock, size, slots, buffer)
    }
}

impl<C: Clock> NullDevice<C> {
    /// The same with a given clock.
    pub fn with_clock(clock: C, size: Bytes, slots: u32, buffer: Bytes) -> NullDevice<C> {
        let slots = slots.max(1);
        let geometry = Geometry { size, alignment: Bytes(1), slots, buffer, keeps_data: false };
        NullDevice {
            clock,
            geometry,
            buffers: vec![0; slots as usize * buffer.0 as usize],
            completed: Vec::with_capacity(slots as usize),
        }
    }
}

impl<C: Clock> Device for NullDevice<C> {
    type Clock = C;

    fn clock(&self) -> &C {
        &self.clock
    }

    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        let length = self.geometry.buffer.0 as usize;
        &mut self.buffers[slot as usize * length..][..length]
    }

    #[inline]
    fn submit(&mut self, request: Request) -> Result<(), DeviceError> {
        let started = self.clock.now();
        self.geometry.check(&request)?;
        let flushes = request.op == Op::Write && request.durability == Durability::Flush;
        let flush_from = flushes.then_some(started);
        let ended = self.clock.now();
        let completion =
            Completion { slot: request.slot, started, flush_from, ended, result: Ok(()) };
        self.completed.push(completion);
        Ok(())
    }

    #[inline]
    fn reap(&mut self, _at_least: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError> {
        completed.append(&mut self.completed);
        Ok(())
    }

    fn wait_until(&mut self, time: flashlag_units::Nanos) {
        self.clock.pass_until(time);
    }
}
