use flashlag_spec::profile::{Model, TrimKind};
use flashlag_stats::Wait;
use flashlag_units::{Bytes, Nanos, never};
use serde::{Deserialize, Serialize};

use super::buffer::WriteBuffer;
use super::host::{CommandKind, Host};
use super::journal::MapJournal;
use super::slc::{SlcCache, SlcCounts};
use super::store::{Store, UnitWrite};
use super::trim::Trims;
use super::units::{Part, Units};
use crate::address::Unit;
use crate::command::{Command, FlashError, Timing};
use crate::power::Ledger;
use crate::stats::Stats;
use crate::trace::Span;

/// The front of the device: all that lies between the host and the map.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Front {
    pub(super) host: Host,
    pub(super) units: Units,
    pub(super) buffer: Option<BufferState>,
    pub(super) slc: Option<SlcCache>,
    pub(super) trims: Trims,
    pub(super) journal: Option<Box<MapJournal>>,
    /// Units per program unit, and per piece of a read.
    pub(super) program: usize,
    pub(super) read: u64,
    /// End of the last program, and of the last command that changed data.
    pub(super) programmed: Nanos,
    pub(super) changed: Nanos,
    pub(super) ledger: Option<Box<Ledger>>,
    /// Scratch space for units that are programmed together.
    pub(super) group: Vec<(Unit, Part)>,
    pub(super) writes: Vec<UnitWrite>,
}

/// The write buffer with its parameters.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BufferState {
    pub(super) held: WriteBuffer,
    pub(super) volatile: bool,
    pub(super) drain_after: Option<Nanos>,
    /// Data enters the buffer in the order of the commands: no earlier than this.
    pub(super) cursor: Nanos,
}

impl Front {
    /// The front of a model, before a store of `dies` dies.
    pub(crate) fn new(model: &Model, dies: u32, seed: u64) -> Front {
        let unit = model.map.unit.0.0;
        let stripe = model.nand.page.0.0 * u64::from(model.nand.planes);
        let buffer = model.buffer.as_ref().map(|buffer| BufferState {
            held: WriteBuffer::new((buffer.size.0.0 / unit) as usize),
            volatile: buffer.volatile,
            drain_after: buffer.drain_after.map(|after| after.0),
            cursor: Nanos::ZERO,
        });
        Front {
            host: Host::new(&model.host, seed),
            units: Units::new(unit),
            buffer,
            slc: SlcCache::new(model, dies),
            trims: Trims::new(&model.trim),
            journal: MapJournal::new(model).map(Box::new),
            program: (model.map.program_unit.0.0 / unit).max(1) as usize,
            read: (stripe / unit).max(1),
            programmed: Nanos::ZERO,
            changed: Nanos::ZERO,
            ledger: None,
            group: Vec::new(),
            writes: Vec::new(),
        }
    }

    /// Counts of the write cache.
    pub(crate) fn slc_counts(&self) -> SlcCounts {
        self.slc.as_ref().map(SlcCache::counts).unwrap_or_default()
    }

    /// Adds the counts of the write cache.
    pub(crate) fn count(&self, stats: &mut Stats, unit: Bytes) {
        let bytes = |units: u64| Bytes(units * unit.0);
        let counts = self.slc_counts();
        let folds = bytes(counts.folded);
        stats.programmed_folds = stats.programmed_folds.plus(folds);
        // The map counts folded units as written by the host.
        let host = stats.programmed_host.map(|host| host.minus(folds));
        stats.programmed_host = host.map(|host| host.plus(bytes(counts.written)));
        let padding = stats.programmed_padding;
        stats.programmed_padding = padding.map(|padding| padding.plus(bytes(counts.padded)));
        let journal = self.journal.as_ref().map_or(Bytes::ZERO, |journal| journal.programmed());
        stats.programmed_map = stats.programmed_map.plus(bytes(counts.journal)).plus(journal);
        stats.mapped = stats.mapped.plus(bytes(self.slc.as_ref().map_or(0, SlcCache::units)));
    }

