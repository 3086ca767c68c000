use flashlag_spec::profile::Model;
use flashlag_stats::Wait;
use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use super::host_map::HostMap;
use super::map_cache::{Lookup, MapCache};
use crate::address::{Die, Unit};
use crate::command::FlashError;
use crate::die::DieWork;
use crate::front::{Store, UnitWrite};
use crate::power::WordLine;
use crate::trace::Trace;

/// Operations on the pages of a map on flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MapTraffic {
    /// Map pages read.
    pub(crate) reads: u64,
    /// Map pages programmed.
    pub(crate) programs: u64,
    /// Blocks of map pages erased.
    pub(crate) erases: u64,
}

/// A map on flash, in map pages of `page / entry` entries, of which `cache / page` are cached: at 4
/// B per entry, 1 MiB caches the entries of 1 GiB in units of 4 KiB.
///
/// A command for a unit whose map page is not cached waits until the page is read and, if the
/// evicted (least recently used) page has changed, until that is programmed. With uniform access to
/// S bytes and a cache that covers C of them, a share `1 - C / S` of the commands waits. Map pages
/// are spread over the dies and take time there; a block of them is erased per block's worth of map
/// programs.
///
/// A read whose entries the host sends (HPB) needs no page.
///
/// Collection changes entries too, which is not charged here.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CachedMap<S> {
    pub(crate) inner: S,
    cache: MapCache,
    /// The entries that the host holds, if any.
    host: Option<Box<HostMap>>,
    /// Entries per map page.
    entries: u32,
    page_bytes: u64,
    read: Nanos,
    program: Nanos,
    erase: Nanos,
    pages_per_block: u64,
    pub(crate) traffic: MapTraffic,
}

impl<S: Store> CachedMap<S> {
    /// A model's map cache before `inner`.
    pub(crate) fn new(model: &Model, inner: S) -> CachedMap<S> {
        let (nand, map) = (&model.nand, &model.map);
        let cache = map.cache.map_or(4096, |cache| cache.0.0);
        // A cache smaller than two pages holds parts of pages.
        let page_bytes = nand.page.0.0.min((cache / 2).max(512));
        let entries = (page_bytes / u64::from(map.entry)).max(1);
        let units = map.capacity.0.0.div_ceil(map.unit.0.0);
        let (read, program, erase, bits) = match &model.slc {
            Some(slc) if map.slc => (slc.read.0, slc.program.0, slc.erase.0, nand.cell.bits()),
            _ => (nand.read.0, nand.program.0, nand.erase.0, 1),
        };
        let pages = units.div_ceil(entries) as usize;
        CachedMap {
            inner,
            cache: MapCache::new(pages, (cache / page_bytes) as usize),
            host: HostMap::new(model, pages, entries as u32).map(Box::new),
            entries: entries as u32,
            page_bytes,
            read,
            program,
            erase,
            pages_per_block: (u64::from(nand.pages_per_block) / bits).max(1),
            traffic: MapTraffic::default(),
        }
    }

    /// Bytes of map pages programmed.
    pub(crate) fn programmed(&self) -> Bytes {
        Bytes(self.traffic.programs * self.page_bytes)
    }

    /// Looks a map page up; returns when it can be used.
    #[inline]
    fn find(&mut self, at: Nanos, page: u32, change: bool) -> Nanos {
        match self.cache.find(page, change) {
            Lookup::Hit => at,
            Lookup::Miss => self.load(at, page),
            Lookup::MissAndEvict => {
                let written = self.store(at);
                self.load(written, page)
            }
        }
    }

    #[cold]
    fn load(&mut self, at: Nanos, page: u32) -> Nanos {
        self.traffic.reads += 1;
        let work = DieWork::Read { time: self.read, bytes: self.page_bytes };
        self.inner.work(at, Die::in_turn(page.into(), self.inner.dies()), work)
    }

