//! The scheduler: carries out several plans concurrently on one device, in virtual time.

pub(crate) mod account;
mod accounting;
mod dispatch;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use flashlag_device::{Clock, Completion, Device, DeviceError, Op, VirtualClock};
use flashlag_spec::profile::StackModel;
use flashlag_stats::Wait;
use flashlag_units::{Nanos, always};

use crate::crypt::Encryption;
use crate::driver::Driver;
use crate::host_queue::{Command, HostQueue, Pid, Piece};
use crate::ledger::Ledger;
use crate::plan::{BlockRequest, Plan, Run};
use crate::ranges::Ranges;
use crate::zone_order::ZoneOrder;

use account::{Account, Accounts};

/// An entry of the process table, reused by one process after another.
#[derive(Debug, Default)]
struct Entry {
    generation: u32,
    process: Option<Process>,
}

/// A plan that is being carried out, group by group.
#[derive(Debug, Default)]
struct Process {
    /// Groups that were not sent yet.
    left: VecDeque<(Wait, Vec<BlockRequest>)>,
    in_flight: u32,
    /// Number of processes that must end before the first group is sent.
    waits_for: u32,
    /// Processes that wait for this one to end.
    followers: Vec<Pid>,
    error: Option<DeviceError>,
    ended: Option<Nanos>,
    /// Number of the process, in the order of their beginnings.
    number: u64,
    /// Whether to free the entry when the process ends, since nobody will take its result.
    detached: bool,
    /// What the process waits for, if waits are accounted.
    account: Option<Box<Account>>,
}

/// The range of a request that has none.
const NOWHERE: Run = Run { offset: 0, length: 0 };

/// An event in the software above the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Send the piece of a write, now encrypted, to the device.
    Send(Piece),
    /// The elevator holds waiting commands back no longer.
    Dispatch,
    /// The driver has issued the command in this slot.
    Issued(u32),
    /// The interrupt handler has completed the command in this slot.
    Completed(u32),
    /// The piece is done: a read is decrypted, or a computation has ended.
    Done(Piece),
}

/// Runs processes side by side over one device.
#[derive(Debug)]
pub(crate) struct Scheduler<D> {
    pub(crate) device: D,
    pub(crate) clock: VirtualClock,
    pub(crate) ledger: Ledger,
    crypt: Option<Encryption>,
    /// When the single encryption thread becomes free.
    crypt_busy: Nanos,
    pub(crate) driver: Driver,
    /// Whether the device supports FUA.
    fua: bool,
    later: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    ordinal: u64,
    table: Vec<Entry>,
    /// Entries of the table without a process.
    vacant: Vec<u32>,
    /// The last command in each of the device's slots.
    carried: Vec<Command>,
    free_slots: Vec<u32>,
    /// Commands that wait for a slot.
    waiting: HostQueue,
    /// The order of writes to zones, if the device has any.
    zones: Option<Box<ZoneOrder>>,
    /// Number of processes so far.
    spawned: u64,
    /// Most bytes of a piece, unless it is a discard.
    largest: u64,
    completions: Vec<Completion>,
    finished: Vec<Pid>,
    /// Free ranges whose discards are not sent yet.
    discards: Ranges,
    /// Requests at the device other than discards, and when the last of them ended.
    in_use: u32,
    last_use: Nanos,
    accounts: Option<Box<Accounts>>,
}

