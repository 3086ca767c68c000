//! A page map: any mapping unit can be anywhere on the flash.
//!
//! A write programs its units into the next slots of the open block and invalidates the slots that
//! they had before. Collection copies the valid units of a victim to the open block of the copies
//! (or to the same one) and erases the victim. Memory: 4 bytes per logical unit for its address, 4
//! per physical unit for its owner, and one bit for whether it is valid.

mod append;
mod audit;
mod blocks;
mod collect;
mod few_valid;
mod prepare;
mod reads;
mod relocate;
mod shape;
mod steady;
mod store;
mod stream;
#[cfg(test)]
mod tests;
mod victims;

use flashlag_spec::profile::{GcModel, Model};
use flashlag_units::Nanos;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use crate::address::{Address, Block, Slot, Unit};
use crate::command::FlashError;
use crate::nand::{DieMoves, Nand};
use blocks::Blocks;
use collect::{Collection, Relocation};
use reads::Reads;
pub(crate) use shape::Shape;
use stream::Stream;
use victims::Victims;

pub(crate) use store::PageStore;

/// Units programmed, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MapCounts {
    /// Written by the host.
    pub(crate) host: u64,
    /// Copied out of victims.
    pub(crate) copied: u64,
    /// Padding of program units.
    pub(crate) padded: u64,
    /// Units that were read because the host wrote only a part of them.
    pub(crate) completed: u64,
    /// Victims in all.
    pub(crate) collected: u64,
    /// Victims chosen by wear levelling.
    pub(crate) levelled: u64,
}

/// The page map and the state of its blocks.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PageMap {
    shape: Shape,
    /// Address of each logical unit.
    map: Vec<Address>,
    /// Owner of each physical unit; meaningful only for valid ones.
    owner: Vec<Unit>,
    blocks: Blocks,
    mapped: u32,
    /// The open blocks: the host's, and the copies' if they have one of their own.
    streams: [Stream; 2],
    victims: Victims,
    /// Closed blocks with fewer valid units than this are reported to `victims`.
    watch: u32,
    collection: Collection,
    /// Parameters for computing a past; `None` in a stored device, which has one.
    #[serde(skip)]
    policy: Option<GcModel>,
    moving: Option<Relocation>,
    /// Whether the last victim was chosen by wear levelling.
    #[serde(skip)]
    levels: bool,
    /// Blocks opened for copies whose late erase takes its time with the copies.
    opened: Vec<Block>,
    random: Pcg64Mcg,
    counts: MapCounts,
    /// Slots programmed in all, counted by blocks.
    programmed: u64,
    /// Slots of the open blocks that a past has filled.
    prepared: u64,
    /// The error of all writes, once the flash is worn out.
    ended: Option<FlashError>,
    reads: Reads,
    /// Work space of a relocation.
    moves: Vec<DieMoves>,
    owners: Vec<Unit>,
}

impl PageMap {
    /// The page map of a model.
    pub(crate) fn new(model: &Model, seed: u64) -> Result<PageMap, FlashError> {
        let shape = Shape::new(model)?;
        let physical = shape.blocks as usize * shape.units as usize;
        let victims = Victims::new(&model.gc, shape.blocks);
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        Ok(PageMap {
            reads: Reads::new(&shape),
            shape,
            map: vec![Address::NONE; shape.logical as usize],
            owner: vec![Unit::NONE; physical],
            blocks: Blocks::new(&shape, &mut random),
            mapped: 0,
            streams: [Stream::default(); 2],
            watch: victims.watch(),
            victims,
            collection: Collection::new(model),
            policy: Some(model.gc.clone()),
            moving: None,
            levels: false,
            opened: Vec::new(),
            random,
            counts: MapCounts::default(),
            programmed: 0,
            prepared: 0,
            ended: None,
            moves: vec![DieMoves::default(); shape.dies as usize],
            owners: Vec::with_capacity(64),
        })
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(crate) fn counts(&self) -> MapCounts {
        self.counts
    }

    pub(crate) fn free_blocks(&self) -> u32 {
        self.blocks.free.len() as u32
    }

    /// Blocks that are bad from the factory.
    pub(crate) fn factory_bad(&self) -> &[Block] {
        &self.blocks.bad
    }

    /// Blocks that are bad from the factory, or worn out.
    pub(crate) fn bad_blocks(&self) -> u32 {
        self.blocks.bad.len() as u32 + self.blocks.retired
    }

    pub(crate) fn mapped(&self) -> u32 {
        self.mapped
    }

    #[inline]
    pub(crate) fn is_mapped(&self, unit: Unit) -> bool {
        self.map[unit.index()] != Address::NONE
    }

    #[inline]
    fn owner_index(&self, block: Block, slot: Slot) -> usize {
        block.index() * self.shape.units as usize + slot.index()
    }

    /// Marks the slot at an address invalid.
    #[inline]
    fn invalidate(&mut self, address: Address) {
        let block = self.shape.block(address);
        let tally = self.blocks.invalidate(block, self.shape.slot(address));
        if tally < self.watch {
            self.victims.fell(block, tally);
        }
    }

    /// Unmaps `count` units.
    pub(crate) fn discard(&mut self, unit: Unit, count: u32) {
        for unit in unit.run(count) {
            let address = std::mem::replace(&mut self.map[unit.index()], Address::NONE);
            if address != Address::NONE {
                self.invalidate(address);
                self.mapped -= 1;
            }
        }
    }

    /// Reads `count` units, those of one page together; units without content take no time.
    pub(crate) fn read(&self, nand: &mut Nand, at: Nanos, unit: Unit, count: u32) -> Nanos {
        self.read_bytes(nand, at, (unit, count), u64::from(count) * self.shape.unit_bytes)
    }

    /// Reads `count` units, of which only `bytes` leave the dies.
    pub(crate) fn read_bytes(
        &self,
        nand: &mut Nand,
        at: Nanos,
        (unit, count): (Unit, u32),
        bytes: u64,
    ) -> Nanos {
        let mut left = bytes;
        let units = &self.map[unit.index()..unit.index() + count as usize];
        let mut end = at;
        let (shape, none) = (&self.shape, Address::NONE);
        let page = |address: Address| (shape.block(address), shape.slot(address).0 / shape.group);
        for run in units.chunk_by(|a, b| *a != none && *b != none && page(*a) == page(*b)) {
            if run[0] != none {
                let (block, slot) = (self.shape.block(run[0]), self.shape.slot(run[0]));
                let (die, page) = self.shape.place(slot);
                let bytes = left.min(run.len() as u64 * self.shape.unit_bytes);
                end = end.max(nand.read_this_page(at, die, (block, page), bytes));
                left -= bytes;
            }
        }
        end
    }

    /// Prefetches map entries into the processor's cache: a hint that changes nothing.
    pub(crate) fn expect(&self, units: impl Iterator<Item = Unit>) {
        let entries = units.filter_map(|unit| self.map.get(unit.index()));
        std::hint::black_box(entries.fold(0, |all, entry| all ^ entry.0));
    }

    /// Programmed pages of the open blocks.
    pub(crate) fn open_pages(&self) -> u64 {
        let open = self.streams.iter().filter(|stream| stream.is_open());
        open.map(|stream| u64::from(stream.next.0 / self.shape.group)).sum()
    }

    /// Memory of the map, in bytes.
    pub(crate) fn memory(&self) -> usize {
        (self.map.capacity() + self.owner.capacity() + self.owners.capacity()) * 4
            + self.moves.capacity() * size_of::<DieMoves>()
            + self.blocks.memory()
            + self.victims.memory()
    }
}
