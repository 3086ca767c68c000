//! Which block is reclaimed next.

use flashlag_schema::profile::{GcModel, GcPolicy};
use flashlag_units::Bytes;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::NONE;

/// Closed blocks, and what the policy needs to choose among them.
#[derive(Debug)]
pub(super) struct Victims {
    policy: GcPolicy,
    /// Whether a draw of blocks that are all valid throughout is drawn again.
    skip_full: bool,
    /// Closed blocks in no order, and where each is among them.
    closed: Vec<u32>,
    at: Vec<u32>,
    /// When each was closed, counted in blocks closed.
    age: Vec<u64>,
    clock: u64,
    order: std::collections::VecDeque<u32>,
    /// Greedy: blocks by valid units, as far as `filled`; entries that no longer hold are dropped
    /// when they are met.
    stacks: Vec<Vec<u32>>,
    filled: u32,
}

impl Victims {
    pub(super) fn new(gc: &GcModel, blocks: u32, units: u32) -> Victims {
        Victims {
            policy: gc.policy,
            skip_full: gc.skip_full,
            closed: Vec::with_capacity(blocks as usize),
            at: vec![NONE; blocks as usize],
            age: vec![0; blocks as usize],
            clock: 0,
            order: std::collections::VecDeque::new(),
            stacks: vec![Vec::new(); units as usize + 1],
            filled: 0,
        }
    }

    /// Memory that it takes of the machine that simulates.
    pub(super) fn memory(&self) -> Bytes {
        let stacks: usize = self.stacks.iter().map(Vec::capacity).sum();
        let lists = self.closed.capacity() + self.at.capacity() + self.order.capacity();
        Bytes((4 * (lists + stacks) + 8 * self.age.capacity()) as u64)
    }

    pub(super) fn is_closed(&self, block: u32) -> bool {
        self.at[block as usize] != NONE
    }

    /// A block has been written to its end.
    pub(super) fn close(&mut self, block: u32, valid: u32) {
        self.at[block as usize] = self.closed.len() as u32;
        self.closed.push(block);
        self.clock += 1;
        self.age[block as usize] = self.clock;
        if self.policy == GcPolicy::Fifo {
            self.order.push_back(block);
        }
        self.lost(block, valid);
    }

    /// A block has one valid unit less.
    #[inline]
    pub(super) fn lost(&mut self, block: u32, valid: u32) {
        if self.policy == GcPolicy::Greedy && valid <= self.filled && self.is_closed(block) {
            self.stacks[valid as usize].push(block);
        }
    }

    /// A block is erased.
    pub(super) fn remove(&mut self, block: u32) {
        let at = std::mem::replace(&mut self.at[block as usize], NONE);
        if at == NONE {
            return;
        }
        self.closed.swap_remove(at as usize);
        if let Some(moved) = self.closed.get(at as usize) {
            self.at[*moved as usize] = at;
        }
    }

    /// The next victim: never one that is valid throughout, but for FIFO, which does not look.
    pub(super) fn choose(
        &mut self,
        valid: &[u32],
        units: u32,
        choices: u32,
        random: &mut Pcg64Mcg,
    ) -> Option<u32> {
        match self.policy {
            GcPolicy::Greedy => self.fewest(valid, units),
            GcPolicy::Fifo => self.order.pop_front(),
            GcPolicy::Random => self.drawn(valid, units, 1, random),
            GcPolicy::DChoices => self.drawn(valid, units, choices.max(1), random),
            GcPolicy::CostBenefit => self.worth(valid, units),
        }
    }

    fn fewest(&mut self, valid: &[u32], units: u32) -> Option<u32> {
        loop {
            for count in 0..=self.filled.min(units - 1) {
                while let Some(block) = self.stacks[count as usize].pop() {
                    if self.is_closed(block) && valid[block as usize] == count {
                        return Some(block);
                    }
                }
            }
            // Nothing so low: fill the stacks a little further, up to just below the whole block.
            let lowest = self.closed.iter().map(|block| valid[*block as usize]).min()?;
            if lowest >= units {
                return None;
            }
            self.filled = lowest + units / 16;
            for stack in &mut self.stacks {
                stack.clear();
            }
            for block in &self.closed {
                let count = valid[*block as usize];
                if count <= self.filled {
                    self.stacks[count as usize].push(*block);
                }
            }
        }
    }

    /// The best of some that are drawn among all that are closed; drawn again where it is valid
    /// throughout.
    fn drawn(&self, valid: &[u32], units: u32, choices: u32, random: &mut Pcg64Mcg) -> Option<u32> {
        if self.closed.is_empty() {
            return None;
        }
        let full = |block: &u32| valid[*block as usize];
        for _ in 0..64 {
            let draw = || self.closed[random.random_range(0..self.closed.len())];
            let drawn = std::iter::repeat_with(draw).take(choices as usize);
            let best = drawn.min_by_key(full)?;
            if full(&best) < units || !self.skip_full {
                return Some(best);
            }
        }
        // Hardly any block is not valid throughout: look at all.
        self.closed.iter().copied().min_by_key(full).filter(|block| full(block) < units)
    }

    /// The best of (1 − u) · age / 2u (Rosenblum and Ousterhout, 1991), compared without division.
    fn worth(&self, valid: &[u32], units: u32) -> Option<u32> {
        let score = |block: u32| {
            let (full, age) = (u128::from(valid[block as usize]), self.age[block as usize]);
            let age = u128::from(self.clock - age + 1);
            ((u128::from(units) - full) * age, 2 * full)
        };
        let open = self.closed.iter().copied().filter(|block| valid[*block as usize] < units);
        open.reduce(|best, block| {
            let ((a, b), (c, d)) = (score(best), score(block));
            // a/b against c/d; nothing to move is worth more than anything.
            if c * b > a * d || (d == 0 && b != 0) { block } else { best }
        })
    }
}
