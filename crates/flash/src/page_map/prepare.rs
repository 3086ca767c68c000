//! Pasts: states that it would take long to reach by simulating writes.

use rand::{Rng, RngExt};

use super::PageMap;
use super::steady::valid_units;
use super::stream::Stream;
use super::victims::Victims;
use crate::address::{Block, Slot, Unit};
use crate::command::FlashError;
use crate::past::Order;

impl PageMap {
    /// Maps the first `count` units as if they had been written in that order. The slots that this
    /// takes in open blocks count as `prepared`, not as programmed.
    pub(crate) fn prepare(&mut self, count: u32, order: Order) -> Result<(), FlashError> {
        if self.mapped > 0 || self.counts != super::MapCounts::default() {
            return Err(FlashError::NotNew);
        }
        let count = count.min(self.shape.logical);
        match order {
            Order::Sequential => self.fill_in_order(count)?,
            Order::Random => {
                let units = Shuffled::new(count, &mut self.random);
                self.fill_at_random(units)?;
            }
        }
        self.mapped = count;
        let open = self.streams.iter().filter(|stream| stream.is_open());
        self.prepared = open.map(|stream| u64::from(stream.next.0)).sum();
        self.check_conservation();
        Ok(())
    }

    /// Arranges the mapped units as uniform random overwrites would in the long run. Nothing else
    /// changes: the same units are mapped, statistics and wear stay, and a relocation in progress
    /// is dropped with its victim. Fails if the flash is partly or completely worn out, or was
    /// stored: its policy is then unknown.
    pub(crate) fn scatter(&mut self) -> Result<(), FlashError> {
        let policy = self.policy.as_ref().filter(|_| self.blocks.retired == 0);
        let policy = policy.ok_or(FlashError::NotNew)?;
        let mapped: Vec<Unit> =
            Unit(0).run(self.shape.logical).filter(|unit| self.is_mapped(*unit)).collect();
        self.victims = Victims::new(policy, self.shape.blocks);
        self.watch = self.victims.watch();
        self.blocks.erase_all();
        self.streams = [Stream::default(); 2];
        self.moving = None;
        let units = Shuffled::of(mapped, &mut self.random);
        self.fill_at_random(units)?;
        let counts = self.counts;
        self.programmed = counts.host + counts.copied + counts.padded;
        let open = self.streams.iter().filter(|stream| stream.is_open());
        self.prepared = open.map(|stream| u64::from(stream.next.0)).sum();
        self.check_conservation();
        Ok(())
    }

    fn fill_in_order(&mut self, count: u32) -> Result<(), FlashError> {
        let mut first = 0;
        while first < count {
            let here = (count - first).min(self.shape.units);
            let block = self.blocks.free.pop_front().ok_or(FlashError::NoSpace)?;
            self.place_run(block, Unit(first).run(here).collect());
            if here == self.shape.units {
                self.blocks.close(block);
                self.victims.closed(block, here);
            } else {
                self.leave_open(0, block, here);
            }
            first += here;
        }
        Ok(())
    }

    /// Puts units into the first slots of a block.
    fn place_run(&mut self, block: Block, units: Vec<Unit>) {
        let first = self.owner_index(block, Slot::FIRST);
        let address = self.shape.address(block, Slot::FIRST);
        for (step, unit) in (0..).zip(&units) {
            self.map[unit.index()] = address.plus(step);
        }
        self.owner[first..first + units.len()].copy_from_slice(&units);
        self.blocks.set_valid_run(block, Slot::FIRST, units.len() as u32);
    }

    /// Continues a stream with a block whose first `taken` slots, rounded up to program units, are
    /// used.
    fn leave_open(&mut self, which: usize, block: Block, taken: u32) {
        let taken = taken.next_multiple_of(self.shape.program);
        self.streams[which].open(block, &self.shape);
        self.streams[which].take(taken, &self.shape, &mut self.moves);
        if taken == self.shape.units {
            self.streams[which].block = Block::NONE;
            self.blocks.close(block);
            self.victims.closed(block, self.blocks.valid(block));
        }
    }

    /// The steady state of uniform random writes just before a victim is chosen: as few free blocks
    /// as allowed, the host's block just closed and the copies' block, if they have their own, half
    /// full.
    fn fill_at_random(&mut self, mut units: Shuffled) -> Result<(), FlashError> {
        let count = units.count;
        let apart = self.collection.copies == 1;
        let kept = self.collection.low_water - 1 + u32::from(apart);
        let closed = self.free_blocks().checked_sub(kept).ok_or(FlashError::NoSpace)?;
        let half = if apart { (self.shape.units / 2).min(count) } else { 0 };
        let half = half - half % self.shape.program;
        let policy = self.policy.clone().ok_or(FlashError::NotNew)?;
        let valid = valid_units(&policy, closed, self.shape.units, u64::from(count - half));
        if valid.iter().map(|valid| u64::from(*valid)).sum::<u64>() != u64::from(count - half) {
            return Err(FlashError::NoSpace);
        }
        for valid in valid {
            let block = self.blocks.free.pop_front().ok_or(FlashError::NoSpace)?;
            self.spread(block, valid, &mut units);
            self.blocks.close(block);
            self.victims.closed(block, valid);
        }
        if half > 0 {
            let block = self.blocks.free.pop_front().ok_or(FlashError::NoSpace)?;
            let mut here = vec![Unit::NONE; half as usize];
            units.draw(&mut here);
            self.place_run(block, here);
            self.leave_open(1, block, half);
        }
        Ok(())
    }

