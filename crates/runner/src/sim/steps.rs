//! One task in virtual time: a test, a fill, a delete, a trim.

use std::cell::Cell;

use flashlag_device::DeviceError;
use flashlag_device::{NoWaitMeter, Shifted};
use flashlag_engine::{Driven, Ended, Job, Watch, drive};
use flashlag_iostack::{BackgroundJob, FileId, StackFile, Sync};
use flashlag_schema::scenario::{Durability, Io, Pattern, Test, Until};
use flashlag_schema::{Downgrade, Phase, Reading, State, Time};
use flashlag_stats::Interval;
use flashlag_units::{Bytes, Nanos};
use flashlag_workload::{Arrivals, Permutation};

use super::Simulation;
use super::fill::Placed;
use super::ledger::Counted;
use crate::changes::changes_of;
use crate::estimate::span_beside;
use crate::execute::Outcome;
use crate::fills::trimmed_note;
use crate::halves::{Half, halves};
use crate::ledger::Direction;
use crate::measure::{INTERVAL, STALL_OVER, io_head, is_steady, label};
use crate::phase::{PhaseHead, PhaseTail, phase};
use crate::request::{Event, Observer};

/// Why a trim has nothing to tell.
const ALREADY_TRIMMED: &str = "the filesystem discards what is deleted by itself, so the storage was \
    trimmed before; rows after the trim repeat that state";

/// The file under test, and that of a background.
const TEST: &str = "test";
const BESIDE: &str = "background";

/// Nobody waits for a CPU in virtual time.
pub(super) fn no_split() -> Reading<Time> {
    Reading::unavailable("virtual time: nobody waits for a CPU")
}

/// How a test file is laid out.
const LAY_OUT_BLOCK: Bytes = Bytes::from_mib(1);
/// What the filesystem keeps for itself beside a fill: it ends this much above its level at most.
const FILL_STEP: Bytes = Bytes::from_mib(1);

