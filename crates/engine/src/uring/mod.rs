//! io_uring: many requests in flight, submitted in batches; completions that are already in the
//! ring are reaped without a system call.
//!  A write that a sync makes durable takes two steps: the write and, once that has completed, a
//! separate sync, so that the flush's part of the latency is known. (Linked entries would save a
//! wake-up, but would hide when the write ended, and would break on a short write.)

mod memory;
mod ring;

use std::mem::ManuallyDrop;

use flashlag_device::{
    Clock, Completion, Device, DeviceError, Durability, Geometry, MonotonicClock, Op, Request,
    is_android,
};
use flashlag_units::{Bytes, Nanos, never};
use rustix::io::Errno;

use crate::table::{DurableWrite, FileTable};
use memory::SlotMemory;
use ring::{Ring, Transfer};

/// The most requests in flight.
pub(crate) const MAX_DEPTH: u32 = 4096;

/// Number of requests that are handed to the kernel together: one, as is fio's default. A larger
/// batch saves system calls, but a device stands idle while it is put together. On a virtio disk at
/// depth 32, random 4 KiB writes in nine alternating runs: one at a time 0.96-1.00 of fio's
/// operations a second at 0.94 of its CPU, batches of 4 0.94 at 0.86; reads 1.02 at 0.88, batches
/// of 4 1.00 at 0.88, of 32 0.9 at 1.0.
const BATCH: usize = 1;

/// The last part of a wait is spun, since a sleep ends late.
const SPIN_FROM: Nanos = Nanos::from_micros(60);

#[derive(Clone, Copy, Debug)]
struct Flight {
    request: Request,
    state: State,
    /// Bytes moved so far: the kernel may move fewer than requested.
    moved: u64,
    started: Nanos,
    flush_from: Option<Nanos>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    Moving,
    Flushing,
}

/// Files behind an io_uring. It belongs to the thread that made it and is not `Send`.
#[derive(Debug)]
pub struct UringDevice {
    clock: MonotonicClock,
    geometry: Geometry,
    table: FileTable,
    durable: DurableWrite,
    /// Declared before the memory, so that the ring is dropped first.
    ring: Ring,
    memory: ManuallyDrop<SlotMemory>,
    flights: Vec<Flight>,
    in_flight: u32,
    /// Slots whose entry is queued but not yet submitted to the kernel; their time starts when it
    /// is.
    fresh: Vec<u32>,
    /// Completions of requests that were done synchronously.
    ready: Vec<Completion>,
    taken: Vec<(usize, i32)>,
}

impl UringDevice {
    /// A device over the files of a table; returns the table and the reason if io_uring is not
    /// possible.
    ///  Not tried on Android, which kills an app for the attempt.
    pub(crate) fn new(
        table: FileTable,
        geometry: Geometry,
        memory_alignment: usize,
        durable: DurableWrite,
    ) -> Result<UringDevice, (FileTable, String)> {
        if is_android() {
            return Err((
                table,
                "on Android io_uring is not tried: the system kills an app for it".to_owned(),
            ));
        }
        let (slots, each) = (geometry.slots as usize, geometry.buffer.0 as usize);
        // A request that crosses the end of a file would need two entries; one whose size is a
        // power of two never does.
        if table.crosses(geometry.buffer) {
            return Err((
                table,
                "blocks that are no power of two cross the files' ends".to_owned(),
            ));
        }
        let Some(memory) = SlotMemory::new(slots, each, memory_alignment) else {
            return Err((table, "its buffers would be larger than memory".to_owned()));
        };
        let ring = match Ring::new(geometry.slots, &table.raw(), &memory) {
            Ok(ring) => ring,
            Err(reason) => return Err((table, reason)),
        };
        let nothing = Request {
            slot: 0,
            op: Op::Flush,
            offset: Bytes::ZERO,
            length: Bytes::ZERO,
            durability: Durability::None,
        };
        let free = Flight {
            request: nothing,
            state: State::Free,
            moved: 0,
            started: Nanos::ZERO,
            flush_from: None,
        };
        Ok(UringDevice {
            clock: MonotonicClock,
            geometry,
            table,
            durable,
            ring,
            memory: ManuallyDrop::new(memory),
            flights: vec![free; slots],
            in_flight: 0,
            fresh: Vec::with_capacity(slots),
            ready: Vec::with_capacity(slots),
            taken: Vec::with_capacity(2 * slots),
        })
    }

