//! From the block layer to the device: elevator, driver, slot.

use flashlag_device::{Device, DeviceError, Durability, Errno, Op, Request, VirtualClock};
use flashlag_units::Bytes;

use super::{Event, Scheduler};
use crate::host_queue::{Command, Next, Piece};

impl<D: Device<Clock = VirtualClock>> Scheduler<D> {
    /// Sends a piece, or lets it wait for its turn in a zone.
    pub(super) fn send(&mut self, piece: Piece) {
        let number = self.process(piece.pid).map_or(0, |process| process.number);
        let Some(zones) = &mut self.zones else { return self.send_now(piece) };
        let mut next = zones.admit(number, piece);
        while let Some(piece) = next {
            self.send_now(piece);
            next = self.zones.as_mut().and_then(|zones| zones.follower());
        }
    }

    fn send_now(&mut self, mut piece: Piece) {
        self.ready(&mut piece);
        let queues = self.waiting.comes(self.now(), &piece);
        if !queues && let Some(slot) = self.free_slots.pop() {
            return self.begin(slot, Command::of(piece));
        }
        if self.waiting.push(piece) {
            self.ledger.merged(piece.op);
        }
        self.dispatch();
    }

    /// Begins what waits while slots are free and the elevator lets it through.
    pub(super) fn dispatch(&mut self) {
        while let Some(slot) = self.free_slots.pop() {
            match self.waiting.pop(self.now()) {
                Next::Command(command) => self.begin(slot, command),
                Next::Hold(until) => {
                    self.free_slots.push(slot);
                    return self.at(until, Event::Dispatch);
                }
                Next::Nothing => return self.free_slots.push(slot),
            }
        }
    }

    /// Lets the driver issue a command in a free slot.
    fn begin(&mut self, slot: u32, command: Command) {
        self.in_use += u32::from(command.first.op != Op::Discard);
        self.carried[slot as usize] = command;
        self.begun(slot);
        match self.driver.issue(self.now()) {
            Some(until) => self.at(until, Event::Issued(slot)),
            None => self.submit(slot),
        }
    }

    /// Hands the command in a slot to the device.
    pub(super) fn submit(&mut self, slot: u32) {
        self.submitted(slot);
        let command = &self.carried[slot as usize];
        let (piece, run) = (command.first, command.run());
        let request = Request {
            slot,
            op: piece.op,
            offset: Bytes(run.offset),
            length: Bytes(run.length),
            durability: if piece.durable { Durability::Write } else { Durability::None },
        };
        if let Err(error) = self.device.submit(request) {
            self.fail(slot, &error);
            self.was_refused(slot);
            self.free_slots.push(slot);
            self.in_use -= u32::from(piece.op != Op::Discard);
            let (first, appended) = self.carried[slot as usize].take_pieces();
            self.piece_done(first.pid);
            appended.into_iter().for_each(|piece| self.piece_done(piece.pid));
        }
    }

    /// Fails what waits for its turn in a zone if nothing is left to come before it: that was never
    /// sent, since a request before it failed.
    pub(super) fn give_up_if_stuck(&mut self) {
        let idle = self.later.is_empty() && self.free_slots.len() == self.carried.len();
        let Some(zones) = self.zones.as_mut().filter(|zones| idle && zones.is_waited_for()) else {
            return;
        };
        for piece in zones.give_up() {
            if let Some(process) = self.live_mut(piece.pid) {
                process.error.get_or_insert_with(|| DeviceError {
                    operation: piece.op.name(),
                    subject: "the zone".to_owned(),
                    offset: Some(Bytes(piece.run.offset)),
                    errno: Some(Errno::IO.raw_os_error()),
                    reason: "what comes before it in its zone was never written".to_owned(),
                    advice: "look at the first error of the run".to_owned(),
                });
            }
            self.piece_done(piece.pid);
        }
    }
}
