use crate::mix::mix;

/// Rounds of the Feistel network. Four give a pseudo-random permutation from pseudo-random round
/// functions (Luby and Rackoff, 1988).
const ROUNDS: usize = 4;

/// Each of `0..count` once, in pseudo-random order, without a table: a Feistel network over the
/// smallest even number of bits that holds `count`, walked along its cycle until it is below
/// `count` (Black and Rogaway, 2002). The network is at most four times as large as `count`, so
/// that a step takes four tries at most on average.
#[derive(Clone, Debug)]
pub struct Permutation {
    count: u64,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// A permutation of `0..count` that follows from `seed`.
    pub fn new(count: u64, seed: u64) -> Permutation {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        let keys = std::array::from_fn(|round| mix(mix(seed) ^ round as u64));
        Permutation { count, half_bits: bits.div_ceil(2).max(1), keys }
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The value at `index`; `None` from `count` on.
    pub fn at(&self, index: u64) -> Option<u64> {
        if index >= self.count {
            return None;
        }
        let mut value = self.network(index);
        // Ends: the network is a bijection, so the cycle through `index` leads back below `count`.
        while value >= self.count {
            value = self.network(value);
        }
        Some(value)
    }

    /// One pass of the network: a bijection of `0..2^(2·half_bits)`.
    fn network(&self, value: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for key in self.keys {
            (left, right) = (right, left ^ (mix(right ^ key) & mask));
        }
        left << self.half_bits | right
    }
}
