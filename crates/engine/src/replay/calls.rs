//! The loop that replays system calls.

use std::sync::atomic::Ordering;

use flashlag_device::{Call, CallDevice, CallRequest, Clock, Completion, DeviceError, WaitMeter};
use flashlag_spec::replay::{ReplayCall, ReplayKind, ReplayOp};
use flashlag_stats::OpTimes;
use flashlag_units::{Bytes, Nanos};

use super::job::{ReplayJob, ReplayOutcome, ReplayWatch};
use super::parts::{LOOK_UP, Meter, Parts, Saves};
use crate::drive::EndReason;

/// The operations of one thread of a trace.
#[derive(Debug)]
struct Lane {
    /// Indices of its operations, and the next of them.
    ops: Vec<u32>,
    next: usize,
    /// The operation under way.
    under_way: Option<UnderWay>,
    saves: Saves,
}

#[derive(Clone, Copy, Debug)]
struct UnderWay {
    index: u32,
    intended: Option<Nanos>,
    reading: Option<flashlag_device::WaitReading>,
}

impl Lane {
    fn of(job: &ReplayJob<'_>, thread: u32) -> Lane {
        let ops = (0u32..).zip(&job.stream.ops).filter(|(_, op)| op.thread == thread);
        let of_thread =
            |index: u32| job.stream.ops.get(index as usize).is_some_and(|op| op.thread == thread);
        let saves = job.stream.saves.iter().filter(|save| of_thread(save.first)).copied();
        Lane {
            ops: ops.map(|(index, _)| index).collect(),
            next: 0,
            under_way: None,
            saves: Saves::new(saves.collect()),
        }
    }
}

struct Calls<'a, D, M> {
    device: &'a mut D,
    job: &'a ReplayJob<'a>,
    lanes: Vec<Lane>,
    start: Nanos,
    parts: Parts,
    meter: Meter<&'a M>,
    completed: Vec<Completion>,
    written: Bytes,
    read: Bytes,
    out_of_budget: bool,
}

/// Replays the calls of the threads of a trace from `first` on, as many as the device has: slot 0 of the
/// device is the thread `first`. Time counts from `start`, or from now.
pub fn drive_calls<D: CallDevice, M: WaitMeter>(
    device: &mut D,
    job: &ReplayJob<'_>,
    threads: std::ops::Range<u32>,
    start: Option<Nanos>,
    watch: &mut ReplayWatch<'_, M>,
) -> ReplayOutcome {
    let aligned = start.is_some();
    let meter = Meter::new(&watch.meter, device.clock());
    let start = start.unwrap_or_else(|| device.clock().now());
    let mut calls = Calls {
        lanes: threads.map(|thread| Lane::of(job, thread)).collect(),
        parts: Parts::new(job, start, watch.live.clone(), aligned),
        meter,
        device,
        job,
        start,
        completed: Vec::new(),
        written: Bytes::ZERO,
        read: Bytes::ZERO,
        out_of_budget: false,
    };
    let mut ended = loop {
        if watch.stop.load(Ordering::Relaxed) {
            break EndReason::Stopped;
        }
        match calls.turn(watch) {
            Ok(true) => {}
            Ok(false) => break EndReason::Limit,
            Err(error) => break EndReason::from_error(error),
        }
    };
    if let Err(error) = calls.drain()
        && ended.error().is_none()
    {
        ended = EndReason::from_error(error);
    }
    calls.finish(ended)
}

