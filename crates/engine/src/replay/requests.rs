//! The loop that replays block requests.

use std::sync::atomic::Ordering;

use flashlag_device::{
    Clock, Completion, Device, DeviceError, Durability, Op, Request, WaitMeter, WaitReading,
};
use flashlag_spec::replay::{ReplayCall, ReplayOp, ReplayPace};
use flashlag_stats::OpTimes;
use flashlag_units::{Bytes, Nanos};
use flashlag_workload::Payload;

use super::job::{ReplayJob, ReplayOutcome, ReplayWatch};
use super::parts::{LOOK_UP, Meter, Parts};
use crate::drive::EndReason;

/// A request in flight in a slot.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    index: usize,
    intended: Option<Nanos>,
    reading: Option<WaitReading>,
}

struct Requests<'a, D, M> {
    device: &'a mut D,
    job: &'a ReplayJob<'a>,
    start: Nanos,
    parts: Parts,
    meter: Meter<&'a M>,
    payload: Payload,
    slots: Vec<Option<UnderWay>>,
    in_flight: u32,
    next: usize,
    completed: Vec<Completion>,
    written: Bytes,
    read: Bytes,
    out_of_budget: bool,
}

/// Replays block requests on a device of at least the stream's span, whose buffers hold the largest
/// request. Requests that don't fit the device's alignment are widened to it.
pub fn drive_requests<D: Device, M: WaitMeter>(
    device: &mut D,
    job: &ReplayJob<'_>,
    watch: &mut ReplayWatch<'_, M>,
) -> ReplayOutcome {
    let slots = device.geometry().slots.max(1).min(job.replay.queue_depth.max(1)) as usize;
    let meter = Meter::new(&watch.meter, device.clock());
    let start = device.clock().now();
    let mut requests = Requests {
        parts: Parts::new(job, start, watch.live.clone(), false),
        meter,
        payload: Payload::new(job.seed),
        device,
        job,
        start,
        slots: vec![None; slots],
        in_flight: 0,
        next: 0,
        completed: Vec::with_capacity(slots),
        written: Bytes::ZERO,
        read: Bytes::ZERO,
        out_of_budget: false,
    };
    let mut ended = loop {
        if watch.stop.load(Ordering::Relaxed) {
            break EndReason::Stopped;
        }
        match requests.turn(watch) {
            Ok(true) => {}
            Ok(false) => break EndReason::Limit,
            Err(error) => break EndReason::from_error(error),
        }
    };
    if let Err(error) = requests.drain()
        && ended.error().is_none()
    {
        ended = EndReason::from_error(error);
    }
    requests.finish(ended)
}

/// Whether another request may begin.
enum Next {
    Now(Option<Nanos>),
    At(Nanos),
    /// Only after another request has completed.
    Later,
    Never,
}

