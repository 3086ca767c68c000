//! NAND: dies on channels, each doing one thing at a time.
//!
//! Dies and channels are reserved until a time. A **read** takes tR on its die and then the channel
//! until its bytes are transferred; a **program** takes the channel first, then tPROG; an **erase**
//! takes tBERS. So one die programs `unit / (unit / bus + tPROG)` bytes per second, and n dies on a
//! channel n times that until the bus is the bottleneck. With suspension, a read waits only for
//! earlier reads, and the program or erase that it suspends ends later by the read's time and
//! `nand.suspend`, as often as [`suspend`] allows. Times of pages and blocks differ by
//! [`variation`], if the profile has a spread.

mod bus;
mod cells;
mod relocation;
mod retention;
mod suspend;
#[cfg(test)]
mod tests;
mod times;
mod variation;
mod wear;

use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

use flashlag_spec::profile::Model;
use flashlag_stats::Wait;
use flashlag_units::Nanos;

use crate::address::{Block, Die, Page};
use crate::command::FlashError;
use crate::die::{DieWork, Dies, Spot};
use crate::power::WordLine;
use crate::trace::Trace;

use bus::Buses;
pub(crate) use cells::Cells;
pub(crate) use relocation::DieMoves;
use suspend::{Busy, Suspensions};
use times::Times;
use variation::Variation;
use wear::Wear;

/// Reservations of a die.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct DieState {
    /// End of all its operations.
    busy_until: Nanos,
    /// End of the reads among them; only programs and erases follow.
    reads_until: Nanos,
    /// Row and page in its registers: read last, with no other operation since. Reading more of
    /// that page takes only the transfer.
    held: Option<(Block, Page)>,
}

/// Counts of the dies' operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NandCounts {
    /// Page reads, each of all planes.
    pub(crate) page_reads: u64,
    /// Program units programmed.
    pub(crate) programs: u64,
    /// Block erases, each of all planes.
    pub(crate) erases: u64,
    /// Suspended programs and erases.
    pub(crate) suspended: u64,
    /// Busy time, summed over all dies.
    pub(crate) busy: Nanos,
}

/// All dies with their channels and the wear of their blocks.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Nand {
    dies: Vec<DieState>,
    buses: Buses,
    times: Times,
    wear: Wear,
    /// Limits of suspension; `None` for any number.
    limits: Option<Box<Suspensions>>,
    /// Differences between pages and blocks; `None` if there are none.
    variation: Option<Box<Variation>>,
    word_line: Option<WordLine>,
    pub(crate) counts: NandCounts,
    /// What commands wait for, if anyone asks.
    #[serde(skip)]
    pub(crate) trace: Option<Box<Trace>>,
}

impl Nand {
    /// The dies of a model with `rows` rows, a block of all planes on each die; rows in `bad` are
    /// bad. The seed decides how pages and blocks differ.
    pub(crate) fn new(model: &Model, rows: u32, bad: &[Block], seed: u64) -> Nand {
        let nand = &model.nand;
        let dies = nand.channels * nand.dies_per_channel;
        Nand {
            dies: vec![DieState::default(); dies as usize],
            buses: Buses::new(nand.channels, nand.dies_per_channel, nand.bus_per_second.0),
            times: Times::new(model),
            wear: Wear::new(model, rows, dies, bad),
            limits: Suspensions::new(nand, dies).map(Box::new),
            variation: Variation::new(model, seed).map(Box::new),
            word_line: None,
            counts: NandCounts::default(),
            trace: None,
        }
    }

    /// Reads a page of all planes and transfers `bytes` of it; returns the end.
    #[inline]
    pub(crate) fn read_page(
        &mut self,
        at: Nanos,
        die: Die,
        (row, page): (Block, Page),
        bytes: u64,
    ) -> Nanos {
        self.counts.page_reads += 1;
        let time = match &mut self.variation {
            None => self.wear.read_time(row, die, at, self.times.read),
            Some(variation) => variation.read(&self.wear, (die, row, page), at, self.times.read),
        };
        self.read_for(at, die, time, bytes)
    }

