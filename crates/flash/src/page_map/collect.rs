//! Garbage collection: in the foreground when blocks run low, in the background in idle time.

use flashlag_spec::profile::{EraseTime, Model};
use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use super::shape::Shape;
use crate::address::Block;

/// At most this many victims between two looks at wear, since a look visits all blocks.
pub(super) const LEVEL_SELDOM: u32 = 64;

/// Map entries that are prefetched together.
pub(super) const AHEAD: usize = 256;

/// Parameters of garbage collection.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Collection {
    pub(super) low_water: u32,
    pub(super) slice: Option<Nanos>,
    pub(super) idle_after: Option<Nanos>,
    pub(super) idle_until: u32,
    /// Index of the stream for copies.
    pub(super) copies: usize,
    /// Whether blocks are erased when they are opened.
    pub(super) late: bool,
    pub(super) leveling: Option<u32>,
}

impl Collection {
    pub(super) fn new(model: &Model) -> Collection {
        let gc = &model.gc;
        Collection {
            low_water: Shape::low_water(model),
            slice: gc.slice.map(|slice| slice.0),
            idle_after: gc.idle_after.map(|after| after.0),
            idle_until: gc.idle_until.unwrap_or(u32::MAX),
            copies: usize::from(gc.hot_cold),
            late: gc.erase == EraseTime::Late,
            leveling: model.wear.leveling,
        }
    }

    /// Free blocks that are needed before a block is opened for the host. With slices, which run
    /// between the host's writes, two are enough: one for the host and one for the copies.
    pub(super) fn needed(&self) -> u32 {
        if self.slice.is_some() { 2 } else { self.low_water }
    }
}

/// A relocation in progress.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Relocation {
    pub(super) victim: Block,
    /// All words before this one are moved; this one perhaps in part.
    pub(super) word: u32,
}
