use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use super::PageMap;
use super::shape::Shape;
use crate::address::{Block, Die, Slot};
use crate::nand::{DieMoves, Nand};

/// A block that is being filled.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Stream {
    pub(super) block: Block,
    /// Next slot; all of a block's where it is full, or none was opened yet.
    pub(super) next: Slot,
    /// Slots until the program unit is full.
    pub(super) left: u32,
    /// Where that unit goes: a die, and which one it is there.
    die: Die,
    row: u32,
}

impl Default for Stream {
    fn default() -> Stream {
        Stream { block: Block::NONE, next: Slot::FIRST, left: 0, die: Die(0), row: 0 }
    }
}

impl Stream {
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.block != Block::NONE
    }

    pub(super) fn open(&mut self, block: Block, shape: &Shape) {
        *self = Stream { block, next: Slot::FIRST, left: shape.program, die: Die(0), row: 0 };
    }

    /// Slots that are left.
    #[inline]
    pub(super) fn room(&self, shape: &Shape) -> u32 {
        if self.is_open() { shape.units - self.next.0 } else { 0 }
    }

    /// Goes on to the next program unit; says where this one was.
    #[inline]
    fn step(&mut self, shape: &Shape) -> (Die, u32) {
        let place = (self.die, self.row);
        self.left = shape.program;
        self.die.0 += 1;
        if self.die.0 == shape.dies {
            self.die = Die(0);
            self.row += 1;
        }
        place
    }

    /// Takes `count` slots at once; counts the program units that fill up, by die and by whether
    /// their pages begin even or odd.
    pub(super) fn take(&mut self, count: u32, shape: &Shape, moves: &mut [DieMoves]) {
        self.next = self.next.plus(count);
        let mut count = count;
        while count >= self.left {
            count -= self.left;
            let (die, row) = self.step(shape);
            let work = &mut moves[die.index()];
            work.programs[shape.page_of_row(row).index() % 2] += 1;
            work.bytes += u64::from(shape.program) * shape.unit_bytes;
        }
        self.left -= count;
    }
}

impl PageMap {
    /// Programs the unit that a stream has filled with so many units, and what is left with
    /// nothing.
    #[inline]
    pub(super) fn program(&mut self, nand: &mut Nand, at: Nanos, which: usize) -> Nanos {
        let stream = &mut self.streams[which];
        let padded = stream.left;
        stream.next = stream.next.plus(padded);
        self.counts.padded += u64::from(padded);
        let (block, shape) = (stream.block, &self.shape);
        let (die, row) = stream.step(shape);
        let bytes = u64::from(shape.program - padded) * shape.unit_bytes;
        let end = nand.program_unit(at, die, block, shape.page_of_row(row), bytes);
        if stream.next.0 == shape.units {
            self.close(which);
        }
        end
    }

    /// The block of a stream is full.
    pub(super) fn close(&mut self, which: usize) {
        let block = std::mem::replace(&mut self.streams[which].block, Block::NONE);
        self.blocks.close(block);
        self.victims.closed(block, self.blocks.valid(block));
        self.programmed += u64::from(self.shape.units);
        self.check_conservation();
    }
}
