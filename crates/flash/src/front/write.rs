use flashlag_stats::Wait;
use flashlag_units::{Bytes, Nanos, never};

use super::buffer::WriteBuffer;
use super::commands::{BufferState, Front};
use super::host::CommandKind;
use super::store::{Store, UnitWrite};
use super::units::Part;
use crate::address::Unit;
use crate::command::{FlashError, Timing};

impl Front {
    pub(super) fn write<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        at: Nanos,
        offset: Bytes,
        length: Bytes,
        fua: bool,
    ) -> Result<Timing, FlashError> {
        if let Some(ledger) = &mut self.ledger {
            ledger.next(at);
        }
        let largest = self.host.largest();
        let timing = Front::split(largest, offset, length, |offset, length| {
            self.host.room_from(self.buffer.as_ref().map_or(Nanos::ZERO, |buffer| buffer.cursor));
            let (started, mut ready) = self.host.begin(at, CommandKind::Write);
            let wait = self.host.housekeeping(at, length);
            if wait > Nanos::ZERO {
                if let Some(trace) = store.trace() {
                    trace.stop(Wait::DevicePeriod, ready, ready.plus(wait));
                }
                ready = ready.plus(wait);
            }
            let ended = match &self.buffer {
                None => self.write_through(store, ready, offset, length)?,
                Some(buffer) => {
                    let drain = fua && buffer.volatile;
                    let there = self.write_buffer(store, ready, offset, length)?;
                    if drain { self.force(store, there, offset, length)? } else { there }
                }
            };
            if fua && let Some(ledger) = &mut self.ledger {
                self.units.of(offset, length).for_each(|(unit, ..)| ledger.protect(unit));
            }
            let ended = self.host.complete(ended);
            if let Some(journal) = &mut self.journal
                && journal.change(self.units.of(offset, length).map(|(unit, ..)| unit))
            {
                let written = journal.write(store, ready);
                self.host.occupy(written);
                if let Some(trace) = store.trace() {
                    trace.stop_later(Wait::DevicePeriod, ready, written);
                }
            }
            Ok(Timing { started, ended })
        })?;
        self.changed = self.changed.max(timing.ended);
        Ok(timing)
    }

    /// Programs each program unit as soon as its data has arrived; returns the end.
    #[inline]
    fn write_through<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        ready: Nanos,
        offset: u64,
        length: u64,
    ) -> Result<Nanos, FlashError> {
        let mut group = std::mem::take(&mut self.group);
        group.clear();
        let (mut there, mut end) = (ready, ready);
        for (unit, part, bytes) in self.units.of(offset, length) {
            there = self.host.receive(there, bytes);
            self.note(store, unit, false);
            group.push((unit, part));
            if group.len() == self.program {
                end = end.max(self.program(store, there, &group)?);
                group.clear();
            }
        }
        if !group.is_empty() {
            end = end.max(self.program(store, there, &group)?);
        }
        self.group = group;
        Ok(end)
    }

    /// Puts data into the buffer as there is room, and issues programs for what exceeds the high
    /// water mark; returns the end.
    fn write_buffer<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        ready: Nanos,
        offset: u64,
        length: u64,
    ) -> Result<Nanos, FlashError> {
        let Some(mut buffer) = self.buffer.take() else {
            never!("a write to a buffer that the device does not have");
            return self.write_through(store, ready, offset, length);
        };
        let written = self.fill_buffer(store, &mut buffer, ready, offset, length);
        self.buffer = Some(buffer);
        written
    }

    fn fill_buffer<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        buffer: &mut BufferState,
        ready: Nanos,
        offset: u64,
        length: u64,
    ) -> Result<Nanos, FlashError> {
        let mut there = ready;
        for (unit, part, bytes) in self.units.of(offset, length) {
            if buffer.held.absorb(unit, part) {
                there = self.host.receive(there, bytes);
            } else {
                let mut from = there.max(buffer.cursor);
                while let Some(now) = match buffer.held.room_at(from) {
                    None => Some(from),
                    Some(room) => {
                        from = room;
                        None
                    }
                } {
                    self.drain(store, &mut buffer.held, now)?;
                }
                if let Some(trace) = store.trace() {
                    // Room comes with programs of what was written before.
                    trace.stop(Wait::OtherIo, there, from);
                }
                buffer.cursor = from;
                there = self.host.receive(from, bytes);
                buffer.held.insert(unit, part);
            }
            self.note(store, unit, false);
            if !buffer.volatile
                && let Some(ledger) = &mut self.ledger
            {
                ledger.program(unit, there, None);
            }
            while buffer.held.dirty() > buffer.held.high_water()
                && buffer.held.dirty() >= self.program
            {
                self.drain(store, &mut buffer.held, there)?;
            }
        }
        Ok(there)
    }

    /// Issues a program of the oldest units.
    pub(super) fn drain<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        held: &mut WriteBuffer,
        at: Nanos,
    ) -> Result<(), FlashError> {
        let mut group = std::mem::take(&mut self.group);
        match held.oldest().and_then(|oldest| store.group_of(oldest)) {
            None => held.take_oldest(self.program, &mut group),
            same => {
                held.take_oldest_of(|unit| store.group_of(unit) == same, self.program, &mut group)
            }
        }
        let programmed = self.program(store, at, &group);
        if let Ok(end) = programmed {
            group.iter().for_each(|(unit, _)| held.leave(*unit, end));
        }
        self.group = group;
        programmed.map(|_| ())
    }

    /// Programs the units of a command, with all that the buffer has of them; returns the end.
    fn force<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        at: Nanos,
        offset: u64,
        length: u64,
    ) -> Result<Nanos, FlashError> {
        let Some(mut buffer) = self.buffer.take() else {
            never!("force unit access to a buffer that the device does not have");
            return Ok(at);
        };
        if store.group_of(Unit(0)).is_some() {
            let end = self.force_in_order(store, &mut buffer, at, offset, length);
            self.buffer = Some(buffer);
            return end;
        }
        let mut group = std::mem::take(&mut self.group);
        group.clear();
        let mut end = Ok(at);
        let mut units = self.units.of(offset, length).peekable();
        while let (Some((unit, ..)), Ok(so_far)) = (units.next(), end.clone()) {
            match buffer.held.take(unit) {
                Some(part) => group.push((unit, part)),
                // It was issued while the rest of the command arrived.
                None => end = Ok(so_far.max(buffer.held.leaving_until(unit))),
            }
            if group.len() == self.program || (units.peek().is_none() && !group.is_empty()) {
                end = self.program(store, at, &group).map(|done| so_far.max(done));
                if let Ok(done) = end {
                    group.iter().for_each(|(unit, _)| buffer.held.leave(*unit, done));
                }
                group.clear();
            }
        }
        self.group = group;
        self.buffer = Some(buffer);
        end
    }

    /// Programs the units of a command, and before them all that came to the buffer earlier: zones
    /// are written in order.
    fn force_in_order<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        buffer: &mut BufferState,
        at: Nanos,
        offset: u64,
        length: u64,
    ) -> Result<Nanos, FlashError> {
        let units = self.units;
        while units.of(offset, length).any(|(unit, ..)| buffer.held.is_dirty(unit)) {
            self.drain(store, &mut buffer.held, at)?;
        }
        let ends = units.of(offset, length).map(|(unit, ..)| buffer.held.leaving_until(unit));
        Ok(ends.fold(at, Nanos::max))
    }

    /// Programs a group, in the write cache if that has room.
    #[inline]
    pub(super) fn program<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        at: Nanos,
        group: &[(Unit, Part)],
    ) -> Result<Nanos, FlashError> {
        let cached = match &mut self.slc {
            None => None,
            Some(slc) => slc.write(store, at, group, |part| self.units.is_whole(part))?,
        };
        let is_cached = cached.is_some();
        let end = match cached {
            Some(end) => end,
            None => {
                let end = self.program_main(store, at, group)?;
                if let Some(slc) = &mut self.slc {
                    slc.passed_by();
                    self.host.went_past_cache(group.len() as u64 * self.units.bytes());
                    if let Some(trace) = store.trace() {
                        trace.stop(Wait::WriteCacheFull, at, end);
                    }
                }
                end
            }
        };
        self.programmed = self.programmed.max(end);
        if let Some(ledger) = &mut self.ledger {
            let line = if is_cached { None } else { store.word_line() };
            group.iter().for_each(|(unit, _)| ledger.program(*unit, end, line));
        }
        Ok(end)
    }

    #[inline]
    fn program_main<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        at: Nanos,
        group: &[(Unit, Part)],
    ) -> Result<Nanos, FlashError> {
        let mut ready = at;
        self.writes.clear();
        for (unit, part) in group {
            let mut whole = self.units.is_whole(*part);
            if let Some(slc) = &mut self.slc
                && slc.holds(*unit)
            {
                // The write cache holds the rest of the unit; the whole unit moves from there.
                if !whole {
                    match slc.read(store, at, *unit) {
                        Some(end) => ready = ready.max(end),
                        None => never!("the write cache holds {unit:?} and has no page of it"),
                    }
                    whole = true;
                }
                slc.forget(*unit);
            }
            self.writes.push(UnitWrite { unit: *unit, whole });
        }
        store.write(ready, &self.writes)
    }
}