impl<D: Device, M: WaitMeter> Requests<'_, D, M> {
    fn turn(&mut self, watch: &ReplayWatch<'_, M>) -> Result<bool, DeviceError> {
        let until = loop {
            match self.next() {
                Next::Now(intended) => self.begin(intended, watch)?,
                Next::At(time) => break Some(time),
                Next::Later => break None,
                Next::Never if self.in_flight == 0 => return Ok(false),
                Next::Never => break None,
            }
        };
        match until {
            None => self.device.reap(1, &mut self.completed)?,
            Some(time) => {
                self.device.reap(0, &mut self.completed)?;
                if self.completed.is_empty() {
                    self.wait_until(time);
                    self.device.reap(0, &mut self.completed)?;
                }
            }
        }
        self.take_completed().map(|()| true)
    }

    fn next(&self) -> Next {
        let Some(op) = self.job.stream.ops.get(self.next).filter(|_| !self.out_of_budget) else {
            return Next::Never;
        };
        let intended = self.job.replay.due(op.at).map(|due| self.start.plus(due));
        if let Some(intended) = intended.filter(|time| *time > self.device.clock().now()) {
            return Next::At(intended);
        }
        let most = match self.job.replay.pace {
            ReplayPace::Own => self.slots.len() as u32,
            ReplayPace::Flat => op.depth.clamp(1, self.slots.len() as u32),
        };
        if self.in_flight < most { Next::Now(intended) } else { Next::Later }
    }

    fn wait_until(&mut self, time: Nanos) {
        let until = time.min(self.device.clock().now().plus(LOOK_UP));
        if self.in_flight > 0 {
            return self.device.wait_until(until);
        }
        let device = std::cell::RefCell::new(&mut *self.device);
        let clock = DeviceClock(&device);
        self.meter.idle(&clock, || device.borrow_mut().wait_until(until));
    }

    fn begin(
        &mut self,
        intended: Option<Nanos>,
        watch: &ReplayWatch<'_, M>,
    ) -> Result<(), DeviceError> {
        let index = self.next;
        let op = self.job.stream.ops[index];
        let Some(slot) = self.slots.iter().position(Option::is_none) else { return Ok(()) };
        let Some(mut request) = self.request(&op, slot as u32) else {
            self.next += 1;
            return Ok(());
        };
        let writes = request.op == Op::Write;
        if writes && watch.budget.as_ref().is_some_and(|budget| !budget.take(request.length)) {
            self.out_of_budget = true;
            return Ok(());
        }
        self.next += 1;
        match request.op {
            Op::Write => self.written = self.written.plus(request.length),
            Op::Read => self.read = self.read.plus(request.length),
            Op::Flush | Op::Discard => {}
        }
        if writes && self.device.geometry().keeps_data {
            let buffer = &mut self.device.buffer(slot as u32)[..request.length.0 as usize];
            self.payload.fill(buffer, request.offset, index as u32);
        }
        if request.op == Op::Flush {
            (request.offset, request.length) = (Bytes::ZERO, Bytes::ZERO);
        }
        let now = self.device.clock().now();
        let reading = self.meter.before(now, self.device.clock());
        self.slots[slot] = Some(UnderWay { index, intended, reading });
        let submitted = self.device.submit(request);
        match submitted {
            Ok(()) => self.in_flight += 1,
            Err(_) => self.slots[slot] = None,
        }
        submitted
    }

    /// The request of an operation, aligned as the device needs it; `None` for a system call.
    fn request(&self, op: &ReplayOp, slot: u32) -> Option<Request> {
        let kind = match op.call {
            ReplayCall::BlockRead => Op::Read,
            ReplayCall::BlockWrite | ReplayCall::BlockWriteDurable => Op::Write,
            ReplayCall::BlockFlush => Op::Flush,
            ReplayCall::BlockDiscard => Op::Discard,
            _ => return None,
        };
        let geometry = self.device.geometry();
        let grain = geometry.alignment.0.max(1);
        let begin = op.offset - op.offset % grain;
        let end = (op.offset + op.bytes).next_multiple_of(grain).min(geometry.size.0);
        let durable = op.call == ReplayCall::BlockWriteDurable;
        Some(Request {
            slot,
            op: kind,
            offset: Bytes(begin),
            length: Bytes(end.saturating_sub(begin)),
            durability: if durable { Durability::Write } else { Durability::None },
        })
    }

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
        let Some(one) = self.slots[done.slot as usize].take() else { return done.result };
        self.in_flight -= 1;
        done.result?;
        let op = &self.job.stream.ops[one.index];
        let kind = op.call.kind();
        let bytes = Bytes(if op.call.moves() { op.bytes } else { 0 });
        let (started, ended) = (done.started, done.ended);
        let intended = one.intended.map(|intended| intended.min(started));
        let times = OpTimes { intended, started, flush_from: None, ended, bytes };
        let waited = self.device.waited(done.slot);
        let stalled = self.parts.record(kind, times, waited, op.took);
        let clock = self.device.clock();
        let split = one.reading.and_then(|from| self.meter.after(from, times, stalled, clock));
        if stalled {
            self.parts.record_stall(kind, times, split.map(|(split, _)| split));
        }
        if let Some((split, true)) = split {
            self.parts.record_wait(kind, ended.since(started), split);
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<(), DeviceError> {
        while self.in_flight > 0 {
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
        let left = self.job.stream.ops.len().saturating_sub(self.next) as u64;
        let (written, read, out_of_budget) = (self.written, self.read, self.out_of_budget);
        ReplayOutcome { parts, elapsed, time, written, read, left, ended, out_of_budget }
    }
}

/// The clock of a device that is borrowed mutably in the meantime.
struct DeviceClock<'a, 'b, D>(&'a std::cell::RefCell<&'b mut D>);

impl<D: Device> Clock for DeviceClock<'_, '_, D> {
    fn now(&self) -> Nanos {
        self.0.borrow().clock().now()
    }

    fn pass_until(&self, time: Nanos) {
        self.0.borrow_mut().wait_until(time);
    }
}
