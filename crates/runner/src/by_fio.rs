//! One test, measured by fio. Saves, fills and what runs beside a test stay with our own engine,
//! since fio knows no SQLite, no level to stop at and no other test; the run says so.

use flashlag_engine::Limits;
use flashlag_engine::fio::{Fio, FioPhase, run_io};
use flashlag_schema::scenario::{EngineKind, Io, IoOperation};
use flashlag_schema::{Downgrade, Reading, State};

use crate::error::RunError;
use crate::execute::Outcome;
use crate::ledger::{Direction, ledger};
use crate::measure::{STALL_OVER, failed_before, io_head, label};
use crate::phase::{PhaseHead, PhaseTail, phase};
use crate::prepare::Prepared;
use crate::request::{Event, Observer};

impl Prepared {
    pub(crate) fn measure_by_fio(
        &mut self,
        fio: &Fio,
        io: &Io,
        (state, run): (State, u32),
        observer: &mut dyn Observer,
    ) -> Result<Outcome, RunError> {
        let files = match self.test_files(io, observer) {
            Ok(files) => files,
            Err(error) => return failed_before(error),
        };
        let background = match self.start_background(io.background.as_deref()) {
            Ok(background) => background,
            Err(error) => return failed_before(error),
        };
        let head = io_head(io, state, run, self.now());
        let label = label(&head);
        let mut limits = Limits {
            bytes: io.bytes.map(|bytes| bytes.0),
            time: io.time.map(|time| time.0),
            min_ops: io.min_ops,
            warmup: io.warmup.map(|warmup| warmup.0),
        };
        if let (Some(left), IoOperation::Write) = (self.budget_left(), io.operation) {
            limits.bytes = Some(limits.bytes.map_or(left, |bytes| bytes.min(left)));
        }
        let live = self.fresh_live();
        observer.event(Event::PhaseStarted {
            label: &label,
            expected: limits.time,
            limit: limits.bytes,
            live: &live,
        });
        let seed = self.task_seed(&label);
        let before = self.probe.counters();
        let done = run_io(fio, io, limits, &files, seed, &self.request.stop);
        let after = self.probe.counters();
        let beside = self.end_background(background);
        let done = match done {
            Ok(done) => done,
            Err(error) => return Ok(Outcome::Failed(None, error.to_string())),
        };
        let mut outcome = self.fio_outcome(head, io.operation, &done, &after.since(&before));
        outcome.notes.extend(beside);
        self.evidence.phases.push(Some((before, after)));
        Ok(Outcome::Measured(Box::new(outcome)))
    }

    fn fio_outcome(
        &mut self,
        head: PhaseHead,
        operation: IoOperation,
        done: &FioPhase,
        delta: &flashlag_inspect::CounterDelta,
    ) -> flashlag_schema::Phase {
        self.note_downgrades(&done.downgrades);
        let direction = match operation {
            IoOperation::Read => Direction::Read,
            IoOperation::Write => Direction::Write,
        };
        if direction == Direction::Write {
            self.wrote(done.moved);
        }
        let head = PhaseHead {
            engine: EngineKind::Fio,
            direct: done.direct,
            durable: done.durable,
            queue_depth: done.queue_depth,
            // fio keeps the schedule but not the intended starts: there is no response to show.
            closed_loop: true,
            ..head
        };
        let tail = PhaseTail {
            time: None,
            ledger: ledger(delta, direction, done.moved),
            growth: None,
            cut_short: done.stopped,
            notes: vec![done.command.join(" ")],
        };
        let mut measured = phase(head, &done.recorded(STALL_OVER), tail);
        measured.time = Reading::unavailable("fio does not tell where its threads wait");
        measured
    }

    /// What `--engine fio` leaves to our own engine, once, in the run file.
    pub(crate) fn note_own_engine(&mut self, what: &str) {
        if self.fio.is_some() {
            self.note_downgrades(&[Downgrade {
                requested: format!("{what} through fio"),
                effective: format!("{what} by flashlag's own engine"),
                reason: "fio has no such workload".to_owned(),
            }]);
        }
    }
}
