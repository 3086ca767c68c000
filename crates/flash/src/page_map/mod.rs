//! A page map: every unit can be anywhere, and blocks are reclaimed by moving what is still valid
//! in them.
//!
//! A block here is one erase block of each plane of each die: programs go to the dies in turn.
//! Host units + copied units + padding = programmed units, and a block's valid units are those
//! that the map points into it: both are asserted by [`PageMap::audit`].

mod collect;
mod store;
#[cfg(test)]
mod tests;
mod victims;

use flashlag_schema::profile::{GcModel, GcPolicy, Model};
use flashlag_units::{Bytes, Nanos};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use crate::command::FlashError;
use crate::hybrid::Spot;
use crate::nand::{Nand, stripe};
use victims::Victims;

/// No unit, no place.
pub(crate) const NONE: u32 = u32::MAX;

/// What was programmed, in units, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Programmed {
    pub(crate) host: u64,
    pub(crate) copied: u64,
    pub(crate) padded: u64,
}

impl Programmed {
    #[cfg(test)]
    pub(crate) fn all(&self) -> u64 {
        self.host + self.copied + self.padded
    }
}

/// How a page map is divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Units that the host sees.
    pub(crate) logical: u32,
    /// Blocks in all.
    pub(crate) blocks: u32,
    /// Units of a block.
    pub(crate) units: u32,
    /// Units that are programmed at once.
    pub(crate) program: u32,
    pub(crate) unit_bytes: u64,
    /// Pages (of all planes) that a program takes, and units of such a page.
    pages: u32,
    page_units: u32,
    dies: u32,
}

/// A block that is being written to, and the units of its next program that are not yet there.
#[derive(Clone, Copy, Debug)]
struct Open {
    block: u32,
    /// Slots given out.
    used: u32,
    /// Slots programmed.
    programmed: u32,
    /// When the last of what waits to be programmed is there.
    ready: Nanos,
}

const CLOSED: Open = Open { block: NONE, used: 0, programmed: 0, ready: Nanos::ZERO };

/// The map, the blocks, and the dies below.
#[derive(Debug)]
pub(crate) struct PageMap {
    pub(crate) nand: Nand,
    pub(crate) shape: Shape,
    /// Unit to slot, and slot to unit.
    map: Vec<u32>,
    owner: Vec<u32>,
    valid: Vec<u32>,
    erased: Vec<u32>,
    free: std::collections::VecDeque<u32>,
    victims: Victims,
    host: Open,
    copies: Open,
    gc: GcModel,
    leveling: Option<u32>,
    mapped: u64,
    random: Pcg64Mcg,
    pub(crate) programmed: Programmed,
}

impl PageMap {
    /// The model's map, empty.
    ///
    /// # Errors
    /// Where its sizes do not go together.
    pub(crate) fn new(model: &Model, seed: u64) -> Result<PageMap, FlashError> {
        let shape = Shape::of(model)?;
        let row = u64::from(shape.blocks) * u64::from(shape.dies);
        Ok(PageMap::build(
            shape,
            Nand::new(model, row),
            model.gc.clone(),
            model.wear.leveling,
            seed,
        ))
    }

    pub(crate) fn build(
        shape: Shape,
        nand: Nand,
        gc: GcModel,
        leveling: Option<u32>,
        seed: u64,
    ) -> PageMap {
        let slots = shape.blocks as usize * shape.units as usize;
        PageMap {
            nand,
            map: vec![NONE; shape.logical as usize],
            owner: vec![NONE; slots],
            valid: vec![0; shape.blocks as usize],
            erased: vec![0; shape.blocks as usize],
            free: (0..shape.blocks).collect(),
            victims: Victims::new(&gc, shape.blocks, shape.units),
            host: CLOSED,
            copies: CLOSED,
            gc,
            leveling,
            mapped: 0,
            random: Pcg64Mcg::seed_from_u64(seed),
            programmed: Programmed::default(),
            shape,
        }
    }

