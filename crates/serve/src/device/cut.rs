//! Cutting the power and switching it on.

use flashlag_schema::CutReport;
use flashlag_units::{Bytes, Nanos};

use super::core::Core;
use crate::data::Data;
use crate::record::{Record, RecordKind};

impl Core {
    /// Carries out a planned cut that is due.
    pub(super) fn cut_where_due(&mut self, data: &Data, now: Nanos) -> std::io::Result<()> {
        if let Some((at, stay_off)) = self.plan.as_ref().and_then(|plan| plan.due(now)) {
            self.plan = None;
            self.cut(data, at, stay_off)?;
        }
        Ok(())
    }

    /// Cuts the power at `at`. It comes back at once, or with `stay_off` only when switched on.
    pub(super) fn cut(
        &mut self,
        data: &Data,
        at: Nanos,
        stay_off: bool,
    ) -> std::io::Result<CutReport> {
        let mut report = CutReport { virtual_ns: at, ..CutReport::default() };
        if !self.powered {
            return Ok(report);
        }
        if let Some(modelled) = &mut self.flash {
            report = modelled.cut(data, at)?;
        }
        self.cuts.push(at);
        self.last_cut = Some(report);
        self.note_cut(at);
        if stay_off {
            self.powered = false;
            self.clock.stop(at);
        }
        Ok(report)
    }

    /// Switches the power on: the device recovers its map.
    pub(super) fn switch_on(&mut self, data: &Data) -> std::io::Result<()> {
        if self.powered {
            return Ok(());
        }
        self.powered = true;
        self.clock.resume();
        let at = self.clock.now();
        if let Some(modelled) = &mut self.flash {
            modelled.cut(data, at)?;
        }
        self.note_cut(at);
        Ok(())
    }

    fn note_cut(&mut self, at: Nanos) {
        let record = Record {
            at,
            ended: at,
            offset: Bytes::ZERO,
            length: Bytes::ZERO,
            kind: RecordKind::Cut,
            fua: false,
            has_data: false,
        };
        if let Some(recorder) = &mut self.recorder {
            recorder.note(&record, None);
        }
        if let Some(store) = &mut self.store {
            // If there is no room for the record, the next stored state includes the recovery.
            let _ = store.reserve().and_then(|()| store.note(&record)).map_err(|_| store.miss());
        }
    }
}
