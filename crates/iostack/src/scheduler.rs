//! Carries plans out, several side by side, over one device in virtual time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use flashlag_device::{
    Clock, Completion, Device, DeviceError, Durability, Op, Request, VirtualClock,
};
use flashlag_schema::profile::EncryptionModel;
use flashlag_units::{Bytes, Nanos, always};

use crate::ledger::Ledger;
use crate::plan::{BlockRequest, Plan, Run};
use crate::ranges::Ranges;

/// A plan under way, or one that was: which of the places it has, and the how-manieth there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pid {
    place: u32,
    ordinal: u32,
}

/// A place for one process after the other.
#[derive(Debug, Default)]
struct Place {
    ordinal: u32,
    process: Option<Process>,
}

#[derive(Debug, Default)]
struct Process {
    left: VecDeque<Vec<BlockRequest>>,
    in_flight: u32,
    /// How many others it waits for before its first group, and who waits for it.
    waits_for: u32,
    followers: Vec<Pid>,
    error: Option<DeviceError>,
    ended: Option<Nanos>,
    /// Nobody asks for its end.
    detached: bool,
}

/// A piece of a request: what one slot of the device carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Piece {
    pid: Pid,
    op: Code,
    offset: u64,
    length: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Code {
    Read,
    Write,
    Flush,
    Discard,
}

/// Something that happens at a moment of its own, beside the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Later {
    /// Encrypted, and goes to the device.
    Send(Piece),
    /// Decrypted or computed, and done.
    Done(Piece),
}

/// What encrypting costs, where the device is encrypted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crypt {
    read_per_kib: u64,
    write_per_kib: u64,
    per_request: u64,
}

impl Crypt {
    pub(crate) fn new(model: &EncryptionModel) -> Crypt {
        Crypt {
            read_per_kib: model.read_per_kib.0.0,
            write_per_kib: model.write_per_kib.0.0,
            per_request: model.per_request.0.0,
        }
    }

    fn cost(&self, piece: &Piece) -> Nanos {
        let per_kib = match piece.op {
            Code::Read => self.read_per_kib,
            Code::Write => self.write_per_kib,
            Code::Flush | Code::Discard => return Nanos::ZERO,
        };
        Nanos(self.per_request + (piece.length * per_kib).div_ceil(1024))
    }
}

/// Processes over a device.
#[derive(Debug)]
pub(crate) struct Scheduler<D> {
    pub(crate) device: D,
    pub(crate) clock: VirtualClock,
    pub(crate) ledger: Ledger,
    crypt: Option<Crypt>,
    /// Encryption is one thread's work: it is busy until then.
    crypt_busy: Nanos,
    later: BinaryHeap<Reverse<(Nanos, u64, Later)>>,
    ordinal: u64,
    places: Vec<Place>,
    vacant: Vec<u32>,
    carried: Vec<Piece>,
    free_slots: Vec<u32>,
    waiting: VecDeque<Piece>,
    largest: u64,
    completions: Vec<Completion>,
    finished: Vec<Pid>,
    /// What is to be discarded and was not yet.
    discards: Ranges,
}

impl<D: Device<Clock = VirtualClock>> Scheduler<D> {
    pub(crate) fn new(device: D, crypt: Option<Crypt>) -> Scheduler<D> {
        let geometry = device.geometry();
        let nobody = Pid { place: 0, ordinal: 0 };
        let nothing = Piece { pid: nobody, op: Code::Flush, offset: 0, length: 0 };
        Scheduler {
            clock: device.clock().clone(),
            device,
            ledger: Ledger::default(),
            crypt,
            crypt_busy: Nanos::ZERO,
            later: BinaryHeap::new(),
            ordinal: 0,
            places: Vec::new(),
            vacant: Vec::new(),
            carried: vec![nothing; geometry.slots as usize],
            free_slots: (0..geometry.slots).rev().collect(),
            waiting: VecDeque::new(),
            largest: geometry.buffer.0.max(1),
            completions: Vec::new(),
            finished: Vec::new(),
            discards: Ranges::default(),
        }
    }

    pub(crate) fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn process(&self, pid: Pid) -> Option<&Process> {
        let place = self.places.get(pid.place as usize)?;
        place.process.as_ref().filter(|_| place.ordinal == pid.ordinal)
    }

    fn process_mut(&mut self, pid: Pid) -> Option<&mut Process> {
        let place = self.places.get_mut(pid.place as usize)?;
        place.process.as_mut().filter(|_| place.ordinal == pid.ordinal)
    }

    /// A process that must be there: it has something under way, or others wait for its end.
    fn live_mut(&mut self, pid: Pid) -> Option<&mut Process> {
        let process = self.process_mut(pid);
        always!(process.is_some(), "{pid:?} was forgotten while it had something under way");
        process
    }

