//! Victim selection.

use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::VecDeque;

use flashlag_spec::profile::{GcModel, GcPolicy};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::blocks::Blocks;
use super::few_valid::FewValid;
use crate::address::Block;

/// Number of draws before all blocks are visited.
const DRAWS: u32 = 64;

/// Closed blocks, organised as the policy needs them.
///
/// - *greedy*: the fewest valid units; exact, see [`FewValid`].
/// - *fifo*: the oldest block.
/// - *random*, *d-choices*: the fewest valid units of 1 or d blocks drawn with replacement. With
///   `skip_full`, fully valid ones are drawn again.
/// - *cost-benefit*: the highest `age · (1 - u) / 2u`, where u is the share of valid units and the
///   age is in closings (Kawaguchi, Nishioka and Motoda, "A Flash-Memory Based File System", 1995).
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Victims {
    Greedy(FewValid),
    Fifo(VecDeque<Block>),
    Drawn { choices: u32, set: BlockSet, skip_full: bool },
    CostBenefit,
}

impl Victims {
    pub(super) fn new(gc: &GcModel, blocks: u32) -> Victims {
        let drawn = |choices| Victims::Drawn {
            choices,
            set: BlockSet::new(blocks),
            skip_full: gc.skip_full,
        };
        match gc.policy {
            GcPolicy::Greedy => Victims::Greedy(FewValid::new(blocks)),
            GcPolicy::Fifo => Victims::Fifo(VecDeque::with_capacity(blocks as usize)),
            GcPolicy::Random => drawn(1),
            GcPolicy::DChoices => drawn(gc.choices.unwrap_or(2).max(1)),
            GcPolicy::CostBenefit => Victims::CostBenefit,
        }
    }

    /// Blocks whose tally falls below this must be reported to [`Victims::fell`].
    pub(super) fn watch(&self) -> u32 {
        match self {
            Victims::Greedy(few) => few.below(),
            _ => 0,
        }
    }

    /// Adds a block that was closed.
    pub(super) fn closed(&mut self, block: Block, valid: u32) {
        match self {
            Victims::Greedy(few) if valid < few.below() => few.put(block, valid),
            Victims::Fifo(line) => line.push_back(block),
            Victims::Drawn { set, .. } => set.insert(block),
            _ => {}
        }
    }

    /// Notes that a closed block has lost a valid unit and has fewer than [`Victims::watch`].
    #[inline]
    pub(super) fn fell(&mut self, block: Block, valid: u32) {
        if let Victims::Greedy(few) = self {
            few.fall(block, valid);
        }
    }

    /// Takes a victim; `None` if no relocation would gain anything.
    pub(super) fn take(
        &mut self,
        blocks: &Blocks,
        units: u32,
        random: &mut Pcg64Mcg,
    ) -> Option<Block> {
        match self {
            Victims::Greedy(few) => few.take(blocks, units),
            Victims::Fifo(line) => line.pop_front(),
            Victims::CostBenefit => best_ratio(blocks, units),
            Victims::Drawn { choices, set, skip_full } => {
                let most = if *skip_full { units } else { units + 1 };
                let victim = set.best_of(*choices, most, random, |block| blocks.valid(block))?;
                set.remove(victim);
                Some(victim)
            }
        }
    }

    /// Removes a block that was chosen by wear levelling.
    pub(super) fn remove(&mut self, block: Block, valid: u32) {
        match self {
            Victims::Greedy(few) => few.remove(block, valid),
            Victims::Fifo(line) => line.retain(|other| *other != block),
            Victims::Drawn { set, .. } => set.remove(block),
            Victims::CostBenefit => {}
        }
    }

    pub(super) fn memory(&self) -> usize {
        match self {
            Victims::Greedy(few) => few.memory(),
            Victims::Fifo(line) => line.capacity() * 4,
            Victims::Drawn { set, .. } => (set.list.capacity() + set.place.capacity()) * 4,
            Victims::CostBenefit => 0,
        }
    }
}

fn best_ratio(blocks: &Blocks, units: u32) -> Option<Block> {
    let ratio = |block: Block, valid: u32| {
        let won = u64::from(blocks.age(block)) * u64::from(units - valid);
        // Without valid units: the oldest first. Else age · gain / cost with eight binary places.
        if valid == 0 { (1 << 62) + won } else { (won << 8) / u64::from(2 * valid) }
    };
    let closed = blocks.all().zip(blocks.tallies()).filter(|(_, valid)| **valid < units);
    let best = closed.max_by_key(|(block, valid)| (ratio(*block, **valid), Reverse(*block)));
    best.map(|(block, _)| block)
}

/// The place of a block that is not in the list.
const ABSENT: u32 = u32::MAX;

/// A set of blocks to draw from.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BlockSet {
    list: Vec<Block>,
    /// Index of each block in `list`.
    place: Vec<u32>,
}

impl BlockSet {
    fn new(blocks: u32) -> BlockSet {
        BlockSet { list: Vec::with_capacity(blocks as usize), place: vec![ABSENT; blocks as usize] }
    }

    fn insert(&mut self, block: Block) {
        if self.place[block.index()] == ABSENT {
            self.place[block.index()] = self.list.len() as u32;
            self.list.push(block);
        }
    }

    fn remove(&mut self, block: Block) {
        let place = std::mem::replace(&mut self.place[block.index()], ABSENT);
        if place != ABSENT {
            self.list.swap_remove(place as usize);
            if let Some(moved) = self.list.get(place as usize) {
                self.place[moved.index()] = place;
            }
        }
    }

    /// The block with the fewest valid units of `choices` draws; drawn again unless it has fewer
    /// than `below`.
    fn best_of(
        &self,
        choices: u32,
        below: u32,
        random: &mut Pcg64Mcg,
        valid: impl Fn(Block) -> u32,
    ) -> Option<Block> {
        let count = self.list.len() as u32;
        if count == 0 {
            return None;
        }
        for _ in 0..DRAWS {
            let drawn = (0..choices).map(|_| self.list[random.random_range(0..count) as usize]);
            let best = drawn.min_by_key(|block| valid(*block))?;
            if valid(best) < below {
                return Some(best);
            }
        }
        // Blocks with so few valid units are rare: visit all.
        let best = self.list.iter().copied().min_by_key(|block| valid(*block))?;
        (valid(best) < below).then_some(best)
    }
}
