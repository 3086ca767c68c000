use crate::mix::mix;

/// Rounds of the Feistel network. Four give a pseudo-random permutation from pseudo-random round
/// functions (Luby and Rackoff, 1988).
const ROUNDS: usize = 4;

/// A pseudo-random permutation of `0..count` without a table: a Feistel network over the smallest
/// even number of bits that holds `count`, repeated until the result is below `count` (cycle
/// walking, Black and Rogaway, 2002). The network is at most four times as large as `count`, so a
/// step takes at most four tries on average.
#[derive(Clone, Debug)]
pub struct Permutation {
    count: u64,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// The permutation of `0..count` for a seed.
    pub fn new(count: u64, seed: u64) -> Permutation {
        let bits = u64::BITS - count.saturating_sub(1).leading_zeros();
        let keys = std::array::from_fn(|round| mix(mix(seed) ^ round as u64));
        Permutation { count, half_bits: bits.div_ceil(2).max(1), keys }
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The value at `index`; `None` from `count` on.
    pub fn at(&self, index: u64) -> Option<u64> {
        if index >= self.count {
            return None;
        }
        let mut value = self.network(index);
        // This ends: the network is a bijection, so the cycle through `index` leads back below
        // `count`.
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
