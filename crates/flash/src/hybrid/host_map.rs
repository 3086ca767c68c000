use flashlag_spec::profile::Model;
use serde::{Deserialize, Serialize};

use super::map_cache::MapCache;
use super::medium::UnitSet;
use crate::address::Unit;

/// Map pages whose entries the host holds and sends with its reads (HPB).
///
/// The host loads a page after as many reads that it could send no entry with
/// (`hpb_reads`), and gives up the one that it has not used for longest. A write makes its entry
/// stale and the count begin anew; the page is loaded again after as many such reads without a
/// write. A read of fresh entries of pages that the host holds needs no page of the device's: with
/// uniform reads of S bytes, of which the host holds the entries of H, at most a share `1 - H / S`
/// waits for a page.
///
/// Not modelled: the link's time to load a page (8 bytes an entry), and entries that collection has
/// made stale.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HostMap {
    held: MapCache,
    /// Reads of each page since it was loaded or changed.
    reads: Vec<u8>,
    /// Stale entries, and their number in each page.
    stale: UnitSet,
    stale_in: Vec<u32>,
    /// Units of the longest read with an entry.
    most: u32,
    /// Reads after which a page is loaded.
    threshold: u8,
    /// Entries of a page.
    entries: u32,
}

impl HostMap {
    /// The host's entries of a model's map of `pages` pages with `entries` entries each; `None` if
    /// it holds none.
    pub(super) fn new(model: &Model, pages: usize, entries: u32) -> Option<HostMap> {
        let map = &model.map;
        let page = u64::from(entries) * map.unit.0.0;
        let held = usize::try_from(map.hpb?.0.0 / page).unwrap_or(pages);
        Some(HostMap {
            held: MapCache::new(pages, held.min(pages)),
            reads: vec![0; pages],
            stale: UnitSet::new(pages as u64 * u64::from(entries)),
            stale_in: vec![0; pages],
            most: (map.hpb_most.0.0 / map.unit.0.0) as u32,
            threshold: u8::try_from(map.hpb_reads).unwrap_or(u8::MAX),
            entries,
        })
    }

    /// Notes a read; returns whether the host sends its entries. A read with entries counts for no
    /// page.
    pub(super) fn read(&mut self, unit: Unit, count: u32) -> bool {
        let mut known = count <= self.most;
        for page in self.pages(unit, count) {
            known &= self.held.touch(page);
        }
        known &= unit.run(count).all(|unit| !self.stale.holds(unit));
        for page in self.pages(unit, count).filter(|_| !known) {
            self.reads[page as usize] = self.reads[page as usize].saturating_add(1);
        }
        known
    }

    /// The pages of a range that the host loads now.
    pub(super) fn due(&self, unit: Unit, count: u32) -> impl Iterator<Item = u32> + use<> {
        let due = |page: &u32| {
            let read = self.reads[*page as usize] >= self.threshold;
            read && (self.stale_in[*page as usize] > 0 || !self.held.holds(*page))
        };
        self.pages(unit, count).filter(due).collect::<Vec<_>>().into_iter()
    }

    /// The host loads a page.
    pub(super) fn load(&mut self, page: u32) {
        self.held.find(page, false);
        self.reads[page as usize] = 0;
        if std::mem::take(&mut self.stale_in[page as usize]) > 0 {
            for unit in Unit(page * self.entries).run(self.entries) {
                self.stale.remove(unit);
            }
        }
    }

    /// Notes that entries have changed.
    pub(super) fn change(&mut self, unit: Unit, count: u32) {
        for page in self.pages(unit, count) {
            self.reads[page as usize] = 0;
            if self.held.holds(page) {
                let first = Unit(page * self.entries);
                let from = first.0.max(unit.0);
                let until = (first.0 + self.entries).min(unit.0 + count);
                for unit in Unit(from).run(until - from) {
                    self.stale_in[page as usize] += u32::from(self.stale.insert(unit));
                }
            }
        }
    }

    /// Forgets everything, after a power cut.
    pub(super) fn clear(&mut self) {
        self.held.clear();
        self.reads.fill(0);
    }

    fn pages(&self, unit: Unit, count: u32) -> std::ops::RangeInclusive<u32> {
        unit.0 / self.entries..=(unit.0 + count.max(1) - 1) / self.entries
    }
}
