//! One test, measured: block I/O here, saves in `saves`.

use std::sync::Arc;

use flashlag_device::{DeviceError, Shifted, ThreadWaitMeter};
use flashlag_engine::background::MaybeMeter;
use flashlag_engine::{
    AnyDevice, Background, Driven, Ended, FileSet, Heartbeat, Job, OpenOptions, ThreadsWatch,
    Watch, drive, drive_threads, open,
};
use flashlag_inspect::Counters;
use flashlag_schema::scenario::{Io, IoOperation, Pattern, Test, Until};
use flashlag_schema::{Lag, Operation, Phase, State};
use flashlag_stats::Interval;
use flashlag_stats::live::Live;
use flashlag_stats::steady::{Steadiness, steadiness};
use flashlag_units::{Bytes, Nanos};
use flashlag_workload::Payload;

use crate::changes::{UNTIL_STEADY_ROUND, changes_of};
use crate::error::RunError;
use crate::estimate::span_beside;
use crate::execute::Outcome;
use crate::files::FilesError;
use crate::halves::{Half, halves};
use crate::ledger::{Direction, ledger};
use crate::phase::{PhaseHead, PhaseTail, phase};
use crate::prepare::Prepared;
use crate::request::{Event, Observer};
use flashlag_trust::Verification;

/// Width of an interval at first: a tenth of the shortest test, and four a second on the screen.
pub(crate) const INTERVAL: Nanos = Nanos::from_millis(250);
/// A wait longer than one frame at 60 Hz is listed as a stall, with its cause.
pub(crate) const STALL_OVER: Nanos = Lag::FRAME_60HZ;

