use flashlag_spec::profile::{MapKind, Model};
use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use super::PageMap;
use crate::address::{Address, Die, Unit};
use crate::command::FlashError;
use crate::die::{DieWork, Dies};
use crate::front::{Store, UnitWrite};
use crate::nand::Nand;
use crate::power::WordLine;
use crate::trace::Trace;

impl PageMap {
    /// Programs units together; a program unit that they do not fill is padded.
    #[inline]
    pub(crate) fn write(
        &mut self,
        nand: &mut Nand,
        at: Nanos,
        units: &[UnitWrite],
    ) -> Result<Nanos, FlashError> {
        let mut ready = at;
        if self.is_slice_due() {
            self.collect_slice(nand, at);
        }
        for write in units.iter().filter(|write| !write.whole) {
            if self.is_mapped(write.unit) {
                ready = ready.max(self.read(nand, at, write.unit, 1));
                self.counts.completed += 1;
            }
        }
        if units.len() > 1 {
            self.expect(units.iter().map(|write| write.unit));
        }
        let mut end = ready;
        for write in units {
            if !self.streams[0].is_open() {
                self.make_room(nand, at)?;
            }
            self.place(write.unit);
            if self.streams[0].left == 0 {
                end = end.max(self.program(nand, ready, 0));
            }
        }
        if self.streams[0].is_open() && self.streams[0].left < self.shape.program {
            end = end.max(self.program(nand, ready, 0));
        }
        Ok(end)
    }

    #[cold]
    fn make_room(&mut self, nand: &mut Nand, at: Nanos) -> Result<(), FlashError> {
        match &self.ended {
            Some(error) => Err(error.clone()),
            None => self.open(nand, at),
        }
    }

    /// Maps a unit to the host's next slot.
    #[inline]
    fn place(&mut self, unit: Unit) {
        let stream = &mut self.streams[0];
        let (block, slot) = (stream.block, stream.next);
        stream.next = slot.plus(1);
        stream.left -= 1;
        let address = self.shape.address(block, slot);
        let before = std::mem::replace(&mut self.map[unit.index()], address);
        if before == Address::NONE {
            self.mapped += 1;
        } else {
            self.invalidate(before);
        }
        let index = self.owner_index(block, slot);
        self.owner[index] = unit;
        self.blocks.set_valid(block, slot);
        self.counts.host += 1;
    }
}

/// A page map with its dies, as a [`Store`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PageStore {
    pub(crate) map: PageMap,
    pub(crate) nand: Nand,
    /// Map pages on the flash that are read after a power cut; 0 for a map on flash.
    map_pages: u64,
}

impl PageStore {
    /// The page map and the dies of a model.
    pub(crate) fn new(model: &Model, seed: u64) -> Result<PageStore, FlashError> {
        let map = PageMap::new(model, seed)?;
        let nand = Nand::new(model, map.shape().blocks, map.factory_bad(), seed);
        let entries = u64::from(map.shape().logical) * u64::from(model.map.entry);
        let stripe = model.nand.page.0.0 * u64::from(model.nand.planes);
        let map_pages = match model.map.kind {
            MapKind::Page => entries.div_ceil(stripe),
            _ => 0,
        };
        Ok(PageStore { map, nand, map_pages })
    }
}

impl Store for PageStore {
    #[inline]
    fn read(&mut self, at: Nanos, unit: Unit, count: u32) -> Nanos {
        self.map.read(&mut self.nand, at, unit, count)
    }

    #[inline]
    fn read_part(&mut self, at: Nanos, unit: Unit, bytes: u64) -> Nanos {
        self.map.read_bytes(&mut self.nand, at, (unit, 1), bytes)
    }

    #[inline]
    fn write(&mut self, at: Nanos, units: &[UnitWrite]) -> Result<Nanos, FlashError> {
        self.map.write(&mut self.nand, at, units)
    }

    fn word_line(&self) -> Option<WordLine> {
        self.nand.word_line()
    }

    fn discard(&mut self, _at: Nanos, unit: Unit, count: u32) {
        self.map.discard(unit, count);
    }

    #[inline]
    fn is_mapped(&self, unit: Unit) -> bool {
        self.map.is_mapped(unit)
    }

    fn mapped_units(&self) -> u64 {
        u64::from(self.map.mapped())
    }

    fn background(&mut self, from: Nanos, until: Nanos) -> Result<(), FlashError> {
        self.map.background(&mut self.nand, from, until);
        Ok(())
    }

    /// Recovery reads, on all dies at once, the pages of open blocks, which say what they hold (the
    /// map is written out whenever a block is closed), and the map itself if it is kept in RAM.
    fn power_cut(&mut self, at: Nanos) -> Nanos {
        self.nand.power_cut(at);
        let pages = self.map.open_pages() + self.map_pages;
        self.nand.recovery(pages)
    }

    fn dies(&self) -> u32 {
        self.nand.count()
    }

    fn work(&mut self, at: Nanos, die: Die, work: DieWork) -> Nanos {
        self.nand.work(at, die, work)
    }

    #[inline]
    fn trace(&mut self) -> Option<&mut Trace> {
        self.nand.trace.as_deref_mut()
    }
}
