//! The measuring loop of saves.

mod pacing;

use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use flashlag_device::{
    Budget, Clock, SchedulerTimes, WaitMeter, WaitReading, WaitSampler, WaitWindow,
};
use flashlag_spec::Reading;
use flashlag_spec::scenario::SavePace;
use flashlag_stats::{Histogram, OpTimes, Recorder, RecorderConfig, WaitSplit, Waited};
use flashlag_units::{Bytes, Nanos};
use flashlag_workload::Arrivals;

use crate::clock::PhaseClock;
use crate::error::SqliteError;
use crate::job::{OnInterval, SaveJob, SaveWatch, SavesOutcome, TopUps};
use crate::saver::Saver;
use crate::storage::{Place, written_since};
use crate::writes::{Writes, bytes_of, calls_of};

/// Factor by which a phase may exceed its time to reach `min_saves`.
const STRETCH: u64 = 4;
/// Number of saves after which a phase ends if virtual time stands still.
const STILL: u64 = 10_000;
/// Interval at which a wait for the schedule checks the stop flag.
const LOOK_UP: Nanos = Nanos::from_millis(100);
/// Separates the random numbers of arrivals from those of contents.
const ARRIVALS_STREAM: u64 = 0x6172_7269_7661_6c73;

/// Reason for the end of the loop.
enum EndReason {
    Limit,
    Stopped,
    Requested(String),
    Failed(SqliteError),
    OutOfBudget,
}

struct Phase<'a, S, M> {
    pace: SavePace,
    stop: &'a AtomicBool,
    saver: S,
    place: Rc<dyn Place>,
    clock: PhaseClock,
    start: Nanos,
    arrivals: Option<Arrivals>,
    sampler: WaitSampler<Option<M>>,
    recorder: Recorder,
    grew: Histogram,
    in_place: Histogram,
    saves: u64,
    intervals: usize,
    /// Sum of waits for the schedule and of think times.
    idle: Nanos,
    /// When the last save ended, and the sum of think times.
    last_ended: Option<Nanos>,
    thought: Nanos,
    /// The scheduler's times during those waits and pauses.
    outside: SchedulerTimes,
    top_ups: TopUps,
    topped_up: Writes,
    /// Bytes written before the phase, for live progress.
    written_before: Reading<Writes>,
    budget: Option<Budget>,
}

/// The tasks of a loop, in addition to its saves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) pace: SavePace,
    pub(crate) seed: u64,
    pub(crate) interval: Nanos,
    pub(crate) stall_over: Nanos,
    /// Whether a save may begin: the budget has what closing will write.
    pub(crate) may_begin: bool,
}

impl Terms {
    pub(crate) fn of<T>(job: &SaveJob<'_, T>, pace: SavePace) -> Terms {
        let SaveJob { seed, interval, stall_over, .. } = *job;
        Terms { pace, seed, interval, stall_over, may_begin: true }
    }
}

/// Saves until something ends the loop. The saver is gone afterwards.
pub(crate) fn run<S: Saver, M: WaitMeter>(
    saver: S,
    place: Rc<dyn Place>,
    terms: Terms,
    watch: SaveWatch<'_, M>,
) -> Result<SavesOutcome, SqliteError> {
    let SaveWatch { stop, live, meter, mut on_interval, budget, on_end } = watch;
    let Terms { pace, interval, stall_over, .. } = terms;
    let clock = PhaseClock::new(Rc::clone(&place));
    let sampler = WaitSampler::new(meter, &clock);
    let start = Nanos::ZERO;
    let mut phase = Phase {
        pace,
        stop,
        saver,
        start,
        arrivals: None,
        sampler,
        recorder: Recorder::new(RecorderConfig { start, interval, stall_over, live }),
        grew: Histogram::new(),
        in_place: Histogram::new(),
        saves: 0,
        intervals: 0,
        idle: Nanos::ZERO,
        last_ended: None,
        thought: Nanos::ZERO,
        outside: SchedulerTimes::default(),
        top_ups: TopUps::default(),
        topped_up: Writes::default(),
        written_before: Reading::default(),
        budget,
        place,
        clock,
    };
    phase.look_at_sizes()?;
    phase.written_before = phase.place.written();
    let first_reading = phase.begin(terms.seed);
    let ended =
        if terms.may_begin { phase.save_all(&mut on_interval) } else { EndReason::OutOfBudget };
    let end = phase.end(first_reading);
    // All readings of the phase are done: time that the callback takes is not counted.
    if let Some(call) = on_end {
        call();
    }
    Ok(phase.finish(ended, end))
}

/// The reservation of a save: bytes from the budget, and what was written before.
struct Reservation {
    most: Bytes,
    written: Reading<Writes>,
}

/// Readings right after the last save.
struct End {
    at: Nanos,
    time: Option<WaitSplit>,
    writes: Reading<Writes>,
}

