//! The memory: dies on channels, each doing one thing at a time.
//!
//! A die is reserved until a time, and so is a channel. A **read** takes tR on its die and then the
//! channel until its bytes are out; a **program** takes the channel first, then tPROG; an **erase**
//! takes tBERS. So one die programs `unit / (unit / bus + tPROG)` bytes a second, and n dies on a
//! channel n times that until the bus is the bottleneck. Where operations can be suspended, a read
//! waits for the reads before it only, and what it suspends ends later by the read's time and
//! `nand.suspend`.

mod bus;
mod relocation;
#[cfg(test)]
mod tests;
mod times;
mod wear;

use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

use flashlag_schema::profile::Model;
use flashlag_units::Nanos;

use crate::address::{Block, Die, Page};
use crate::command::FlashError;
use crate::front::DieWork;
use crate::hybrid::{Dies, Spot};
use crate::power::WordLine;

use bus::Buses;
pub(crate) use relocation::DieMoves;
use times::Times;
use wear::Wear;

/// What a die is doing, and until when.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct DieState {
    /// When everything that it was given ends.
    busy_until: Nanos,
    /// When the reads among that end; only programs and erases come after.
    reads_until: Nanos,
    /// The row and page that its registers hold, since it was read last and nothing came since:
    /// reading more of it only takes the transfer.
    held: Option<(Block, Page)>,
}

/// What the dies have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NandCounts {
    /// Pages of all planes that were read.
    pub(crate) page_reads: u64,
    /// Program units that were programmed.
    pub(crate) programs: u64,
    /// Blocks of all planes that were erased.
    pub(crate) erases: u64,
    /// Operations that were suspended.
    pub(crate) suspended: u64,
    /// Time of all dies' work.
    pub(crate) busy: Nanos,
}

/// Dies, their channels, and how worn their blocks are.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Nand {
    dies: Vec<DieState>,
    buses: Buses,
    times: Times,
    wear: Wear,
    word_line: Option<WordLine>,
    pub(crate) counts: NandCounts,
}

impl Nand {
    /// The model's dies with so many rows: blocks of all planes a die; some of them are bad.
    pub(crate) fn new(model: &Model, rows: u32, bad: &[Block]) -> Nand {
        let nand = &model.nand;
        let dies = nand.channels * nand.dies_per_channel;
        Nand {
            dies: vec![DieState::default(); dies as usize],
            buses: Buses::new(nand.channels, nand.dies_per_channel, nand.bus_per_second.0),
            times: Times::new(model),
            wear: Wear::new(model, rows, dies, bad),
            word_line: None,
            counts: NandCounts::default(),
        }
    }

    /// Reads a page of all planes, of which so many bytes leave the die.
    #[inline]
    pub(crate) fn read_page(&mut self, at: Nanos, die: Die, row: Block, bytes: u64) -> Nanos {
        self.counts.page_reads += 1;
        let time = self.wear.read_time(row, die, self.times.read);
        self.read_for(at, die, time, bytes)
    }

    /// The same of a page that is told, which is not read again where the die still holds it.
    #[inline]
    pub(crate) fn read_this_page(
        &mut self,
        at: Nanos,
        die: Die,
        (row, page): (Block, Page),
        bytes: u64,
    ) -> Nanos {
        let end = if self.dies[die.index()].held == Some((row, page)) {
            self.read_for(at, die, Nanos::ZERO, bytes)
        } else {
            self.read_page(at, die, row, bytes)
        };
        self.dies[die.index()].held = Some((row, page));
        end
    }

    #[inline]
    fn read_for(&mut self, at: Nanos, die: Die, time: Nanos, bytes: u64) -> Nanos {
        let DieState { busy_until, reads_until, .. } = self.dies[die.index()];
        let free = at.max(reads_until);
        let (begin, resumed) = match self.times.suspend {
            Some(extra) if busy_until > free => {
                self.counts.suspended += 1;
                (free.plus(extra), busy_until)
            }
            _ => (at.max(busy_until), Nanos::ZERO),
        };
        let end = self.buses.move_bytes(at, die, begin.plus(time), bytes);
        let die = &mut self.dies[die.index()];
        die.reads_until = end;
        die.held = None;
        // What was suspended has all of its time still to come.
        die.busy_until = end.max(resumed.plus(end.since(free)));
        self.counts.busy = self.counts.busy.plus(end.since(begin));
        end
    }

