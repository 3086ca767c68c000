use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flashlag_units::{Bytes, Nanos};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use crate::clock::{Clock, VirtualClock};
use crate::error::DeviceError;
use crate::latency::Latency;
use crate::monotonic::MonotonicClock;
use crate::request::{Completion, Device, Durability, Geometry, Op, Request};

/// The service times of a [`RamDevice`] and its number of parallel units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    pub read: Latency,
    /// A write, before any flush.
    pub write: Latency,
    /// Duration of a flush, also added to each durable write.
    pub flush: Latency,
    /// Requests that are served in parallel; others queue, first come first served.
    pub units: u32,
}

impl Service {
    /// No time at all.
    pub const INSTANT: Service = Service {
        read: Latency::Fixed(Nanos::ZERO),
        write: Latency::Fixed(Nanos::ZERO),
        flush: Latency::Fixed(Nanos::ZERO),
        units: 1,
    };
}

/// What a [`RamDevice`] has counted, to check a caller's account against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RamCounts {
    pub reads: u64,
    pub writes: u64,
    /// Writes that were followed by a flush.
    pub flushed_writes: u64,
    /// Writes that were durable themselves.
    pub durable_writes: u64,
    /// Flushes of their own.
    pub flushes: u64,
}

/// A device that keeps its data in memory. On a [`VirtualClock`] requests take as long as its
/// [`Service`] says, and queue for a free unit; data moves on submission.
#[derive(Debug)]
pub struct RamDevice<C: Clock = MonotonicClock> {
    clock: C,
    geometry: Geometry,
    data: Vec<u8>,
    buffers: Vec<u8>,
    busy: Vec<bool>,
    service: Service,
    random: Pcg64Mcg,
    /// When each unit becomes free.
    units: BinaryHeap<Reverse<Nanos>>,
    /// Requests in flight: the end, a number that orders equal ends, the slot.
    line: BinaryHeap<Reverse<(Nanos, u64, u32)>>,
    under_way: Vec<(Nanos, Option<Nanos>)>,
    submitted: u64,
    counts: RamCounts,
}

/// Offsets and lengths are multiples of this.
const ALIGNMENT: Bytes = Bytes(512);

impl RamDevice {
    /// Memory in real time: a request takes as long as the copy does.
    pub fn new(size: Bytes, slots: u32, buffer: Bytes) -> RamDevice {
        RamDevice::build(MonotonicClock, size, slots, buffer, Service::INSTANT, 0)
    }
}

impl RamDevice<VirtualClock> {
    /// Memory in virtual time, with a queue.
    pub fn simulated(
        size: Bytes,
        slots: u32,
        buffer: Bytes,
        service: Service,
        seed: u64,
    ) -> RamDevice<VirtualClock> {
        RamDevice::build(VirtualClock::default(), size, slots, buffer, service, seed)
    }
}

impl<C: Clock> RamDevice<C> {
    fn build(
        clock: C,
        size: Bytes,
        slots: u32,
        buffer: Bytes,
        service: Service,
        seed: u64,
    ) -> RamDevice<C> {
        let slots = slots.max(1);
        let size = size.round_down(ALIGNMENT);
        let units = (0..service.units.max(1)).map(|_| Reverse(Nanos::ZERO)).collect();
        RamDevice {
            clock,
            geometry: Geometry { size, alignment: ALIGNMENT, slots, buffer, keeps_data: true },
            data: vec![0; size.0 as usize],
            buffers: vec![0; slots as usize * buffer.0 as usize],
            busy: vec![false; slots as usize],
            service,
            random: Pcg64Mcg::seed_from_u64(seed),
            units,
            line: BinaryHeap::with_capacity(slots as usize),
            under_way: vec![(Nanos::ZERO, None); slots as usize],
            submitted: 0,
            counts: RamCounts::default(),
        }
    }

    /// Its counts.
    pub fn counts(&self) -> RamCounts {
        self.counts
    }

    fn move_data(&mut self, request: &Request) {
        let at = request.offset.0 as usize..(request.offset.0 + request.length.0) as usize;
        let from = request.slot as usize * self.geometry.buffer.0 as usize;
        let buffer = from..from + request.length.0 as usize;
        match request.op {
            Op::Read => self.buffers[buffer].copy_from_slice(&self.data[at]),
            Op::Write => self.data[at].copy_from_slice(&self.buffers[buffer]),
            Op::Discard => self.data[at].fill(0),
            Op::Flush => {}
        }
    }

    fn count(&mut self, request: &Request) {
        match (request.op, request.durability) {
            (Op::Read, _) => self.counts.reads += 1,
            (Op::Write, durability) => {
                self.counts.writes += 1;
                self.counts.flushed_writes += u64::from(durability == Durability::Flush);
                self.counts.durable_writes += u64::from(durability == Durability::Write);
            }
            (Op::Flush, _) => self.counts.flushes += 1,
            (Op::Discard, _) => {}
        }
    }

    /// Durations of a request and of its flush, if the flush is a separate step.
    fn draw(&mut self, request: &Request) -> (Nanos, Option<Nanos>) {
        let (service, random) = (self.service, &mut self.random);
        match (request.op, request.durability) {
            (Op::Read, _) => (service.read.draw(random), None),
            (Op::Write, Durability::None) => (service.write.draw(random), None),
            (Op::Write, Durability::Flush) => {
                (service.write.draw(random), Some(service.flush.draw(random)))
            }
            (Op::Write, Durability::Write) => {
                let write = service.write.draw(random);
                (write.plus(service.flush.draw(random)), None)
            }
            (Op::Flush, _) => (service.flush.draw(random), None),
            (Op::Discard, _) => (Nanos::ZERO, None),
        }
    }
}

impl<C: Clock> Device for RamDevice<C> {
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

    fn submit(&mut self, request: Request) -> Result<(), DeviceError> {
        self.geometry.check(&request)?;
        let slot = request.slot as usize;
        if self.busy[slot] {
            return Err(DeviceError::busy(request.op.name(), "the RAM device", request.slot));
        }
        let started = self.clock.now();
        self.move_data(&request);
        self.count(&request);
        let (moving, flushing) = self.draw(&request);
        let free = self.units.pop().map_or(Nanos::ZERO, |Reverse(time)| time);
        // In real time all of these are now; the copy below takes the time.
        let begins = free.max(started).max(self.clock.now());
        let flush_from = flushing.map(|_| begins.plus(moving));
        let ended = begins.plus(moving).plus(flushing.unwrap_or_default());
        self.units.push(Reverse(ended));
        self.busy[slot] = true;
        self.under_way[slot] = (started, flush_from);
        self.line.push(Reverse((ended, self.submitted, request.slot)));
        self.submitted += 1;
        Ok(())
    }

    fn reap(&mut self, at_least: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError> {
        let mut wanted = at_least;
        while let Some(&Reverse((ended, _, slot))) = self.line.peek() {
            if ended > self.clock.now() {
                if wanted == 0 {
                    break;
                }
                self.clock.pass_until(ended);
            }
            self.line.pop();
            wanted = wanted.saturating_sub(1);
            self.busy[slot as usize] = false;
            let (started, flush_from) = self.under_way[slot as usize];
            completed.push(Completion { slot, started, flush_from, ended, result: Ok(()) });
        }
        Ok(())
    }

    fn wait_until(&mut self, time: Nanos) {
        let next = self.line.peek().map_or(Nanos::MAX, |&Reverse((ended, _, _))| ended);
        self.clock.pass_until(time.min(next));
    }
}
