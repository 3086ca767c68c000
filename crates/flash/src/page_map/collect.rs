//! Garbage collection: what is valid in a victim moves, then the victim is erased.

use flashlag_units::Nanos;

use super::{CLOSED, NONE, Open, PageMap, looks};
use crate::command::FlashError;
use crate::hybrid::{Dies, Spot};

impl PageMap {
    /// A free block to write to. The caller has seen to it that there is one.
    pub(super) fn take_free(&mut self) -> Result<u32, FlashError> {
        let block = self.free.pop_front().ok_or(FlashError::NoSpace)?;
        debug_assert_eq!(self.valid[block as usize], 0, "a free block holds nothing");
        Ok(block)
    }

    /// Collects while fewer blocks are free than the model keeps.
    pub(super) fn make_room(&mut self, at: Nanos) -> Result<(), FlashError> {
        let mut tries = 0;
        while self.free_blocks() < self.gc.low_water.max(1) + 1 {
            self.collect(at)?;
            tries += 1;
            // Each victim that is not valid throughout wins a slot at least; FIFO may need a round.
            if tries > 2 * self.shape.blocks {
                return Err(FlashError::NoSpace);
            }
        }
        Ok(())
    }

    /// Reclaims one block; says when it is erased.
    pub(super) fn collect(&mut self, at: Nanos) -> Result<Nanos, FlashError> {
        let choices = self.gc.choices.unwrap_or(1);
        let units = self.shape.units;
        let leveled = self.least_worn();
        let victim = match leveled {
            Some(block) => Some(block),
            None => self.victims.choose(&self.valid, units, choices, &mut self.random),
        };
        let victim = victim.ok_or(FlashError::NoSpace)?;
        debug_assert!(
            leveled.is_some() || !looks(&self.gc) || self.valid[victim as usize] < units,
            "a victim wins something"
        );
        self.victims.remove(victim);
        let read = self.move_valid(at, victim)?;
        let mut end = read;
        for die in 0..self.shape.dies {
            end = end.max(self.nand.erase(read, Spot { die, block: victim, page: 0 }));
        }
        self.erased[victim as usize] += 1;
        self.free.push_back(victim);
        Ok(end)
    }

    /// Copies what is valid; says when the last of it was read.
    fn move_valid(&mut self, at: Nanos, victim: u32) -> Result<Nanos, FlashError> {
        let first = victim * self.shape.units;
        let mut last_read = at;
        let mut within = 0;
        while within < self.shape.units && self.valid[victim as usize] > 0 {
            // A page of all planes is read once for all that is valid in it.
            let page = within..(within + self.shape.page_units).min(self.shape.units);
            within = page.end;
            let slots = first + page.start..first + page.end;
            let count = slots.clone().filter(|slot| self.owner[*slot as usize] != NONE).count();
            if count == 0 {
                continue;
            }
            let bytes = count as u64 * self.shape.unit_bytes;
            let ready = self.nand.read(at, self.spot(slots.start), bytes);
            last_read = last_read.max(ready);
            for slot in slots {
                let unit = self.owner[slot as usize];
                if unit != NONE {
                    self.invalidate(unit);
                    self.programmed.copied += 1;
                    self.put(unit, ready, true)?;
                }
            }
        }
        Ok(last_read)
    }

    /// Gives a unit the next slot of the open block for host data or for copies, and programs what
    /// has become a whole program unit. Says when that ends; `ready` where it has to wait for more.
    pub(super) fn put(&mut self, unit: u32, ready: Nanos, copy: bool) -> Result<Nanos, FlashError> {
        let apart = copy && self.gc.hot_cold;
        let mut open = if apart { self.copies } else { self.host };
        if open.block == NONE {
            open = Open { block: self.take_free()?, ..CLOSED };
        }
        let slot = open.block * self.shape.units + open.used;
        self.owner[slot as usize] = unit;
        self.map[unit as usize] = slot;
        self.valid[open.block as usize] += 1;
        self.mapped += 1;
        open.used += 1;
        open.ready = open.ready.max(ready);
        let mut end = ready;
        if open.used.is_multiple_of(self.shape.program) {
            end = self.program(&mut open);
        }
        self.keep(open, apart);
        Ok(end)
    }

    /// Programs what waits in an open block.
    fn program(&mut self, open: &mut Open) -> Nanos {
        let slot = open.block * self.shape.units + open.programmed;
        let bytes = u64::from(open.used - open.programmed) * self.shape.unit_bytes;
        let end = self.nand.program(open.ready, self.spot(slot), bytes);
        open.programmed = open.used.next_multiple_of(self.shape.program);
        open.ready = Nanos::ZERO;
        end
    }

    /// Programs what is not a whole program unit, with padding.
    pub(super) fn pad(&mut self) -> Option<Nanos> {
        let mut open = self.host;
        if open.block == NONE || open.used == open.programmed {
            return None;
        }
        let end = self.program(&mut open);
        self.programmed.padded += u64::from(open.programmed - open.used);
        open.used = open.programmed;
        self.keep(open, false);
        Some(end)
    }

    /// Stores an open block, closed where it is full.
    fn keep(&mut self, open: Open, copies: bool) {
        let kept = if copies { &mut self.copies } else { &mut self.host };
        if open.used < self.shape.units {
            *kept = open;
            return;
        }
        *kept = CLOSED;
        self.victims.close(open.block, self.valid[open.block as usize]);
    }

    /// Static wear levelling: the closed block with the fewest erases, where the spread is beyond
    /// the model's.
    fn least_worn(&self) -> Option<u32> {
        let spread = self.leveling?;
        let most = self.erased.iter().max()?;
        let closed = (0..self.shape.blocks).filter(|block| self.victims.is_closed(*block));
        let least = closed.min_by_key(|block| self.erased[*block as usize])?;
        (most - self.erased[least as usize] > spread).then_some(least)
    }
}
