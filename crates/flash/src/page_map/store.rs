use flashlag_units::Nanos;

use super::{NONE, PageMap};
use crate::command::FlashError;
use crate::front::{DieWork, Store, UnitWrite};
use crate::hybrid::Dies;
use crate::power::WordLine;

impl Store for PageMap {
    /// Units that are in one page of all planes are read together; those that nothing was written
    /// to need no flash.
    fn read(&mut self, at: Nanos, unit: u32, count: u32) -> Nanos {
        let mut end = at;
        let (mut page, mut units) = (NONE, 0);
        for unit in unit..unit + count {
            let slot = self.map[unit as usize];
            if slot == NONE {
                continue;
            }
            if slot / self.shape.page_units != page && units > 0 {
                end = end.max(self.read_page(at, page, units));
                units = 0;
            }
            page = slot / self.shape.page_units;
            units += 1;
        }
        if units > 0 {
            end = end.max(self.read_page(at, page, units));
        }
        end
    }

    fn write(&mut self, at: Nanos, units: &[UnitWrite]) -> Result<Nanos, FlashError> {
        self.nand.check_wear()?;
        let mut ready = at;
        for write in units.iter().filter(|write| !write.whole) {
            // The rest of the unit is read, to be written again with what is new.
            ready = ready.max(self.read(at, write.unit, 1));
        }
        let mut end = ready;
        for write in units {
            self.make_room(at)?;
            self.invalidate(write.unit);
            self.programmed.host += 1;
            end = end.max(self.put(write.unit, ready, false)?);
        }
        Ok(self.pad().map_or(end, |padded| end.max(padded)))
    }

    fn word_line(&self) -> Option<WordLine> {
        None
    }

    fn discard(&mut self, _: Nanos, unit: u32, count: u32) {
        for unit in unit..unit + count {
            self.invalidate(unit);
        }
    }

    fn is_mapped(&self, unit: u32) -> bool {
        self.map[unit as usize] != NONE
    }

    fn mapped_units(&self) -> u64 {
        self.mapped
    }

    fn background(&mut self, from: Nanos, until: Nanos) -> Result<(), FlashError> {
        let (Some(after), Some(enough)) = (self.gc.idle_after, self.gc.idle_until) else {
            return Ok(());
        };
        let mut now = from.plus(after.0);
        while now < until && self.free_blocks() < enough {
            match self.collect(now) {
                Ok(end) => now = end,
                // Nothing is left to win: that is no error in idle time.
                Err(FlashError::NoSpace) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The pages of the open blocks are read for the units that they say they hold; the map itself
    /// is taken to be found from a checkpoint, a page for each page of entries.
    fn power_cut(&mut self, at: Nanos) -> Nanos {
        self.nand.power_cut(at);
        let open = u64::from(self.host.programmed + self.copies.programmed);
        let open = open.div_ceil(u64::from(self.shape.page_units));
        let entries = self.map.len() as u64 * 4;
        let map = entries.div_ceil(self.shape.unit_bytes * u64::from(self.shape.page_units));
        let reads = (open + map).div_ceil(u64::from(self.shape.dies));
        Nanos(self.nand.page_read().0.saturating_mul(reads))
    }

    fn dies(&self) -> u32 {
        self.shape.dies
    }

    fn work(&mut self, at: Nanos, die: u32, work: DieWork) -> Nanos {
        self.nand.work(at, die, work)
    }
}

impl PageMap {
    fn read_page(&mut self, at: Nanos, page: u32, units: u64) -> Nanos {
        let spot = self.spot(page * self.shape.page_units);
        self.nand.read(at, spot, units * self.shape.unit_bytes)
    }
}
