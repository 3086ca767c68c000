//! A map of pages: every mapping unit anywhere.
//!
//! A write programs its units in the next slots of the open block; what they were mapped to before
//! is invalid then. A victim's valid units are copied to the open block of the copies (or the same
//! one) and it is erased. Per logical unit that takes 4 bytes for its address, 4 for each physical
//! unit's owner, and a bit for whether that is valid.

mod audit;
mod blocks;
mod collect;
mod few_valid;
mod prepare;
mod reads;
mod shape;
mod steady;
mod store;
mod stream;
#[cfg(test)]
mod tests;
mod victims;

use flashlag_schema::profile::{GcModel, Model};
use flashlag_units::Nanos;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use crate::address::{Address, Block, Slot, Unit};
use crate::command::FlashError;
use crate::nand::{DieMoves, Nand};
use blocks::Blocks;
use collect::{Collection, Moving};
use reads::Reads;
use shape::Shape;
use stream::Stream;
use victims::Victims;

pub(crate) use store::PageStore;

/// What was programmed, in units, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MapCounts {
    /// The host's.
    pub(crate) host: u64,
    /// Copied out of victims.
    pub(crate) copied: u64,
    /// Nothing: what filled program units up.
    pub(crate) padded: u64,
    /// Units that were read to complete those that the host gave parts of.
    pub(crate) completed: u64,
    /// Victims.
    pub(crate) collected: u64,
    /// Victims that were chosen because they were hardly worn.
    pub(crate) levelled: u64,
}

/// The map and all that it knows of its blocks.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PageMap {
    shape: Shape,
    /// Address of each logical unit.
    map: Vec<Address>,
    /// Logical unit of each physical one; only that of a valid one means anything.
    owner: Vec<Unit>,
    blocks: Blocks,
    mapped: u32,
    /// Open blocks: the host's, and the copies' where they have their own.
    streams: [Stream; 2],
    victims: Victims,
    /// Closed blocks whose tally falls below this are told to `victims`.
    watch: u32,
    collection: Collection,
    /// What a past is made by; gone from a device that was stored, which has one.
    #[serde(skip)]
    policy: Option<GcModel>,
    moving: Option<Moving>,
    random: Pcg64Mcg,
    counts: MapCounts,
    /// Slots that were programmed in all, by the blocks' own count.
    programmed: u64,
    /// Slots of the open blocks that were taken before all.
    prepared: u64,
    /// Why nothing can be written any more.
    ended: Option<FlashError>,
    reads: Reads,
    /// Work space of a relocation.
    moves: Vec<DieMoves>,
    owners: Vec<Unit>,
}

impl PageMap {
    /// The model's.
    ///
    /// # Errors
    /// As [`Shape::new`].
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

    /// What an address held is not valid any more.
    #[inline]
    fn invalidate(&mut self, address: Address) {
        let block = self.shape.block(address);
        let tally = self.blocks.invalidate(block, self.shape.slot(address));
        if tally < self.watch {
            self.victims.fell(block, tally);
        }
    }

    /// Forgets units in a row.
    pub(crate) fn discard(&mut self, unit: Unit, count: u32) {
        for unit in unit.run(count) {
            let address = std::mem::replace(&mut self.map[unit.index()], Address::NONE);
            if address != Address::NONE {
                self.invalidate(address);
                self.mapped -= 1;
            }
        }
    }

    /// Reads units in a row, those of a page at once; what was never written is there at once.
    pub(crate) fn read(&self, nand: &mut Nand, at: Nanos, unit: Unit, count: u32) -> Nanos {
        self.read_bytes(nand, at, (unit, count), u64::from(count) * self.shape.unit_bytes)
    }

    /// The same where only so many bytes of the last unit are asked for.
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

    /// Brings the entries of units into the processor's cache: a hint, which changes nothing.
    pub(crate) fn expect(&self, units: impl Iterator<Item = Unit>) {
        let entries = units.filter_map(|unit| self.map.get(unit.index()));
        std::hint::black_box(entries.fold(0, |all, entry| all ^ entry.0));
    }

    /// Pages of the open blocks that are programmed.
    pub(crate) fn open_pages(&self) -> u64 {
        let open = self.streams.iter().filter(|stream| stream.is_open());
        open.map(|stream| u64::from(stream.next.0 / self.shape.group)).sum()
    }

    /// Bytes of memory that it takes.
    pub(crate) fn memory(&self) -> usize {
        (self.map.capacity() + self.owner.capacity() + self.owners.capacity()) * 4
            + self.moves.capacity() * size_of::<DieMoves>()
            + self.blocks.memory()
            + self.victims.memory()
    }
}