    /// As [`Nand::read_page`], but a page that is still in the die's registers is only transferred.
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
            self.read_page(at, die, (row, page), bytes)
        };
        self.dies[die.index()].held = Some((row, page));
        end
    }

    #[inline]
    fn read_for(&mut self, at: Nanos, die: Die, time: Nanos, bytes: u64) -> Nanos {
        if self.limits.is_some() {
            return self.read_in_turn(at, die, time, bytes);
        }
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
        let number = die;
        let die = &mut self.dies[die.index()];
        die.reads_until = end;
        die.held = None;
        // All of the suspended operation's remaining time is still to come.
        die.busy_until = end.max(resumed.plus(end.since(free)));
        let busy_until = die.busy_until;
        self.note_read(number, (at, begin, end), busy_until);
        self.counts.busy = self.counts.busy.plus(end.since(begin));
        end
    }

    /// As [`Nand::read_for`], with limits of suspension.
    #[cold]
    fn read_in_turn(&mut self, at: Nanos, die: Die, time: Nanos, bytes: u64) -> Nanos {
        let Some(limits) = &mut self.limits else {
            return at;
        };
        let state = &mut self.dies[die.index()];
        let turn = limits.turn(die, at, at.max(state.reads_until));
        let end = self.buses.move_bytes(at, die, turn.begin.plus(time), bytes);
        state.reads_until = end;
        state.held = None;
        state.busy_until = state.busy_until.max(limits.serve(die, turn, end));
        let busy_until = state.busy_until;
        self.note_read(die, (at, turn.begin, end), busy_until);
        self.counts.suspended += u64::from(turn.suspends);
        self.counts.busy = self.counts.busy.plus(end.since(turn.begin));
        end
    }

    /// Programs a program unit that starts on `page` of a row; returns the end.
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
        self.wear.write(row, die, at);
        let begin = at.max(self.dies[die.index()].busy_until);
        let loaded = self.buses.move_bytes(at, die, begin, bytes);
        let mut time = self.times.program(page);
        if let Some(variation) = &self.variation {
            time = variation.program((die, row, page), time);
        }
        self.word_line = self.times.word_line(page, loaded, || self.wear.row_number(row, die));
        self.keep(die, (at, begin, loaded.plus(time)), Busy::Programs(1))
    }

    /// Erases a block of all planes; returns the end.
    pub(crate) fn erase_block(&mut self, at: Nanos, die: Die, row: Block) -> Nanos {
        self.count_erase(die, row);
        self.spend_erase(at, die, row)
    }

    /// Counts the erase of a block, whose time is spent when the block is opened.
    pub(crate) fn count_erase(&mut self, die: Die, row: Block) {
        self.counts.erases += 1;
        self.wear.erase(row, die);
    }

    /// Spends the time of an erase that is counted; returns the end.
    pub(crate) fn spend_erase(&mut self, at: Nanos, die: Die, row: Block) -> Nanos {
        self.wear.write(row, die, at);
        let mut time = self.times.erase;
        if let Some(variation) = &self.variation {
            time = variation.erase(die, row, self.wear.cycles(row, die), time);
        }
        let begin = at.max(self.dies[die.index()].busy_until);
        self.keep(die, (at, begin, begin.plus(time)), Busy::Erase)
    }

    /// Notes a read with its times of request, start and end, for the account of what commands wait
    /// for.
    #[inline]
    fn note_read(&mut self, die: Die, (at, begin, end): (Nanos, Nanos, Nanos), busy_until: Nanos) {
        if let Some(trace) = &mut self.trace {
            trace.waits(die, at, begin);
            trace.works(die, begin, end);
            trace.goes_on(die, end, busy_until);
        }
    }

    /// Keeps a die busy with an operation, given its times of request, start and end; returns the
    /// end.
    #[inline]
    fn keep(&mut self, die: Die, (at, begin, end): (Nanos, Nanos, Nanos), busy: Busy) -> Nanos {
        if let Some(trace) = &mut self.trace {
            trace.waits(die, at, begin);
            trace.works(die, begin, end);
        }
        if let Some(limits) = &mut self.limits {
            limits.add(die, begin, end, busy);
        }
        let kept = &mut self.dies[die.index()];
        kept.busy_until = end;
        kept.held = None;
        self.counts.busy = self.counts.busy.plus(end.since(begin));
        end
    }

    /// Sets why the dies work from now on; returns the reason before.
    #[inline]
    pub(crate) fn reason(&mut self, reason: Wait) -> Wait {
        self.trace.as_mut().map_or(Wait::Storage, |trace| trace.reason(reason))
    }

    /// Program/erase cycles of a row; all its blocks are erased together.
    #[inline]
    pub(crate) fn cycles(&self, row: Block) -> u32 {
        self.wear.cycles(row, Die(0))
    }

    /// Adds cycles to all rows that are not bad.
    pub(crate) fn age(&mut self, cycles: u32) {
        self.wear.age(cycles);
    }

    /// Fewest and most cycles of a row that is not bad.
    pub(crate) fn cycles_range(&self) -> RangeInclusive<u32> {
        self.wear.range()
    }

    /// Whether a row has used up its rated cycles.
    pub(crate) fn is_worn(&self, row: Block) -> bool {
        self.wear.endurance().is_some_and(|endurance| self.cycles(row) >= endurance)
    }

    /// Mean program/erase cycles of a block.
    pub(crate) fn mean_cycles(&self) -> u64 {
        self.wear.mean()
    }

    /// Mean used share of the rated cycles; `None` without a rating.
    pub(crate) fn life_used(&self) -> Option<f64> {
        self.wear.life_used()
    }

    /// How long a recovery takes that reads these pages, on all dies at once.
    pub(crate) fn recovery(&self, pages: u64) -> Nanos {
        let each = pages.div_ceil((self.dies.len() as u64).max(1)) + 1;
        Nanos(self.times.read.0.saturating_mul(each))
    }
}

