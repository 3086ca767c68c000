use flashlag_spec::profile::Model;
use serde::{Deserialize, Serialize};

use super::medium::Shape;
use crate::address::{Block, Die, Page, Slot};
use crate::command::FlashError;
use crate::die::Spot;

/// Layout of a log-block map's blocks on the dies.
///
/// A block of the map is an allocation unit: one block of all planes of a die, or a row of several
/// parts on consecutive dies. Programs go to the parts in turn: program k of a block is the `⌊k /
/// parts⌋`-th of part `k mod parts`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Layout {
    pub(crate) shape: Shape,
    dies: u32,
    parts: u32,
    /// Pages (of all planes) per program.
    pages: u32,
    pub(crate) unit_bytes: u64,
}

impl Layout {
    /// The layout of a model.
    ///
    /// # Errors
    /// If blocks and allocation units do not fit together, or the spare area is too small for the
    /// log blocks.
    pub(crate) fn new(model: &Model) -> Result<Layout, FlashError> {
        let (nand, map) = (&model.nand, &model.map);
        let wrong = |text: String| Err(FlashError::Model(text));
        let stripe = nand.page.0.0 * u64::from(nand.planes);
        let block = stripe * u64::from(nand.pages_per_block);
        let whole = map.allocation_unit.map_or(block, |unit| unit.0.0);
        let (unit, program) = (map.unit.0.0, map.program_unit.0.0);
        if whole == 0 || !whole.is_multiple_of(block) {
            return wrong(format!(
                "map.allocation_unit: {whole} bytes are no multiple of a block of {block} bytes"
            ));
        }
        if !program.is_multiple_of(unit) || !whole.is_multiple_of(program) {
            return wrong(format!(
                "map.program_unit: {program} bytes are no multiple of map.unit, or do not divide \
                 a block of {whole} bytes"
            ));
        }
        let logical = map.capacity.0.0.div_ceil(whole);
        let spare = map.spare.0.0 / whole;
        let logs = u64::from(Layout::logs(model));
        if spare < logs + 1 {
            return wrong(format!(
                "map.log_blocks: the spare area has room for {spare} blocks of {whole} bytes, \
                 and {logs} logs need one more than their number"
            ));
        }
        let count = |blocks: u64| u32::try_from(blocks).unwrap_or(u32::MAX);
        Ok(Layout {
            shape: Shape {
                logical_blocks: count(logical),
                blocks: count(logical + spare),
                units: count(whole / unit),
                program: count(program / unit),
            },
            dies: nand.channels * nand.dies_per_channel,
            parts: count(whole / block),
            pages: count(program.div_ceil(stripe)),
            unit_bytes: unit,
        })
    }

    /// Number of log blocks; 2 by default.
    pub(crate) fn logs(model: &Model) -> u32 {
        model.map.log_blocks.unwrap_or(2).max(1)
    }

    /// Parts per block, each on one die.
    pub(crate) fn parts(&self) -> u32 {
        self.parts
    }

    /// Start of a part of a block.
    pub(crate) fn part(&self, block: Block, part: u32) -> Spot {
        let all = u64::from(block.0) * u64::from(self.parts) + u64::from(part);
        let (die, block) = (all % u64::from(self.dies), all / u64::from(self.dies));
        Spot { die: Die(die as u32), block: Block(block as u32), page: Page(0) }
    }

    /// Place of a slot's program.
    pub(crate) fn spot(&self, block: Block, slot: Slot) -> Spot {
        let program = slot.0 / self.shape.program;
        let page = Page(program / self.parts * self.pages);
        Spot { page, ..self.part(block, program % self.parts) }
    }

    /// Blocks needed per die.
    pub(crate) fn blocks_per_die(&self) -> u32 {
        let parts = u64::from(self.shape.blocks) * u64::from(self.parts);
        parts.div_ceil(u64::from(self.dies)) as u32
    }
}
