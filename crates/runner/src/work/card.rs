//! The recipe of the test that asks whether storage is what it says it is.

use flashlag_device::WaitMeter;
use flashlag_engine::card::{
    CHUNK, CardJob, CardMedium, CardPhase, CardPlan, read_card, rewrite_card, write_card,
};
use flashlag_schema::{CardCheck, Phase};
use flashlag_spec::scenario::{Card, Durability, EngineKind};
use flashlag_spec::{Operation, Reading, State};
use flashlag_stats::WaitSplit;
use flashlag_units::Bytes;

use super::changes::changes_of;
use super::phase::{PhaseHead, PhaseTail, phase, without_stops};
use super::world::Edge;
use super::{Hindrance, INTERVAL, Outcome, STALL_OVER, Work, World};
use crate::error::RunError;
use crate::events::{Event, Observer};
use crate::work::Direction;

/// A card's test, and where it stands.
#[derive(Clone, Copy)]
struct Asked<'a> {
    card: &'a Card,
    state: State,
    run: u32,
    /// The index of the check in the run.
    check: usize,
}

/// A phase of a card's test to be done.
struct Part<'a> {
    asked: Asked<'a>,
    direction: Direction,
    /// What it will move.
    bytes: Bytes,
    medium: &'a mut dyn CardMedium,
}

