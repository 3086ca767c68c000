//! The measuring loop of saves.

mod changes;
mod pacing;

use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};

use flashlag_device::{
    Budget, Clock, SchedulerTimes, WaitMeter, WaitReading, WaitSampler, WaitWindow,
};
use flashlag_spec::scenario::Save;
use flashlag_spec::{Downgrade, Reading};
use flashlag_stats::{Histogram, OpTimes, Recorder, RecorderConfig, WaitSplit, Waited};
use flashlag_units::{Bytes, Nanos};
use flashlag_workload::Arrivals;
use rusqlite::Statement as Prepared;

use crate::bound::{most_of_a_save, most_to_close, most_to_prepare};
use crate::clock::PhaseClock;
use crate::content::Content;
use crate::database::{Database, sql_of};
use crate::error::SqliteError;
use crate::growth::Sizes;
use crate::job::{OnInterval, SaveWatch, SavesOutcome, TopUps};
use crate::prepare::PreparedSaves;
use crate::rows::Rows;
use crate::storage::{Storage, written_since};
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

struct Phase<'a, M> {
    save: &'a Save,
    stop: &'a AtomicBool,
    databases: &'a [Database],
    statements: Vec<Prepared<'a>>,
    rows: Rows,
    content: Content,
    sizes: Sizes,
    storage: Rc<dyn Storage>,
    clock: PhaseClock,
    start: Nanos,
    arrivals: Option<Arrivals>,
    sampler: WaitSampler<Option<M>>,
    recorder: Recorder,
    grew: Histogram,
    in_place: Histogram,
    /// Bytes of content per save.
    save_bytes: Bytes,
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

/// What SQLite did instead of atomic writes that the filesystem refused.
fn refused(save: &Save, count: u64) -> Option<Downgrade> {
    (count > 0).then(|| Downgrade {
        requested: format!("atomic writes in {}", save.name),
        effective: format!("{count} refused: those commits used the rollback journal"),
        reason: "the filesystem refused them, as F2FS does when memory or space is short"
            .to_owned(),
    })
}

pub(crate) fn run<M: WaitMeter>(
    prepared: PreparedSaves<'_>,
    watch: SaveWatch<'_, M>,
) -> Result<SavesOutcome, SqliteError> {
    let PreparedSaves { job, storage, databases, rows, content, sizes, written, .. } = prepared;
    let (downgrades, notes) = (prepared.downgrades, prepared.notes);
    let SaveWatch { stop, live, meter, mut on_interval, budget, on_end } = watch;
    let save = job.save;
    let clock = PhaseClock::new(Rc::clone(&storage));
    let sampler = WaitSampler::new(meter, &clock);
    let statements = prepared_statements(save, &databases)?;
    let (interval, stall_over) = (job.interval, job.stall_over);
    let start = Nanos::ZERO;
    let mut phase = Phase {
        save,
        stop,
        databases: &databases,
        statements,
        rows,
        save_bytes: bytes_of_a_save(save, &content),
        content,
        sizes,
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
        storage,
        clock,
    };
    let (storage, budget) = (Rc::clone(&phase.storage), phase.budget.clone());
    // The bytes that closing will write are reserved from the start.
    let to_close = most_to_close(save);
    let keeps_back = budget.as_ref().is_none_or(|budget| budget.take(to_close));
    phase.look_at_sizes()?;
    phase.written_before = phase.storage.written();
    let first_reading = phase.begin(job.seed);
    let ended = if keeps_back { phase.save_all(&mut on_interval) } else { EndReason::OutOfBudget };
    let end = phase.end(first_reading);
    // All readings of the phase are done: time that the callback takes is not counted.
    if let Some(call) = on_end {
        call();
    }
    let mut saved = phase.finish(ended, end);
    let (before, refused_writes) = (storage.written(), storage.refused_atomic_writes());
    drop(databases);
    saved.closed_bytes = bytes_of(&written_since(storage.as_ref(), &before));
    if let Some(budget) = budget.filter(|_| keeps_back) {
        budget.settle(to_close, saved.closed_bytes.value().copied().unwrap_or(to_close));
    }
    saved.prepared_bytes = written;
    saved.downgrades = downgrades;
    saved.downgrades.extend(refused(save, refused_writes));
    saved.notes.extend(notes);
    Ok(saved)
}

/// The statement of a save, prepared for each database.
fn prepared_statements<'a>(
    save: &Save,
    databases: &'a [Database],
) -> Result<Vec<Prepared<'a>>, SqliteError> {
    let prepared = databases.iter().map(|database| {
        let prepared = database.connection.prepare(sql_of(save.statement));
        prepared.map_err(|error| database.failure("prepare", &error))
    });
    prepared.collect()
}