    /// Begins a plan, once the processes `after` have ended.
    pub(crate) fn spawn(&mut self, plan: Plan, after: &[Pid]) -> Pid {
        for run in plan.discards() {
            self.discards.add(run);
        }
        let process = Process { left: plan.into_groups().collect(), ..Process::default() };
        let place = self.vacant.pop().unwrap_or_else(|| {
            self.places.push(Place::default());
            self.places.len() as u32 - 1
        });
        let found = &mut self.places[place as usize];
        found.ordinal = found.ordinal.wrapping_add(1);
        found.process = Some(process);
        let pid = Pid { place, ordinal: found.ordinal };
        let mut waits_for = 0;
        for before in after.iter().copied().filter(|before| *before != pid) {
            if let Some(process) = self.process_mut(before).filter(|one| one.ended.is_none()) {
                process.followers.push(pid);
                waits_for += 1;
            }
        }
        if waits_for == 0 {
            self.go_on(pid);
        } else if let Some(process) = self.live_mut(pid) {
            process.waits_for = waits_for;
        }
        pid
    }

    /// Lets a process run without anyone asking for its end.
    pub(crate) fn detach(&mut self, pid: Pid) {
        if self.has_ended(pid) {
            self.release(pid);
        } else if let Some(process) = self.live_mut(pid) {
            process.detached = true;
        }
    }

    pub(crate) fn has_ended(&self, pid: Pid) -> bool {
        self.process(pid).is_none_or(|process| process.ended.is_some())
    }

    /// When a process ended, if it has; it is then forgotten.
    pub(crate) fn take(&mut self, pid: Pid) -> Option<Result<Nanos, DeviceError>> {
        let ended = self.process(pid)?.ended?;
        let process = self.release(pid)?;
        Some(process.error.map_or(Ok(ended), Err))
    }

    fn release(&mut self, pid: Pid) -> Option<Process> {
        self.process(pid)?;
        self.vacant.push(pid.place);
        self.places.get_mut(pid.place as usize)?.process.take()
    }

    /// Lets time pass to the next event, or to `until`, and tells which processes ended in it.
    /// Nothing is left to be waited for where it returns at `until`.
    pub(crate) fn step(&mut self, until: Nanos) -> Vec<Pid> {
        let next = self.later.peek().map_or(Nanos::MAX, |Reverse((time, _, _))| *time);
        if self.finished.is_empty() {
            self.device.wait_until(next.min(until));
        }
        let mut completions = std::mem::take(&mut self.completions);
        // Reaping without waiting cannot fail on a device in virtual time; if one does, the
        // processes that wait for it never end, and the caller tells.
        let _ = self.device.reap(0, &mut completions);
        for completion in completions.drain(..) {
            self.completed(completion);
        }
        self.completions = completions;
        let now = self.now();
        while let Some(Reverse((time, _, later))) = self.later.peek().copied() {
            if time > now {
                break;
            }
            self.later.pop();
            match later {
                Later::Send(piece) => self.send(piece),
                Later::Done(piece) => self.piece_done(piece.pid),
            }
        }
        std::mem::take(&mut self.finished)
    }

    fn completed(&mut self, completion: Completion) {
        self.free_slots.push(completion.slot);
        let piece = self.carried[completion.slot as usize];
        if let Some(next) = self.waiting.pop_front() {
            self.send(next);
        }
        if let Err(error) = completion.result
            && let Some(process) = self.live_mut(piece.pid)
        {
            process.error.get_or_insert(error);
        }
        let cost = match (&self.crypt, piece.op) {
            (Some(crypt), Code::Read) => crypt.cost(&piece),
            _ => Nanos::ZERO,
        };
        if cost == Nanos::ZERO {
            self.piece_done(piece.pid);
        } else {
            self.in_crypt(cost, Later::Done(piece));
        }
    }

    /// Has the thread that encrypts do something, after what it has to do already.
    fn in_crypt(&mut self, cost: Nanos, then: Later) {
        self.crypt_busy = self.crypt_busy.max(self.now()).plus(cost);
        self.ordinal += 1;
        self.later.push(Reverse((self.crypt_busy, self.ordinal, then)));
    }

    fn piece_done(&mut self, pid: Pid) {
        let Some(process) = self.live_mut(pid) else { return };
        process.in_flight -= 1;
        if process.in_flight == 0 {
            self.go_on(pid);
        }
    }

    /// Sends the next group of a process, or ends it.
    fn go_on(&mut self, pid: Pid) {
        let Some(process) = self.live_mut(pid) else { return };
        let failed = process.error.is_some();
        match process.left.pop_front().filter(|_| !failed) {
            Some(group) => {
                // Held up by one, so that a group is not done while it is being sent.
                process.in_flight = 1;
                for request in group {
                    self.send_request(pid, request);
                }
                self.piece_done(pid);
            }
            None => self.end(pid),
        }
    }

    fn end(&mut self, pid: Pid) {
        let now = self.now();
        let Some(process) = self.live_mut(pid) else { return };
        process.ended = Some(now);
        let followers = std::mem::take(&mut process.followers);
        let error = process.error.clone();
        if process.detached {
            self.release(pid);
        } else {
            self.finished.push(pid);
        }
        for follower in followers {
            let Some(process) = self.live_mut(follower) else { continue };
            // What was to be there before it is not: it fails as well.
            process.error = process.error.take().or_else(|| error.clone());
            process.waits_for -= 1;
            if process.waits_for == 0 {
                self.go_on(follower);
            }
        }
    }

