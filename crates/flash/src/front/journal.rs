//! The journal of a map in RAM: after many changes, the changed pages of the map are written.

use flashlag_spec::profile::Model;
use flashlag_stats::Wait;
use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use super::store::Store;
use crate::address::{Die, Unit};
use crate::die::DieWork;

/// Pages of the map that changed since they were written.
///
/// After every `every` write commands the device programs the D pages that have changed, each of
/// `page / entry` entries, one after another, and does nothing else meanwhile: a stop of D programs
/// of the write cache (of the main area without one), each of a page of one plane. So random writes,
/// which change a page each, stop for longer than writes in a row.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct MapJournal {
    every: u32,
    /// Write commands since the last stop.
    commands: u32,
    /// Units of a page of the map.
    entries: u32,
    /// Changed pages, one bit each, and their number.
    changed: Vec<u64>,
    count: u64,
    page_bytes: u64,
    program: Nanos,
    /// Pages programmed so far.
    written: u64,
    /// The die of the next program.
    turn: u64,
}

impl MapJournal {
    /// The journal of a model; `None` if it has none.
    pub(super) fn new(model: &Model) -> Option<MapJournal> {
        let every = model.map.journal.filter(|every| *every > 0)?;
        let (nand, map) = (&model.nand, &model.map);
        let entries = (nand.page.0.0 / u64::from(map.entry.max(1))).max(1);
        let units = map.capacity.0.0.div_ceil(map.unit.0.0);
        let pages = units.div_ceil(entries);
        Some(MapJournal {
            every,
            commands: 0,
            entries: u32::try_from(entries).unwrap_or(u32::MAX),
            changed: vec![0; pages.div_ceil(64) as usize],
            count: 0,
            page_bytes: nand.page.0.0,
            program: model.slc.as_ref().map_or(nand.program.0, |slc| slc.program.0),
            written: 0,
            turn: 0,
        })
    }

    /// Notes the units of a write command; returns whether [`MapJournal::write`] is due.
    pub(super) fn change(&mut self, units: impl Iterator<Item = Unit>) -> bool {
        for unit in units {
            let page = unit.0 / self.entries;
            let (word, bit) = (&mut self.changed[page as usize / 64], 1 << (page % 64));
            self.count += u64::from(*word & bit == 0);
            *word |= bit;
        }
        self.commands += 1;
        self.commands >= self.every
    }

    /// Programs the pages that have changed, from `at` on; returns the end.
    pub(super) fn write<S: Store + ?Sized>(&mut self, store: &mut S, at: Nanos) -> Nanos {
        let mut end = at;
        let mut left = self.count;
        let before =
            store.trace().map(|trace| (trace.reason(Wait::DevicePeriod), trace.aside(true)));
        while left > 0 {
            let work = DieWork::Program { time: self.program, bytes: self.page_bytes };
            end = end.max(store.work(end, Die::in_turn(self.turn, store.dies()), work));
            self.turn += 1;
            left -= 1;
        }
        if let (Some(trace), Some((reason, aside))) = (store.trace(), before) {
            trace.reason(reason);
            trace.aside(aside);
        }
        self.written += self.count;
        (self.count, self.commands) = (0, 0);
        self.changed.fill(0);
        end
    }

    /// Bytes of map pages programmed.
    pub(super) fn programmed(&self) -> Bytes {
        Bytes(self.written * self.page_bytes)
    }
}
