mod ending;
mod thinking;

use std::sync::atomic::Ordering;

use flashlag_device::{
    Budget, Clock, Completion, Device, DeviceError, Durability, Geometry, Op, Request, WaitMeter,
    WaitReading, WaitSampler, WaitWindow,
};
use flashlag_stats::OpTimes;
use flashlag_units::{Bytes, Nanos};
use flashlag_workload::Payload;

use super::job::{EndReason, Job, JobOutcome, STRETCH, Temperature, Watch};
use super::lanes::{Lane, blocks_of, lanes};
use super::pending::{NO_BLOCK, NOTHING, Pending, next_generation};
use super::recording::Recording;
use super::rests::Thinking;
use super::together::SharedLimits;
use super::verify::Generations;

/// Runs `job` on `device` until a limit, an error, or until `watch` ends it.
///
/// The payload is that of [`Payload::new`] with the job's seed; the generation of a block is the
/// number of the operation that wrote it, from 1.
pub fn drive<D: Device, M: WaitMeter>(
    device: &mut D,
    job: &Job,
    watch: &mut Watch<'_, M>,
) -> JobOutcome {
    let (mut live, mut enough, mut temperature) =
        (watch.live.take(), watch.enough.take(), watch.temperature.take());
    let geometry = device.geometry();
    let sampler = WaitSampler::new(&watch.meter, device.clock());
    // The threads of a test count from the same moment.
    let start = watch.together.map_or_else(|| device.clock().now(), |all| all.start);
    let mut phase = Phase::new(device, job, geometry, sampler, (start, watch.together));
    phase.budget = watch.budget.clone();
    if job.limits.warmup.is_none() {
        phase.count_from_now(watch.together.map(|_| start), live.take());
        phase.read_temperature(&mut temperature);
    }
    if watch.filled.is_some() {
        let whole = job.limits.bytes.unwrap_or(job.span).min(job.span);
        phase.recording.end_intervals_every(Bytes(whole.0 / LEVELS));
    }
    let ended = loop {
        if watch.stop.load(Ordering::Relaxed) {
            break EndReason::Stopped;
        }
        if let Some(filled) = watch.filled {
            phase.recording.set_filled(filled.get());
        }
        match phase.turn() {
            Ok(true) => {}
            Ok(false) => break EndReason::Limit,
            Err(error) => break EndReason::from_error(error),
        }
        if phase.warming_up() {
            let warm = job.limits.warmup.unwrap_or_default();
            if phase.now.saturating_since(start) >= warm {
                let from = watch.together.map(|_| start.plus(warm));
                phase.count_from_now(from, live.take());
                phase.read_temperature(&mut temperature);
            }
        } else if phase.interval_ended() {
            phase.read_temperature(&mut temperature);
            if let Some(enough) = &mut enough
                && enough(phase.recording.intervals())
            {
                break EndReason::Enough;
            }
        }
    };
    if let Some(filled) = watch.filled {
        phase.recording.set_filled(filled.get());
    }
    phase.finish(ended, watch)
}

/// The series of a fill has at least this many intervals, even if the fill is fast.
const LEVELS: u64 = 128;

