use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flashlag_device::{
    Clock, Completion, Device, DeviceError, Durability, Geometry, Op, Request, VirtualClock,
    ZoneGeometry,
};
use flashlag_stats::Waited;
use flashlag_units::{Bytes, Nanos, never};

use crate::command::{Command, FlashError};
use crate::content::Content;
use crate::flash::{Flash, SECTOR};
use crate::power::PowerCut;
use crate::stats::Stats;

/// Number of slots, and the largest request.
const SLOTS: u32 = 256;
const BUFFER: Bytes = Bytes::from_mib(4);
/// The error that a host sees for a failed flash command.
const EIO: i32 = 5;

/// A simulated flash as a [`Device`], in virtual time.
///
/// A write with a flush is two commands: the flush is submitted when the write has completed.
#[derive(Debug)]
pub struct FlashDevice {
    flash: Flash,
    clock: VirtualClock,
    geometry: Geometry,
    /// Buffer of each slot; empty until its first use.
    buffers: Vec<Vec<u8>>,
    slots: Vec<Option<Pending>>,
    /// Requests in flight, by end; a running number keeps the order of equal ends.
    line: BinaryHeap<Reverse<(Nanos, u64, u32)>>,
    submitted: u64,
    content: Option<Content>,
    /// What the last request of each slot waited for, and what of that behind others, if anyone asks.
    waits: Option<Vec<(Waited, Waited)>>,
}

/// A request in flight.
#[derive(Debug)]
struct Pending {
    started: Nanos,
    /// A flush is still to be submitted.
    flushes: bool,
    flush_from: Option<Nanos>,
    error: Option<FlashError>,
    request: Request,
}

impl FlashDevice {
    /// A device that keeps no data, only times.
    pub fn new(flash: Flash) -> FlashDevice {
        FlashDevice::build(flash, None)
    }

    /// A device that keeps data in memory, and loses in a power cut what a real one would lose.
    pub fn with_data(mut flash: Flash) -> FlashDevice {
        flash.keep_ledger();
        let content = Content::new(flash.mapping_unit().0);
        FlashDevice::build(flash, Some(content))
    }

    fn build(flash: Flash, content: Option<Content>) -> FlashDevice {
        let geometry = Geometry {
            size: flash.capacity(),
            alignment: SECTOR,
            slots: SLOTS,
            buffer: BUFFER,
            keeps_data: content.is_some(),
        };
        FlashDevice {
            flash,
            clock: VirtualClock::default(),
            geometry,
            buffers: vec![Vec::new(); SLOTS as usize],
            slots: (0..SLOTS).map(|_| None).collect(),
            line: BinaryHeap::with_capacity(SLOTS as usize),
            submitted: 0,
            content,
            waits: None,
        }
    }

    /// The same device, keeping account from now on of what its requests wait for: of 1 GiB written
    /// at random in 4 KiB, a tenth of the time of the model.
    #[must_use]
    pub fn with_waits(mut self) -> FlashDevice {
        self.flash.keep_waits();
        self.waits = Some(vec![(Waited::default(), Waited::default()); SLOTS as usize]);
        self
    }

    /// The flash.
    pub fn flash(&self) -> &Flash {
        &self.flash
    }

    /// Arranges the flash's content as random overwrites would in the long run.
    pub fn scatter(&mut self) -> Result<(), FlashError> {
        self.flash.scatter()
    }

    /// Adds program/erase cycles to every good block.
    pub fn wear_out(&mut self, cycles: u32) {
        self.flash.wear_out(cycles);
    }

    /// Statistics of the flash.
    pub fn stats(&self) -> Stats {
        self.flash.stats()
    }

    /// Cuts the power now; it comes back at once. Requests in flight never complete; the surviving
    /// data is the content.
    pub fn power_cut(&mut self) -> Result<PowerCut, FlashError> {
        self.follow_up();
        self.line.clear();
        self.slots.fill_with(|| None);
        let cut = self.flash.power_cut(self.clock.now())?;
        if let (Some(content), Some(lost)) = (&mut self.content, &cut.lost) {
            content.revert(lost);
        }
        Ok(cut)
    }

    /// Submits a command now and returns its start, its end and its error.
    fn hand_over(&mut self, command: Command) -> (Nanos, Nanos, Option<FlashError>) {
        let now = self.clock.now();
        match self.flash.submit(now, command) {
            Ok(timing) => (timing.started, timing.ended, None),
            Err(error) => (now, now, Some(error)),
        }
    }

    fn move_data(&mut self, request: &Request) {
        let Some(content) = &mut self.content else {
            return;
        };
        // A slot whose buffer was never used writes zeros.
        let buffer = present(&mut self.buffers[request.slot as usize]);
        content.apply(&self.flash, request, buffer);
    }

    fn await_end(&mut self, slot: u32, end: Nanos) {
        self.line.push(Reverse((end, self.submitted, slot)));
        self.submitted += 1;
    }

