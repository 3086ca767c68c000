use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flashlag_device::{
    Clock, Completion, Device, DeviceError, Durability, Geometry, Op, Request, VirtualClock,
};
use flashlag_units::{Bytes, Nanos};

use crate::command::{Command, FlashError};
use crate::flash::{Flash, SECTOR};
use crate::stats::Stats;

/// Requests that can be under way, and the largest of them.
const SLOTS: u32 = 256;
const LARGEST: Bytes = Bytes::from_mib(4);

/// A simulated flash behind the seam of all devices, in virtual time. It keeps no data.
#[derive(Debug)]
pub struct FlashDevice {
    flash: Flash,
    clock: VirtualClock,
    busy: Vec<bool>,
    /// What is under way: its end, a number that keeps equal ends in order, its slot.
    line: BinaryHeap<Reverse<(Nanos, u64, u32)>>,
    times: Vec<(Nanos, Option<Nanos>)>,
    submitted: u64,
    nothing: Vec<u8>,
}

impl FlashDevice {
    /// The device on a clock of its own, at time zero.
    pub fn new(flash: Flash) -> FlashDevice {
        FlashDevice {
            flash,
            clock: VirtualClock::default(),
            busy: vec![false; SLOTS as usize],
            line: BinaryHeap::with_capacity(SLOTS as usize),
            times: vec![(Nanos::ZERO, None); SLOTS as usize],
            submitted: 0,
            nothing: Vec::new(),
        }
    }

    /// What the flash has done.
    pub fn stats(&self) -> Stats {
        self.flash.stats()
    }

    /// Does what a request asks; when its flush began, where it has one, and when it ends.
    fn perform(&mut self, request: &Request) -> Result<(Option<Nanos>, Nanos), FlashError> {
        let now = self.clock.now();
        let Request { op, offset, length, durability, .. } = *request;
        let fua = durability == Durability::Write;
        let command = match op {
            Op::Read => Command::Read { offset, length },
            Op::Write => Command::Write { offset, length, fua },
            Op::Flush => Command::Flush,
            Op::Discard => Command::Discard { offset, length },
        };
        let written = self.flash.submit(now, command)?.ended;
        if op != Op::Write || durability != Durability::Flush {
            return Ok((None, written));
        }
        let flushed = self.flash.submit(written, Command::Flush)?.ended;
        Ok((Some(written), flushed))
    }
}

fn told(error: &FlashError, request: &Request) -> DeviceError {
    DeviceError {
        operation: request.op.name(),
        subject: "the simulated flash".to_owned(),
        offset: Some(request.offset),
        errno: None,
        reason: error.to_string(),
        advice: "change the profile's spare area or endurance, or write less".to_owned(),
    }
}

impl Device for FlashDevice {
    type Clock = VirtualClock;

    fn clock(&self) -> &VirtualClock {
        &self.clock
    }

    fn geometry(&self) -> Geometry {
        Geometry {
            size: self.flash.capacity(),
            alignment: Bytes(SECTOR),
            slots: SLOTS,
            buffer: LARGEST,
            keeps_data: false,
        }
    }

    /// Nothing: no data is kept.
    fn buffer(&mut self, _: u32) -> &mut [u8] {
        &mut self.nothing
    }

    fn submit(&mut self, request: Request) -> Result<(), DeviceError> {
        self.geometry().check(&request)?;
        let slot = request.slot as usize;
        if self.busy[slot] {
            let what = "the simulated flash";
            return Err(DeviceError::busy(request.op.name(), what, request.slot));
        }
        let started = self.clock.now();
        let (flush_from, ended) = self.perform(&request).map_err(|error| told(&error, &request))?;
        self.busy[slot] = true;
        self.times[slot] = (started, flush_from);
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
            let (started, flush_from) = self.times[slot as usize];
            completed.push(Completion { slot, started, flush_from, ended, result: Ok(()) });
        }
        Ok(())
    }

    fn wait_until(&mut self, time: Nanos) {
        let next = self.line.peek().map_or(Nanos::MAX, |&Reverse((ended, _, _))| ended);
        self.clock.pass_until(time.min(next));
    }
}
