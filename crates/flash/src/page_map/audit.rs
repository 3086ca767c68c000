//! Conservation laws of the page map.

use super::PageMap;
#[cfg(test)]
use crate::address::Address;

impl PageMap {
    /// Every programmed unit is the host's, a copy or padding. Asserted whenever a block is closed
    /// or erased.
    #[inline]
    pub(super) fn check_conservation(&self) {
        let open = self.streams.iter().filter(|stream| stream.is_open());
        let open: u64 = open.map(|stream| u64::from(stream.next.0)).sum();
        let counts = &self.counts;
        assert_eq!(
            counts.host + counts.copied + counts.padded + self.prepared,
            self.programmed + open,
            "units were programmed for no reason, or not programmed"
        );
    }

    /// As many units are valid as mapped. Asserted only once per as many victims as there are
    /// blocks, since all blocks are counted.
    pub(super) fn check_valid(&self) {
        if self.counts.collected.is_multiple_of(u64::from(self.blocks.count())) {
            let valid = self.blocks.all().map(|block| u64::from(self.blocks.valid(block)));
            let (valid, mapped) = (valid.sum::<u64>(), u64::from(self.mapped));
            assert_eq!(valid, mapped, "valid units that no address points to, or the reverse");
        }
    }

    /// Counts everything anew: each mapped unit is valid in exactly one slot, whose owner it is,
    /// and nothing else is valid.
    #[cfg(test)]
    pub(crate) fn audit(&self) -> Result<(), String> {
        self.check_conservation();
        let mut mapped = 0;
        for (unit, address) in
            self.map.iter().enumerate().filter(|(_, address)| **address != Address::NONE)
        {
            let (block, slot) = (self.shape.block(*address), self.shape.slot(*address));
            if slot.0 >= self.shape.units {
                return Err(format!("unit {unit} is at {slot:?} of a block"));
            }
            if self.owner[self.owner_index(block, slot)].index() != unit {
                return Err(format!("unit {unit} is not the owner of its place"));
            }
            let (word, bit) = slot.bit();
            if self.blocks.word(block, word as u32) >> bit & 1 == 0 {
                return Err(format!("unit {unit} is not valid"));
            }
            mapped += 1;
        }
        let mut valid = 0;
        for block in self.blocks.all() {
            let words = 0..self.blocks.words();
            let bits: u32 = words.map(|word| self.blocks.word(block, word).count_ones()).sum();
            if bits != self.blocks.valid(block) {
                return Err(format!("{block:?} has {bits} valid units and another tally"));
            }
            valid += bits;
        }
        if (mapped, mapped) != (valid, self.mapped) {
            return Err(format!("{mapped} mapped, {valid} valid, {} counted", self.mapped));
        }
        let closed = self.blocks.all().filter(|block| self.blocks.is_closed(*block)).count();
        let open = self.streams.iter().filter(|stream| stream.is_open()).count();
        let others = self.free_blocks() + self.bad_blocks() + u32::from(self.moving.is_some());
        if closed as u32 + open as u32 + others != self.blocks.count() {
            return Err(format!("{closed} closed and {open} open blocks leave some out"));
        }
        Ok(())
    }
}
