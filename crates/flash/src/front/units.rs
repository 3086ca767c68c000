//! Mapping units and parts of them.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::address::Unit;

/// Number of bits of a part: one per sector, or one per several sectors in large units.
const BITS: u64 = 128;

/// A set of sectors of one mapping unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Part(pub(crate) u128);

impl Part {
    /// Whether `other` is a subset.
    #[inline]
    pub(crate) fn covers(self, other: Part) -> bool {
        other.0 & !self.0 == 0
    }
}

/// The division of a device into mapping units.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Units {
    bytes: u64,
    /// Bytes of a bit of a part.
    grain: u64,
    /// The part with all sectors of a unit.
    whole: Part,
}

impl Units {
    /// Division into units of `bytes`, a multiple of 512.
    pub(crate) fn new(bytes: u64) -> Units {
        let grain = (bytes / BITS).max(512);
        let bits = bytes.div_ceil(grain);
        let whole = if bits >= BITS { u128::MAX } else { (1 << bits) - 1 };
        Units { bytes, grain, whole: Part(whole) }
    }

    /// Bytes of a unit.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether a part has all sectors of a unit.
    #[inline]
    pub(crate) fn is_whole(&self, part: Part) -> bool {
        part == self.whole
    }

    /// The units of a range, each with its part and its number of bytes.
    #[inline]
    pub(crate) fn of(self, offset: u64, length: u64) -> impl Iterator<Item = (Unit, Part, u64)> {
        let end = offset + length;
        let (first, last) = (offset / self.bytes, end.div_ceil(self.bytes));
        (first..last).map(move |unit| {
            let start = unit * self.bytes;
            let (from, until) = (offset.max(start) - start, end.min(start + self.bytes) - start);
            (Unit(unit as u32), self.part(from, until), until - from)
        })
    }

    #[inline]
    fn part(&self, from: u64, until: u64) -> Part {
        if until - from == self.bytes {
            return self.whole;
        }
        let (low, high) = (from / self.grain, until.div_ceil(self.grain));
        let below = |bit: u64| if bit >= BITS { u128::MAX } else { (1 << bit) - 1 };
        Part(below(high) & !below(low))
    }
}

/// Hasher of unit numbers. No map with it is iterated, so its order never shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnitHasher(u64);

impl Hasher for UnitHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    #[inline]
    fn write_u32(&mut self, unit: u32) {
        let mixed = (self.0 ^ u64::from(unit)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// A map from units to values.
pub(crate) type UnitMap<V> = HashMap<Unit, V, BuildHasherDefault<UnitHasher>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_cut_at_the_units_borders() {
        let units = Units::new(4096);
        let cut: Vec<_> = units.of(3584, 5120).collect();
        assert_eq!(
            cut,
            [(Unit(0), Part(0x80), 512), (Unit(1), Part(0xff), 4096), (Unit(2), Part(0x01), 512)]
        );
        assert!(units.is_whole(cut[1].1) && !units.is_whole(cut[0].1));
    }

    #[test]
    fn large_units_have_coarser_parts() {
        let units = Units::new(1 << 20);
        let cut: Vec<_> = units.of(512, 512).collect();
        assert_eq!(cut, [(Unit(0), Part(1), 512)]);
        let all: Vec<_> = units.of(0, 1 << 20).collect();
        assert!(units.is_whole(all[0].1));
        let most: Vec<_> = Units::new(65536).of(512, 65536 - 512).collect();
        assert_eq!(most, [(Unit(0), Part(u128::MAX - 1), 65536 - 512)]);
    }
}
