use flashlag_spec::scenario::Pattern;
use flashlag_units::Bytes;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

use crate::mix::below;

/// An endless series of block indices within a span: ascending and from the start again, or uniform.
/// A tail shorter than a block is never touched.
#[derive(Clone, Debug)]
pub struct Addresses {
    blocks: u64,
    order: Order,
}

#[derive(Clone, Debug)]
enum Order {
    Sequential { next: u64 },
    Random(Pcg64Mcg),
}

impl Addresses {
    /// Blocks of `block` bytes within `span`. A span without a whole block, or a block of no bytes,
    /// counts as one block at 0.
    pub fn new(pattern: Pattern, block: Bytes, span: Bytes, seed: u64) -> Addresses {
        let blocks = span.0.checked_div(block.0).unwrap_or(1).max(1);
        let order = match pattern {
            Pattern::Sequential => Order::Sequential { next: 0 },
            Pattern::Random => Order::Random(Pcg64Mcg::seed_from_u64(seed)),
        };
        Addresses { blocks, order }
    }

    /// A sequential series from `block` on instead of from the first; a random one is unchanged.
    pub fn starting_at(mut self, block: u64) -> Addresses {
        if let Order::Sequential { next } = &mut self.order {
            *next = block % self.blocks;
        }
        self
    }

    /// The number of different blocks.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The index of the next block.
    #[inline]
    pub fn next_block(&mut self) -> u64 {
        match &mut self.order {
            Order::Sequential { next } => {
                let block = *next;
                *next = if block + 1 == self.blocks { 0 } else { block + 1 };
                block
            }
            Order::Random(random) => below(random.next_u64(), self.blocks),
        }
    }
}