impl<D: Device<Clock = VirtualClock>> Scheduler<D> {
    pub(crate) fn new(device: D, crypt: Option<Encryption>, model: &StackModel) -> Scheduler<D> {
        let geometry = device.geometry();
        let tags = model.tags.map_or(geometry.slots, |tags| tags.clamp(1, geometry.slots));
        let no_process = Pid { index: 0, generation: 0 };
        let nothing = Piece::new(no_process, Op::Flush, NOWHERE, false);
        let largest = model.largest.map_or(geometry.buffer, |most| most.0.min(geometry.buffer));
        let largest = largest.0.max(1);
        let zones = device.zones();
        Scheduler {
            clock: device.clock().clone(),
            zones: zones.map(|zones| Box::new(ZoneOrder::new(&zones))),
            spawned: 0,
            device,
            ledger: Ledger::default(),
            crypt,
            crypt_busy: Nanos::ZERO,
            driver: Driver::new(model),
            fua: model.fua,
            later: BinaryHeap::new(),
            ordinal: 0,
            table: Vec::new(),
            vacant: Vec::new(),
            carried: vec![Command::of(nothing); tags as usize],
            free_slots: (0..tags).rev().collect(),
            waiting: HostQueue::new(largest, model.elevator).with_zones(zones),
            largest,
            completions: Vec::new(),
            finished: Vec::new(),
            discards: Ranges::default(),
            in_use: 0,
            last_use: Nanos::ZERO,
            accounts: None,
        }
    }

    /// Since when no request but discards has been at the device; `None` while there is one.
    pub(crate) fn unused_since(&self) -> Option<Nanos> {
        (self.in_use == 0).then_some(self.last_use)
    }

    pub(crate) fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn process(&self, pid: Pid) -> Option<&Process> {
        let entry = self.table.get(pid.index as usize)?;
        entry.process.as_ref().filter(|_| entry.generation == pid.generation)
    }

    fn process_mut(&mut self, pid: Pid) -> Option<&mut Process> {
        let entry = self.table.get_mut(pid.index as usize)?;
        entry.process.as_mut().filter(|_| entry.generation == pid.generation)
    }

    /// A process that must exist: it has something in flight, or others wait for it.
    fn live_mut(&mut self, pid: Pid) -> Option<&mut Process> {
        let process = self.process_mut(pid);
        always!(process.is_some(), "{pid:?} was forgotten while it had something under way");
        process
    }

    /// Starts a process that carries out a plan after the processes `after` have ended.
    pub(crate) fn spawn(&mut self, plan: Plan, after: &[Pid]) -> Pid {
        // A zone is reset as a whole, after all writes to it and before those that follow.
        if self.zones.is_none() {
            for run in plan.discards() {
                self.discards.add(run);
            }
        }
        let plan = if self.fua { plan } else { plan.without_fua(self.crypt.is_some()) };
        self.spawned += 1;
        let left = plan.into_steps().collect();
        let process = Process { left, number: self.spawned, ..Process::default() };
        let index = self.vacant.pop().unwrap_or_else(|| {
            self.table.push(Entry::default());
            self.table.len() as u32 - 1
        });
        let entry = &mut self.table[index as usize];
        entry.generation = entry.generation.wrapping_add(1);
        entry.process = Some(process);
        let pid = Pid { index, generation: entry.generation };
        self.opened(pid);
        let mut waits_for = 0;
        for before in after.iter().copied().filter(|before| *before != pid) {
            if let Some(process) = self.process_mut(before).filter(|one| one.ended.is_none()) {
                process.followers.push(pid);
                waits_for += 1;
                self.follows(pid, before);
            }
        }
        if waits_for == 0 {
            self.go_on(pid);
        } else if let Some(process) = self.live_mut(pid) {
            process.waits_for = waits_for;
        }
        pid
    }

    /// Frees a process as soon as it ends: nobody will take its result.
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

    /// Takes the result of a process that has ended, and frees the process.
    pub(crate) fn take(&mut self, pid: Pid) -> Option<Result<Nanos, DeviceError>> {
        let ended = self.process(pid)?.ended?;
        let waited = self.waited_of(pid);
        self.was_taken(waited);
        let process = self.release(pid)?;
        Some(process.error.map_or(Ok(ended), Err))
    }

    fn release(&mut self, pid: Pid) -> Option<Process> {
        self.process(pid)?;
        self.vacant.push(pid.index);
        self.table.get_mut(pid.index as usize)?.process.take()
    }

