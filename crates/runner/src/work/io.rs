//! The recipe of a test of block I/O.

use flashlag_device::Shifted;
use flashlag_engine::{EndReason, Job, JobOutcome, Watch, drive};
use flashlag_schema::Phase;
use flashlag_spec::scenario::{Io, IoOperation, Pattern, Test, Until};
use flashlag_spec::{Operation, State};
use flashlag_stats::Interval;
use flashlag_stats::steady::Steadiness;
use flashlag_trust::Verification;
use flashlag_units::{Bytes, Nanos};

use super::changes::{changes_of, until_steady};
use super::halves::{Half, halves};
use super::phase::{PhaseHead, PhaseTail, phase, thinks, without_stops};
use super::world::{Edge, OpenedDevice, TestJob};
use super::{Hindrance, INTERVAL, Outcome, STALL_OVER, Work, World};
use crate::events::{Event, Observer};
use crate::work::Direction;

/// Why a page in a browser simulates no saves.
#[cfg(target_family = "wasm")]
const NO_SAVES: &str = "a page in a browser simulates no saves: the program does";

impl<W: World> Work<W> {
    /// Measures one test.
    pub(super) fn measure(
        &mut self,
        test: &Test,
        state: State,
        run: u32,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Hindrance> {
        self.world.check_present()?;
        let outcome = match test {
            Test::Io(io) => self.measure_io(io, state, run, observer),
            #[cfg(not(target_family = "wasm"))]
            Test::Save(save) => self.measure_save(save, state, run, observer),
            #[cfg(not(target_family = "wasm"))]
            Test::FileSave(save) => self.measure_file_save(save, state, run, observer),
            Test::Replay(replay) => self.measure_replay(replay, state, run, observer),
            #[cfg(not(target_family = "wasm"))]
            Test::Card(card) => self.measure_card(card, state, run, observer),
            // SQLite is a C program, and a page in a browser has none.
            #[cfg(target_family = "wasm")]
            Test::Save(_) | Test::FileSave(_) | Test::Card(_) => {
                Ok(Outcome::Skipped(NO_SAVES.to_owned()))
            }
        };
        Ok(outcome?.unless_gone(self.world.check_present()))
    }

    fn measure_io(
        &mut self,
        io: &Io,
        state: State,
        run: u32,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Hindrance> {
        let file = self.test_file(io, observer)?;
        let OpenedDevice { device, how, downgrades } = self.world.open(&file, io)?;
        self.note_downgrades(&downgrades);
        let beside = self.start_background(io.background.as_deref())?;
        let head = io_head(io, state, run, self.world.now()).with(how);
        let label = head.label();
        let span = io.span.map_or(self.world.size_of(&file), |span| span.0);
        let seed = self.test_seed(&label);
        let job = Job {
            interval: INTERVAL,
            stall_over: STALL_OVER,
            verify: self.controls.verify,
            ..Job::of(io, span, seed)
        };
        let live = self.announce(beside.as_ref(), observer);
        self.world.phase_begins(&label);
        observer.event(Event::PhaseStarted {
            label: &label,
            expected: job.limits.time,
            limit: job.limits.bytes,
            live: &live,
        });
        let before = self.world.counters(Edge::Begin);
        let test = TestJob { io, job: &job, live, controls: &self.controls };
        let driven = self.world.drive(device, &file, &test);
        let after = self.world.counters(Edge::End);
        let beside = self.end_background(beside);
        let mut driven = driven?;
        let stopped = self.take_stops(&mut driven);
        let parts = halves(&head, io, &driven);
        let outcome = self.io_outcome(parts, io, &driven, stopped, (before, after));
        Ok(outcome.with_notes(beside))
    }

    /// Subtracts the moments in which this process stood still from blocked time. Returns their sum,
    /// if known.
    pub(super) fn take_stops(&self, driven: &mut JobOutcome) -> Option<Nanos> {
        let stops = self.world.stops()?;
        driven.recorded.take_stops(&stops);
        if let Some(sides) = &mut driven.sides {
            sides.read.take_stops(&stops);
            sides.write.take_stops(&stops);
        }
        Some(driven.recorded.stopped(&stops))
    }

    /// Keeps the counters, and makes a phase of each half of a job.
    pub(super) fn io_outcome(
        &mut self,
        halves: Vec<Half<'_>>,
        io: &Io,
        driven: &JobOutcome,
        stopped: Option<Nanos>,
        (before, after): (W::Counters, W::Counters),
    ) -> Outcome {
        let error = driven.ended.error().map(ToString::to_string);
        let to_steady = (io.until == Until::Steady).then(|| pass_of(io));
        let looks = self.world.looks();
        let mut measured = Vec::new();
        for half in halves {
            let writes = half.direction == Direction::Write;
            let mut notes = Vec::new();
            if driven.out_of_budget {
                notes.push(self.ended_by_budget());
            }
            if writes {
                self.wrote(half.moved);
                let flush = driven.final_flush;
                notes.extend(flush.map(|flush| format!("the flush at its end took {flush}")));
                self.keep_verified(&half.head, driven);
            }
            notes.extend(self.world.phase_note());
            // A stop in a think time delays no operation.
            let within = match half.head.think {
                None => stopped,
                Some(_) => half.recorded.stopped_in_stalls(),
            };
            let tail = PhaseTail {
                time: without_stops(driven.time, within),
                in_real_time: self.world.in_real_time(),
                clocks: self.world.clocks(half.recorded.began),
                thought: driven.thought,
                final_flush: driven.final_flush.filter(|_| writes),
                stopped,
                ledger: self.world.ledger((&before, &after), half.direction, half.moved),
                growth: None,
                looks: looks.clone(),
                slow: self.world.slow(&before, &after),
                cut_short: driven.ended == EndReason::Stopped || error.is_some(),
                notes,
            };
            let changes = changes_of(half.recorded, half.head.operation, to_steady);
            let whole = Phase { changes, ..phase(half.head, half.recorded, tail) };
            measured.push(self.with_causes(whole));
            self.evidence.phases.push(Some((before.clone(), after.clone())));
        }
        Outcome::of(measured, error)
    }

    fn keep_verified(&mut self, head: &PhaseHead, driven: &JobOutcome) {
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
            sum.first_wrong = first.map(|first| format!("{}: {first}", head.label()));
        }
    }
}

/// Does a test's job on one device, in this thread.
pub(crate) fn drive_device<W: World + ?Sized>(
    world: &W,
    device: W::Device,
    test: &TestJob<'_>,
) -> JobOutcome {
    let mut device = Shifted::new(device, test.io.begin());
    let mut temperature = || world.temperature();
    let mut steady = steady_enough(test.io);
    let watch = &mut Watch {
        live: Some(test.live.clone()),
        enough: (test.io.until == Until::Steady).then_some(&mut steady),
        temperature: Some(&mut temperature),
        budget: test.controls.budget.clone(),
        ..Watch::new(&test.controls.stop, world.meter())
    };
    drive(&mut device, test.job, watch)
}

/// Whether a test that runs until it is steady may end: `at_least` has been moved, and five rounds by
/// then were steady. A write cache is steady too, until it is used up.
pub(crate) fn steady_enough(io: &Io) -> impl FnMut(&[Interval]) -> bool + use<> {
    let at_least = io.at_least.map(|bytes| bytes.0).unwrap_or_default();
    let pass = pass_of(io);
    move |series| {
        let moved = series.iter().fold(Bytes::ZERO, |sum, interval| sum.plus(interval.bytes));
        moved >= at_least && matches!(until_steady(series, pass).0, Steadiness::Reached { .. })
    }
}

/// The bytes of one pass over all that a test reads or writes.
fn pass_of(io: &Io) -> Bytes {
    io.span.map(|span| span.0).unwrap_or_default()
}

/// The facts of a phase before it runs.
pub(super) fn io_head(io: &Io, state: State, run: u32, began: Nanos) -> PhaseHead {
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
        think: thinks(io.think),
        background: io.background.clone(),
        began,
    }
}

/// The run file's word for a test's operation and pattern.
fn operation(io: &Io) -> Operation {
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