impl Prepared {
    pub(crate) fn measure(
        &mut self,
        test: &Test,
        state: State,
        run: u32,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, RunError> {
        if let Err(error) = self.files.check_present() {
            return failed_before(error.into());
        }
        let outcome = match test {
            Test::Io(io) => self.measure_io(io, state, run, observer),
            Test::Save(save) => self.measure_save(save, state, run, observer),
        };
        Ok(self.if_present(outcome?))
    }

    fn measure_io(
        &mut self,
        io: &Io,
        state: State,
        run: u32,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, RunError> {
        let head = io_head(io, state, run, self.now());
        let label = label(&head);
        let files = match self.test_files(io, observer) {
            Ok(files) => files,
            Err(error) => return failed_before(error),
        };
        let opened = match open(&files, &OpenOptions::of(io)) {
            Ok(opened) => opened,
            Err(error) => return Ok(Outcome::Failed(None, error.to_string())),
        };
        self.note_downgrades(&opened.downgrades);
        let background = match self.start_background(io.background.as_deref()) {
            Ok(background) => background,
            Err(error) => return failed_before(error),
        };
        let job = Job {
            interval: INTERVAL,
            stall_over: STALL_OVER,
            verify: self.request.verify,
            ..Job::of(io, io.span.map_or(files.span(), |span| span.0), self.task_seed(&label))
        };
        let head = PhaseHead {
            engine: opened.engine,
            direct: opened.direct,
            durable: opened.durable,
            queue_depth: opened.queue_depth.min(io.queue_depth),
            began: self.now(),
            ..head
        };
        let live = self.announce(background.as_ref(), observer);
        observer.event(Event::PhaseStarted {
            label: &label,
            expected: job.limits.time,
            limit: job.limits.bytes,
            live: &live,
        });
        let counted = observer.device_count();
        let before = self.probe.counters();
        let driven = match io.threads {
            0 | 1 => Ok(self.drive_one(opened.device, io, &job, live)),
            _ => {
                drop(opened.device);
                self.drive_several(&files, io, &job, live)
            }
        };
        let after = self.probe.counters();
        let counted = (counted, observer.device_count());
        let beside = self.end_background(background);
        let mut driven = match driven {
            Ok(driven) => driven,
            Err(error) => return Ok(Outcome::Failed(None, error.to_string())),
        };
        let stopped = self.take_stops(&mut driven);
        let parts = halves(&head, io, &driven);
        let outcome = self.io_outcome(parts, &driven, stopped, (before, after));
        Ok(outcome.with_notes(beside).with_device(counted))
    }

    fn drive_one(&self, device: AnyDevice, io: &Io, job: &Job, live: Arc<Live>) -> Driven {
        let mut device = Shifted::new(device, io.begin());
        let heartbeat = self.heartbeat.as_ref();
        let mut temperature = || heartbeat.and_then(Heartbeat::temperature);
        let at_least = io.at_least.map(|bytes| bytes.0).unwrap_or_default();
        let mut steady = |series: &[Interval]| is_steady(series, at_least);
        let watch = &mut Watch {
            live: Some(live),
            enough: (io.until == Until::Steady).then_some(&mut steady),
            temperature: Some(&mut temperature),
            budget: self.budget.clone(),
            ..Watch::new(&self.request.stop, MaybeMeter(ThreadWaitMeter::open().ok()))
        };
        drive(&mut device, job, watch)
    }

    /// The same in several threads, each with the files open for itself.
    fn drive_several(
        &self,
        files: &FileSet,
        io: &Io,
        job: &Job,
        live: Arc<Live>,
    ) -> Result<Driven, DeviceError> {
        let heartbeat = self.heartbeat.as_ref();
        let mut temperature = || heartbeat.and_then(Heartbeat::temperature);
        let watch = &mut ThreadsWatch {
            stop: &self.request.stop,
            live: Some(live),
            temperature: Some(&mut temperature),
            budget: self.budget.clone(),
        };
        let options = OpenOptions::of(io);
        let opened = |_| Ok(Shifted::new(open(files, &options)?.device, io.begin()));
        drive_threads(opened, || MaybeMeter(ThreadWaitMeter::open().ok()), job, watch)
    }

    /// Whether the budget has room for one operation at least.
    ///
    /// # Errors
    /// Where it has not: the reason.
    pub(crate) fn may_begin(&self, io: &Io) -> Result<(), String> {
        if io.operation == IoOperation::Read {
            return Ok(());
        }
        self.allow(io.block.0, "one write")?;
        self.settle(io.block.0, Bytes::ZERO);
        Ok(())
    }

    /// The file under test, laid out.
    pub(crate) fn test_files(
        &mut self,
        io: &Io,
        observer: &mut dyn Observer,
    ) -> Result<FileSet, FilesError> {
        self.may_begin(io).map_err(FilesError::Budget)?;
        let span = io.end().max(self.estimate.test_file);
        if self.files.needs_test(span, io.fresh) {
            observer.event(Event::Preparing("writing the file under test"));
        }
        self.lay_out_test(span, io.fresh)
    }

    /// The file set under test, written where that is needed and the budget allows for it.
    fn lay_out_test(&mut self, span: Bytes, fresh: bool) -> Result<FileSet, FilesError> {
        let payload = Payload::new(self.request.seed);
        let most = span.plus(FileSet::GRAIN);
        let writes = self.files.needs_test(span, fresh);
        if writes {
            self.allow(most, "the file under test").map_err(FilesError::Budget)?;
        }
        let (files, written) = self.files.test(span, fresh, &payload, &self.request.stop)?;
        if writes {
            self.settle(most, written);
        }
        self.wrote(written);
        Ok(files)
    }

    /// The same for what runs beside a test.
    fn lay_out_background(&mut self, span: Bytes) -> Result<FileSet, FilesError> {
        let payload = Payload::new(self.request.seed);
        let most = span.plus(FileSet::GRAIN);
        let writes = self.files.needs_background(span);
        if writes {
            self.allow(most, "the background's file").map_err(FilesError::Budget)?;
        }
        let (files, written) = self.files.background(span, &payload, &self.request.stop)?;
        if writes {
            self.settle(most, written);
        }
        self.wrote(written);
        Ok(files)
    }

    /// Lays out every file that a test will need, while there is room: before a fill.
    pub(crate) fn lay_out_all(&mut self, observer: &mut dyn Observer) -> Result<(), FilesError> {
        observer.event(Event::Preparing("writing the files under test"));
        if self.estimate.test_file > Bytes::ZERO {
            self.lay_out_test(self.estimate.test_file, false)?;
        }
        let tests = &self.request.scenario.tests;
        let beside = tests.values().filter_map(Test::background);
        let beside = beside.filter_map(|name| tests.get(name)).filter_map(background_span).max();
        if let Some(span) = beside {
            self.lay_out_background(span)?;
        }
        Ok(())
    }

    /// Starts what runs beside a test.
    pub(crate) fn start_background(
        &mut self,
        name: Option<&str>,
    ) -> Result<Option<Background>, FilesError> {
        let Some(Test::Io(io)) = name.and_then(|name| self.request.scenario.tests.get(name)) else {
            return Ok(None);
        };
        let io = io.clone();
        let span = span_beside(&io);
        let files = self.lay_out_background(span)?;
        let job = Job { interval: INTERVAL, ..Job::of(&io, span, self.task_seed(&io.name)) };
        let budget = self.budget.clone();
        Ok(Some(Background::start_within(files, OpenOptions::of(&io), job, budget)?))
    }

    /// Says what has been written before a phase, and who writes beside it. Returns the phase's own
    /// progress, cleared.
    pub(crate) fn announce(
        &self,
        background: Option<&Background>,
        observer: &mut dyn Observer,
    ) -> Arc<Live> {
        observer.event(Event::Wrote(self.run.wear.written_bytes));
        if let Some(background) = background {
            observer.event(Event::Beside(background.live()));
        }
        self.fresh_live()
    }

    /// Ends it and counts what it wrote. Returns what it did, in words.
    pub(crate) fn end_background(&mut self, background: Option<Background>) -> Option<String> {
        let background = background?;
        let downgrades = background.downgrades().to_vec();
        self.note_downgrades(&downgrades);
        match background.finish() {
            Ok(driven) => {
                self.wrote(driven.moved);
                let rate = flashlag_units::per_second(driven.moved.0, driven.recorded.elapsed);
                let rate = Bytes(rate.unwrap_or_default() as u64);
                let error = driven.ended.error().map(|error| format!("; it ended early: {error}"));
                let error = error.unwrap_or_default();
                let budget = match driven.out_of_budget {
                    true => format!("; {}", self.ended_by_budget()),
                    false => String::new(),
                };
                Some(format!("the background moved {} at {rate}/s{error}{budget}", driven.moved))
            }
            Err(error) => Some(format!("the background failed: {error}")),
        }
    }

    pub(crate) fn note_downgrades(&mut self, downgrades: &[flashlag_schema::Downgrade]) {
        for downgrade in downgrades {
            if !self.run.downgrades.contains(downgrade) {
                self.run.downgrades.push(downgrade.clone());
            }
        }
    }

    /// Takes the moments in which this process stood still out of what looked blocked; how long they
    /// were, where that is known.
    pub(crate) fn take_stops(&self, driven: &mut Driven) -> Option<Nanos> {
        let stops = self.stops()?;
        driven.recorded.take_stops(&stops);
        if let Some(sides) = &mut driven.sides {
            sides.read.take_stops(&stops);
            sides.write.take_stops(&stops);
        }
        Some(driven.recorded.stopped(&stops))
    }

    /// Stores counters and makes a phase of what was driven.
    pub(crate) fn io_outcome(
        &mut self,
        halves: Vec<Half<'_>>,
        driven: &Driven,
        stopped: Option<Nanos>,
        (before, after): (Counters, Counters),
    ) -> Outcome {
        let delta = after.since(&before);
        let error = driven.ended.error().map(ToString::to_string);
        let mut measured = Vec::new();
        for half in halves {
            let mut notes = Vec::new();
            if driven.out_of_budget {
                notes.push(self.ended_by_budget());
            }
            if half.direction == Direction::Write {
                self.wrote(half.moved);
                let flush = driven.final_flush;
                notes.extend(flush.map(|flush| format!("the flush at its end took {flush}")));
                self.keep_verified(&half.head, driven);
            }
            let tail = PhaseTail {
                time: driven.time.map(|split| split.with_stopped(stopped.unwrap_or_default())),
                final_flush: driven.final_flush.filter(|_| half.direction == Direction::Write),
                stopped,
                ledger: ledger(&delta, half.direction, half.moved),
                growth: None,
                cut_short: driven.ended == Ended::Stopped || error.is_some(),
                notes,
            };
            let until_steady = self.is_until_steady(&half.head.name);
            let changes = changes_of(half.recorded, half.head.operation, until_steady);
            measured.push(Phase { changes, ..phase(half.head, half.recorded, tail) });
            self.evidence.phases.push(Some((before.clone(), after.clone())));
        }
        Outcome::of(measured, error)
    }

    fn is_until_steady(&self, name: &str) -> bool {
        let test = self.request.scenario.tests.get(name);
        matches!(test, Some(Test::Io(io)) if io.until == Until::Steady)
    }

    fn keep_verified(&mut self, head: &PhaseHead, driven: &Driven) {
        let Some(verified) = &driven.verified else { return };
        let sum = self.evidence.verified.get_or_insert(Verification {
            bytes: Bytes::ZERO,
            wrong_blocks: 0,
            first_wrong: None,
        });
        sum.bytes = sum.bytes.plus(Bytes(verified.blocks * head.block.0));
        sum.wrong_blocks += verified.mismatches + verified.unreadable;
        if sum.first_wrong.is_none() {
            let mismatch = verified.first.first().map(ToString::to_string);
            let unreadable = verified.error.as_ref().map(ToString::to_string);
            let first = mismatch.or(unreadable);
            sum.first_wrong = first.map(|first| format!("{}: {first}", label(head)));
        }
    }
}

/// As [`Phase::label`], before there is a phase.
pub(crate) fn label(head: &PhaseHead) -> String {
    head.state.label(head.run, &head.name)
}

/// Files that can't be made end the run like any failing operation; our own directory that can't
/// be is an error of its own.
pub(crate) fn failed_before(error: FilesError) -> Result<Outcome, RunError> {
    match error {
        FilesError::Device(error) => Ok(Outcome::Failed(None, error.to_string())),
        // The run goes on with what writes nothing.
        FilesError::Budget(reason) => Ok(Outcome::Skipped(reason)),
        FilesError::Guard(error) => Err(RunError::Guard(error)),
    }
}

/// What is known before it runs.
pub(crate) fn io_head(io: &Io, state: State, run: u32, began: Nanos) -> PhaseHead {
    PhaseHead {
        name: io.name.clone(),
        state,
        run,
        operation: operation(io),
        block: io.block.0,
        span: io.span.map(|span| span.0).unwrap_or_default(),
        queue_depth: io.queue_depth,
        threads: io.threads,
        mixed: None,
        durable: io.durable,
        direct: io.direct,
        engine: io.engine,
        closed_loop: io.arrivals.per_second.is_none(),
        background: io.background.clone(),
        began,
        stall_over: STALL_OVER,
    }
}

fn background_span(test: &Test) -> Option<Bytes> {
    match test {
        Test::Io(io) => Some(span_beside(io)),
        Test::Save(_) => None,
    }
}

/// The scenario's words as the run file's.
pub(crate) fn operation(io: &Io) -> Operation {
    match (io.operation, io.pattern) {
        (IoOperation::Read, Pattern::Sequential) => Operation::SequentialRead,
        (IoOperation::Read, Pattern::Random) => Operation::RandomRead,
        // A mixed test's reads get a phase of their own.
        (IoOperation::Write | IoOperation::Mixed, Pattern::Sequential) => {
            Operation::SequentialWrite
        }
        (IoOperation::Write | IoOperation::Mixed, Pattern::Random) => Operation::RandomWrite,
    }
}

/// Whether it may end: `at_least` has been moved, and five rounds by then were steady. A write cache
/// is steady too, until it is used up.
pub(crate) fn is_steady(series: &[Interval], at_least: Bytes) -> bool {
    let moved = series.iter().fold(Bytes::ZERO, |sum, interval| sum.plus(interval.bytes));
    moved >= at_least
        && matches!(steadiness(series, UNTIL_STEADY_ROUND), Steadiness::Reached { .. })
}