    fn send_request(&mut self, pid: Pid, request: BlockRequest) {
        match request {
            // Space is free before its discard is sent: who writes to it anew takes it out.
            BlockRequest::Write(run) => drop(self.discards.take(run)),
            BlockRequest::Discard(run) => {
                for left in self.discards.take(run) {
                    self.send_whole(pid, BlockRequest::Discard(left));
                }
                return;
            }
            BlockRequest::Compute(time) => {
                self.compute(pid, time);
                return;
            }
            BlockRequest::Read(_) | BlockRequest::Flush => {}
        }
        self.send_whole(pid, request);
    }

    /// Holds a process up while it computes.
    fn compute(&mut self, pid: Pid, time: Nanos) {
        let Some(process) = self.live_mut(pid) else { return };
        process.in_flight += 1;
        self.ordinal += 1;
        let then = Later::Done(Piece { pid, op: Code::Flush, offset: 0, length: 0 });
        self.later.push(Reverse((self.now().plus(time), self.ordinal, then)));
    }

    fn send_whole(&mut self, pid: Pid, request: BlockRequest) {
        self.count(&request);
        let (op, run) = match request {
            BlockRequest::Read(run) => (Code::Read, run),
            BlockRequest::Write(run) => (Code::Write, run),
            BlockRequest::Discard(run) => (Code::Discard, run),
            BlockRequest::Flush | BlockRequest::Compute(_) => {
                (Code::Flush, Run { offset: 0, length: 0 })
            }
        };
        let most = if op == Code::Discard { u64::MAX } else { self.largest };
        let mut offset = run.offset;
        loop {
            let length = most.min(run.end() - offset);
            let piece = Piece { pid, op, offset, length };
            if let Some(process) = self.live_mut(pid) {
                process.in_flight += 1;
            }
            match (&self.crypt, op) {
                (Some(crypt), Code::Write) if crypt.cost(&piece) > Nanos::ZERO => {
                    let cost = crypt.cost(&piece);
                    self.in_crypt(cost, Later::Send(piece));
                }
                _ => self.send(piece),
            }
            offset += length;
            if offset >= run.end() {
                return;
            }
        }
    }

    fn count(&mut self, request: &BlockRequest) {
        let ledger = &mut self.ledger;
        match request {
            BlockRequest::Read(run) => {
                ledger.reads += 1;
                ledger.read_bytes = ledger.read_bytes.plus(Bytes(run.length));
            }
            BlockRequest::Write(run) => {
                ledger.writes += 1;
                ledger.written_bytes = ledger.written_bytes.plus(Bytes(run.length));
            }
            BlockRequest::Flush => ledger.flushes += 1,
            BlockRequest::Compute(_) => {}
            BlockRequest::Discard(run) => {
                ledger.discarded_bytes = ledger.discarded_bytes.plus(Bytes(run.length));
            }
        }
    }

    fn send(&mut self, piece: Piece) {
        let Some(slot) = self.free_slots.pop() else {
            self.waiting.push_back(piece);
            return;
        };
        self.carried[slot as usize] = piece;
        let op = match piece.op {
            Code::Read => Op::Read,
            Code::Write => Op::Write,
            Code::Flush => Op::Flush,
            Code::Discard => Op::Discard,
        };
        let request = Request {
            slot,
            op,
            offset: Bytes(piece.offset),
            length: Bytes(piece.length),
            durability: Durability::None,
        };
        if let Err(error) = self.device.submit(request) {
            self.free_slots.push(slot);
            if let Some(process) = self.live_mut(piece.pid) {
                process.error.get_or_insert(error);
            }
            self.piece_done(piece.pid);
        }
    }
}

#[cfg(test)]
mod tests {
    use flashlag_device::{RamDevice, Service};

    use super::*;

    #[test]
    fn a_process_is_not_taken_for_the_one_that_had_its_place_before() {
        let device =
            RamDevice::simulated(Bytes::from_mib(1), 1, Bytes::from_kib(4), Service::INSTANT, 1);
        let mut scheduler = Scheduler::new(device, None);
        let first = scheduler.spawn(Plan::new(), &[]);
        assert!(scheduler.take(first).is_some());
        let mut plan = Plan::new();
        plan.then_compute(Nanos(5));
        let second = scheduler.spawn(plan, &[]);
        assert_eq!(first.place, second.place);
        assert!(scheduler.has_ended(first) && !scheduler.has_ended(second));
        assert!(scheduler.take(first).is_none(), "it was taken");
        // The first's end is told late: it is not the second's.
        assert_eq!(scheduler.step(Nanos(1)), [first]);
        assert_eq!(scheduler.step(Nanos(100)), [second]);
        assert_eq!(scheduler.take(second).map(Result::unwrap), Some(Nanos(5)));
    }
}