impl Dies for Nand {
    fn read(&mut self, at: Nanos, spot: Spot, bytes: u64) -> Nanos {
        self.read_page(at, spot.die, (spot.block, spot.page), bytes)
    }

    fn program(&mut self, at: Nanos, spot: Spot, bytes: u64) -> Nanos {
        self.program_unit(at, spot.die, spot.block, spot.page, bytes)
    }

    fn erase(&mut self, at: Nanos, spot: Spot) -> Nanos {
        self.erase_block(at, spot.die, spot.block)
    }

    fn work(&mut self, at: Nanos, die: Die, work: DieWork) -> Nanos {
        let work = match &mut self.variation {
            None => work,
            Some(variation) => variation.work(work),
        };
        match work {
            DieWork::Read { time, bytes } => {
                self.counts.page_reads += 1;
                self.read_for(at, die, time, bytes)
            }
            DieWork::Program { time, bytes } => {
                self.counts.programs += 1;
                let begin = at.max(self.dies[die.index()].busy_until);
                let loaded = self.buses.move_bytes(at, die, begin, bytes);
                self.keep(die, (at, begin, loaded.plus(time)), Busy::Programs(1))
            }
            DieWork::Erase { time } => {
                self.counts.erases += 1;
                let begin = at.max(self.dies[die.index()].busy_until);
                self.keep(die, (at, begin, begin.plus(time)), Busy::Erase)
            }
        }
    }

    fn word_line(&self) -> Option<WordLine> {
        self.word_line
    }

    fn count(&self) -> u32 {
        self.dies.len() as u32
    }

    fn trace(&mut self) -> Option<&mut Trace> {
        self.trace.as_deref_mut()
    }

    fn power_cut(&mut self, at: Nanos) {
        if let Some(trace) = &mut self.trace {
            trace.clear();
        }
        self.dies.fill(DieState { busy_until: at, reads_until: at, held: None });
        self.buses.clear();
        if let Some(limits) = &mut self.limits {
            limits.clear();
        }
        self.word_line = None;
    }

    /// Log-block maps spread wear by the order of their free blocks, so the device ends with its
    /// mean block.
    fn check_wear(&self) -> Result<(), FlashError> {
        let cycles = self.mean_cycles();
        match self.wear.endurance() {
            Some(rated) if cycles >= u64::from(rated) => Err(FlashError::WornOut { cycles }),
            _ => Ok(()),
        }
    }
}
