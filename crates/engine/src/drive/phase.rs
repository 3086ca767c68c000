use std::sync::atomic::Ordering;

use flashlag_device::{
    Clock, Completion, Device, DeviceError, Durability, Geometry, Op, Request, WaitMeter,
    WaitReading, WaitSampler, WaitWindow,
};
use flashlag_schema::scenario::IoOperation;
use flashlag_stats::{OpTimes, Recorder, RecorderConfig};
use flashlag_units::{Bytes, Nanos};
use flashlag_workload::{Addresses, Arrivals, Payload};

use super::job::{Driven, Ended, Job, STRETCH, Watch};
use super::verify::Generations;
use crate::files::run_one;

/// Does `job` on `device` until a limit, an error, or a word from `watch`.
///
/// The payload is that of [`Payload::new`] with the job's seed; the generation of a block is the
/// number of the operation that wrote it, from 1.
pub fn drive<D: Device, M: WaitMeter>(
    device: &mut D,
    job: &Job,
    watch: &mut Watch<'_, M>,
) -> Driven {
    let (mut live, mut enough, mut temperature) =
        (watch.live.take(), watch.enough.take(), watch.temperature.take());
    let geometry = device.geometry();
    let sampler = WaitSampler::new(&watch.meter, device.clock());
    let start = device.clock().now();
    let mut phase = Phase::new(device, job, geometry, sampler, start);
    if job.limits.warmup.is_none() {
        phase.count_from(start, live.take());
    }
    let ended = loop {
        if watch.stop.load(Ordering::Relaxed) {
            break Ended::Stopped;
        }
        if let Some(filled) = watch.filled {
            phase.recorder.set_filled(filled.get());
        }
        match phase.turn() {
            Ok(true) => {}
            Ok(false) => break Ended::Limit,
            Err(error) => break Ended::from_error(error),
        }
        if phase.warming_up() {
            let warm = job.limits.warmup.unwrap_or_default();
            if phase.now.since(start) >= warm {
                phase.count_from(phase.now, live.take());
            }
        } else if phase.interval_ended() {
            if let Some(read) = &mut temperature
                && let Some(millicelsius) = read()
            {
                phase.recorder.set_temperature(millicelsius);
            }
            if let Some(enough) = &mut enough
                && enough(phase.recorder.intervals())
            {
                break Ended::Enough;
            }
        }
    };
    if let Some(filled) = watch.filled {
        phase.recorder.set_filled(filled.get());
    }
    phase.finish(ended, watch)
}

/// What the loop knows of a request in flight.
#[derive(Clone, Copy, Debug)]
struct Pending {
    intended: Option<Nanos>,
    /// The last reading of the meter when it was handed over.
    reading: Option<WaitReading>,
    /// Whether that reading was taken for this request.
    sampled: bool,
    block: u64,
    generation: u32,
}

/// The block of a free slot.
const NO_BLOCK: u64 = u64::MAX;
const NOTHING: Pending =
    Pending { intended: None, reading: None, sampled: false, block: NO_BLOCK, generation: 0 };

struct Phase<'a, D, M> {
    device: &'a mut D,
    job: &'a Job,
    op: Op,
    keeps_data: bool,
    payload: Payload,
    addresses: Addresses,
    arrivals: Option<Arrivals>,
    period: Nanos,
    recorder: Recorder,
    sampler: WaitSampler<&'a M>,
    generations: Option<Generations>,
    free: Vec<u32>,
    pending: Vec<Pending>,
    completed: Vec<Completion>,
    depth: u32,
    /// The latest time known from the device's clock.
    now: Nanos,
    /// When counting began; `None` during the warm-up.
    counted_from: Option<Nanos>,
    first_reading: Option<WaitReading>,
    /// Operations issued since counting began.
    issued: u64,
    max_ops: u64,
    generation: u32,
    moved: Bytes,
    intervals_seen: usize,
}

/// Whether another operation may begin.
enum Next {
    Now(Option<Nanos>),
    At(Nanos),
    Never,
}

