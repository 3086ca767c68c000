//! Programs the units of a stream in order.

use flashlag_units::Nanos;

use super::PageMap;
use crate::address::Block;
use crate::nand::Nand;

impl PageMap {
    /// Programs the present program unit of a stream, padded if it is not full.
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

    /// Closes the block of a stream.
    pub(super) fn close(&mut self, which: usize) {
        let block = std::mem::replace(&mut self.streams[which].block, Block::NONE);
        self.blocks.close(block);
        self.victims.closed(block, self.blocks.valid(block));
        self.programmed += u64::from(self.shape.units);
        self.check_conservation();
    }
}