impl Simulation<'_> {
    pub(super) fn measure(
        &mut self,
        test: &Test,
        state: State,
        run: u32,
        observer: &mut dyn Observer,
    ) -> Outcome {
        match test {
            Test::Io(io) => self.measure_io(io, state, run, observer),
            Test::Save(save) => self.measure_save(save, state, run, observer),
        }
    }

    fn measure_io(
        &mut self,
        io: &Io,
        state: State,
        run: u32,
        observer: &mut dyn Observer,
    ) -> Outcome {
        let head = io_head(io, state, run, self.now());
        let label = label(&head);
        let span = io.span.map(|span| span.0).unwrap_or_default();
        let file = match self.test_file(io.end(), io.fresh, observer) {
            Ok(file) => file,
            Err(error) => return Outcome::Failed(None, error),
        };
        if let Err(error) = self.start_background(io.background.as_deref()) {
            return Outcome::Failed(None, error);
        }
        let seed = self.seed_of(&label);
        let job = Job { interval: INTERVAL, stall_over: STALL_OVER, ..Job::of(io, span, seed) };
        let head = PhaseHead { began: self.now(), ..head };
        let live = self.fresh_live();
        observer.event(Event::Wrote(self.written));
        observer.event(Event::PhaseStarted {
            label: &label,
            expected: job.limits.time,
            limit: job.limits.bytes,
            live: &live,
        });
        let before = Counted::now(&self.stack);
        let at_least = io.at_least.map(|bytes| bytes.0).unwrap_or_default();
        let mut steady = |series: &[Interval]| is_steady(series, at_least);
        let mut device = Shifted::new(self.device(file, io, io.end()), io.begin());
        let watch = &mut Watch {
            live: Some(live),
            enough: (io.until == Until::Steady).then_some(&mut steady),
            ..Watch::new(&self.request.stop, NoWaitMeter)
        };
        let driven = drive(&mut device, &job, watch);
        drop(device);
        let beside = self.end_background();
        self.io_outcome(halves(&head, io, &driven), io, &driven, &before, beside)
    }

    /// One file as a device.
    fn device(&self, file: FileId, io: &Io, span: Bytes) -> StackFile<flashlag_flash::FlashDevice> {
        let sync = if io.durable == Durability::Fsync { Sync::All } else { Sync::DataOnly };
        StackFile::new(&self.stack, file, span, io.block.0, io.in_flight(), io.direct, sync)
    }

    /// Starts what runs beside a test.
    pub(super) fn start_background(&mut self, name: Option<&str>) -> Result<(), String> {
        let Some(Test::Io(io)) = name.and_then(|name| self.request.scenario.tests.get(name)) else {
            return Ok(());
        };
        let span = span_beside(io);
        let file = match self.beside {
            Some((file, size)) if size >= span => file,
            _ => {
                if self.beside.take().is_some() {
                    self.stack.delete(BESIDE).map_err(|error| error.to_string())?;
                }
                self.lay_out(BESIDE, span)?
            }
        };
        self.beside = Some((file, span));
        let job = BackgroundJob {
            writes: io.operation.writes(),
            random: io.pattern == Pattern::Random,
            file,
            span,
            block: io.block.0,
            depth: io.queue_depth,
            durable: io.durable != Durability::None,
            seed: self.seed_of(&io.name),
        };
        let started = match Arrivals::new(&io.arrivals, Nanos::ZERO, job.seed) {
            None => self.stack.start_background(job),
            Some(mut arrivals) => {
                let due = std::iter::from_fn(move || Some(arrivals.next_time()));
                self.stack.start_background_paced(job, due)
            }
        };
        started.map_err(|error| error.to_string())
    }

    /// Ends it. Returns what it did, in words.
    pub(super) fn end_background(&mut self) -> Option<String> {
        let total = self.stack.end_background()?;
        self.wrote(total.bytes);
        let rate = flashlag_units::per_second(total.bytes.0, total.elapsed).unwrap_or_default();
        Some(format!("the background moved {} at {}/s", total.bytes, Bytes(rate as u64)))
    }

    /// The file under test, laid out: every byte written once, in order, and made durable.
    fn test_file(
        &mut self,
        span: Bytes,
        fresh: bool,
        observer: &mut dyn Observer,
    ) -> Result<FileId, String> {
        let wanted = self.test_span().max(span);
        if let Some((file, size)) = self.test
            && size >= span
            && !fresh
        {
            return Ok(file);
        }
        observer.event(Event::Preparing("writing the file under test"));
        if self.test.take().is_some() {
            self.stack.delete(TEST).map_err(|error| error.to_string())?;
        }
        let file = self.lay_out(TEST, wanted)?;
        self.test = Some((file, wanted));
        Ok(file)
    }

    /// The largest span of all tests.
    fn test_span(&self) -> Bytes {
        let spans = self.request.scenario.tests.values().filter_map(|test| match test {
            Test::Io(io) => Some(io.end()),
            Test::Save(_) => None,
        });
        spans.max().unwrap_or_default()
    }

    pub(super) fn lay_out(&mut self, name: &str, span: Bytes) -> Result<FileId, String> {
        let told = |error: DeviceError| error.to_string();
        let file = self.stack.create(name).map_err(told)?;
        // Whole blocks, as direct I/O has to be.
        let span = span.plus(Bytes(4095)).round_down(Bytes(4096));
        let mut at = Bytes::ZERO;
        while at < span {
            let length = LAY_OUT_BLOCK.min(span.minus(at));
            self.stack.write_nothing(file, at, length, true).map_err(told)?;
            at = at.plus(length);
        }
        self.stack.sync(file, false).map_err(told)?;
        self.wrote(span);
        Ok(file)
    }

    pub(super) fn io_outcome(
        &mut self,
        halves: Vec<Half<'_>>,
        io: &Io,
        driven: &Driven,
        before: &Counted,
        beside: Option<String>,
    ) -> Outcome {
        let error = driven.ended.error().map(ToString::to_string);
        let counted = Counted::now(&self.stack).since(before);
        let mut notes: Vec<String> = beside.into_iter().collect();
        let mut measured = Vec::new();
        for half in halves {
            let writes = half.direction == Direction::Write;
            if writes {
                self.wrote(half.moved);
                let flush = driven.final_flush;
                notes.extend(flush.map(|flush| format!("the flush at its end took {flush}")));
            }
            let tail = PhaseTail {
                final_flush: driven.final_flush.filter(|_| writes),
                stopped: None,
                time: None,
                ledger: counted.ledger(writes, half.moved),
                growth: None,
                cut_short: driven.ended == Ended::Stopped || error.is_some(),
                notes: std::mem::take(&mut notes),
            };
            let until_steady = io.until == Until::Steady;
            let changes = changes_of(half.recorded, half.head.operation, until_steady);
            let one = phase(half.head, half.recorded, tail);
            measured.push(Phase { changes, time: no_split(), ..one });
        }
        Outcome::of(measured, error)
    }

    /// Writes until only `leave` is free, and keeps what it saw on the way as a phase.
    pub(super) fn fill(&mut self, test: &Test, observer: &mut dyn Observer) -> Outcome {
        let Test::Io(io) = test else {
            return Outcome::Skipped("only an [[io]] test can fill".to_owned());
        };
        if let Err(error) = self.test_file(self.test_span(), false, observer) {
            return Outcome::Failed(None, error);
        }
        let head = io_head(io, State::Filled, 1, self.now());
        let label = format!("fill: {}", io.name);
        let room = self.stack.free().minus(self.leave);
        let span = room.round_down(io.block.0.max(FILL_STEP));
        let name = format!("fill-{}", self.fills.len() + 1);
        let file = match self.stack.create(&name) {
            Ok(file) => file,
            Err(error) => return Outcome::Failed(None, error.to_string()),
        };
        self.fills.push(name);
        let live = self.fresh_live();
        let limit = Some(room);
        observer.event(Event::Filling(Some(self.stack.total())));
        observer.event(Event::Wrote(self.written));
        observer.event(Event::PhaseStarted { label: &label, expected: None, limit, live: &live });
        let before = Counted::now(&self.stack);
        let filled = Cell::new(self.stack.total().minus(self.stack.free()));
        let seed = self.seed_of(&label);
        let random = io.pattern == Pattern::Random;
        let mut job = Job { interval: INTERVAL, stall_over: STALL_OVER, ..Job::of(io, span, seed) };
        job.pattern = Pattern::Sequential;
        job.limits.bytes = Some(job.limits.bytes.map_or(span, |bytes| bytes.min(span)));
        job.limits.warmup = None;
        let mut device = Placed {
            device: self.device(file, io, span),
            block: io.block.0,
            order: random.then(|| Permutation::new(span.0 / io.block.0.0.max(1), seed)),
            filled: &filled,
        };
        let watch = &mut Watch {
            live: Some(live),
            filled: Some(&filled),
            ..Watch::new(&self.request.stop, NoWaitMeter)
        };
        let mut driven = drive(&mut device, &job, watch);
        drop(device);
        let no_space = matches!(driven.ended, Ended::NoSpace(_));
        let mut note = None;
        if let Ended::NoSpace(error) = &driven.ended {
            // Storage that is full to the brim is what a fill is for.
            note = Some(format!("it ended where no more could be written: {}", error.reason));
            driven.ended = Ended::Limit;
        }
        self.filled.push(flashlag_trust::Fill {
            name: io.name.clone(),
            leave: self.leave,
            free: self.stack.free(),
            no_space,
        });
        let half = Half {
            head: PhaseHead { span, ..head },
            recorded: &driven.recorded,
            direction: Direction::Write,
            moved: driven.moved,
        };
        self.io_outcome(vec![half], io, &driven, &before, note)
    }

    /// Deletes what fills wrote.
    pub(super) fn delete_fills(&mut self, observer: &mut dyn Observer) -> Outcome {
        observer.event(Event::Preparing("deleting what the fill wrote"));
        for name in std::mem::take(&mut self.fills) {
            if let Err(error) = self.stack.delete(&name) {
                return Outcome::Failed(None, error.to_string());
            }
        }
        Outcome::Done
    }

    /// Tells the device which blocks are free.
    pub(super) fn trim(&mut self, observer: &mut dyn Observer) -> Outcome {
        observer.event(Event::Preparing("trimming the free space"));
        match self.stack.trim() {
            Ok(bytes) => {
                self.trimmed = true;
                if bytes == Bytes::ZERO {
                    observer.event(Event::Note(ALREADY_TRIMMED));
                    self.run.downgrades.push(Downgrade {
                        requested: "a trim of the free space".to_owned(),
                        effective: "nothing: all of it was discarded before".to_owned(),
                        reason: ALREADY_TRIMMED.to_owned(),
                    });
                } else {
                    observer.event(Event::Note(&trimmed_note(bytes)));
                }
                Outcome::Done
            }
            Err(error) => Outcome::Skipped(error.to_string()),
        }
    }
}