impl<'a, D: Device, M: WaitMeter> Phase<'a, D, M> {
    fn new(
        device: &'a mut D,
        job: &'a Job,
        geometry: Geometry,
        sampler: WaitSampler<&'a M>,
        start: Nanos,
    ) -> Phase<'a, D, M> {
        let depth = job.queue_depth.clamp(1, geometry.slots.max(1));
        let op = match job.operation {
            IoOperation::Read => Op::Read,
            IoOperation::Write => Op::Write,
        };
        let span = job.span.min(geometry.size);
        let addresses = Addresses::new(job.pattern, job.block, span, job.seed);
        let arrivals = Arrivals::new(&job.arrivals, start, job.seed ^ ARRIVALS_STREAM);
        let verifies = job.verify && op == Op::Write && geometry.keeps_data;
        let by_bytes = job.limits.bytes.map(|bytes| (bytes.0 / job.block.0.max(1)).max(1));
        Phase {
            op,
            keeps_data: geometry.keeps_data,
            payload: Payload::new(job.seed),
            period: arrivals.as_ref().map(Arrivals::period).unwrap_or_default(),
            arrivals,
            recorder: recorder(job, start, None),
            sampler,
            generations: verifies.then(|| Generations::new(addresses.blocks())),
            addresses,
            free: (0..depth).rev().collect(),
            pending: vec![NOTHING; geometry.slots.max(1) as usize],
            completed: Vec::with_capacity(geometry.slots.max(1) as usize),
            depth,
            now: start,
            counted_from: None,
            first_reading: None,
            issued: 0,
            max_ops: by_bytes.unwrap_or(u64::MAX),
            generation: 0,
            moved: Bytes::ZERO,
            intervals_seen: 0,
            device,
            job,
        }
    }

    fn warming_up(&self) -> bool {
        self.counted_from.is_none()
    }

    /// Everything from here on counts. Operations in flight began before and do not.
    fn count_from(&mut self, now: Nanos, live: Option<std::sync::Arc<flashlag_stats::live::Live>>) {
        self.recorder = recorder(self.job, now, live);
        self.first_reading = self.sampler.read(self.device.clock());
        self.counted_from = Some(now);
        self.issued = 0;
        self.intervals_seen = 0;
        self.now = now;
    }

    #[inline]
    fn interval_ended(&mut self) -> bool {
        let count = self.recorder.intervals().len();
        let ended = count != self.intervals_seen;
        self.intervals_seen = count;
        ended
    }

    #[inline]
    fn in_flight(&self) -> u32 {
        self.depth - self.free.len() as u32
    }

    /// Issues what can begin, waits for a completion or the next start, and records what has
    /// completed. `false` once nothing more may begin and nothing is in flight.
    #[inline]
    fn turn(&mut self) -> Result<bool, DeviceError> {
        let mut wait_until = None;
        while !self.free.is_empty() {
            match self.next() {
                Next::Now(intended) => self.issue(intended)?,
                Next::At(time) => {
                    wait_until = Some(time);
                    break;
                }
                Next::Never => break,
            }
        }
        let in_flight = self.in_flight();
        if let Some(time) = wait_until {
            self.device.reap(0, &mut self.completed)?;
            if self.completed.is_empty() {
                self.device.wait_until(time);
            }
        } else if in_flight > 0 {
            self.device.reap(1, &mut self.completed)?;
        } else {
            return Ok(false);
        }
        self.take_completed().map(|()| true)
    }

    /// Whether and when the next operation may begin.
    #[inline]
    fn next(&mut self) -> Next {
        if self.issued >= self.max_ops {
            return Next::Never;
        }
        let Some(intended) = self.arrivals.as_ref().map(Arrivals::peek) else {
            return if self.time_is_up(self.now) { Next::Never } else { Next::Now(None) };
        };
        self.now = self.device.clock().now();
        if intended > self.now {
            return if self.time_is_up(intended) { Next::Never } else { Next::At(intended) };
        }
        if self.time_is_up(self.now) {
            return Next::Never;
        }
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.next_time();
        }
        if self.now.since(intended) > self.period && self.counted_from.is_some() {
            self.recorder.miss_slots(1);
        }
        Next::Now(Some(intended))
    }

    /// Whether nothing may begin at `time` any more.
    #[inline]
    fn time_is_up(&self, time: Nanos) -> bool {
        let (Some(from), Some(limit)) = (self.counted_from, self.job.limits.time) else {
            return false;
        };
        let elapsed = time.since(from);
        if elapsed < limit {
            return false;
        }
        let enough = self.job.limits.min_ops.is_none_or(|ops| self.issued >= ops);
        enough || elapsed.0 >= limit.0.saturating_mul(STRETCH)
    }

    #[inline]
    fn issue(&mut self, intended: Option<Nanos>) -> Result<(), DeviceError> {
        let block = self.addresses.next_block();
        if self.generations.is_some() {
            self.wait_for_block(block)?;
        }
        let Some(slot) = self.free.pop() else { return Ok(()) };
        let offset = Bytes(block * self.job.block.0);
        self.generation = next_generation(self.generation);
        if self.op == Op::Write && self.keeps_data {
            let length = self.job.block.0 as usize;
            let buffer = &mut self.device.buffer(slot)[..length];
            self.payload.fill(buffer, offset, self.generation);
        }
        let sampled = self.sampler.read_if_due(self.now, self.device.clock());
        let reading = self.sampler.last();
        let generation = self.generation;
        self.pending[slot as usize] = Pending { intended, reading, sampled, block, generation };
        let submitted = self.device.submit(Request {
            slot,
            op: self.op,
            offset,
            length: self.job.block,
            durability: self.job.durability,
        });
        if submitted.is_err() {
            self.pending[slot as usize].block = NO_BLOCK;
            self.free.push(slot);
        }
        submitted?;
        self.issued += 1;
        self.moved.0 += self.job.block.0;
        Ok(())
    }

    /// Two writes of one block in flight may end in either order: when everything is to be proved,
    /// the second waits.
    fn wait_for_block(&mut self, block: u64) -> Result<(), DeviceError> {
        while self.pending.iter().any(|pending| pending.block == block) {
            self.device.reap(1, &mut self.completed)?;
            self.take_completed()?;
        }
        Ok(())
    }

    /// Records everything that has completed; the first error ends it, after all are taken.
    #[inline]
    fn take_completed(&mut self) -> Result<(), DeviceError> {
        let mut failed = Ok(());
        let mut completed = std::mem::take(&mut self.completed);
        let Some(last) = completed.last() else {
            self.completed = completed;
            return Ok(());
        };
        self.now = self.now.max(last.ended);
        for done in completed.drain(..) {
            let taken = self.take(done);
            if failed.is_ok() {
                failed = taken;
            }
        }
        self.completed = completed;
        failed
    }

    #[inline]
    fn take(&mut self, done: Completion) -> Result<(), DeviceError> {
        let Completion { slot, started, flush_from, ended, result } = done;
        let Pending { intended, reading, sampled, block, generation } = self.pending[slot as usize];
        self.pending[slot as usize].block = NO_BLOCK;
        self.free.push(slot);
        if let Some(generations) = &mut self.generations {
            match &result {
                Ok(()) => generations.wrote(block, generation),
                Err(_) => generations.failed(block),
            }
        }
        result?;
        let counts = self.counted_from.is_some_and(|from| started >= from);
        if !counts {
            return Ok(());
        }
        let times = OpTimes { intended, started, flush_from, ended, bytes: self.job.block };
        let stalled = self.recorder.record(times);
        if let Some(from) = reading {
            self.split(times, from, sampled, stalled);
        } else if stalled {
            self.recorder.record_stall(times, None);
        }
        Ok(())
    }

    /// Tells where an operation waited: every stall's, every one's that was sampled, and every
    /// one's so long that another reading is due at its end anyway.
    #[inline]
    fn split(&mut self, times: OpTimes, from: WaitReading, sampled: bool, stalled: bool) {
        let latest = self.sampler.last().filter(|last| last.at >= times.ended);
        let to = match latest {
            Some(latest) => latest,
            None => {
                let clock = self.device.clock();
                // A window that is too wide already can't become a sample by reading its end; its
                // reading is better spent before the next operation.
                let tight = WaitWindow { from, to: WaitReading { at: times.ended, ..from } };
                let read = if sampled || stalled {
                    self.sampler.read(clock).is_some()
                } else if tight.is_tight_around(times.ended.since(times.started)) {
                    self.sampler.read_if_due(times.ended, clock)
                } else {
                    false
                };
                match self.sampler.last() {
                    Some(latest) if read => latest,
                    _ => return,
                }
            }
        };
        let latency = times.ended.since(times.started);
        let window = WaitWindow { from, to };
        if stalled {
            self.recorder.record_stall(times, Some(window.split_of(latency)));
        }
        if window.is_tight_around(latency) {
            self.recorder.record_wait(latency, window.split_of(latency));
        }
    }

    /// Waits for what is in flight, flushes, and reads back.
    fn finish(mut self, mut ended: Ended, watch: &Watch<'_, M>) -> Driven {
        while self.in_flight() > 0 {
            let waited = self.device.reap(1, &mut self.completed);
            let nothing = self.completed.is_empty();
            let taken = self.take_completed();
            if let Err(error) = waited.and(taken)
                && ended.error().is_none()
            {
                ended = Ended::from_error(error);
            }
            if nothing {
                break;
            }
        }
        let mut final_flush = None;
        if self.op == Op::Write && self.job.durability == Durability::None && self.moved.0 > 0 {
            match self.flush() {
                Ok(time) => final_flush = Some(time),
                Err(error) if ended.error().is_none() => ended = Ended::from_error(error),
                Err(_) => {}
            }
        }
        let now = self.device.clock().now();
        let time = match (self.first_reading, self.sampler.read(self.device.clock())) {
            (Some(first), Some(last)) => Some(WaitWindow { from: first, to: last }.split()),
            _ => None,
        };
        self.count_unissued(now);
        let verified = self.verify(&ended, watch);
        if self.counted_from.is_none() {
            self.recorder = recorder(self.job, now, None);
        }
        let recorded = self.recorder.finish(now);
        Driven { recorded, time, final_flush, moved: self.moved, ended, verified }
    }

    /// Slots of the schedule whose time came before the phase ended, but which never began.
    fn count_unissued(&mut self, now: Nanos) {
        let (Some(arrivals), Some(from)) = (&mut self.arrivals, self.counted_from) else { return };
        let end = self.job.limits.time.map_or(now, |time| now.min(from.plus(time)));
        let mut slots = 0;
        while self.issued + slots < self.max_ops && arrivals.peek() < end {
            arrivals.next_time();
            slots += 1;
        }
        self.recorder.miss_slots(slots);
    }

    fn flush(&mut self) -> Result<Nanos, DeviceError> {
        let from = self.device.clock().now();
        let flush = Request {
            slot: 0,
            op: Op::Flush,
            offset: Bytes::ZERO,
            length: Bytes::ZERO,
            durability: Durability::None,
        };
        run_one(self.device, flush, &mut self.completed)?;
        Ok(self.device.clock().now().since(from))
    }

    fn verify(&mut self, ended: &Ended, watch: &Watch<'_, M>) -> Option<super::job::Verified> {
        let generations = self.generations.as_ref()?;
        if *ended == Ended::Stopped {
            return None;
        }
        Some(generations.verify(self.device, self.job.block, &self.payload, watch.stop))
    }
}

/// Keeps the arrivals' random numbers apart from the addresses'.
const ARRIVALS_STREAM: u64 = 0x6172_7269_7661_6c73;

fn recorder(
    job: &Job,
    start: Nanos,
    live: Option<std::sync::Arc<flashlag_stats::live::Live>>,
) -> Recorder {
    let (interval, stall_over) = (job.interval, job.stall_over);
    Recorder::new(RecorderConfig { start, interval, stall_over, live })
}

/// Counts from 1 and, after four thousand million operations, from 1 again; leaves out 0 and the
/// largest, which mean "never written" and "unknown".
#[inline]
fn next_generation(generation: u32) -> u32 {
    if generation >= u32::MAX - 1 { 1 } else { generation + 1 }
}
