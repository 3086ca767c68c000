//! A device with faults, for tests.

use flashlag_device::{Clock, Completion, Device, DeviceError, Geometry, Latency, Op, Request};
use flashlag_units::{Bytes, Nanos};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use rustix::io::Errno;

/// The faults of a [`FaultDevice`]. Operations are counted from 1: every read, write, flush and discard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// The seed of every random choice.
    pub seed: u64,
    /// Added to the latency of the device itself.
    pub latency: Option<Latency>,
    /// Operations that fail, and how.
    pub fails: Vec<(u64, Errno)>,
    /// Every operation from this one on fails with this error: the device is gone.
    pub gone_from: Option<(u64, Errno)>,
    /// The bytes that can be written; every write after them fails with `ENOSPC`.
    pub room: Option<Bytes>,
    /// Writes, counted from 1, that are acknowledged but never done.
    pub lost_writes: Vec<u64>,
    /// Writes, counted from 1, of which one random bit is stored wrong.
    pub flipped_writes: Vec<u64>,
    /// Writes, counted from 1, of which only the first half is done.
    pub torn_writes: Vec<u64>,
    /// Whether every added latency is kept for [`FaultDevice::added`].
    pub keep_added: bool,
}

/// Wraps a device and makes it slow, full, broken or lying; the same seed gives the same faults.
///  An added latency begins when the device itself has completed the request; each request in
/// flight is delayed separately. On a real clock, the wait sleeps and spins its last part.
#[derive(Debug)]
pub struct FaultDevice<D> {
    inner: D,
    faults: Faults,
    random: Pcg64Mcg,
    operations: u64,
    writes: u64,
    written: Bytes,
    /// By slot: the delay to add when the device below has completed the request.
    planned: Vec<Nanos>,
    taken: Vec<Completion>,
    /// Completed below, but held back until its end.
    held: Vec<Completion>,
    added: Vec<Nanos>,
}

impl<D: Device> FaultDevice<D> {
    /// Wraps `inner`.
    pub fn new(inner: D, faults: Faults) -> FaultDevice<D> {
        let slots = inner.geometry().slots as usize;
        FaultDevice {
            inner,
            random: Pcg64Mcg::seed_from_u64(faults.seed),
            faults,
            operations: 0,
            writes: 0,
            written: Bytes::ZERO,
            planned: vec![Nanos::ZERO; slots],
            taken: Vec::with_capacity(slots),
            held: Vec::with_capacity(slots),
            added: Vec::new(),
        }
    }

    /// The device below.
    pub fn inner_mut(&mut self) -> &mut D {
        &mut self.inner
    }

    /// Every latency that was added, in the order of the operations, where [`Faults::keep_added`].
    pub fn added(&self) -> &[Nanos] {
        &self.added
    }

    /// The error that this operation must return, if any.
    fn fault(&self, request: &Request) -> Option<Errno> {
        let planned = self.faults.fails.iter().find(|(at, _)| *at == self.operations);
        let gone = self.faults.gone_from.filter(|(from, _)| self.operations >= *from);
        let full = request.op == Op::Write
            && self.faults.room.is_some_and(|room| self.written.plus(request.length) > room);
        let planned = planned.map(|(_, errno)| *errno);
        planned.or(gone.map(|(_, errno)| errno)).or(full.then_some(Errno::NOSPC))
    }

    /// Holds a completion that this device made itself: the device below never sees the request.
    fn answer(&mut self, request: &Request, result: Result<(), DeviceError>) {
        let now = self.inner.clock().now();
        self.held.push(Completion {
            slot: request.slot,
            started: now,
            flush_from: None,
            ended: now.plus(self.planned[request.slot as usize]),
            result,
        });
    }

    /// Takes the completions of the device below, each with its delay.
    fn take(&mut self, at_least: u32) -> Result<(), DeviceError> {
        self.inner.reap(at_least, &mut self.taken)?;
        for mut completion in self.taken.drain(..) {
            let delay = self.planned[completion.slot as usize];
            completion.ended = completion.ended.plus(delay);
            self.held.push(completion);
        }
        Ok(())
    }

    /// Returns the completions that are due, and their number.
    fn give(&mut self, completed: &mut Vec<Completion>) -> u32 {
        let now = self.inner.clock().now();
        let before = completed.len();
        self.held.sort_by_key(|held| held.ended);
        let mut index = 0;
        while index < self.held.len() {
            if self.held[index].ended <= now {
                let mut done = self.held.remove(index);
                // As on a real device, it has completed when the caller can see it. Virtual time is
                // at that moment.
                done.ended = now;
                completed.push(done);
            } else {
                index += 1;
            }
        }
        (completed.len() - before) as u32
    }
}

impl<D: Device> Device for FaultDevice<D> {
    type Clock = D::Clock;

    fn clock(&self) -> &D::Clock {
        self.inner.clock()
    }

    fn geometry(&self) -> Geometry {
        self.inner.geometry()
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        self.inner.buffer(slot)
    }

    fn submit(&mut self, request: Request) -> Result<(), DeviceError> {
        self.geometry().check(&request)?;
        if self.held.iter().any(|held| held.slot == request.slot) {
            return Err(DeviceError::busy(request.op.name(), "the faulty device", request.slot));
        }
        self.operations += 1;
        let delay = self.faults.latency.map(|latency| latency.draw(&mut self.random));
        let delay = delay.unwrap_or_default();
        if self.faults.keep_added {
            self.added.push(delay);
        }
        self.planned[request.slot as usize] = delay;
        if let Some(errno) = self.fault(&request) {
            let offset = Some(request.offset);
            let error = DeviceError::os(request.op.name(), "the faulty device", offset, errno);
            self.answer(&request, Err(error));
            return Ok(());
        }
        if request.op != Op::Write {
            return self.inner.submit(request);
        }
        self.writes += 1;
        self.written = self.written.plus(request.length);
        if self.faults.lost_writes.contains(&self.writes) {
            self.answer(&request, Ok(()));
            return Ok(());
        }
        let mut request = request;
        if self.faults.flipped_writes.contains(&self.writes) {
            let bit = self.random.next_u64() % (request.length.0 * 8);
            self.inner.buffer(request.slot)[bit as usize / 8] ^= 1 << (bit % 8);
        }
        if self.faults.torn_writes.contains(&self.writes) {
            let half = Bytes(request.length.0 / 2).round_down(self.geometry().alignment);
            request.length = half.max(self.geometry().alignment);
        }
        self.inner.submit(request)
    }

    fn reap(&mut self, at_least: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError> {
        self.take(0)?;
        let mut given = self.give(completed);
        while given < at_least {
            // The earliest known end; requests still in the device below may complete before it.
            match self.held.iter().map(|held| held.ended).min() {
                Some(time) => self.inner.wait_until(time),
                None => {
                    self.take(1)?;
                    if self.held.is_empty() {
                        return Ok(());
                    }
                }
            }
            self.take(0)?;
            given += self.give(completed);
        }
        Ok(())
    }

    fn wait_until(&mut self, time: Nanos) {
        let next = self.held.iter().map(|held| held.ended).min();
        self.inner.wait_until(next.map_or(time, |next| next.min(time)));
    }
}