    /// Puts `valid` units into random slots of a block.
    fn spread(&mut self, block: Block, valid: u32, units: &mut Shuffled) {
        let all = self.shape.units;
        // Draws whichever is rarer, valid or invalid slots; a slot that was drawn before is drawn
        // again.
        let rare = valid.min(all - valid);
        let mut drawn = vec![0u64; self.blocks.words() as usize];
        let mut left = rare;
        while left > 0 {
            let slot = self.random.random_range(0..all);
            let word = &mut drawn[slot as usize / 64];
            left -= u32::from(*word >> (slot % 64) & 1 == 0);
            *word |= 1 << (slot % 64);
        }
        for (word, drawn) in (0..).zip(drawn) {
            let slots = (all - word * 64).min(64);
            let bits = if rare == valid { drawn } else { !drawn & (u64::MAX >> (64 - slots)) };
            self.blocks.set_word(block, word, bits);
            self.own(block, word, bits, units);
        }
    }

    /// Maps the next units to the valid slots of a word.
    fn own(&mut self, block: Block, word: u32, bits: u64, units: &mut Shuffled) {
        let mut taken = [Unit::NONE; 64];
        let taken = &mut taken[..bits.count_ones() as usize];
        units.draw(taken);
        self.expect(taken.iter().copied());
        let slot = Slot(word * 64);
        let first = self.owner_index(block, slot);
        let address = self.shape.address(block, slot);
        let mut bits = bits;
        for unit in taken {
            let slot = bits.trailing_zeros();
            bits &= bits - 1;
            self.map[unit.index()] = address.plus(slot);
            self.owner[first + slot as usize] = *unit;
        }
    }
}

/// A random permutation of the numbers below a count: a bijection of the smallest sufficient power
/// of two (products with odd numbers and right shifts), without the numbers that are too large.
#[derive(Debug)]
struct Shuffled {
    next: u64,
    end: u64,
    count: u32,
    mask: u32,
    shift: u32,
    factors: [u32; 3],
    /// The units that the numbers denote; empty if each number is its own unit.
    units: Vec<Unit>,
}

impl Shuffled {
    /// A random permutation of these units.
    fn of(units: Vec<Unit>, random: &mut impl Rng) -> Shuffled {
        let numbers = Shuffled::new(units.len() as u32, random);
        Shuffled { units, ..numbers }
    }

    fn new(count: u32, random: &mut impl Rng) -> Shuffled {
        let bits = u32::BITS - count.saturating_sub(1).leading_zeros();
        Shuffled {
            next: 0,
            end: 1 << bits,
            count,
            mask: ((1u64 << bits) - 1) as u32,
            shift: bits / 2 + 1,
            factors: std::array::from_fn(|_| random.next_u32() | 1),
            units: Vec::new(),
        }
    }

    #[inline]
    fn mix(&self, number: u32) -> u32 {
        self.factors.iter().fold(number, |number, factor| {
            let number = number.wrapping_mul(*factor) & self.mask;
            number ^ (number >> self.shift)
        })
    }

    /// Fills `into` with the next numbers; as many must be left.
    fn draw(&mut self, into: &mut [Unit]) {
        let mut drawn = 0;
        while drawn < into.len() && self.next < self.end {
            let mixed = self.mix(self.next as u32);
            self.next += 1;
            // A number that is too large is overwritten by the next one.
            into[drawn] = Unit(mixed);
            drawn += usize::from(mixed < self.count);
        }
        if !self.units.is_empty() {
            for number in into {
                *number = self.units[number.index()];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_pcg::Pcg64Mcg;
    use rand_pcg::rand_core::SeedableRng;

    use super::*;

    #[test]
    fn every_number_comes_once_and_neighbours_come_apart() {
        for count in [1, 2, 3, 1000, 4096, 70_001] {
            let mut random = Pcg64Mcg::seed_from_u64(u64::from(count));
            let mut drawn = vec![Unit::NONE; count as usize];
            Shuffled::new(count, &mut random).draw(&mut drawn);
            let mut sorted = drawn.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(Unit(0).run(count)), "{count}");
            let near = drawn.windows(2).filter(|pair| pair[0].0.abs_diff(pair[1].0) < 10).count();
            assert!(count < 1000 || near < count as usize / 20, "{near} of {count}");
        }
    }
}
