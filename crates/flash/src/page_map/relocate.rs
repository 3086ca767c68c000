//! Garbage collection at work: a victim is chosen, its valid units are copied, its block is erased.

use flashlag_stats::Wait;
use flashlag_units::{Nanos, never};

use super::PageMap;
use super::collect::{AHEAD, LEVEL_SELDOM, Relocation};
use super::stream::Stream;
use crate::address::{Block, Die, Slot, Unit};
use crate::command::FlashError;
use crate::nand::{DieMoves, Nand};

impl PageMap {
    /// Whether a slice of collection is due before the host's next program.
    #[inline]
    pub(super) fn is_slice_due(&self) -> bool {
        self.collection.slice.is_some()
            && (self.moving.is_some() || self.free_blocks() < self.collection.low_water)
    }

    /// Opens a block for the host, after reclaiming victims while too few blocks are free.
    ///
    /// At least one block is free before each victim. It holds all copies of the victim, and
    /// erasing the victim frees another: so free blocks never run out until blocks wear out.
    #[cold]
    pub(super) fn open(&mut self, nand: &mut Nand, at: Nanos) -> Result<(), FlashError> {
        let needed = self.collection.needed();
        if self.moving.is_some() && (self.collection.slice.is_none() || self.free_blocks() < needed)
        {
            self.relocate(nand, at, u32::MAX);
        }
        let mut fruitless = 0;
        while self.free_blocks() < needed && !self.streams[0].is_open() {
            let Some(victim) = self.choose(nand) else {
                return self.end(nand);
            };
            fruitless = if self.begin_moving(victim) { 0 } else { fruitless + 1 };
            // Every closed block was tried several times, and no victim gained a slot.
            if fruitless > u64::from(self.shape.blocks) * 64 {
                return self.end(nand);
            }
            self.relocate(nand, at, u32::MAX);
        }
        if self.streams[0].is_open() {
            return Ok(());
        }
        let Some(block) = self.blocks.free.pop_front() else {
            return self.end(nand);
        };
        self.streams[0].open(block, &self.shape);
        if self.collection.late {
            self.erase_late(nand, at, block);
        }
        Ok(())
    }

    /// Spends the time of the erase of a block that is opened; returns the end.
    pub(super) fn erase_late(&self, nand: &mut Nand, at: Nanos, block: Block) -> Nanos {
        let dies = (0..self.shape.dies).map(Die);
        let before = nand.reason(Wait::GarbageCollection);
        let end = dies.map(|die| nand.spend_erase(at, die, block)).max().unwrap_or(at);
        nand.reason(before);
        end
    }

    pub(super) fn end(&mut self, nand: &Nand) -> Result<(), FlashError> {
        if self.blocks.retired == 0 {
            return Err(FlashError::NoSpace);
        }
        let error = FlashError::WornOut { cycles: nand.mean_cycles() };
        self.ended = Some(error.clone());
        Err(error)
    }

    /// Takes a victim; `None` if no victim would gain anything, or its units would have no room.
    pub(super) fn choose(&mut self, nand: &Nand) -> Option<Block> {
        let cold = self.level(nand);
        self.levels = cold.is_some();
        let victim = match cold {
            Some(cold) => {
                self.victims.remove(cold, self.blocks.valid(cold));
                self.counts.levelled += 1;
                self.put_worn_first(nand);
                cold
            }
            None => {
                let taken = self.victims.take(&self.blocks, self.shape.units, &mut self.random);
                self.watch = self.victims.watch();
                taken?
            }
        };
        let room = self.streams[self.collection.copies].room(&self.shape);
        if self.blocks.free.is_empty() && self.blocks.valid(victim) > room {
            self.give_back(victim);
            return None;
        }
        Some(victim)
    }

    pub(super) fn give_back(&mut self, victim: Block) {
        self.victims.closed(victim, self.blocks.valid(victim));
    }

    /// Static wear levelling: the least worn closed block, if the spread of cycles is too wide. Its
    /// data is cold, or it would have been erased as often as others. Hot data then wears that
    /// block until the spread is as wide again, so looking twice meanwhile is enough.
    pub(super) fn level(&mut self, nand: &Nand) -> Option<Block> {
        let spread = self.collection.leveling?;
        let interval = u64::from((spread / 2).clamp(1, LEVEL_SELDOM));
        if !self.counts.collected.is_multiple_of(interval) || self.blocks.free.is_empty() {
            return None;
        }
        let most = nand.cycles_range().end().to_owned();
        let closed = self.blocks.all().filter(|block| self.blocks.is_closed(*block));
        let least = closed.min_by_key(|block| nand.cycles(*block))?;
        (most - nand.cycles(least) > spread).then_some(least)
    }

    /// Puts the most worn free block first in line, so that cold data spares it from now on.
    pub(super) fn put_worn_first(&mut self, nand: &Nand) {
        let free = &mut self.blocks.free;
        let worn = (0..free.len()).max_by_key(|index| nand.cycles(free[*index]));
        match worn {
            Some(worn) => free.swap(0, worn),
            None => never!("wear is levelled without a free block"),
        }
    }

    /// Starts a relocation; returns whether it gains any slot.
    pub(super) fn begin_moving(&mut self, victim: Block) -> bool {
        let wins = self.blocks.valid(victim) < self.shape.units;
        self.blocks.reopen(victim);
        self.counts.collected += 1;
        self.moving = Some(Relocation { victim, word: 0 });
        wins
    }