    /// Queues what is left of a slot's transfer.
    fn push_transfer(&mut self, slot: usize) -> bool {
        let Flight { request, moved, .. } = self.flights[slot];
        let at = request.offset.plus(Bytes(moved));
        let (file, within) = self.table.locate(at);
        let length = u32::try_from(request.length.0 - moved).unwrap_or_else(|_| {
            never!("a buffer of 4 GiB or more");
            // The rest is moved in further steps.
            1 << 30
        });
        let part = Transfer { slot, file, at: within, skip: moved as usize, length };
        if request.op == Op::Read {
            return self.ring.push_read(&self.memory, part);
        }
        let dsync =
            request.durability == Durability::Write && self.durable == DurableWrite::RwfDsync;
        self.ring.push_write(&self.memory, part, dsync)
    }

    fn push_sync(&mut self, slot: usize) -> bool {
        let (file, _) = self.table.locate(self.flights[slot].request.offset);
        self.ring.push_sync(slot, file, self.table.sync)
    }

    /// Submits everything queued to the kernel; the requests begin now.
    fn enter(&mut self, want: usize) -> Result<(), DeviceError> {
        self.begin_fresh();
        let entered = self.ring.enter(want);
        entered.map_err(|errno| self.table.error("io_uring_enter", Bytes::ZERO, errno))
    }

    fn begin_fresh(&mut self) {
        if self.fresh.is_empty() {
            return;
        }
        let now = self.clock.now();
        for slot in self.fresh.drain(..) {
            self.flights[slot as usize].started = now;
        }
    }

    /// Reaps the completions, and queues the next step of each request that has one.
    fn collect(&mut self, completed: &mut Vec<Completion>) {
        completed.append(&mut self.ready);
        self.ring.take(&mut self.taken);
        if self.taken.is_empty() {
            return;
        }
        let now = self.clock.now();
        let mut taken = std::mem::take(&mut self.taken);
        for (slot, result) in taken.drain(..) {
            if let Some(completion) = self.step(slot, result, now) {
                completed.push(completion);
            }
        }
        self.taken = taken;
    }

    /// The consequence of a slot's current step: its completion, or its next step.
    fn step(&mut self, slot: usize, result: i32, now: Nanos) -> Option<Completion> {
        let flight = self.flights[slot];
        let Request { op, offset, length, durability, .. } = flight.request;
        let at = offset.plus(Bytes(flight.moved));
        if result < 0 {
            let errno = Errno::from_raw_os_error(-result);
            let name = match flight.state {
                State::Flushing => self.table.sync.name(),
                State::Moving | State::Free => op.name(),
            };
            return Some(self.complete(slot, now, Err(self.table.error(name, at, errno))));
        }
        if flight.state == State::Flushing {
            return Some(self.complete(slot, now, Ok(())));
        }
        let moved = flight.moved + u64::from(result.unsigned_abs());
        self.flights[slot].moved = moved;
        let next = if moved < length.0 {
            match (op, result) {
                (Op::Read, 0) => return Some(self.complete(slot, now, Err(self.table.short(at)))),
                (_, 0) => {
                    let error = self.table.error("write", at, Errno::IO);
                    return Some(self.complete(slot, now, Err(error)));
                }
                _ => self.push_transfer(slot),
            }
        } else if op == Op::Write && self.flushes(durability) {
            self.flights[slot].state = State::Flushing;
            self.flights[slot].flush_from = Some(now);
            self.push_sync(slot)
        } else {
            return Some(self.complete(slot, now, Ok(())));
        };
        // The queue has an entry for each slot, and this slot's was just consumed.
        debug_assert!(next, "the queue is as long as there are slots");
        if next {
            return None;
        }
        Some(self.complete(slot, now, Err(self.table.error("io_uring", at, Errno::BUSY))))
    }

    fn flushes(&self, durability: Durability) -> bool {
        match durability {
            Durability::None => false,
            Durability::Flush => true,
            Durability::Write => self.durable == DurableWrite::Sync,
        }
    }