struct Phase<'a, D, M> {
    device: &'a mut D,
    job: &'a Job,
    together: Option<&'a SharedLimits>,
    keeps_data: bool,
    payload: Payload,
    lanes: Vec<Lane>,
    period: Nanos,
    recording: Recording,
    sampler: WaitSampler<&'a M>,
    generations: Option<Generations>,
    pending: Vec<Pending>,
    completed: Vec<Completion>,
    in_flight: u32,
    /// The latest reading of the device's clock.
    now: Nanos,
    /// When counting began; `None` during the warm-up.
    counted_from: Option<Nanos>,
    first_reading: Option<WaitReading>,
    thinking: Thinking,
    /// Operations issued since counting began; before, those of the warm-up.
    issued: u64,
    max_ops: u64,
    generation: u32,
    moved: Bytes,
    written: Bytes,
    intervals_seen: usize,
    /// Whether the next operation begins more than a period after its slot of the schedule.
    late: bool,
    budget: Option<Budget>,
    out_of_budget: bool,
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
        (start, together): (Nanos, Option<&'a SharedLimits>),
    ) -> Phase<'a, D, M> {
        let blocks = blocks_of(job, job.span.min(geometry.size));
        let lanes = lanes(job, blocks, geometry.slots.max(1), start);
        let verifies = job.verify && job.operation.writes() && geometry.keeps_data;
        let arrivals = lanes.first().and_then(|lane| lane.arrivals.as_ref());
        Phase {
            together,
            keeps_data: geometry.keeps_data,
            payload: Payload::new(job.seed),
            period: arrivals.map(flashlag_workload::Arrivals::period).unwrap_or_default(),
            recording: Recording::new(job, start, None, together.is_some()),
            sampler,
            generations: verifies.then(|| Generations::new(blocks)),
            lanes,
            pending: vec![NOTHING; geometry.slots.max(1) as usize],
            completed: Vec::with_capacity(geometry.slots.max(1) as usize),
            in_flight: 0,
            now: start,
            counted_from: None,
            first_reading: None,
            thinking: Thinking::default(),
            issued: 0,
            max_ops: job.limits.ops(job.block).unwrap_or(u64::MAX),
            generation: 0,
            moved: Bytes::ZERO,
            written: Bytes::ZERO,
            intervals_seen: 0,
            late: false,
            budget: None,
            out_of_budget: false,
            device,
            job,
        }
    }

    fn warming_up(&self) -> bool {
        self.counted_from.is_none()
    }

    /// Counts everything from now on, or from `shared`, the moment from which all threads of a test
    /// count. Operations in flight began before and do not count. The clock is read last: making a
    /// recorder is no part of the phase.
    fn count_from_now(
        &mut self,
        shared: Option<Nanos>,
        live: Option<std::sync::Arc<flashlag_stats::live::Live>>,
    ) {
        let from = shared.unwrap_or(self.now);
        self.recording = Recording::new(self.job, from, live, self.together.is_some());
        self.first_reading = self.sampler.read(self.device.clock());
        self.thinking = Thinking::default();
        let now = shared.unwrap_or_else(|| self.device.clock().now().max(self.now));
        self.recording.begin_at(now);
        self.counted_from = Some(now);
        if shared.is_none() && self.job.limits.warmup.is_none() {
            // The schedule's first slot is at the first counted moment, and none is before it.
            let delay = now.since(self.now);
            let schedules = self.lanes.iter_mut().filter_map(|lane| lane.arrivals.as_mut());
            schedules.for_each(|arrivals| arrivals.postpone(delay));
        }
        self.issued = 0;
        self.intervals_seen = 0;
        self.now = self.now.max(now);
    }

    /// Reads the temperature for the interval that begins.
    fn read_temperature(&mut self, temperature: &mut Option<Temperature<'_>>) {
        if let Some(millicelsius) = temperature.as_mut().and_then(|read| read()) {
            self.recording.set_temperature(millicelsius);
        }
    }

    #[inline]
    fn interval_ended(&mut self) -> bool {
        let count = self.recording.intervals().len();
        let ended = count != self.intervals_seen;
        self.intervals_seen = count;
        ended
    }

    /// Submits every operation that can begin, waits for a completion or the next start, and
    /// records the completions. `false` once nothing more may begin and nothing is in flight.
    #[inline]
    fn turn(&mut self) -> Result<bool, DeviceError> {
        let mut wait_until: Option<Nanos> = None;
        for lane in 0..self.lanes.len() {
            if self.job.think > Nanos::ZERO
                && let Some(ends) = self.end_rests(lane)
            {
                wait_until = Some(wait_until.map_or(ends, |first| first.min(ends)));
            }
            while !self.lanes[lane].free.is_empty() {
                match self.next(lane) {
                    Next::Now(intended) => self.issue(lane, intended)?,
                    Next::At(time) => {
                        wait_until = Some(wait_until.map_or(time, |first| first.min(time)));
                        break;
                    }
                    Next::Never => break,
                }
            }
        }
        if let Some(time) = wait_until {
            self.device.reap(0, &mut self.completed)?;
            if self.completed.is_empty() && self.job.think > Nanos::ZERO {
                self.think_until(time);
            } else if self.completed.is_empty() {
                self.device.wait_until(time);
            }
        } else if self.in_flight > 0 {
            self.device.reap(1, &mut self.completed)?;
        } else {
            return Ok(false);
        }
        self.take_completed().map(|()| true)
    }

    /// Whether and when the next operation may begin.
    #[inline]
    fn next(&mut self, lane: usize) -> Next {
        if self.all_issued() {
            return Next::Never;
        }
        let arrivals = self.lanes[lane].arrivals.as_ref();
        let Some(intended) = arrivals.map(flashlag_workload::Arrivals::peek) else {
            let may = !self.time_is_up(self.now) && self.takes_one();
            return if may { Next::Now(None) } else { Next::Never };
        };
        self.now = self.device.clock().now();
        if intended > self.now {
            return if self.time_is_up(intended) { Next::Never } else { Next::At(intended) };
        }
        if self.time_is_up(self.now) || !self.takes_one() {
            return Next::Never;
        }
        if let Some(arrivals) = &mut self.lanes[lane].arrivals {
            arrivals.next_time();
        }
        if self.now.since(intended) > self.period && self.counted_from.is_some() {
            self.late = true;
        }
        Next::Now(Some(intended))
    }

    /// Whether the limit in bytes (warm-up not counted) or the budget is used up.
    #[inline]
    fn all_issued(&self) -> bool {
        (self.issued >= self.max_ops && self.counted_from.is_some()) || self.out_of_budget
    }

    /// Takes one of the operations that all threads of the test may do together. Operations of the
    /// warm-up do not count.
    #[inline]
    fn takes_one(&self) -> bool {
        match self.together {
            Some(together) if self.counted_from.is_some() => together.takes_one(),
            _ => true,
        }
    }

    /// Takes the next operation's bytes from the budget.
    #[inline]
    fn affords_another(&self) -> bool {
        self.budget.as_ref().is_none_or(|budget| budget.take(self.job.block))
    }

    /// Whether no operation may begin at `time` or later.
    #[inline]
    fn time_is_up(&self, time: Nanos) -> bool {
        let (Some(from), Some(limit)) = (self.counted_from, self.job.limits.time) else {
            return false;
        };
        let elapsed = time.saturating_since(from);
        if elapsed < limit {
            return false;
        }
        let enough = self.job.limits.min_ops.is_none_or(|ops| self.issued >= ops);
        enough || elapsed.0 >= limit.0.saturating_mul(STRETCH)
    }

    #[inline]
    fn issue(&mut self, lane: usize, intended: Option<Nanos>) -> Result<(), DeviceError> {
        let block = self.lanes[lane].next_block();
        if self.generations.is_some() {
            self.wait_for_block(block)?;
        }
        let reads = self.lanes[lane].next_reads(self.job.operation);
        if std::mem::take(&mut self.late) {
            self.recording.miss_slots(reads, 1);
        }
        if !reads && !self.affords_another() {
            // The budget is used up: nothing more may begin.
            self.out_of_budget = true;
            self.max_ops = self.issued;
            return Ok(());
        }
        let Some(slot) = self.lanes[lane].free.pop() else { return Ok(()) };
        let offset = Bytes(block * self.job.block.0);
        self.generation = next_generation(self.generation);
        if !reads && self.keeps_data {
            let length = self.job.block.0 as usize;
            let buffer = &mut self.device.buffer(slot)[..length];
            self.payload.fill(buffer, offset, self.generation);
        }
        let sampled = self.sampler.read_if_due(self.now, self.device.clock());
        let reading = self.sampler.last();
        let generation = self.generation;
        self.pending[slot as usize] =
            Pending { lane, reads, intended, reading, sampled, block, generation };
        let submitted = self.device.submit(Request {
            slot,
            op: if reads { Op::Read } else { Op::Write },
            offset,
            length: self.job.block,
            durability: if reads { Durability::None } else { self.job.durability },
        });
        if submitted.is_err() {
            self.pending[slot as usize].block = NO_BLOCK;
            self.lanes[lane].free.push(slot);
        }
        submitted?;
        self.in_flight += 1;
        self.issued += 1;
        self.moved.0 += self.job.block.0;
        if !reads {
            self.written.0 += self.job.block.0;
        }
        Ok(())
    }

    /// Two writes in flight to one block may complete in either order: if every byte is to be
    /// verified, the second waits.
    fn wait_for_block(&mut self, block: u64) -> Result<(), DeviceError> {
        while self.pending.iter().any(|pending| pending.block == block) {
            self.device.reap(1, &mut self.completed)?;
            self.take_completed()?;
        }
        Ok(())
    }

    /// Records all completions; the first error ends the phase, after all completions are taken.
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
        let Pending { lane, reads, intended, reading, sampled, block, generation } =
            self.pending[slot as usize];
        self.pending[slot as usize].block = NO_BLOCK;
        match self.job.think {
            Nanos::ZERO => self.lanes[lane].free.push(slot),
            _ => self.lanes[lane].rests.begin(ended, slot),
        }
        self.in_flight -= 1;
        if !reads && let Some(generations) = &mut self.generations {
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
        if let Some(waited) = self.device.waited(slot) {
            self.recording.set_waited(reads, waited);
        }
        let stalled = self.recording.record(reads, times);
        let window = reading.and_then(|from| self.window(times, from, sampled, stalled));
        let latency = times.ended.since(times.started);
        // A stall counts even if the scheduler does not show what it waited for.
        if stalled {
            let split = window.as_ref().map(|window| window.split_of(latency));
            self.recording.record_stall(reads, times, split);
        }
        if let Some(window) = window.filter(|window| window.is_tight_around(latency)) {
            self.recording.record_wait(reads, latency, window.split_of(latency));
        }
        Ok(())
    }

    /// The readings around an operation's wait: taken for every stall, every sampled operation, and
    /// every operation so long that another reading is due at its end anyway.
    #[inline]
    fn window(
        &mut self,
        times: OpTimes,
        from: WaitReading,
        sampled: bool,
        stalled: bool,
    ) -> Option<WaitWindow> {
        let latest = self.sampler.last().filter(|last| last.at >= times.ended);
        let to = match latest {
            Some(latest) => latest,
            None => {
                let clock = self.device.clock();
                // A window that is already too wide can't become a sample by a reading at its end;
                // that reading is better taken before the next operation.
                let tight = WaitWindow { from, to: WaitReading { at: times.ended, ..from } };
                let read = if sampled || stalled {
                    self.sampler.read(clock).is_some()
                } else if tight.is_tight_around(times.ended.since(times.started)) {
                    self.sampler.read_if_due(times.ended, clock)
                } else {
                    false
                };
                self.sampler.last().filter(|_| read)?
            }
        };
        Some(WaitWindow { from, to })
    }
}