    /// Programs the evicted page on the next die of the round robin; returns the end.
    #[cold]
    fn store(&mut self, at: Nanos) -> Nanos {
        self.traffic.programs += 1;
        let die = Die::in_turn(self.traffic.programs, self.inner.dies());
        let work = DieWork::Program { time: self.program, bytes: self.page_bytes };
        let end = self.inner.work(at, die, work);
        if self.traffic.programs.is_multiple_of(self.pages_per_block) {
            self.traffic.erases += 1;
            self.inner.work(end, die, DieWork::Erase { time: self.erase });
        }
        end
    }

    /// Finds the entries of a read; returns when they can be used.
    fn find_read(&mut self, at: Nanos, unit: Unit, count: u32) -> Nanos {
        let Some(host) = &mut self.host else {
            return self.find_range(at, unit, count, false);
        };
        if host.read(unit, count) {
            return at;
        }
        let due = host.due(unit, count);
        let found = self.find_range(at, unit, count, false);
        // The pages are available now; the host's own read of them delays nobody.
        if let Some(host) = &mut self.host {
            due.for_each(|page| host.load(page));
        }
        found
    }

    fn find_range(&mut self, at: Nanos, unit: Unit, count: u32, change: bool) -> Nanos {
        let last = unit.0 + count.max(1) - 1;
        let pages = unit.0 / self.entries..=last / self.entries;
        pages.map(|page| self.find(at, page, change)).max().unwrap_or(at)
    }
}

impl<S: Store> Store for CachedMap<S> {
    fn read(&mut self, at: Nanos, unit: Unit, count: u32) -> Nanos {
        let found = self.find_read(at, unit, count);
        self.inner.read(found, unit, count)
    }

    fn read_part(&mut self, at: Nanos, unit: Unit, bytes: u64) -> Nanos {
        let found = self.find_read(at, unit, 1);
        self.inner.read_part(found, unit, bytes)
    }

    fn write(&mut self, at: Nanos, units: &[UnitWrite]) -> Result<Nanos, FlashError> {
        let found =
            units.iter().map(|write| self.find(at, write.unit.0 / self.entries, true)).max();
        if let Some(host) = &mut self.host {
            units.iter().for_each(|write| host.change(write.unit, 1));
        }
        self.inner.write(found.unwrap_or(at), units)
    }

    fn word_line(&self) -> Option<WordLine> {
        self.inner.word_line()
    }

    fn discard(&mut self, at: Nanos, unit: Unit, count: u32) {
        // What comes after waits for the map's own reads and programs, too: a large discard touches many pages of
        // the map.
        let before = self.inner.trace().map(|trace| trace.reason(Wait::Discard));
        let found = self.find_range(at, unit, count, true);
        if let (Some(trace), Some(before)) = (self.inner.trace(), before) {
            trace.reason(before);
        }
        if let Some(host) = &mut self.host {
            host.change(unit, count);
        }
        self.inner.discard(found, unit, count);
    }

    fn is_mapped(&self, unit: Unit) -> bool {
        self.inner.is_mapped(unit)
    }

    fn mapped_units(&self) -> u64 {
        self.inner.mapped_units()
    }

    fn background(&mut self, from: Nanos, until: Nanos) -> Result<(), FlashError> {
        self.inner.background(from, until)
    }

    /// Map pages are read again on demand: recovery takes only the scan of the store below.
    fn power_cut(&mut self, at: Nanos) -> Nanos {
        self.cache.clear();
        if let Some(host) = &mut self.host {
            host.clear();
        }
        self.inner.power_cut(at)
    }

    fn dies(&self) -> u32 {
        self.inner.dies()
    }

    fn work(&mut self, at: Nanos, die: Die, work: DieWork) -> Nanos {
        self.inner.work(at, die, work)
    }

    #[inline]
    fn trace(&mut self) -> Option<&mut Trace> {
        self.inner.trace()
    }
}
