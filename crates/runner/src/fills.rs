//! Filling, deleting, trimming.

use std::path::Path;

use flashlag_device::ThreadWaitMeter;
use flashlag_engine::background::MaybeMeter;
use flashlag_engine::fill::{FillSpec, Filled, fill, free_space, trim};
use flashlag_engine::{Ended, Heartbeat, Watch};
use flashlag_schema::State;
use flashlag_schema::scenario::{Io, Test};
use flashlag_units::Bytes;

use crate::error::RunError;
use crate::estimate::fill_time;
use crate::execute::Outcome;
use crate::files::Opened;
use crate::halves::Half;
use crate::ledger::Direction;
use crate::measure::{INTERVAL, STALL_OVER, failed_before, io_head};
use crate::phase::PhaseHead;
use crate::prepare::Prepared;
use crate::request::{Event, Observer};

impl Prepared {
    /// Writes until only `--leave` is free, and keeps what it saw on the way as a phase.
    pub(crate) fn fill(
        &mut self,
        test: &Test,
        directory: Option<&str>,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, RunError> {
        let Test::Io(io) = test else {
            return Ok(Outcome::Skipped("only an [[io]] test can fill".to_owned()));
        };
        if let Err(error) = self.files.check_present() {
            return failed_before(error.into());
        }
        if let Err(reason) = self.may_begin(io) {
            return Ok(Outcome::Skipped(reason));
        }
        if let Err(error) = self.lay_out_all(observer) {
            return failed_before(error);
        }
        let (place, stem) = self.files.next_fill(directory.map(Path::new))?;
        let head = io_head(io, State::Filled, 1, self.now());
        let label = format!("fill: {}", io.name);
        let live = self.fresh_live();
        // What there is room for now: the files under test have been laid out meanwhile.
        let free = free_space(&place.path).map_or(self.free.available, |free| free.available);
        let limit = free.minus(self.leave);
        let limit = self.budget_left().map_or(limit, |left| left.min(limit));
        let storage = self.run.environment.filesystem.total_bytes.value().copied();
        observer.event(Event::Filling(storage));
        observer.event(Event::Wrote(self.run.wear.written_bytes));
        observer.event(Event::PhaseStarted {
            label: &label,
            expected: Some(fill_time(limit)),
            limit: Some(limit),
            live: &live,
        });
        let counted = observer.device_count();
        let before = self.probe.counters();
        let filled = {
            let heartbeat = self.heartbeat.as_ref();
            let mut temperature = || heartbeat.and_then(Heartbeat::temperature);
            let spec = self.fill_spec(io, &place, &stem, &label);
            let watch = Watch {
                stop: &self.request.stop,
                live: Some(live),
                enough: None,
                temperature: Some(&mut temperature),
                filled: None,
                together: None,
                budget: self.budget.clone(),
                meter: MaybeMeter(ThreadWaitMeter::open().ok()),
            };
            fill(&spec, watch)
        };
        match filled {
            Ok(filled) => {
                let counters = (before, self.probe.counters());
                let counted = (counted, observer.device_count());
                self.files.keep_filled(filled.files.clone());
                let outcome = self.fill_outcome(head, filled, counters);
                Ok(self.if_present(outcome).with_device(counted))
            }
            Err(error) => Ok(self.if_present(Outcome::Failed(None, error.to_string()))),
        }
    }

    fn fill_spec<'a>(
        &self,
        io: &'a Io,
        place: &'a Opened,
        stem: &'a str,
        label: &str,
    ) -> FillSpec<'a> {
        FillSpec {
            directory: &place.path,
            opened: Some(&place.directory),
            stem,
            io,
            leave: self.leave,
            budget: None,
            seed: self.task_seed(label),
            verify: self.request.verify,
            interval: INTERVAL,
            stall_over: STALL_OVER,
        }
    }

    fn fill_outcome(
        &mut self,
        head: PhaseHead,
        filled: Filled,
        counters: (flashlag_inspect::Counters, flashlag_inspect::Counters),
    ) -> Outcome {
        self.note_downgrades(&filled.downgrades);
        let no_space = matches!(filled.driven.ended, Ended::NoSpace(_));
        self.evidence.fills.push(flashlag_trust::Fill {
            name: head.name.clone(),
            leave: self.leave,
            free: filled.after.available,
            no_space,
        });
        let head = PhaseHead {
            span: filled.files.span(),
            engine: filled.engine,
            direct: filled.direct,
            durable: filled.durable,
            queue_depth: filled.queue_depth,
            ..head
        };
        let mut driven = filled.driven;
        let mut notes = filled.notes;
        if let Ended::NoSpace(error) = &driven.ended {
            // Storage that is full to the brim is what a fill is for.
            notes.push(format!("it ended where no more could be written: {}", error.reason));
            driven.ended = Ended::Limit;
        }
        let stopped = self.take_stops(&mut driven);
        let half = Half {
            head,
            recorded: &driven.recorded,
            direction: Direction::Write,
            moved: driven.moved,
        };
        let outcome = self.io_outcome(vec![half], &driven, stopped, counters);
        outcome.with_notes(notes)
    }

    /// Deletes what fills wrote.
    pub(crate) fn delete_fills(
        &mut self,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, RunError> {
        observer.event(Event::Preparing("deleting what the fill wrote"));
        // First: a fill that somebody else deleted was none for the tests before this.
        if let Err(error) = self.files.check_present() {
            return failed_before(error.into());
        }
        let deleted = self.files.delete_fills()?;
        observer.event(Event::Note(&format!("deleted {deleted} of the fill's")));
        Ok(Outcome::Done)
    }

    /// Tells the device which blocks are free.
    pub(crate) fn trim(&mut self, observer: &mut dyn Observer) -> Outcome {
        observer.event(Event::Preparing("trimming the free space"));
        match trim(&self.request.directory) {
            Ok(bytes) => match nothing_trimmed(bytes, self.discards_at_once()) {
                Some(reason) => Outcome::Skipped(reason),
                None => {
                    self.trimmed = true;
                    observer.event(Event::Note(&trimmed_note(bytes)));
                    Outcome::Done
                }
            },
            Err(error) => Outcome::Skipped(error.to_string()),
        }
    }

    /// Whether the filesystem tells the device of free space as soon as there is any.
    fn discards_at_once(&self) -> bool {
        let options = &self.run.environment.filesystem.options;
        options.value().is_some_and(|options| options.iter().any(|option| option == "discard"))
    }
}