    /// Programs a program unit that begins on `page` of a row.
    #[inline]
    pub(crate) fn program_unit(
        &mut self,
        at: Nanos,
        die: Die,
        row: Block,
        page: Page,
        bytes: u64,
    ) -> Nanos {
        self.counts.programs += 1;
        let begin = at.max(self.dies[die.index()].busy_until);
        let loaded = self.buses.move_bytes(at, die, begin, bytes);
        let end = loaded.plus(self.times.program(page));
        self.word_line = self.times.word_line(page, loaded, || self.wear.row_number(row, die));
        self.keep(die, begin, end)
    }

    /// Erases a block of all planes.
    pub(crate) fn erase_block(&mut self, at: Nanos, die: Die, row: Block) -> Nanos {
        self.counts.erases += 1;
        self.wear.erase(row, die);
        let begin = at.max(self.dies[die.index()].busy_until);
        self.keep(die, begin, begin.plus(self.times.erase))
    }

    #[inline]
    fn keep(&mut self, die: Die, begin: Nanos, end: Nanos) -> Nanos {
        let kept = &mut self.dies[die.index()];
        kept.busy_until = end;
        kept.held = None;
        self.counts.busy = self.counts.busy.plus(end.since(begin));
        end
    }

    /// Program/erase cycles of a row, which is erased as a whole.
    #[inline]
    pub(crate) fn cycles(&self, row: Block) -> u32 {
        self.wear.cycles(row, Die(0))
    }

    /// All rows have done so many cycles.
    pub(crate) fn age(&mut self, cycles: u32) {
        self.wear.age(cycles);
    }

    /// The fewest and the most cycles of a row that is not bad.
    pub(crate) fn cycles_range(&self) -> RangeInclusive<u32> {
        self.wear.range()
    }

    /// Whether a row has done all the cycles that it is rated for.
    pub(crate) fn is_worn(&self, row: Block) -> bool {
        self.wear.endurance().is_some_and(|endurance| self.cycles(row) >= endurance)
    }

    /// Program/erase cycles of the mean block.
    pub(crate) fn mean_cycles(&self) -> u64 {
        self.wear.mean()
    }

    /// Share of the rated cycles that is used, on average; none where none are rated.
    pub(crate) fn life_used(&self) -> Option<f64> {
        self.wear.life_used()
    }

    #[inline]
    pub(crate) fn page_read_time(&self) -> Nanos {
        self.times.read
    }
}

impl Dies for Nand {
    fn read(&mut self, at: Nanos, spot: Spot, bytes: u64) -> Nanos {
        self.read_page(at, spot.die, spot.block, bytes)
    }

    fn program(&mut self, at: Nanos, spot: Spot, bytes: u64) -> Nanos {
        self.program_unit(at, spot.die, spot.block, spot.page, bytes)
    }

    fn erase(&mut self, at: Nanos, spot: Spot) -> Nanos {
        self.erase_block(at, spot.die, spot.block)
    }

    fn work(&mut self, at: Nanos, die: Die, work: DieWork) -> Nanos {
        match work {
            DieWork::Read { time, bytes } => {
                self.counts.page_reads += 1;
                self.read_for(at, die, time, bytes)
            }
            DieWork::Program { time, bytes } => {
                self.counts.programs += 1;
                let begin = at.max(self.dies[die.index()].busy_until);
                let loaded = self.buses.move_bytes(at, die, begin, bytes);
                self.keep(die, begin, loaded.plus(time))
            }
            DieWork::Erase { time } => {
                self.counts.erases += 1;
                let begin = at.max(self.dies[die.index()].busy_until);
                self.keep(die, begin, begin.plus(time))
            }
        }
    }

    fn word_line(&self) -> Option<WordLine> {
        self.word_line
    }

    fn count(&self) -> u32 {
        self.dies.len() as u32
    }

    fn power_cut(&mut self, at: Nanos) {
        self.dies.fill(DieState { busy_until: at, reads_until: at, held: None });
        self.buses.clear();
        self.word_line = None;
    }

    /// Log-block maps spread wear by their order of free blocks: they end when the mean block does.
    fn check_wear(&self) -> Result<(), FlashError> {
        let cycles = self.mean_cycles();
        match self.wear.endurance() {
            Some(rated) if cycles >= u64::from(rated) => Err(FlashError::WornOut { cycles }),
            _ => Ok(()),
        }
    }
}