/// Bytes of content that one save inserts, updates or deletes.
fn bytes_of_a_save(save: &Save, content: &Content) -> Bytes {
    let rows = u64::from(save.databases.max(1)) * u64::from(save.statements);
    Bytes(content.row_bytes().0.saturating_mul(rows))
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

impl<M: WaitMeter> Phase<'_, M> {
    /// Starts the phase, after everything it needs was prepared.
    fn begin(&mut self, seed: u64) -> Option<WaitReading> {
        let reading = self.sampler.read(&self.clock);
        self.start = self.clock.now();
        self.arrivals = Arrivals::new(&self.save.arrivals, self.start, seed ^ ARRIVALS_STREAM);
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
        let writes = match written_since(self.storage.as_ref(), &self.written_before) {
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
        if self.rows.run_out() && !self.top_up()? {
            return Ok(Some(EndReason::OutOfBudget));
        }
        let Some(allowed) = self.reserve(most_of_a_save(self.save)) else {
            return Ok(Some(EndReason::OutOfBudget));
        };
        // The rows of a transaction of several statements are bound within it.
        if self.save.statements == 1 {
            let row = self.next_row()?;
            (0..self.databases.len()).try_for_each(|index| self.bind(index, row))?;
        }
        if !self.wait_to_begin(intended, rested) {
            self.settle(allowed);
            return Ok(Some(EndReason::Stopped));
        }
        let now = self.clock.now();
        self.sampler.read_if_due(now, &self.clock);
        let from = self.sampler.last();
        let waited = self.storage.waited();
        let started = self.clock.now();
        match self.save.statements {
            1 => (0..self.databases.len()).try_for_each(|index| self.execute(index))?,
            statements => self.transaction(statements)?,
        }
        let ended = self.clock.now();
        let waited = self
            .storage
            .waited()
            .zip(waited)
            .map(|(now, before)| now.since(&before).scaled_to(ended.since(started)));
        self.last_ended = Some(ended);
        let bytes = self.save_bytes;
        self.settle(allowed);
        let times = OpTimes { intended, started, flush_from: None, ended, bytes };
        self.record(times, from, waited)?;
        Ok(None)
    }

    /// Reserves `most` bytes of the budget, if there is one; `None` if less is left.
    fn reserve(&self, most: Bytes) -> Option<Option<Reservation>> {
        let Some(budget) = &self.budget else { return Some(None) };
        budget.take(most).then(|| {
            let storage = &self.storage;
            let (written, _) = self.clock.pause_if(self.arrivals.is_none(), || storage.written());
            Some(Reservation { most, written })
        })
    }

    /// Returns the part of a reservation that was not written.
    fn settle(&self, allowed: Option<Reservation>) {
        let (Some(budget), Some(Reservation { most, written })) = (&self.budget, allowed) else {
            return;
        };
        let storage = self.storage.as_ref();
        let (since, _) =
            self.clock.pause_if(self.arrivals.is_none(), || written_since(storage, &written));
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
        let Some(allowed) = self.reserve(most_to_prepare(self.save)) else { return Ok(false) };
        let (writes, reading) = (self.storage.written(), self.sampler.read(&self.clock));
        let added = self.rows.add(u64::MAX);
        let (rows, content, databases) =
            (added.end() - added.start() + 1, &mut self.content, self.databases);
        let (done, took) = self.clock.pause(|| {
            databases.iter().try_for_each(|database| database.insert_rows(added.clone(), content))
        });
        done?;
        self.top_ups.count += 1;
        self.top_ups.rows += rows as u64;
        self.top_ups.took = self.top_ups.took.plus(took);
        if let Some(writes) = written_since(self.storage.as_ref(), &writes).value() {
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
        let sizes = &mut self.sizes;
        let (grew, took) = self.clock.pause_if(self.arrivals.is_none(), || sizes.grew());
        self.outside.on_cpu = self.outside.on_cpu.plus(took);
        grew.map_err(|errno| {
            let path = self.databases.first().map(|database| database.path.clone());
            SqliteError::os("find", &path.unwrap_or_default(), errno)
        })
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
            let (storage, before) = (self.storage.as_ref(), &self.written_before);
            let pauses = self.arrivals.is_none();
            let (written, _) = self.clock.pause_if(pauses, || written_since(storage, before));
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
            database_bytes: self.sizes.total(),
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
