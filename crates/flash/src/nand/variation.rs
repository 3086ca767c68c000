//! Differences between pages and blocks: types of pages, spreads, retries in whole steps.

use flashlag_spec::profile::Model;
use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use super::wear::Wear;
use crate::address::{Block, Die, Page};
use crate::die::DieWork;
use crate::spread::{Spread, exponential, fixed, mix, scaled};

/// Mean number of retries above which their spread is not drawn.
const MANY: f64 = 16.0;

/// Differences between pages and blocks, by the seed.
///
/// What belongs to a place is the same each time: the factor of a page, of a block's erase in one
/// cycle. Retries are drawn for each read, and so is the time of an operation in the write cache,
/// whose pages are used once.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Variation {
    seed: u64,
    /// Draws so far.
    drawn: u64,
    /// Factors of reads by page, in turn.
    types: Vec<u32>,
    read: Spread,
    program: Spread,
    erase: Spread,
    whole_retries: bool,
}

impl Variation {
    /// The differences of a model; `None` if it has none.
    pub(super) fn new(model: &Model, seed: u64) -> Option<Variation> {
        let (nand, whole_retries) = (&model.nand, model.wear.whole_retries);
        let spreads = [nand.read_spread, nand.program_spread, nand.erase_spread];
        if nand.read_types.is_empty()
            && spreads.iter().all(|spread| *spread == 0.0)
            && !whole_retries
        {
            return None;
        }
        let [read, program, erase] = spreads.map(Spread::new);
        let types = nand.read_types.iter().map(|factor| fixed(*factor)).collect();
        Some(Variation { seed, drawn: 0, types, read, program, erase, whole_retries })
    }

    /// Time to read a page at `at` that takes `new` where it is new.
    #[cold]
    pub(super) fn read(
        &mut self,
        wear: &Wear,
        (die, row, page): (Die, Block, Page),
        at: Nanos,
        new: Nanos,
    ) -> Nanos {
        let mut time = if self.whole_retries { new } else { wear.read_time(row, die, at, new) };
        if !self.types.is_empty() {
            time = scaled(time, self.types[page.index() % self.types.len()]);
        }
        time = self.read.of(time, self.place(die, row, page.0));
        if self.whole_retries {
            let retries = wear.retries(row, die, at);
            if retries > 0.0 {
                let retries = poisson(retries, self.draw());
                time = Nanos(time.0 * (1 + u64::from(retries)));
            }
        }
        time
    }

    /// Time to program a unit that starts on a page.
    #[cold]
    pub(super) fn program(&self, (die, row, page): (Die, Block, Page), time: Nanos) -> Nanos {
        // Not the number of the page's read.
        self.program.of(time, self.place(die, row, page.0 | 1 << 31))
    }

    /// Time of a block's erase in one of its cycles.
    #[cold]
    pub(super) fn erase(&self, die: Die, row: Block, cycle: u32, time: Nanos) -> Nanos {
        self.erase.of(time, mix(self.place(die, row, u32::MAX) ^ u64::from(cycle)))
    }

    /// An operation outside of the map's blocks, with its time.
    #[cold]
    pub(super) fn work(&mut self, work: DieWork) -> DieWork {
        let draw = self.draw();
        match work {
            DieWork::Read { time, bytes } => {
                DieWork::Read { time: self.read.of(time, draw), bytes }
            }
            DieWork::Program { time, bytes } => {
                DieWork::Program { time: self.program.of(time, draw), bytes }
            }
            DieWork::Erase { time } => DieWork::Erase { time: self.erase.of(time, draw) },
        }
    }

    fn place(&self, die: Die, row: Block, page: u32) -> u64 {
        let block = (u64::from(die.0) << 32) | u64::from(row.0);
        mix(mix(self.seed ^ block) ^ u64::from(page))
    }

    fn draw(&mut self) -> u64 {
        self.drawn += 1;
        mix(self.seed.wrapping_add(self.drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }
}

/// A number of events with this mean (Poisson), by inversion of an even draw.
fn poisson(mean: f64, draw: u64) -> u32 {
    let even = (draw >> 11) as f64 / (1u64 << 53) as f64;
    if mean > MANY {
        return mean as u32 + u32::from(even < mean.fract());
    }
    let (mut chance, mut count) = (exponential(-mean), 0);
    let mut below = chance;
    while even >= below && count < 100 {
        count += 1;
        chance *= mean / f64::from(count);
        below += chance;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_are_a_poisson_process_and_no_page_is_read_less_than_once() {
        for mean in [0.1, 1.0, 3.0, 9.0] {
            let all = 100_000u64;
            let counts: Vec<u32> = (0..all).map(|number| poisson(mean, mix(number))).collect();
            let sum: u64 = counts.iter().map(|count| u64::from(*count)).sum();
            assert!((sum as f64 / all as f64 / mean - 1.0).abs() < 0.03, "{mean}: {sum}");
            let none = counts.iter().filter(|count| **count == 0).count() as f64 / all as f64;
            assert!((none - (-mean).exp()).abs() < 0.005, "{mean}: {none}");
        }
    }
}