    /// Advances time to the next event, at most to `until`, and returns the processes that ended.
    /// If it returns at `until`, no event was due before.
    pub(crate) fn step(&mut self, until: Nanos) -> Vec<Pid> {
        self.give_up_if_stuck();
        let next = self.later.peek().map_or(Nanos::MAX, |Reverse((time, _, _))| *time);
        if self.finished.is_empty() {
            self.device.wait_until(next.min(until));
        }
        let mut completions = std::mem::take(&mut self.completions);
        // Reaping without waiting can't fail on a device in virtual time.
        let reaped = self.device.reap(0, &mut completions);
        always!(reaped.is_ok(), "a device in virtual time fails to reap: {reaped:?}");
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
                Event::Send(piece) => self.send(piece),
                Event::Dispatch => self.dispatch(),
                Event::Issued(slot) => self.submit(slot),
                Event::Completed(slot) => self.freed(slot),
                Event::Done(piece) => self.piece_done(piece.pid),
            }
        }
        std::mem::take(&mut self.finished)
    }

    fn completed(&mut self, completion: Completion) {
        if let Err(error) = completion.result {
            self.fail(completion.slot, &error);
        }
        self.has_completed(completion.slot);
        match self.driver.complete(self.now()) {
            Some(until) => self.at(until, Event::Completed(completion.slot)),
            None => self.freed(completion.slot),
        }
    }

    /// Passes a command's error to every process that waits for it.
    fn fail(&mut self, slot: u32, error: &DeviceError) {
        let pids: Vec<Pid> = self.carried[slot as usize].pids().collect();
        for pid in pids {
            if let Some(process) = self.live_mut(pid) {
                process.error.get_or_insert_with(|| error.clone());
            }
        }
    }

    /// Continues after a command has completed and its slot is free.
    fn freed(&mut self, slot: u32) {
        let command = &mut self.carried[slot as usize];
        let (first, appended) = command.take_pieces();
        if first.op != Op::Discard {
            self.in_use -= 1;
            self.last_use = self.now();
        }
        if self.accounts.is_some() {
            std::iter::once(&first)
                .chain(&appended)
                .for_each(|piece| self.piece_freed(slot, piece));
        }
        if first.op == Op::Read {
            self.waiting.read_ends(self.now());
        }
        self.free_slots.push(slot);
        self.dispatch();
        self.read_or_written(first);
        for piece in appended {
            self.read_or_written(piece);
        }
    }

    /// Decrypts a piece if it is a read below encryption, and then reports it to its process.
    fn read_or_written(&mut self, piece: Piece) {
        let cost = match (&self.crypt, piece.op) {
            (Some(crypt), Op::Read) => crypt.cost(Op::Read, piece.run.length),
            _ => Nanos::ZERO,
        };
        if cost == Nanos::ZERO {
            self.piece_done(piece.pid);
        } else {
            self.in_crypt(cost, Event::Done(piece));
        }
    }

    /// Queues work for the single thread that encrypts and decrypts.
    fn in_crypt(&mut self, cost: Nanos, then: Event) {
        self.crypt_busy = self.crypt_busy.max(self.now()).plus(cost);
        self.at(self.crypt_busy, then);
    }

    fn at(&mut self, time: Nanos, then: Event) {
        self.ordinal += 1;
        self.later.push(Reverse((time, self.ordinal, then)));
    }

    fn piece_done(&mut self, pid: Pid) {
        let Some(process) = self.live_mut(pid) else { return };
        process.in_flight -= 1;
        if process.in_flight == 0 {
            self.step_done(pid);
            self.go_on(pid);
        }
    }

    /// Sends the next group of a process, or ends the process.
    fn go_on(&mut self, pid: Pid) {
        let Some(process) = self.live_mut(pid) else { return };
        let failed = process.error.is_some();
        match process.left.pop_front().filter(|_| !failed) {
            Some((step, group)) => {
                // One more than is sent, so that the group can't complete while it is being sent.
                process.in_flight = 1;
                self.begins(pid, step);
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
        let waited = self.waited_of(pid);
        let Some(process) = self.live_mut(pid) else { return };
        if process.detached {
            self.release(pid);
        } else {
            self.finished.push(pid);
        }
        for follower in followers {
            let Some(process) = self.live_mut(follower) else { continue };
            // A process fails if one that it waited for has failed.
            process.error = process.error.take().or_else(|| error.clone());
            process.waits_for -= 1;
            if process.waits_for == 0 {
                self.may_begin(follower, pid, waited);
                self.go_on(follower);
            }
        }
    }

    fn send_request(&mut self, pid: Pid, request: BlockRequest) {
        // A write may use free space before its discard is sent: that part must not be discarded.
        if let Some(run) = request.written().filter(|_| self.zones.is_none()) {
            self.discards.take(run);
        }
        match request {
            BlockRequest::Discard(run) if self.zones.is_none() => {
                for left in self.discards.take(run) {
                    self.send_whole(pid, BlockRequest::Discard(left));
                }
                return;
            }
            BlockRequest::Compute(time) => {
                self.compute(pid, time);
                return;
            }
            BlockRequest::Discard(_)
            | BlockRequest::Read(_)
            | BlockRequest::Write(_)
            | BlockRequest::WriteDurable(_)
            | BlockRequest::Flush => {}
        }
        self.send_whole(pid, request);
    }

    /// Delays a process by a time on the CPU.
    fn compute(&mut self, pid: Pid, time: Nanos) {
        let Some(process) = self.live_mut(pid) else { return };
        process.in_flight += 1;
        let then = Event::Done(Piece::new(pid, Op::Flush, NOWHERE, false));
        self.at(self.now().plus(time), then);
    }

    fn send_whole(&mut self, pid: Pid, request: BlockRequest) {
        self.ledger.count(&request);
        let (op, run) = match request {
            BlockRequest::Read(run) => (Op::Read, run),
            BlockRequest::Write(run) | BlockRequest::WriteDurable(run) => (Op::Write, run),
            BlockRequest::Discard(run) => (Op::Discard, run),
            BlockRequest::Flush | BlockRequest::Compute(_) => (Op::Flush, NOWHERE),
        };
        let durable = matches!(request, BlockRequest::WriteDurable(_));
        let most = if op == Op::Discard { u64::MAX } else { self.largest };
        let mut offset = run.offset;
        loop {
            let border = self.zones.as_ref().map_or(u64::MAX, |zones| zones.to_border(offset));
            let length = most.min(run.end() - offset).min(border);
            let piece = Piece::new(pid, op, Run { offset, length }, durable);
            if let Some(process) = self.live_mut(pid) {
                process.in_flight += 1;
            }
            match (&self.crypt, op) {
                (Some(crypt), Op::Write) if crypt.cost(op, length) > Nanos::ZERO => {
                    let cost = crypt.cost(op, length);
                    self.in_crypt(cost, Event::Send(piece));
                }
                _ => self.send(piece),
            }
            offset += length;
            if offset >= run.end() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use flashlag_device::{RamDevice, Service};
    use flashlag_units::Bytes;

    use super::*;

    #[test]
    fn a_process_is_not_taken_for_the_one_that_had_its_entry_before() {
        let device =
            RamDevice::simulated(Bytes::from_mib(1), 1, Bytes::from_kib(4), Service::INSTANT, 1);
        let mut scheduler = Scheduler::new(device, None, &StackModel::default());
        let first = scheduler.spawn(Plan::new(), &[]);
        assert!(scheduler.take(first).is_some());
        let mut plan = Plan::new();
        plan.then_compute(Nanos(5));
        let second = scheduler.spawn(plan, &[]);
        assert_eq!(first.index, second.index);
        assert!(scheduler.has_ended(first) && !scheduler.has_ended(second));
        assert!(scheduler.take(first).is_none(), "it was taken");
        // The first process's late completion is not taken for the second's.
        assert_eq!(scheduler.step(Nanos(1)), [first]);
        assert_eq!(scheduler.step(Nanos(100)), [second]);
        assert_eq!(scheduler.take(second).map(Result::unwrap), Some(Nanos(5)));
    }
}
