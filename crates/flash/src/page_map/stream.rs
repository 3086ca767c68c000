use serde::{Deserialize, Serialize};

use super::shape::Shape;
use crate::address::{Block, Die, Slot};
use crate::nand::DieMoves;

/// An open block that is being filled.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Stream {
    pub(super) block: Block,
    /// The next slot; beyond the last one if the block is full or none was opened.
    pub(super) next: Slot,
    /// Free slots of the present program unit.
    pub(super) left: u32,
    /// The die of the present program unit, and its number on that die.
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

    /// Free slots of the block.
    #[inline]
    pub(super) fn room(&self, shape: &Shape) -> u32 {
        if self.is_open() { shape.units - self.next.0 } else { 0 }
    }

    /// Goes on to the next program unit and returns the die and the number of the present one.
    #[inline]
    pub(super) fn step(&mut self, shape: &Shape) -> (Die, u32) {
        let place = (self.die, self.row);
        self.left = shape.program;
        self.die.0 += 1;
        if self.die.0 == shape.dies {
            self.die = Die(0);
            self.row += 1;
        }
        place
    }

    /// Uses `count` slots at once and counts the program units that they complete, by die and by
    /// whether they start on an even or an odd page.
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