impl<W: World> Work<W> {
    /// Writes the free space and reads it back, or goes on where an earlier process ended.
    pub(super) fn measure_card(
        &mut self,
        card: &Card,
        state: State,
        run: u32,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, Hindrance> {
        let mut medium = self.world.card()?;
        let check = self.check_of(card)?;
        let asked = Asked { card, state, run, check };
        let is_written = self.run.cards[check].is_written;
        // A killed run is resumed by what its file says.
        self.keep_card()?;
        if !is_written {
            let written = self.write_card(asked, &mut *medium, observer)?;
            if !self.run.cards[check].is_written {
                return Ok(Outcome::of(vec![written], None));
            }
            self.end_part(written, observer)?;
            if card.take_out {
                return Ok(Outcome::Paused);
            }
        }
        if self.run.cards[check].files_read < self.run.cards[check].files {
            self.run.cards[check].resumed |= is_written && self.run.cards[check].files_read == 0;
            let read = self.read_card(asked, &mut *medium, observer)?;
            if read.cut_short {
                return Ok(Outcome::Measured(Box::new(read)));
            }
            self.end_part(read, observer)?;
        }
        self.judge_card(check, &mut *medium, observer);
        Ok(Outcome::Done)
    }

    /// Writes what is left to be written.
    fn write_card(
        &mut self,
        asked: Asked<'_>,
        medium: &mut dyn CardMedium,
        observer: &mut dyn Observer,
    ) -> Result<Phase, Hindrance> {
        let check = &self.run.cards[asked.check];
        let plan = CardPlan::of(check);
        let left = plan.written().saturating_minus(check.written_bytes);
        let most = left.plus(plan.most().saturating_minus(plan.written()));
        self.allow(most, "the card's data")?;
        let part = Part { asked, direction: Direction::Write, bytes: left, medium };
        let mut keep = self.keeper(asked.check);
        let written = self.card_part(part, observer, |medium, job, check| {
            write_card(medium, job, check, &mut keep)
        })?;
        self.settle(most, written.bytes);
        self.wrote(written.bytes);
        Ok(written)
    }

    /// Reads what is left to be read.
    fn read_card(
        &mut self,
        asked: Asked<'_>,
        medium: &mut dyn CardMedium,
        observer: &mut dyn Observer,
    ) -> Result<Phase, Hindrance> {
        let bytes = self.run.cards[asked.check].written_bytes;
        let part = Part { asked, direction: Direction::Read, bytes, medium };
        let read =
            self.card_part(part, observer, |medium, job, check| Ok(read_card(medium, job, check)))?;
        self.note_cached(asked.check, &read);
        Ok(read)
    }

    /// Keeps a part in the run file, so that a killed run goes on behind it.
    fn end_part(&mut self, part: Phase, observer: &mut dyn Observer) -> Result<(), Hindrance> {
        observer.event(Event::PhaseFinished(&part));
        self.run.phases.push(part);
        self.keep_card()
    }

    fn keep_card(&mut self) -> Result<(), Hindrance> {
        self.save().map_err(|error: RunError| Hindrance::Failure(error.to_string()))
    }

    /// Stores how far a card is written.
    fn keeper(&self, check: usize) -> impl FnMut(&CardCheck) + use<W> {
        let (mut run, output) = (self.run.clone(), self.request.output.clone());
        let (began, wear) = (run.cards[check].written_bytes, run.wear.written_bytes);
        move |now| {
            let Some(output) = &output else { return };
            run.wear.written_bytes = wear.plus(now.written_bytes.saturating_minus(began));
            run.cards[check] = now.clone();
            // What can't be stored now is stored at the part's end, or refused there with the reason.
            let _ = output.store(&mut run);
        }
    }

    /// The check of a test, begun by an earlier process or now.
    fn check_of(&mut self, card: &Card) -> Result<usize, Hindrance> {
        if let Some(begun) = self.run.cards.iter().position(|check| check.test == card.name) {
            return Ok(begun);
        }
        let space = self.world.card_room();
        let free = space.available;
        let room = free.saturating_minus(self.leave());
        let plan =
            if card.quick { CardPlan::places(room, card.places) } else { CardPlan::all(room) };
        if plan.files() == 0 {
            return Err(Hindrance::Failure(format!(
                "{free} are free, and {} are left free: there is no room to prove (delete something, or leave \
                 less with --leave)",
                self.leave()
            )));
        }
        self.run.cards.push(CardCheck {
            test: card.name.clone(),
            generation: generation(self.run.started.as_deref().unwrap_or_default()),
            quick: card.quick,
            claimed_bytes: space.total,
            used_bytes: space.used(),
            span_bytes: plan.span,
            file_bytes: plan.file,
            each_bytes: plan.each,
            ..CardCheck::default()
        });
        Ok(self.run.cards.len() - 1)
    }

    /// Does one part, and makes a phase of it.
    fn card_part(
        &mut self,
        part: Part<'_>,
        observer: &mut dyn Observer,
        work: impl FnOnce(
            &mut dyn CardMedium,
            &CardJob<'_>,
            &mut CardCheck,
        ) -> Result<CardPhase, flashlag_device::DeviceError>,
    ) -> Result<Phase, Hindrance> {
        let head = card_head(&part, self.world.now());
        let (label, direction, check) = (head.label(), part.direction, part.asked.check);
        let live = self.announce(None, observer);
        self.world.phase_begins(&label);
        observer.event(Event::PhaseStarted {
            label: &label,
            expected: None,
            limit: Some(part.bytes),
            live: &live,
        });
        let stop = std::sync::Arc::clone(&self.controls.stop);
        let job = CardJob {
            seed: self.controls.seed,
            interval: INTERVAL,
            stall_over: STALL_OVER,
            live: Some(live),
            stop: &stop,
        };
        let before = self.world.counters(Edge::Begin);
        let meter = self.world.meter();
        let from = meter.read();
        let done = work(part.medium, &job, &mut self.run.cards[check]);
        let to = meter.read();
        let after = self.world.counters(Edge::End);
        let CardPhase { mut recorded, moved, stopped: cut_short } = done?;
        let stopped = self.world.stops().map(|stops| {
            recorded.take_stops(&stops);
            recorded.stopped(&stops)
        });
        let split = from.zip(to).map(|(from, to)| {
            let on_cpu = to.on_cpu.saturating_since(from.on_cpu);
            WaitSplit::of(recorded.elapsed, on_cpu, to.runnable.saturating_since(from.runnable))
        });
        let tail = PhaseTail {
            time: without_stops(split, stopped),
            in_real_time: self.world.in_real_time(),
            clocks: self.world.clocks(recorded.began),
            thought: flashlag_units::Nanos::ZERO,
            final_flush: None,
            stopped,
            ledger: self.world.ledger((&before, &after), direction, moved),
            growth: None,
            looks: self.world.looks(),
            slow: self.world.slow(&before, &after),
            cut_short,
            notes: self.world.phase_note().into_iter().collect(),
        };
        let head = PhaseHead { direct: part.medium.is_direct(), ..head };
        let changes = changes_of(&recorded, head.operation, None);
        let whole = Phase { changes, ..phase(head, &recorded, tail) };
        self.evidence.phases.push(Some((before, after)));
        Ok(self.with_causes(whole))
    }

    /// What reads got from a page cache instead of the device, by the device's own count.
    fn note_cached(&mut self, check: usize, read: &Phase) {
        let check = &mut self.run.cards[check];
        // A filesystem in a process of its own reads for this one; a loop device has counters of its own.
        let seen = [&read.ledger.block_bytes, &read.ledger.storage_bytes];
        let cached = match seen.iter().filter_map(|bytes| bytes.value()).max() {
            Some(seen) => {
                let earlier = check.cached_bytes.value().copied().unwrap_or_default();
                Reading::Value(earlier.plus(read.bytes.saturating_minus(*seen)))
            }
            None => Reading::unavailable("no counter of reads can be read"),
        };
        check.cached_bytes = cached;
    }

    /// Writes some places once more, and says what the card is.
    fn judge_card(
        &mut self,
        check: usize,
        medium: &mut dyn CardMedium,
        observer: &mut dyn Observer,
    ) {
        let stop = std::sync::Arc::clone(&self.controls.stop);
        let job = CardJob {
            seed: self.controls.seed,
            interval: INTERVAL,
            stall_over: STALL_OVER,
            live: None,
            stop: &stop,
        };
        let asked = &self.run.cards[check];
        if asked.refused.is_none() && asked.proven_bytes > Bytes::ZERO {
            observer.event(Event::Preparing("writing some places once more"));
            let written = rewrite_card(medium, &job, &mut self.run.cards[check]);
            self.wrote(written);
        }
        let reached = self.world.card_reach(self.run.cards[check].files);
        let check = &mut self.run.cards[check];
        check.reached = reached;
        check.verdict = flashlag_explain::card_verdict(check);
    }
}

/// A number that differs from run to run, by the moment at which the run began.
fn generation(started: &str) -> u32 {
    // FNV-1a of 32 bits.
    started
        .bytes()
        .fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn card_head(part: &Part<'_>, began: flashlag_units::Nanos) -> PhaseHead {
    let Asked { card, state, run, .. } = part.asked;
    let (name, operation) = match part.direction {
        Direction::Write => (card.write_phase(), Operation::SequentialWrite),
        Direction::Read => (card.read_phase(), Operation::SequentialRead),
    };
    PhaseHead {
        name,
        state,
        run,
        operation,
        block: CHUNK,
        span: part.bytes,
        queue_depth: 1,
        threads: 1,
        mixed: None,
        durable: Durability::None,
        direct: true,
        engine: EngineKind::Psync,
        closed_loop: true,
        think: None,
        background: None,
        began,
    }
}
