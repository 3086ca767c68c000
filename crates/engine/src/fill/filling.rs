use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use flashlag_device::{Completion, Device, DeviceError, Durability, Geometry, Op, Request};
use flashlag_stats::Waited;
use flashlag_units::{Bytes, Nanos};

use super::gauge::Gauge;
use super::order::Order;
use crate::drive::Job;
use crate::one::run_one;

/// A device that is being filled: the loop writes ascending logical blocks; [`Order`] maps each to
/// its place, and [`Gauge`] reads the fill level.
#[derive(Debug)]
pub(super) struct Filling<'a, D> {
    pub device: D,
    pub gauge: Gauge,
    pub order: Order,
    pub flags: Flags<'a>,
    pub block: Bytes,
    /// Whether data may still be in the page cache, so that the filesystem's free space does not
    /// show all of it.
    pub buffered: bool,
    /// Bytes submitted, in flight or done.
    pub written: Bytes,
    /// Logical blocks whose write failed.
    pub failed: Vec<u64>,
    /// The first error of the gauge.
    pub error: Option<DeviceError>,
    /// The logical block of each slot's request.
    pub in_slot: Vec<u64>,
    /// Requests that have not completed.
    pub in_flight: u32,
    /// The latest time known.
    pub now: Nanos,
    /// For the completions of its own flushes.
    pub scratch: Vec<Completion>,
}

/// The state shared by the fill, the loop and its caller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flags<'a> {
    /// Raised when the storage is full, or when the caller's flag is raised.
    pub ended: &'a AtomicBool,
    /// The caller's flag.
    pub stop: &'a AtomicBool,
    /// The loop reads the fill level here.
    pub filled: &'a Cell<Bytes>,
}

const FLUSH: Request = Request {
    slot: 0,
    op: Op::Flush,
    offset: Bytes::ZERO,
    length: Bytes::ZERO,
    durability: Durability::None,
};

impl<D: Device> Filling<'_, D> {
    /// A fill that has written nothing yet.
    pub fn new<'a>(
        device: D,
        gauge: Gauge,
        order: Order,
        flags: Flags<'a>,
        job: &Job,
    ) -> Filling<'a, D> {
        Filling {
            device,
            gauge,
            order,
            flags,
            block: job.block,
            buffered: false,
            written: Bytes::ZERO,
            failed: Vec::new(),
            error: None,
            in_slot: vec![0; job.queue_depth.max(1) as usize],
            in_flight: 0,
            now: Nanos::ZERO,
            scratch: Vec::with_capacity(1),
        }
    }

    /// Reads the level when that is due, and raises the flag when there is no room left.
    fn watch(&mut self) {
        if self.flags.stop.load(Ordering::Relaxed) {
            self.flags.ended.store(true, Ordering::Relaxed);
        }
        if self.gauge.is_due(self.written, self.now) {
            self.look();
        }
    }

    #[cold]
    fn look(&mut self) {
        // Buffered data that has no blocks yet may not be counted as used yet.
        let counted = if self.buffered && self.gauge.is_near() && self.in_flight == 0 {
            run_one(&mut self.device, FLUSH, &mut self.scratch)
        } else {
            Ok(())
        };
        if let Err(error) = counted.and_then(|()| self.gauge.look(self.written, self.now)) {
            self.error = Some(error);
            self.flags.ended.store(true, Ordering::Relaxed);
            return;
        }
        self.flags.filled.set(self.gauge.used());
        if !self.gauge.has_room() {
            self.flags.ended.store(true, Ordering::Relaxed);
        }
    }

    /// The same request at its real place.
    fn placed(&self, request: Request) -> Request {
        if request.op == Op::Flush {
            return request;
        }
        let offset = Bytes(self.order.place(request.offset.0 / self.block.0) * self.block.0);
        Request { offset, ..request }
    }
}

impl<D: Device> Device for Filling<'_, D> {
    type Clock = D::Clock;

    #[inline]
    fn clock(&self) -> &D::Clock {
        self.device.clock()
    }

    #[inline]
    fn geometry(&self) -> Geometry {
        self.device.geometry()
    }

    #[inline]
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.device.buffer(slot)
    }

    fn submit(&mut self, request: Request) -> Result<(), DeviceError> {
        if request.op == Op::Write {
            let logical = request.offset.0 / self.block.0;
            if logical >= self.order.end() {
                self.order.extend(self.gauge.room().0 / self.block.0);
            }
            self.written = self.written.plus(request.length);
            if let Some(slot) = self.in_slot.get_mut(request.slot as usize) {
                *slot = logical;
            }
        }
        self.device.submit(self.placed(request))?;
        self.in_flight += 1;
        Ok(())
    }

    fn reap(&mut self, at_least: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError> {
        let known = completed.len();
        self.device.reap(at_least, completed)?;
        for done in &completed[known..] {
            self.in_flight = self.in_flight.saturating_sub(1);
            self.now = self.now.max(done.ended);
            if done.result.is_err()
                && let Some(logical) = self.in_slot.get(done.slot as usize)
            {
                self.failed.push(*logical);
            }
        }
        self.watch();
        Ok(())
    }

    #[inline]
    fn wait_until(&mut self, time: Nanos) {
        self.device.wait_until(time);
    }

    #[inline]
    fn waited(&mut self, slot: u32) -> Option<Waited> {
        self.device.waited(slot)
    }
}
