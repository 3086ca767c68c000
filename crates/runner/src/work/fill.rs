//! The recipes of a fill, of its deletion and of a trim.

use flashlag_engine::EndReason;
use flashlag_spec::scenario::{Io, Test};
use flashlag_spec::{Downgrade, State};
use flashlag_units::Bytes;

use super::halves::Half;
use super::io::io_head;
use super::phase::PhaseHead;
use super::world::{Edge, FillEnd, FillOrder, Trimmed};
use super::{Hindrance, Outcome, Work, World};
use crate::estimate::fill_time;
use crate::events::{Event, Observer};
use crate::work::Direction;

/// The reason of a trim that had nothing to do.
const ALREADY_TRIMMED: &str = "the filesystem discards deleted data on its own, so the storage \
     was trimmed already; rows after the trim repeat that state";

impl<W: World> Work<W> {
    /// Writes until only `--leave` is free, and keeps the measurements as a phase.
    pub(super) fn fill(
        &mut self,
        test: &Test,
        directory: Option<&str>,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Hindrance> {
        let Test::Io(io) = test else {
            return Ok(Outcome::Skipped("only an [[io]] test can fill".to_owned()));
        };
        self.world.check_present()?;
        self.may_begin(io)?;
        self.lay_out_all(observer)?;
        let place = self.world.next_fill(directory)?;
        let head = io_head(io, State::Filled, 1, self.world.now());
        let label = format!("fill: {}", io.name);
        // The files under test exist by now.
        let limit = self.world.free_at(&place).saturating_minus(self.leave());
        let left = self.controls.budget.as_ref().map(flashlag_device::Budget::left);
        let limit = left.map_or(limit, |left| left.min(limit));
        observer.event(Event::Filling(self.world.storage_size()));
        let live = self.announce(None, observer);
        self.world.phase_begins(&label);
        observer.event(Event::PhaseStarted {
            label: &label,
            expected: self.world.in_real_time().then(|| fill_time(limit)),
            limit: Some(limit),
            live: &live,
        });
        let before = self.world.counters(Edge::Begin);
        let (leave, seed) = (self.leave(), self.task_seed(&label));
        let order = FillOrder { io, leave, seed, live };
        let outcome = match self.world.fill(&place, order, &self.controls) {
            Ok(filled) => {
                let counters = (before, self.world.counters(Edge::End));
                self.fill_outcome(head, io, filled, counters)
            }
            Err(error) => Outcome::Failed(None, error.to_string()),
        };
        Ok(outcome.unless_gone(self.world.check_present()))
    }

    fn fill_outcome(
        &mut self,
        head: PhaseHead,
        io: &Io,
        filled: FillEnd,
        counters: (W::Counters, W::Counters),
    ) -> Outcome {
        let FillEnd { mut driven, how, span, free, downgrades, mut notes } = filled;
        self.note_downgrades(&downgrades);
        let no_space = matches!(driven.ended, EndReason::NoSpace(_));
        let quota = matches!(&driven.ended, EndReason::NoSpace(error) if error.is_quota());
        let name = head.name.clone();
        self.evidence.fills.push(flashlag_trust::Fill {
            name,
            leave: self.leave(),
            free,
            no_space,
            quota,
        });
        if let EndReason::NoSpace(error) = &driven.ended {
            // Running out of space is the intended end of a fill.
            notes.push(format!("it ended when no more could be written: {}", error.reason));
            driven.ended = EndReason::Limit;
        }
        let stopped = self.take_stops(&mut driven);
        let half = Half {
            head: PhaseHead { span, ..head.with(how) },
            recorded: &driven.recorded,
            direction: Direction::Write,
            moved: driven.moved,
        };
        let outcome = self.io_outcome(vec![half], io, &driven, stopped, counters);
        outcome.with_notes(notes)
    }

    /// Deletes the files of all fills.
    pub(super) fn delete_fills(
        &mut self,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Hindrance> {
        observer.event(Event::Preparing("deleting what the fill wrote"));
        // Checked first: if something deleted the fill earlier, the tests before this ran without
        // it.
        self.world.check_present()?;
        if let Some(deleted) = self.world.delete_fills()? {
            observer.event(Event::Note(&format!("deleted {deleted} of the fill's")));
        }
        Ok(Outcome::Done)
    }

    /// Trims: the filesystem reports its free blocks to the device.
    pub(super) fn trim(&mut self, observer: &mut dyn Observer) -> Outcome {
        observer.event(Event::Preparing("trimming the free space"));
        let trimmed = match self.world.trim() {
            Ok(trimmed) => trimmed,
            Err(reason) => return Outcome::Skipped(reason.to_string()),
        };
        match trimmed {
            Trimmed { bytes: Bytes::ZERO, discards_at_once: false } => {
                return Outcome::Skipped(NOTHING_TRIMMED.to_owned());
            }
            Trimmed { bytes: Bytes::ZERO, discards_at_once: true } => {
                observer.event(Event::Note(ALREADY_TRIMMED));
                self.note_downgrades(&[Downgrade {
                    requested: "a trim of the free space".to_owned(),
                    effective: "nothing: all of it was discarded before".to_owned(),
                    reason: ALREADY_TRIMMED.to_owned(),
                }]);
            }
            Trimmed { bytes, .. } => observer.event(Event::Note(&format!(
                "trimmed: the filesystem discarded {bytes} of free space"
            ))),
        }
        self.trimmed = true;
        Outcome::Done
    }
}

/// The reason why a trim of 0 B failed: the filesystem reported no block to the device, which is right
/// only if it had done so before (mount option `discard`).
const NOTHING_TRIMMED: &str = "the filesystem reported that it trimmed 0 B, so the free space is not \
    known to be trimmed (try `fstrim -v` as root on its mount point)";