    /// Memory that it takes of the machine that simulates.
    pub(crate) fn memory(&self) -> Bytes {
        let words = self.map.capacity() + self.owner.capacity() + self.free.capacity();
        let words = words + self.valid.capacity() + self.erased.capacity();
        Bytes(words as u64 * 4).plus(self.victims.memory())
    }

    pub(crate) fn free_blocks(&self) -> u32 {
        self.free.len() as u32
    }

    fn block_of(&self, slot: u32) -> u32 {
        slot / self.shape.units
    }

    /// Where a slot is on the dies.
    fn spot(&self, slot: u32) -> Spot {
        let (block, within) = (slot / self.shape.units, slot % self.shape.units);
        let program = within / self.shape.program;
        Spot {
            die: program % self.shape.dies,
            block,
            page: program / self.shape.dies * self.shape.pages,
        }
    }

    /// Takes a unit out of the map.
    fn invalidate(&mut self, unit: u32) {
        let slot = std::mem::replace(&mut self.map[unit as usize], NONE);
        if slot == NONE {
            return;
        }
        self.owner[slot as usize] = NONE;
        let block = self.block_of(slot);
        self.valid[block as usize] -= 1;
        self.mapped -= 1;
        self.victims.lost(block, self.valid[block as usize]);
    }

    /// Whether all accounts agree. A failure is a bug.
    #[cfg(test)]
    pub(crate) fn audit(&self) {
        let mut valid = vec![0; self.shape.blocks as usize];
        for (unit, slot) in self.map.iter().enumerate().filter(|(_, slot)| **slot != NONE) {
            assert_eq!(self.owner[*slot as usize], unit as u32, "unit {unit} in slot {slot}");
            valid[self.block_of(*slot) as usize] += 1;
        }
        assert_eq!(valid, self.valid, "valid units of each block");
        let owned = self.owner.iter().filter(|unit| **unit != NONE).count() as u64;
        assert_eq!((owned, self.mapped), (self.mapped, owned), "owned slots are mapped units");
    }
}

impl Shape {
    /// The model's.
    ///
    /// # Errors
    /// Where sizes do not go together, named.
    pub(crate) fn of(model: &Model) -> Result<Shape, FlashError> {
        let (nand, map) = (&model.nand, &model.map);
        let wrong = |text: String| Err(FlashError::Model(text));
        let (unit, program, stripe) = (map.unit.0.0, map.program_unit.0.0, stripe(model).0);
        let dies = u64::from(nand.channels) * u64::from(nand.dies_per_channel);
        let block = stripe * u64::from(nand.pages_per_block) * dies;
        if !program.is_multiple_of(unit) || !block.is_multiple_of(program * dies) {
            return wrong(format!(
                "map.program_unit: {program} bytes are no multiple of map.unit ({unit}), or do \
                 not divide the blocks of all dies ({block} bytes)"
            ));
        }
        // What is always free or half written is no room that collection could use.
        let kept = u64::from(model.gc.low_water) + 2;
        let blocks = (map.capacity.0.0 + map.spare.0.0).div_ceil(block) + kept;
        let slots = blocks * (block / unit);
        if slots >= u64::from(NONE) {
            return wrong(format!("map.unit: {unit} bytes make more units than can be counted"));
        }
        Ok(Shape {
            logical: map.capacity.0.0.div_ceil(unit) as u32,
            blocks: blocks as u32,
            units: (block / unit) as u32,
            program: (program / unit) as u32,
            unit_bytes: unit,
            pages: program.div_ceil(stripe) as u32,
            page_units: (stripe / unit).max(1) as u32,
            dies: dies as u32,
        })
    }
}

/// Whether a policy never takes a block that is valid throughout.
fn looks(gc: &GcModel) -> bool {
    match gc.policy {
        GcPolicy::Fifo => false,
        GcPolicy::Random | GcPolicy::DChoices => gc.skip_full,
        GcPolicy::Greedy | GcPolicy::CostBenefit => true,
    }
}
