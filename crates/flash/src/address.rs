//! Addresses and indices, each a type of its own, so that none can be taken for another.
//!
//! All are `u32` in memory and in stored devices. Units and slots allow arithmetic; only the page
//! map's geometry composes and decomposes an address.

use serde::{Deserialize, Serialize};

macro_rules! index {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub(crate) struct $name(pub(crate) u32);

        #[allow(dead_code, reason = "not each of them is missing at times, or indexes a table")]
        impl $name {
            /// The value for "none", which no device is large enough to reach.
            pub(crate) const NONE: $name = $name(u32::MAX);

            /// The index into a table with one entry each.
            #[inline]
            pub(crate) const fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

index! {
    /// A mapping unit of the host's address space: its offset divided by the size of a unit.
    Unit;
    /// A block of the map. In a page map: one row, a block of each plane of each die. In a
    /// log-block map: an allocation unit. Of a single die: its part of that.
    Block;
    /// A block's worth of the host's address space, in a log-block map.
    Logical;
    /// The place of a mapping unit within a block, in the order of programming.
    Slot;
    /// Where the page map has a unit: a block and a slot in 32 bits.
    Address;
    /// One of the dies, on channel `die mod channels`.
    Die;
    /// A page of a die's block, all planes together.
    Page;
}

impl Unit {
    /// The unit `count` further on.
    #[inline]
    pub(crate) const fn plus(self, count: u32) -> Unit {
        Unit(self.0 + count)
    }

    /// `count` units in a row.
    #[inline]
    pub(crate) fn run(self, count: u32) -> impl ExactSizeIterator<Item = Unit> {
        (self.0..self.0 + count).map(Unit)
    }
}

impl Slot {
    /// The first of a block.
    pub(crate) const FIRST: Slot = Slot(0);

    /// The slot `count` further on.
    #[inline]
    pub(crate) const fn plus(self, count: u32) -> Slot {
        Slot(self.0 + count)
    }

    /// The word and the bit of this slot in a bitmap of its block.
    #[inline]
    pub(crate) const fn bit(self) -> (usize, u32) {
        (self.0 as usize / 64, self.0 % 64)
    }
}

impl Address {
    /// The address `count` slots further on in the same block.
    #[inline]
    pub(crate) const fn plus(self, count: u32) -> Address {
        Address(self.0 + count)
    }
}

impl Die {
    /// The die for step `turn` of a round robin over `count` dies.
    #[inline]
    pub(crate) const fn in_turn(turn: u64, count: u32) -> Die {
        let count = if count == 0 { 1 } else { count };
        Die((turn % count as u64) as u32)
    }
}