    /// Adds how full the write buffer and the write cache are.
    pub(crate) fn count_fill<S: Store + ?Sized>(&self, store: &S, stats: &mut Stats, unit: Bytes) {
        let bytes = |units: u64| Some(Bytes(units * unit.0));
        if let Some(BufferState { held, .. }) = &self.buffer {
            stats.buffered = bytes(held.dirty() as u64);
            stats.buffer = bytes(held.capacity() as u64);
        }
        if let Some(slc) = &self.slc {
            (stats.cached, stats.cache) = (bytes(slc.occupied()), bytes(slc.most(store)));
        }
    }

    /// Computes the times of a command whose range is valid; `at` never goes back.
    #[inline]
    pub(crate) fn submit<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        at: Nanos,
        command: Command,
    ) -> Result<Timing, FlashError> {
        let before = self.host.quiet_from();
        let accounted = store.trace().map(|trace| trace.begin(at)).is_some();
        let timing = self.carry_out(store, at, command)?;
        if accounted {
            self.account(store, (at, before), command, timing);
        }
        Ok(timing)
    }

    #[inline]
    fn carry_out<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        at: Nanos,
        command: Command,
    ) -> Result<Timing, FlashError> {
        if at > self.host.quiet_from() {
            self.idle(store, at)?;
        }
        match command {
            Command::Read { offset, length } => Ok(self.read(store, at, offset, length)),
            Command::Write { offset, length, fua } => self.write(store, at, offset, length, fua),
            Command::Flush => self.flush(store, at),
            Command::Discard { offset, length } => Ok(self.discard(store, at, offset, length)),
        }
    }

    /// Divides the time of a command among what it waited for. `before` is the end of the commands
    /// before it.
    #[cold]
    fn account<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        (at, before): (Nanos, Nanos),
        command: Command,
        timing: Timing,
    ) {
        let Some(trace) = store.trace() else { return };
        let (begin, later) = self.host.begin_of_last();
        trace.stop(Wait::WakeUp, begin.taken, begin.awake);
        let ended = timing.ended;
        trace.stop(Wait::OtherIo, Nanos(ended.0.saturating_sub(later.0)), ended);
        // Programs of buffered data belong to one command each; a flush belongs to all.
        let shares = match command {
            Command::Write { .. } => self.buffer.is_some(),
            Command::Flush => true,
            Command::Read { .. } | Command::Discard { .. } => false,
        };
        trace.end(Span {
            came: at,
            others_until: begin.turn.min(before),
            shared_until: if shares { ended } else { begin.turn },
            ended,
        });
    }

    /// Splits a range into commands of the largest size and joins their times.
    pub(super) fn split(
        largest: u64,
        offset: Bytes,
        length: Bytes,
        mut one: impl FnMut(u64, u64) -> Result<Timing, FlashError>,
    ) -> Result<Timing, FlashError> {
        let (mut offset, mut left) = (offset.0, length.0);
        let mut whole: Option<Timing> = None;
        while left > 0 {
            let piece = left.min(largest);
            let timing = one(offset, piece)?;
            let before = whole.unwrap_or(timing);
            let ended = before.ended.max(timing.ended);
            whole = Some(Timing { started: before.started, ended });
            (offset, left) = (offset + piece, left - piece);
        }
        Ok(whole.unwrap_or_else(|| {
            never!("a range of no bytes, which is refused before");
            Timing { started: Nanos::ZERO, ended: Nanos::ZERO }
        }))
    }

    fn flush<S: Store + ?Sized>(&mut self, store: &mut S, at: Nanos) -> Result<Timing, FlashError> {
        let (started, ready) = self.host.begin(at, CommandKind::Flush);
        // A flush covers the commands before it, so it begins when all of them have ended.
        let from = ready.max(self.changed);
        let mut ended = from.max(self.trims.done());
        if let Some(trace) = store.trace() {
            trace.stop(Wait::OtherIo, ready, from);
            trace.stop(Wait::Discard, from, ended);
        }
        if let Some(mut buffer) = self.buffer.take() {
            if buffer.volatile {
                let mut drained = Ok(());
                while buffer.held.dirty() > 0 && drained.is_ok() {
                    drained = self.drain(store, &mut buffer.held, from);
                }
                ended = ended.max(self.programmed);
                self.buffer = Some(buffer);
                drained?;
                ended = store.journal(ended);
                self.programmed = self.programmed.max(ended);
                if let Some(slc) = &mut self.slc {
                    ended = slc.journal(store, ended)?;
                    self.programmed = self.programmed.max(ended);
                }
            } else {
                self.buffer = Some(buffer);
            }
        }
        if let Some(ledger) = &mut self.ledger {
            ledger.flush(ended);
        }
        self.host.complete(ended);
        Ok(Timing { started, ended })
    }

    fn discard<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        at: Nanos,
        offset: Bytes,
        length: Bytes,
    ) -> Timing {
        let (started, ready) = self.host.begin(at, CommandKind::Discard);
        let cost = self.trims.cost(length.0);
        let (ended, done) = match self.trims.kind() {
            TrimKind::Ignored => (ready, ready),
            TrimKind::Immediate => {
                self.host.occupy(ready.plus(cost));
                if let Some(trace) = store.trace() {
                    trace.stop(Wait::Discard, ready, ready.plus(cost));
                }
                (ready.plus(cost), ready.plus(cost))
            }
            TrimKind::Queued => (ready, self.trims.queue(ready, cost)),
        };
        if self.trims.kind() != TrimKind::Ignored {
            if let Some(ledger) = &mut self.ledger {
                ledger.next(at);
            }
            self.unmap(store, done, offset.0, length.0);
        }
        self.changed = self.changed.max(ended);
        self.host.complete(ended);
        Timing { started, ended }
    }

    /// Unmaps the units that are wholly within a range.
    fn unmap<S: Store + ?Sized>(&mut self, store: &mut S, at: Nanos, offset: u64, length: u64) {
        let unit = self.units.bytes();
        let (first, end) = (offset.div_ceil(unit), (offset + length) / unit);
        if first >= end {
            return;
        }
        let (first, count) = (Unit(first as u32), (end - first) as u32);
        let dirty = self.buffer.as_ref().is_some_and(|buffer| buffer.held.dirty() > 0);
        let cached = self.slc.as_ref().is_some_and(|slc| slc.units() > 0);
        if dirty || cached || self.ledger.is_some() {
            for unit in first.run(count) {
                if self.needs_no_record(store, unit) {
                    continue;
                }
                self.note(store, unit, true);
                if let Some(buffer) = &mut self.buffer {
                    buffer.held.take(unit);
                }
                if let Some(slc) = &mut self.slc {
                    slc.forget(unit);
                }
                if let Some(ledger) = &mut self.ledger {
                    ledger.program(unit, at, None);
                }
            }
        }
        store.discard(at, first, count);
    }

    /// Whether a unit needs no bookkeeping when it is discarded: it is empty, and no power cut
    /// could restore it. Without this, discarding a large device would record every unit.
    fn needs_no_record<S: Store + ?Sized>(&self, store: &S, unit: Unit) -> bool {
        let buffered = self.buffer.as_ref().is_some_and(|buffer| buffer.held.is_dirty(unit));
        let cached = self.slc.as_ref().is_some_and(|slc| slc.holds(unit));
        let empty = !buffered && !cached && !store.is_mapped(unit);
        self.ledger.as_ref().map_or(empty, |ledger| ledger.needs_no_record(unit, empty))
    }

    /// Records a change of a unit in the ledger, if there is one.
    #[inline]
    pub(super) fn note<S: Store + ?Sized>(&mut self, store: &S, unit: Unit, discard: bool) {
        let Some(ledger) = &mut self.ledger else {
            return;
        };
        let slc = self.slc.as_ref();
        ledger.change(unit, discard, || {
            !store.is_mapped(unit) && !slc.is_some_and(|slc| slc.holds(unit))
        });
    }
}