/// Why a trim of `bytes` was none: a filesystem that answers "0 B" has told the device of nothing,
/// which is as it should be only where it had done so before (mount option `discard`).
fn nothing_trimmed(bytes: Bytes, discards_at_once: bool) -> Option<String> {
    (bytes == Bytes::ZERO && !discards_at_once).then(|| {
        "the filesystem reported that it trimmed 0 B, so the free space is not known to be trimmed \
         (try `fstrim -v` as root on its mount point)"
            .to_owned()
    })
}

/// What a trim did.
pub(crate) fn trimmed_note(bytes: Bytes) -> String {
    match bytes {
        Bytes::ZERO => "trimmed: nothing was left that the device did not know".to_owned(),
        bytes => format!("trimmed: the filesystem told the device that {bytes} are free"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trim_of_nothing_is_one_only_where_the_filesystem_discards_at_once() {
        assert_eq!(nothing_trimmed(Bytes(1), false), None);
        assert_eq!(nothing_trimmed(Bytes::ZERO, true), None);
        assert!(nothing_trimmed(Bytes::ZERO, false).unwrap().contains("0 B"));
        assert!(!trimmed_note(Bytes::ZERO).contains("0 B"));
        assert!(trimmed_note(Bytes::from_mb(3)).contains("3.0 MB are free"));
    }
}
