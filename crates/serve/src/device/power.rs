//! Power cuts: now, or at a moment that was chosen before.

use flashlag_schema::CutReport;
use flashlag_units::{Bytes, Nanos};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use super::core::Core;
use crate::control::CutMoment;
use crate::data::Data;
use crate::record::{Record, RecordKind};

/// A power cut that is to come.
#[derive(Debug)]
pub(crate) struct Plan {
    when: When,
    stay_off: bool,
}

#[derive(Debug)]
enum When {
    /// At a moment.
    At(Nanos),
    /// When so many more commands have been handed over; then in the one that was the last, at a
    /// moment that is drawn, or at its beginning.
    After { left: u64, draws: Option<Box<Pcg64Mcg>> },
}

impl Plan {
    /// `None` where it is to be at once.
    pub(super) fn new(moment: CutMoment, now: Nanos, stay_off: bool) -> Option<Plan> {
        let when = match moment {
            CutMoment::Now | CutMoment::AfterCommands(0) => return None,
            CutMoment::AfterNs(time) => When::At(now.plus(time)),
            CutMoment::AfterCommands(left) => When::After { left, draws: None },
            CutMoment::Drawn { seed, within_commands } => {
                let mut draws = Box::new(Pcg64Mcg::seed_from_u64(seed));
                let left = draws.random_range(1..=within_commands.max(1));
                When::After { left, draws: Some(draws) }
            }
        };
        Some(Plan { when, stay_off })
    }

    /// The moment, where it is known.
    pub(super) fn moment(&self) -> Option<Nanos> {
        match self.when {
            When::At(at) => Some(at),
            When::After { .. } => None,
        }
    }

    /// A command was handed over, which lasts from `started` to `ended`.
    pub(super) fn passed(&mut self, started: Nanos, ended: Nanos) {
        if let When::After { left, draws } = &mut self.when {
            *left -= 1;
            if *left == 0 {
                let at = match draws {
                    Some(draws) => Nanos(draws.random_range(started.0..=ended.0.max(started.0))),
                    None => started,
                };
                self.when = When::At(at);
            }
        }
    }
}

impl Core {
    /// Cuts the power where that was to happen by now.
    pub(super) fn cut_where_due(&mut self, data: &Data, now: Nanos) -> std::io::Result<()> {
        if let Some(Plan { when: When::At(at), stay_off }) = &self.plan
            && *at <= now
        {
            let (at, stay_off) = (*at, *stay_off);
            self.plan = None;
            self.cut(data, at, stay_off)?;
        }
        Ok(())
    }

    /// The power is gone at `at`, and back at once or when it is switched on.
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

    /// The power is back: the device finds its map again.
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
            // Where there is no room for it, a state that is stored later has what it did.
            let _ = store.reserve().and_then(|()| store.note(&record)).map_err(|_| store.miss());
        }
    }
}