impl<D: CallDevice, M: WaitMeter> Calls<'_, D, M> {
    /// Begins every operation that can begin, waits for a completion or the next start, and records
    /// the completions. `false` once no operation is left.
    fn turn(&mut self, watch: &ReplayWatch<'_, M>) -> Result<bool, DeviceError> {
        let mut next: Option<Nanos> = None;
        let mut busy = false;
        for lane in 0..self.lanes.len() {
            if self.lanes[lane].under_way.is_some() {
                busy = true;
                continue;
            }
            let Some(index) = self.peek(lane) else { continue };
            let op = self.job.stream.ops[index as usize];
            let intended = self.job.replay.due(op.at).map(|due| self.start.plus(due));
            if let Some(intended) = intended.filter(|time| *time > self.device.clock().now()) {
                next = Some(next.map_or(intended, |first| first.min(intended)));
                continue;
            }
            busy |= self.begin(lane, index, &op, intended, watch)?;
        }
        if let Some(time) = next {
            self.device.reap(0, &mut self.completed)?;
            if self.completed.is_empty() {
                self.wait_until(time, busy);
                self.device.reap(0, &mut self.completed)?;
            }
        } else if busy {
            self.device.reap(1, &mut self.completed)?;
        } else {
            return Ok(false);
        }
        self.take_completed()?;
        Ok(true)
    }

    /// The next operation of a lane, unless the budget is used up.
    fn peek(&self, lane: usize) -> Option<u32> {
        let lane = &self.lanes[lane];
        lane.ops.get(lane.next).copied().filter(|_| !self.out_of_budget)
    }

    fn wait_until(&mut self, time: Nanos, busy: bool) {
        let until = time.min(self.device.clock().now().plus(LOOK_UP));
        if busy {
            self.device.wait_until(until);
            return;
        }
        // The device's clock, which in virtual time advances by itself.
        let device = std::cell::RefCell::new(&mut *self.device);
        let clock = DeviceClock(&device);
        self.meter.idle(&clock, || device.borrow_mut().wait_until(until));
    }

    /// Begins an operation. Returns whether its lane is busy.
    fn begin(
        &mut self,
        lane: usize,
        index: u32,
        op: &ReplayOp,
        intended: Option<Nanos>,
        watch: &ReplayWatch<'_, M>,
    ) -> Result<bool, DeviceError> {
        let writes = op.call.kind() == ReplayKind::Write;
        let bytes = Bytes(if op.call.moves() { op.bytes } else { 0 });
        if writes && watch.budget.as_ref().is_some_and(|budget| !budget.take(bytes)) {
            self.out_of_budget = true;
            return Ok(false);
        }
        self.lanes[lane].next += 1;
        let Some(call) = call_of(op) else { return Ok(true) };
        let now = self.device.clock().now();
        let reading = self.meter.before(now, self.device.clock());
        self.lanes[lane].under_way = Some(UnderWay { index, intended, reading });
        if writes {
            self.written = Bytes(self.written.0.saturating_add(bytes.0));
        } else {
            self.read = Bytes(self.read.0.saturating_add(bytes.0));
        }
        let submitted = self.device.submit(CallRequest { slot: lane as u32, file: op.file, call });
        if submitted.is_err() {
            self.lanes[lane].under_way = None;
        }
        submitted.map(|()| true)
    }

    /// Records all completions; the first error ends the replay, after all completions are taken.
    fn take_completed(&mut self) -> Result<(), DeviceError> {
        let mut failed = Ok(());
        let mut completed = std::mem::take(&mut self.completed);
        for done in completed.drain(..) {
            let taken = self.take(done);
            if failed.is_ok() {
                failed = taken;
            }
        }
        self.completed = completed;
        failed
    }

    fn take(&mut self, done: Completion) -> Result<(), DeviceError> {
        let lane = done.slot as usize;
        let Some(one) = self.lanes[lane].under_way.take() else { return done.result };
        done.result?;
        let op = self.job.stream.ops[one.index as usize];
        let bytes = Bytes(if op.call.moves() { op.bytes } else { 0 });
        let (intended, started, ended) = (one.intended, done.started, done.ended);
        // A call that began on time by the clock may have begun a moment before it was due.
        let intended = intended.map(|intended| intended.min(started));
        let times = OpTimes { intended, started, flush_from: None, ended, bytes };
        let waited = self.device.waited(done.slot);
        if op.call.is_recorded() {
            let kind = op.call.kind();
            let stalled = self.parts.record(kind, times, waited, op.took);
            let clock = self.device.clock();
            let split = one.reading.and_then(|from| self.meter.after(from, times, stalled, clock));
            if stalled {
                self.parts.record_stall(kind, times, split.map(|(split, _)| split));
            }
            if let Some((split, true)) = split {
                self.parts.record_wait(kind, ended.since(started), split);
            }
        }
        self.lanes[lane].saves.ended(one.index, &op, times, waited, &mut self.parts);
        Ok(())
    }

    /// Waits for the operations in flight.
    fn drain(&mut self) -> Result<(), DeviceError> {
        while self.lanes.iter().any(|lane| lane.under_way.is_some()) {
            self.device.reap(1, &mut self.completed)?;
            if self.completed.is_empty() {
                break;
            }
            self.take_completed()?;
        }
        Ok(())
    }

    fn finish(mut self, ended: EndReason) -> ReplayOutcome {
        let time = self.meter.split(self.device.clock());
        let (parts, elapsed) = self.parts.finish(self.device.clock().now());
        let left = self.lanes.iter().map(|lane| (lane.ops.len() - lane.next) as u64).sum();
        let (written, read, out_of_budget) = (self.written, self.read, self.out_of_budget);
        ReplayOutcome { parts, elapsed, time, written, read, left, ended, out_of_budget }
    }
}

/// The clock of a device that is borrowed mutably in the meantime.
struct DeviceClock<'a, 'b, D>(&'a std::cell::RefCell<&'b mut D>);

impl<D: CallDevice> Clock for DeviceClock<'_, '_, D> {
    fn now(&self) -> Nanos {
        self.0.borrow().clock().now()
    }

    fn pass_until(&self, time: Nanos) {
        self.0.borrow_mut().wait_until(time);
    }
}

/// The call of an operation; `None` of a block request.
fn call_of(op: &ReplayOp) -> Option<Call> {
    let (offset, length) = (Bytes(op.offset), Bytes(op.bytes));
    Some(match op.call {
        ReplayCall::Open => Call::Open { create: false, truncate: false },
        ReplayCall::Create => Call::Open { create: true, truncate: false },
        ReplayCall::CreateEmpty => Call::Open { create: true, truncate: true },
        ReplayCall::Close => Call::Close,
        ReplayCall::Read => Call::Read { offset, length },
        ReplayCall::Write => Call::Write { offset, length },
        ReplayCall::Sync => Call::Sync { data_only: false },
        ReplayCall::SyncData => Call::Sync { data_only: true },
        ReplayCall::SyncDirectory => Call::SyncDirectory,
        ReplayCall::SyncAll => Call::SyncAll,
        ReplayCall::Truncate => Call::Truncate(length),
        ReplayCall::Unlink => Call::Unlink,
        ReplayCall::Rename => Call::Rename { to: u32::try_from(op.offset).ok()? },
        ReplayCall::BlockRead
        | ReplayCall::BlockWrite
        | ReplayCall::BlockWriteDurable
        | ReplayCall::BlockFlush
        | ReplayCall::BlockDiscard => return None,
    })
}