impl<S: Saver, M: WaitMeter> Phase<'_, S, M> {
    /// Starts the phase, after everything it needs was prepared.
    fn begin(&mut self, seed: u64) -> Option<WaitReading> {
        let reading = self.sampler.read(&self.clock);
        self.start = self.clock.now();
        self.arrivals = Arrivals::new(&self.pace.arrivals, self.start, seed ^ ARRIVALS_STREAM);
        self.recorder.begin_at(self.start);
        reading
    }

    /// Ends the phase: reads the clock first, then the thread's counters.
    fn end(&mut self, first: Option<WaitReading>) -> End {
        let at = self.clock.now();
        let time = first.zip(self.sampler.read(&self.clock)).map(|(first, last)| {
            let on_cpu = last
                .times
                .on_cpu
                .saturating_since(first.times.on_cpu)
                .saturating_since(self.outside.on_cpu);
            let runnable = last.times.runnable.saturating_since(first.times.runnable);
            let elapsed = last.at.since(first.at).since(self.idle);
            WaitSplit::of(elapsed, on_cpu, runnable.saturating_since(self.outside.runnable))
        });
        let writes = match written_since(self.place.as_ref(), &self.written_before) {
            Reading::Value(all) => Reading::Value(all.since(self.topped_up)),
            unavailable => unavailable,
        };
        End { at, time, writes }
    }

    /// Saves until something ends the loop.
    fn save_all(&mut self, on_interval: &mut Option<OnInterval<'_>>) -> EndReason {
        loop {
            match self.turn() {
                Ok(None) => {}
                Ok(Some(ended)) => return ended,
                Err(error) => return EndReason::Failed(error),
            }
            if self.interval_ended()
                && let Some(callback) = on_interval
                && let ControlFlow::Break(reason) = self.call(callback)
            {
                return EndReason::Requested(reason);
            }
        }
    }

    /// Does one save with all that precedes and follows it; returns the reason if the loop ends
    /// instead.
    fn turn(&mut self) -> Result<Option<EndReason>, SqliteError> {
        if self.stop.load(Ordering::Relaxed) {
            return Ok(Some(EndReason::Stopped));
        }
        let intended = self.arrivals.as_ref().map(Arrivals::peek);
        let rested = self.rest_ends();
        let begins = intended.or(rested).unwrap_or_default().max(self.clock.now());
        if self.limit_reached(begins) {
            return Ok(Some(EndReason::Limit));
        }
        if self.time_stands_still() {
            let reason = format!("{} saves took no time at all: they would never end", self.saves);
            return Ok(Some(EndReason::Requested(reason)));
        }
        if self.saver.has_run_out() && !self.top_up()? {
            return Ok(Some(EndReason::OutOfBudget));
        }
        let Some(allowed) = self.reserve(self.saver.most_of_a_save()) else {
            return Ok(Some(EndReason::OutOfBudget));
        };
        self.saver.make_ready(self.saves)?;
        if !self.wait_to_begin(intended, rested) {
            self.settle(allowed);
            return Ok(Some(EndReason::Stopped));
        }
        let now = self.clock.now();
        self.sampler.read_if_due(now, &self.clock);
        let from = self.sampler.last();
        let waited = self.place.waited();
        let started = self.clock.now();
        self.saver.save(self.saves)?;
        let ended = self.clock.now();
        let waited = self
            .place
            .waited()
            .zip(waited)
            .map(|(now, before)| now.since(&before).scaled_to(ended.since(started)));
        self.last_ended = Some(ended);
        let bytes = self.saver.content_of_a_save();
        self.settle(allowed);
        let times = OpTimes { intended, started, flush_from: None, ended, bytes };
        self.record(times, from, waited)?;
        Ok(None)
    }

    /// Reserves `most` bytes of the budget, if there is one; `None` if less is left.
    fn reserve(&self, most: Bytes) -> Option<Option<Reservation>> {
        let Some(budget) = &self.budget else { return Some(None) };
        budget.take(most).then(|| {
            let place = &self.place;
            let (written, _) = self.clock.pause_if(self.arrivals.is_none(), || place.written());
            Some(Reservation { most, written })
        })
    }

    /// Returns the part of a reservation that was not written.
    fn settle(&self, allowed: Option<Reservation>) {
        let (Some(budget), Some(Reservation { most, written })) = (&self.budget, allowed) else {
            return;
        };
        let place = self.place.as_ref();
        let (since, _) =
            self.clock.pause_if(self.arrivals.is_none(), || written_since(place, &written));
        // If writes are not counted, all of it counts as written.
        budget.settle(most, bytes_of(&since).value().copied().unwrap_or(most));
    }

    /// Records a save that was done.
    fn record(
        &mut self,
        times: OpTimes,
        from: Option<WaitReading>,
        waited: Option<Waited>,
    ) -> Result<(), SqliteError> {
        let latency = times.ended.since(times.started);
        let stalled = latency > self.recorder.stall_over();
        let split = from.and_then(|from| self.split(times, from, stalled));
        // Check sizes first: a save to a deleted database does not count.
        if self.look_at_sizes()? {
            self.grew.record(latency)
        } else {
            self.in_place.record(latency)
        }
        self.saves += 1;
        if let Some(waited) = waited {
            self.recorder.set_waited(waited);
        }
        self.recorder.record(times);
        if stalled {
            self.recorder.set_behind(self.clock.paused());
            self.recorder.record_stall(times, split);
        }
        Ok(())
    }

    /// The split of a save's wait: of every stall, and of another save if there was a reading just
    /// before it.
    fn split(&mut self, times: OpTimes, from: WaitReading, stalled: bool) -> Option<WaitSplit> {
        let latency = times.ended.since(times.started);
        let early = times.started.since(from.at).0 <= latency.0 / 16;
        if !stalled && !early {
            return None;
        }
        let window = WaitWindow { from, to: self.sampler.read(&self.clock)? };
        let split = window.split_of(latency);
        if window.is_tight_around(latency) {
            self.recorder.record_wait(latency, split);
        }
        Some(split)
    }

    /// Puts deleted rows back in a pause; `false` if the budget does not allow it.
    fn top_up(&mut self) -> Result<bool, SqliteError> {
        let Some(allowed) = self.reserve(self.saver.most_to_put_back()) else { return Ok(false) };
        let (writes, reading) = (self.place.written(), self.sampler.read(&self.clock));
        let saver = &mut self.saver;
        let (rows, took) = self.clock.pause(|| saver.put_back());
        self.top_ups.count += 1;
        self.top_ups.rows += rows?;
        self.top_ups.took = self.top_ups.took.plus(took);
        if let Some(writes) = written_since(self.place.as_ref(), &writes).value() {
            self.topped_up.bytes += writes.bytes;
            self.topped_up.calls += writes.calls;
        }
        if let (Some(from), Some(to)) = (reading, self.sampler.read(&self.clock)) {
            let (from, to) = (from.times, to.times);
            self.outside.on_cpu = self.outside.on_cpu.plus(to.on_cpu.saturating_since(from.on_cpu));
            self.outside.runnable =
                self.outside.runnable.plus(to.runnable.saturating_since(from.runnable));
        }
        self.settle(allowed);
        // This growth belongs to no save.
        self.look_at_sizes().map(|_| true)
    }

    fn look_at_sizes(&mut self) -> Result<bool, SqliteError> {
        let saver = &mut self.saver;
        let (grew, took) = self.clock.pause_if(self.arrivals.is_none(), || saver.grew());
        self.outside.on_cpu = self.outside.on_cpu.plus(took);
        grew
    }

    /// Calls the callback at the end of an interval.
    fn call(&mut self, callback: &mut OnInterval<'_>) -> ControlFlow<String> {
        let recorder = &mut self.recorder;
        let (decided, took) = self.clock.pause_if(self.arrivals.is_none(), || callback(recorder));
        self.outside.on_cpu = self.outside.on_cpu.plus(took);
        decided
    }

    fn interval_ended(&mut self) -> bool {
        let intervals = self.recorder.intervals().len();
        let ended = intervals != self.intervals;
        self.intervals = intervals;
        if ended && let Some(live) = self.recorder.live() {
            let (place, before) = (self.place.as_ref(), &self.written_before);
            let pauses = self.arrivals.is_none();
            let (written, _) = self.clock.pause_if(pauses, || written_since(place, before));
            live.set_written(written.value().map_or(Bytes::ZERO, |writes| Bytes(writes.bytes)));
        }
        ended
    }

    fn finish(mut self, ended: EndReason, end: End) -> SavesOutcome {
        let End { at, time, writes } = end;
        self.count_unissued(at);
        self.recorder.set_behind(self.clock.paused());
        let mut notes = Vec::new();
        let top_ups = TopUps { page_bytes: Bytes(self.topped_up.bytes), ..self.top_ups };
        if top_ups.count > 0 {
            notes.push(format!(
                "{} deleted rows were put back in {} pauses of {} together, which are in no \
                 figure; that wrote {}",
                top_ups.rows, top_ups.count, top_ups.took, top_ups.page_bytes
            ));
        }
        if let EndReason::Requested(reason) = &ended {
            notes.push(reason.clone());
        }
        let recorded = self.recorder.finish(at);
        SavesOutcome {
            app_bytes: recorded.bytes,
            recorded,
            time,
            thought: self.thought,
            grew: self.grew,
            in_place: self.in_place,
            page_bytes: bytes_of(&writes),
            write_calls: calls_of(&writes),
            database_bytes: self.saver.size(),
            top_ups,
            prepared_bytes: Default::default(),
            closed_bytes: Default::default(),
            out_of_budget: matches!(ended, EndReason::OutOfBudget),
            cut_short: !matches!(ended, EndReason::Limit | EndReason::OutOfBudget),
            error: match ended {
                EndReason::Failed(error) => Some(error),
                _ => None,
            },
            downgrades: Vec::new(),
            notes,
        }
    }
}