    /// Moves at most `most` units of the victim, erases the victim after its last unit, and returns
    /// the end of the dies' work.
    pub(super) fn relocate(&mut self, nand: &mut Nand, at: Nanos, most: u32) -> Nanos {
        let Some(Relocation { victim, mut word }) = self.moving else {
            return at;
        };
        let words = self.blocks.words();
        let mut owners = std::mem::take(&mut self.owners);
        owners.clear();
        self.moves.fill(DieMoves::default());
        while word < words && (owners.len() as u32) < most {
            let left = most - owners.len() as u32;
            let mut bits = self.blocks.take_word(victim, word, left);
            self.reads.count(&self.shape, word, bits, &mut self.moves);
            let first = self.owner_index(victim, Slot(word * 64));
            while bits != 0 {
                owners.push(self.owner[first + bits.trailing_zeros() as usize]);
                bits &= bits - 1;
            }
            if left >= 64 || self.blocks.is_empty_word(victim, word) {
                word += 1;
            }
        }
        self.place_copies(&owners);
        self.owners = owners;
        let reason = if self.levels { Wait::WearLevelling } else { Wait::GarbageCollection };
        let before = nand.reason(reason);
        while let Some(opened) = self.opened.pop() {
            self.erase_late(nand, at, opened);
        }
        let mut end = nand.relocate(at, victim, &self.moves);
        self.moving = Some(Relocation { victim, word });
        if word == words {
            self.moving = None;
            for die in (0..self.shape.dies).map(Die) {
                if self.collection.late {
                    nand.count_erase(die, victim);
                } else {
                    end = end.max(nand.erase_block(at, die, victim));
                }
            }
            self.erased(nand, victim);
        }
        nand.reason(before);
        end
    }

    pub(super) fn erased(&mut self, nand: &Nand, victim: Block) {
        assert_eq!(self.blocks.valid(victim), 0, "a block is erased that holds valid units");
        if nand.is_worn(victim) {
            self.blocks.retired += 1;
        } else {
            self.blocks.free.push_back(victim);
        }
        self.check_conservation();
        self.check_valid();
    }

    /// Maps copies to their new slots.
    pub(super) fn place_copies(&mut self, owners: &[Unit]) {
        for owners in owners.chunks(AHEAD) {
            // Their entries are scattered in memory: all are prefetched before the first is needed.
            self.expect(owners.iter().copied());
            self.place_some(owners);
        }
    }

    pub(super) fn place_some(&mut self, owners: &[Unit]) {
        let which = self.collection.copies;
        let mut left = owners;
        while !left.is_empty() {
            if !self.streams[which].is_open() {
                let free = self.blocks.free.pop_front();
                let free = free.expect("no victim is chosen without room for its copies");
                self.streams[which].open(free, &self.shape);
                if self.collection.late {
                    self.opened.push(free);
                }
            }
            let Stream { block, next, .. } = self.streams[which];
            let count = left.len().min((self.shape.units - next.0) as usize);
            let (run, rest) = left.split_at(count);
            let first = self.shape.address(block, next);
            for (step, unit) in (0..).zip(run) {
                self.map[unit.index()] = first.plus(step);
            }
            let to = self.owner_index(block, next);
            self.owner[to..to + count].copy_from_slice(run);
            self.blocks.set_valid_run(block, next, count as u32);
            self.counts.copied += count as u64;
            self.streams[which].take(count as u32, &self.shape, &mut self.moves);
            if self.streams[which].next.0 == self.shape.units {
                self.close(which);
            }
            left = rest;
        }
    }

    /// Collects for a slice of time before the host's next program, if blocks run low. The host
    /// waits for the last step that began within the slice.
    #[cold]
    pub(super) fn collect_slice(&mut self, nand: &mut Nand, at: Nanos) {
        let Some(slice) = self.collection.slice else {
            return;
        };
        let (mut now, until) = (at, at.plus(slice));
        while now < until && self.ended.is_none() {
            if self.moving.is_none() && self.free_blocks() >= self.collection.low_water {
                return;
            }
            match self.step(nand, now) {
                Some(end) => now = end,
                None => return,
            }
        }
    }

    /// Moves one program unit per die, choosing a victim if none is being collected; `None` if no
    /// victim would gain anything.
    pub(super) fn step(&mut self, nand: &mut Nand, now: Nanos) -> Option<Nanos> {
        if self.moving.is_none() {
            let victim = self.choose(nand)?;
            if self.blocks.valid(victim) == self.shape.units {
                // The victim that the policy gives is full: relocating it gains nothing.
                self.give_back(victim);
                return None;
            }
            self.begin_moving(victim);
        }
        // Host writes between two steps must not use the last slots that copies need.
        let shared = self.collection.copies == 0 && self.free_blocks() < 2;
        let step = self.shape.program * self.shape.dies;
        Some(self.relocate(nand, now, if shared { u32::MAX } else { step }))
    }

    /// Collects in idle time, one program unit per die at a time. The last step may end after
    /// `until`.
    pub(crate) fn background(&mut self, nand: &mut Nand, from: Nanos, until: Nanos) {
        let Some(after) = self.collection.idle_after else {
            return;
        };
        let mut now = from.plus(after);
        while now < until && self.ended.is_none() {
            if self.moving.is_none() && self.free_blocks() >= self.collection.idle_until {
                return;
            }
            match self.step(nand, now) {
                Some(end) => now = end,
                None => return,
            }
        }
    }
}