    /// Submits the flushes whose writes have ended by now.
    fn follow_up(&mut self) {
        while let Some(&Reverse((ended, _, slot))) = self.line.peek()
            && ended <= self.clock.now()
            && let Some(under_way) = &mut self.slots[slot as usize]
            && std::mem::take(&mut under_way.flushes)
            && under_way.error.is_none()
        {
            self.line.pop();
            under_way.flush_from = Some(ended);
            let flushed = match self.flash.submit(ended, Command::Flush) {
                Ok(timing) => {
                    let flush = timing.ended.max(ended).since(ended);
                    let waits = self.waits.as_mut().and_then(|all| all.get_mut(slot as usize));
                    if let Some((waits, flushed)) = waits.zip(self.flash.waited()) {
                        let behind = self.flash.waited_behind().unwrap_or_default();
                        waits.0 = waits.0.plus(&flushed.scaled_to(flush));
                        waits.1 = waits.1.plus(&behind);
                    }
                    timing.ended
                }
                Err(error) => {
                    under_way.error = Some(error);
                    ended
                }
            };
            self.await_end(slot, flushed.max(ended));
        }
    }

    /// Takes the next request that has ended by now, its flush included.
    fn take_ended(&mut self) -> Option<Completion> {
        self.follow_up();
        let &Reverse((ended, _, slot)) = self.line.peek()?;
        if ended > self.clock.now() {
            return None;
        }
        self.line.pop();
        let Some(Pending { started, flush_from, error, request, .. }) =
            self.slots[slot as usize].take()
        else {
            never!("slot {slot} has an end and no request");
            return None;
        };
        let result = error.map_or(Ok(()), |error| Err(refusal(&request, &error)));
        Some(Completion { slot, started, flush_from, ended, result })
    }

    fn next_end(&self) -> Option<Nanos> {
        self.line.peek().map(|Reverse((ended, ..))| *ended)
    }
}

/// A slot's buffer, allocated on first use.
fn present(buffer: &mut Vec<u8>) -> &mut [u8] {
    if buffer.is_empty() {
        *buffer = vec![0; BUFFER.0 as usize];
    }
    buffer
}

fn refusal(request: &Request, error: &FlashError) -> DeviceError {
    DeviceError {
        operation: request.op.name(),
        subject: "the simulated flash".to_owned(),
        offset: Some(request.offset),
        errno: Some(EIO),
        reason: error.to_string(),
        advice: match error {
            FlashError::Zone(_) => "write each zone in order, as F2FS does",
            _ => "simulate a device with more spare area or more rated cycles",
        }
        .to_owned(),
    }
}

impl Device for FlashDevice {
    type Clock = VirtualClock;

    fn clock(&self) -> &VirtualClock {
        &self.clock
    }

    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn zones(&self) -> Option<ZoneGeometry> {
        self.flash.zones()
    }

    /// All slots share one buffer if no data is kept.
    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        let slot = if self.content.is_some() { slot } else { 0 };
        present(&mut self.buffers[slot as usize])
    }

    fn submit(&mut self, request: Request) -> Result<(), DeviceError> {
        self.geometry.check(&request)?;
        let slot = request.slot as usize;
        if self.slots[slot].is_some() {
            let name = request.op.name();
            return Err(DeviceError::busy(name, "the simulated flash", request.slot));
        }
        let Request { offset, length, .. } = request;
        let command = match request.op {
            Op::Read => Command::Read { offset, length },
            Op::Write => {
                Command::Write { offset, length, fua: request.durability == Durability::Write }
            }
            Op::Flush => Command::Flush,
            Op::Discard => Command::Discard { offset, length },
        };
        self.follow_up();
        let came = self.clock.now();
        let (_, ended, error) = self.hand_over(command);
        if let Some(waits) = &mut self.waits {
            let waited = self.flash.waited().unwrap_or_default();
            let behind = self.flash.waited_behind().unwrap_or_default();
            waits[slot] = (waited.scaled_to(ended.since(came)), behind);
        }
        if error.is_none() {
            self.move_data(&request);
        }
        let flushes = request.op == Op::Write && request.durability == Durability::Flush;
        let under_way = Pending { started: came, flushes, flush_from: None, error, request };
        self.slots[slot] = Some(under_way);
        self.await_end(request.slot, ended);
        Ok(())
    }

    fn reap(&mut self, at_least: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError> {
        let mut wanted = at_least;
        loop {
            while let Some(completion) = self.take_ended() {
                wanted = wanted.saturating_sub(1);
                completed.push(completion);
            }
            match self.next_end() {
                Some(ended) if wanted > 0 => self.clock.advance_to(ended),
                _ => return Ok(()),
            }
        }
    }

    fn wait_until(&mut self, time: Nanos) {
        loop {
            self.follow_up();
            let next = self.next_end().unwrap_or(Nanos::MAX);
            self.clock.pass_until(time.min(next));
            let writes_end = |slot: u32| {
                self.slots[slot as usize].as_ref().is_some_and(|under_way| under_way.flushes)
            };
            // The end of a write that is followed by a flush completes no request.
            match self.line.peek() {
                Some(&Reverse((ended, _, slot))) if ended < time && writes_end(slot) => {}
                _ => return,
            }
        }
    }

    fn waited(&mut self, slot: u32) -> Option<Waited> {
        self.waits.as_ref()?.get(slot as usize).map(|(waited, _)| *waited)
    }

    fn waited_behind(&mut self, slot: u32) -> Option<Waited> {
        self.waits.as_ref()?.get(slot as usize).map(|(_, behind)| *behind)
    }

    fn held_up(&mut self, from: Nanos, until: Nanos) -> Option<Waited> {
        self.flash.held_up(from, until)
    }
}
