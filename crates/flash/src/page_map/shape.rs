use flashlag_spec::profile::Model;
use serde::{Deserialize, Serialize};

use crate::address::{Address, Block, Die, Page, Slot};
use crate::command::FlashError;

/// Layout of a page map's blocks on the dies.
///
/// A block of the map is a superblock: one row, a block of each plane of each die. Program units
/// are striped over the dies: unit k is the `⌊k / dies⌋`-th of die `k mod dies`. An address is
/// `block << shift | slot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shape {
    /// Mapping units of the host's address space.
    pub(crate) logical: u32,
    /// Superblocks, bad ones included.
    pub(crate) blocks: u32,
    /// Superblocks that are never used. The firmware joins good blocks of all dies, so as many rows
    /// are lost as blocks are bad on a die. They are no part of the spare area.
    pub(crate) bad: u32,
    /// Mapping units of a superblock.
    pub(crate) units: u32,
    /// Mapping units of a program unit.
    pub(crate) program: u32,
    /// Mapping units of a page of all planes, at least one.
    pub(crate) stripe: u32,
    /// Consecutive slots that one page read covers.
    pub(crate) group: u32,
    /// Pages of a program unit, at least one.
    pub(crate) pages: u32,
    pub(crate) dies: u32,
    pub(crate) unit_bytes: u64,
    pub(crate) shift: u32,
}

impl Shape {
    /// The shape of a model: enough blocks for capacity, spare area and the blocks that are always
    /// free.
    ///
    /// # Errors
    /// If sizes do not fit together, the spare area is too small to reclaim anything, or the device
    /// is too large for 32-bit addresses.
    pub(crate) fn new(model: &Model) -> Result<Shape, FlashError> {
        let (nand, map) = (&model.nand, &model.map);
        let wrong = |text: String| Err(FlashError::Model(text));
        let (unit, program) = (map.unit.0.0, map.program_unit.0.0.max(map.unit.0.0));
        let stripe = nand.page.0.0 * u64::from(nand.planes);
        let dies = nand.channels * nand.dies_per_channel;
        let block = stripe * u64::from(nand.pages_per_block);
        if !program.is_multiple_of(unit) || !block.is_multiple_of(program) {
            return wrong(format!(
                "map.program_unit: {program} bytes are no multiple of map.unit, or do not divide \
                 a block of {block} bytes of all planes"
            ));
        }
        if !program.is_multiple_of(stripe) && !stripe.is_multiple_of(program) {
            return wrong(format!(
                "map.program_unit: {program} bytes neither divide a page of {stripe} bytes of all \
                 planes nor are a multiple of it"
            ));
        }
        let superblock = block * u64::from(dies);
        let streams = if model.gc.hot_cold { 2 } else { 1 };
        let usable = (map.capacity.0.0 + map.spare.0.0).div_ceil(superblock);
        let logical = map.capacity.0.0.div_ceil(unit);
        let units = superblock / unit;
        if usable * units < logical + streams * units {
            return wrong(format!(
                "map.spare: {} bytes are less than the {streams} blocks of {superblock} bytes that \
                 are open at a time",
                map.spare.0.0
            ));
        }
        let good = usable + u64::from(Shape::low_water(model));
        let share = nand.bad_blocks.clamp(0.0, 0.99);
        let bad = (good as f64 * share / (1.0 - share)).round() as u64;
        let blocks = good + bad;
        let shift = (units - 1).checked_ilog2().map_or(0, |bits| bits + 1);
        if blocks << shift >= 1 << 32 {
            return wrong("map.unit: too small for a device of this size".to_owned());
        }
        let (program, stripe) = ((program / unit) as u32, (stripe / unit).max(1) as u32);
        let pages = program.div_ceil(stripe);
        Ok(Shape {
            logical: logical as u32,
            blocks: blocks as u32,
            bad: bad as u32,
            units: units as u32,
            program,
            stripe,
            group: if dies == 1 { stripe } else { stripe.min(program) },
            pages,
            dies,
            unit_bytes: unit,
            shift,
        })
    }

    /// Collection starts below this number of free blocks. As many blocks are added to the spare
    /// area, since collection can't use blocks that are always kept free.
    pub(crate) fn low_water(model: &Model) -> u32 {
        model.gc.low_water.max(1) + 1
    }

    /// The block of an address.
    #[inline]
    pub(crate) fn block(&self, address: Address) -> Block {
        Block(address.0 >> self.shift)
    }

    /// The slot of an address in its block.
    #[inline]
    pub(crate) fn slot(&self, address: Address) -> Slot {
        Slot(address.0 & ((1 << self.shift) - 1))
    }

    /// The address of a slot of a block.
    #[inline]
    pub(crate) fn address(&self, block: Block, slot: Slot) -> Address {
        Address((block.0 << self.shift) | slot.0)
    }

    /// Die and page of a slot.
    #[inline]
    pub(crate) fn place(&self, slot: Slot) -> (Die, Page) {
        let unit = slot.0 / self.program;
        let (die, row) = (unit % self.dies, unit / self.dies);
        (Die(die), Page((row * self.program + slot.0 % self.program) / self.stripe))
    }

    /// The first page of a die's `row`-th program unit.
    #[inline]
    pub(crate) fn page_of_row(&self, row: u32) -> Page {
        Page(if self.program >= self.stripe {
            row * self.pages
        } else {
            row * self.program / self.stripe
        })
    }
}