    fn complete(
        &mut self,
        slot: usize,
        ended: Nanos,
        result: Result<(), DeviceError>,
    ) -> Completion {
        let flight = &mut self.flights[slot];
        flight.state = State::Free;
        self.in_flight -= 1;
        let Flight { started, flush_from, .. } = *flight;
        Completion { slot: slot as u32, started, flush_from, ended, result }
    }

    /// Does a request that needs no ring, synchronously.
    fn perform(&mut self, request: &Request) {
        let started = self.clock.now();
        let result = match request.op {
            Op::Discard => self.table.discard(request.offset, request.length),
            _ => self.table.sync_all(),
        };
        let (slot, ended) = (request.slot, self.clock.now());
        self.ready.push(Completion { slot, started, flush_from: None, ended, result });
    }
}

impl Device for UringDevice {
    type Clock = MonotonicClock;

    #[inline]
    fn clock(&self) -> &MonotonicClock {
        &self.clock
    }

    #[inline]
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The buffer of a free slot; an empty slice for a busy one, whose buffer the kernel uses.
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        match self.flights.get(slot as usize) {
            // SAFETY: a free slot has no request in flight.
            Some(flight) if flight.state == State::Free => unsafe {
                self.memory.slice(slot as usize)
            },
            _ => &mut [],
        }
    }

    fn submit(&mut self, request: Request) -> Result<(), DeviceError> {
        self.geometry.check(&request)?;
        let slot = request.slot as usize;
        if self.flights[slot].state != State::Free {
            return Err(self.table.error(request.op.name(), request.offset, Errno::BUSY));
        }
        if matches!(request.op, Op::Flush | Op::Discard) {
            self.perform(&request);
            return Ok(());
        }
        self.flights[slot] = Flight {
            request,
            state: State::Moving,
            moved: 0,
            started: Nanos::ZERO,
            flush_from: None,
        };
        if !self.push_transfer(slot) {
            self.enter(0)?;
            if !self.push_transfer(slot) {
                self.flights[slot].state = State::Free;
                return Err(self.table.error("io_uring", request.offset, Errno::BUSY));
            }
        }
        self.in_flight += 1;
        self.fresh.push(request.slot);
        if self.fresh.len() >= BATCH {
            self.enter(0)?;
        }
        Ok(())
    }

    fn reap(&mut self, at_least: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError> {
        let before = completed.len();
        let wanted = (at_least as usize).min(self.in_flight as usize + self.ready.len());
        if self.in_flight > 0 && (!self.fresh.is_empty() || !self.ring.has_completed()) {
            let waits = wanted > self.ready.len() && !self.ring.has_completed();
            self.enter(usize::from(waits))?;
        }
        self.collect(completed);
        while completed.len() - before < wanted {
            self.enter(1)?;
            self.collect(completed);
        }
        Ok(())
    }

    fn wait_until(&mut self, time: Nanos) {
        self.begin_fresh();
        while !self.ring.has_completed() && self.ready.is_empty() {
            let left = time.saturating_since(self.clock.now());
            if left == Nanos::ZERO {
                return;
            }
            if self.in_flight == 0 {
                return self.clock.pass_until(time);
            }
            // A persistent error shows again, and is reported, when completions are reaped.
            let sleep = left.saturating_since(SPIN_FROM);
            let waited = self.ring.enter_for(sleep.0.max(1));
            if !matches!(waited, Ok(true)) {
                let _ = self.ring.enter(0);
                std::thread::sleep(sleep.min(SPIN_FROM).into());
            }
        }
    }
}

impl Drop for UringDevice {
    /// Waits for the requests in flight: the kernel writes into the buffers until then.
    fn drop(&mut self) {
        let mut completed = Vec::with_capacity(self.flights.len());
        while self.in_flight > 0 {
            if self.reap(1, &mut completed).is_err() {
                // The kernel may still write there: leak the memory rather than reuse it.
                return;
            }
            completed.clear();
        }
        // SAFETY: dropped only here, and never used afterwards; no request is in flight.
        unsafe { ManuallyDrop::drop(&mut self.memory) }
    }
}
