use flashlag_spec::profile::Model;
use serde::{Deserialize, Serialize};

use super::Nand;
use super::times::Times;
use super::variation::Variation;
use super::wear::Wear;
use crate::address::Block;

/// What belongs to one kind of blocks on dies that have two: in ordinary cells, and in SLC mode.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Cells {
    times: Times,
    wear: Wear,
    variation: Option<Box<Variation>>,
}

impl Cells {
    /// The second kind of blocks on the dies of a model, which has their times.
    pub(crate) fn new(model: &Model, rows: u32, bad: &[Block], seed: u64) -> Cells {
        let dies = model.nand.channels * model.nand.dies_per_channel;
        // Another seed, so that its pages do not differ as those of the first kind do.
        let variation = Variation::new(model, seed ^ 0x51c).map(Box::new);
        Cells { times: Times::new(model), wear: Wear::new(model, rows, dies, bad), variation }
    }

    /// Mean used share of the rated cycles; `None` without a rating.
    pub(crate) fn life_used(&self) -> Option<f64> {
        self.wear.life_used()
    }

    /// Adds cycles to all rows that are not bad.
    pub(crate) fn age(&mut self, cycles: u32) {
        self.wear.age(cycles);
    }
}

impl Nand {
    /// Lets the dies work in the other kind of blocks, until this is called again.
    pub(crate) fn exchange(&mut self, other: &mut Cells) {
        std::mem::swap(&mut self.times, &mut other.times);
        std::mem::swap(&mut self.wear, &mut other.wear);
        std::mem::swap(&mut self.variation, &mut other.variation);
        // Rows of both kinds have the same numbers: no register holds a page of the other kind.
        for die in &mut self.dies {
            die.held = None;
        }
    }
}
