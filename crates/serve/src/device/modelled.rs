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
    /// Number of the flash's last change.
    changes: u64,
    trim: TrimKind,
}

impl ModelledFlash {
    /// A flash that keeps count, from now on, of what a power cut would lose.
    pub(crate) fn new(mut flash: Flash, trim: TrimKind) -> ModelledFlash {
        flash.keep_ledger();
        let (changes, _) = flash.changes();
        ModelledFlash { flash, undo: Undo::default(), changes, trim }
    }

    /// What a discard forgets whole ones of; `None` where the device does not know discards.
    pub(crate) fn discard_unit(&self) -> Option<u64> {
        (self.trim != TrimKind::Ignored).then(|| self.flash.mapping_unit().0)
    }

    pub(crate) fn trim(&self) -> TrimKind {
        self.trim
    }

    /// Hands a request over to the flash, which works out when it ends.
    pub(crate) fn submit(&mut self, record: &Record) -> Result<Timing, FlashError> {
        match record.command() {
            Some(command) => self.flash.submit(record.at, command),
            None => Ok(Timing { started: record.at, ended: record.at }),
        }
    }

    /// Moves the data of the request that the flash has just taken.
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

    /// Writes down what the command that the flash has just taken is about to change; `false`
    /// where it changes nothing. A discard changes nothing of what holds nothing.
    fn note(&mut self, data: &Data, offset: u64, length: u64, discards: bool) -> io::Result<bool> {
        let (changes, oldest) = self.flash.changes();
        // A discard that the flash ignores has no number.
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
                // On to the unit that holds something, or to the end, which is that of a unit.
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

    /// Cuts the power at `at`, which returns at once, and restores the data that survived.
    pub(crate) fn cut(&mut self, data: &Data, at: Nanos) -> io::Result<CutReport> {
        let mut report = CutReport { virtual_ns: at, ..CutReport::default() };
        let Ok(cut) = self.flash.power_cut(at) else {
            // Idle work until then met the end of the flash: it takes no more writes, and what it
            // had taken is where it was.
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
