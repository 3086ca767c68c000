use std::io;

use flashlag_flash::{Flash, FlashError, Timing, Undo};
use flashlag_schema::CutReport;
use flashlag_spec::profile::TrimKind;
use flashlag_units::{Bytes, Nanos};

use super::request::Work;
use crate::data::Data;
use crate::record::{Record, RecordKind};

/// A modelled flash, and the data that a power cut would restore.
#[derive(Debug)]
pub(crate) struct ModelledFlash {
    pub(crate) flash: Flash,
    undo: Undo,
    /// Sequence number of the flash's last change.
    changes: u64,
    trim: TrimKind,
}

impl ModelledFlash {
    /// A flash that tracks from now on what a power cut would lose.
    pub(crate) fn new(mut flash: Flash, trim: TrimKind) -> ModelledFlash {
        flash.keep_ledger();
        let (changes, _) = flash.changes();
        ModelledFlash { flash, undo: Undo::default(), changes, trim }
    }

    /// Size of the units that a discard forgets; `None` if the device does not support discards.
    pub(crate) fn discard_unit(&self) -> Option<u64> {
        (self.trim != TrimKind::Ignored).then(|| self.flash.mapping_unit().0)
    }

    pub(crate) fn trim(&self) -> TrimKind {
        self.trim
    }

    /// Submits a request to the flash, which computes when it completes.
    pub(crate) fn submit(&mut self, record: &Record) -> Result<Timing, FlashError> {
        match record.command() {
            Some(command) => self.flash.submit(record.at, command),
            None => Ok(Timing { started: record.at, ended: record.at }),
        }
    }

    /// Moves the data of the request that the flash has just accepted.
    pub(crate) fn apply(
        &mut self,
        data: &Data,
        record: &Record,
        work: &mut Work<'_>,
    ) -> io::Result<()> {
        let (offset, length) = (record.offset.0, record.length.0);
        match record.kind {
            RecordKind::Read => work.apply(data, offset),
            RecordKind::Write | RecordKind::Zeros => {
                self.note(data, offset, length, false)?;
                work.apply(data, offset)
            }
            RecordKind::Discard => {
                // Units that are not wholly in the range keep what they hold.
                let unit = self.flash.mapping_unit().0;
                let (first, end) = (offset.next_multiple_of(unit), (offset + length) / unit * unit);
                let whole = end.saturating_sub(first);
                if self.note(data, first, whole, true)? && whole > 0 {
                    data.clear(first, whole)?;
                }
                Ok(())
            }
            RecordKind::Flush | RecordKind::Cut => Ok(()),
        }
    }

    /// Saves the data that the command just accepted will change; returns `false` if it changes
    /// nothing. Discarding empty units changes nothing.
    fn note(&mut self, data: &Data, offset: u64, length: u64, discards: bool) -> io::Result<bool> {
        let (changes, oldest) = self.flash.changes();
        // A discard that the flash ignores gets no sequence number.
        let changed = std::mem::replace(&mut self.changes, changes) != changes;
        self.undo.forget_before(oldest);
        if !changed {
            return Ok(false);
        }
        let (unit, capacity) = (self.flash.mapping_unit().0, self.flash.capacity().0);
        let (mut at, end) = (offset - offset % unit, offset + length);
        while at < end {
            let size = unit.min(capacity - at);
            let within = if discards { end } else { at + size };
            let next = data.next_held(at, within)?.map_or(within, |(start, _)| start);
            if discards && next >= at + unit {
                // Skip to the unit that holds data, or to the end, which is also the end of a unit.
                at = next - next % unit;
                continue;
            }
            let mut content = None;
            if next < at + size {
                let mut held = vec![0; size as usize];
                data.read(at, &mut held)?;
                content = Some(held.into());
            }
            self.undo.note(changes, at / unit, content);
            at += size;
        }
        Ok(true)
    }

    /// Cuts the power at `at`; the power comes back at once. Restores the data that survived.
    pub(crate) fn cut(&mut self, data: &Data, at: Nanos) -> io::Result<CutReport> {
        let mut report = CutReport { virtual_ns: at, ..CutReport::default() };
        let Ok(cut) = self.flash.power_cut(at) else {
            // Idle work until then wore the flash out: it accepts no more writes, and all that it
            // had accepted is in place.
            return Ok(report);
        };
        let unit = self.flash.mapping_unit().0;
        let lost = cut.lost.unwrap_or_default();
        report.recovery_ns = cut.recovery;
        report.lost_units = lost.len() as u64;
        report.lost_bytes = Bytes(lost.iter().map(|lost| lost.length.0).sum());
        let lost = lost.iter().map(|lost| (lost.offset.0 / unit, lost.command));
        for (number, content) in self.undo.revert(lost) {
            let left = self.flash.capacity().0 - number * unit;
            match content {
                Some(content) => data.write(number * unit, &content)?,
                None => data.clear(number * unit, unit.min(left))?,
            }
        }
        Ok(report)
    }
}
