//! The dies and the channels to them: each is reserved for an operation until the time it ends.
//!
//! - read: `max(at, die) + tR`, then the bytes go over the channel;
//! - program: the bytes go over the channel, then `tPROG` for each page of all planes (MLC: lower
//!   and upper pages in turn), or for each shot of all bits (TLC, QLC);
//! - erase: `tBERS`.
//!
//! A read that finds its die programming or erasing suspends that where the model says so: it
//! begins after `nand.suspend`, and the other ends later by as much as the read took.

use flashlag_schema::profile::{CellKind, Model};
use flashlag_units::{Bytes, Nanos};

use crate::command::FlashError;
use crate::front::DieWork;
use crate::hybrid::{Dies, Spot};
use crate::power::WordLine;

/// What the dies have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NandCounts {
    pub(crate) reads: u64,
    pub(crate) programs: u64,
    pub(crate) erases: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Die {
    /// Until when it is busy.
    until: Nanos,
    /// Whether that is with a program or an erase, which a read may suspend.
    suspendable: bool,
}

/// All dies, with their times.
#[derive(Debug)]
pub(crate) struct Nand {
    dies: Vec<Die>,
    channels: Vec<Nanos>,
    read: Nanos,
    lower: Nanos,
    upper: Nanos,
    erase: Nanos,
    suspend: Option<Nanos>,
    bus: u64,
    /// Pages (of all planes) or shots that a program unit takes.
    steps: u32,
    two_speeds: bool,
    /// Blocks of all planes on all dies, their rated cycles, retries at the end of that life.
    blocks: u64,
    endurance: Option<u32>,
    retries: f64,
    pub(crate) counts: NandCounts,
}

impl Nand {
    /// The model's dies; `blocks` of all planes, over all of them.
    pub(crate) fn new(model: &Model, blocks: u64) -> Nand {
        let nand = &model.nand;
        let stripe = nand.page.0.0 * u64::from(nand.planes);
        let pages = model.map.program_unit.0.0.div_ceil(stripe).max(1);
        let bits = match nand.cell {
            CellKind::Slc | CellKind::Mlc => 1,
            CellKind::Tlc => 3,
            CellKind::Qlc => 4,
        };
        let dies = (nand.channels * nand.dies_per_channel) as usize;
        Nand {
            dies: vec![Die::default(); dies],
            channels: vec![Nanos::ZERO; nand.channels as usize],
            read: nand.read.0,
            lower: nand.program.0,
            upper: nand.program_upper.unwrap_or(nand.program).0,
            erase: nand.erase.0,
            suspend: nand.suspend.map(|time| time.0),
            bus: nand.bus_per_second.0.0,
            steps: pages.div_ceil(bits) as u32,
            two_speeds: nand.cell == CellKind::Mlc,
            blocks: blocks.max(1),
            endurance: model.wear.endurance,
            retries: model.wear.retries,
            counts: NandCounts::default(),
        }
    }

    fn transfer(&self, bytes: u64) -> Nanos {
        Nanos((u128::from(bytes) * 1_000_000_000 / u128::from(self.bus)) as u64)
    }

    /// Sends bytes over a die's channel from `at` on.
    fn send(&mut self, at: Nanos, die: u32, bytes: u64) -> Nanos {
        let time = self.transfer(bytes);
        let channels = self.channels.len();
        let channel = &mut self.channels[die as usize % channels];
        let end = at.max(*channel).plus(time);
        *channel = end;
        end
    }

    /// A read of `time` and then its bytes.
    fn sense(&mut self, at: Nanos, die: u32, time: Nanos, bytes: u64) -> Nanos {
        self.counts.reads += 1;
        let state = self.dies[die as usize];
        if let Some(suspend) = self.suspend
            && state.suspendable
            && state.until > at.plus(suspend)
        {
            let end = self.send(at.plus(suspend).plus(time), die, bytes);
            self.dies[die as usize].until = state.until.plus(end.since(at));
            return end;
        }
        let sensed = at.max(state.until).plus(time);
        let end = self.send(sensed, die, bytes);
        self.dies[die as usize] = Die { until: end, suspendable: false };
        end
    }

    /// A program of `time` after its bytes.
    fn store(&mut self, at: Nanos, die: u32, time: Nanos, bytes: u64) -> Nanos {
        self.counts.programs += 1;
        let arrived = self.send(at.max(self.dies[die as usize].until), die, bytes);
        let end = arrived.plus(time);
        self.dies[die as usize] = Die { until: end, suspendable: true };
        end
    }

    /// tR with the retries that wear has brought: they grow with the square of the cycles.
    fn read_time(&self) -> Nanos {
        let Some(endurance) = self.endurance.filter(|_| self.retries > 0.0) else {
            return self.read;
        };
        let cycles = self.counts.erases / self.blocks;
        let permille = (self.retries * 1000.0) as u128;
        let (cycles, endurance) = (u128::from(cycles), u128::from(endurance.max(1)));
        let extra =
            u128::from(self.read.0) * permille * cycles * cycles / (1000 * endurance * endurance);
        self.read.plus(Nanos(u64::try_from(extra).unwrap_or(u64::MAX)))
    }

    /// tPROG of a program unit at a page: MLC has lower and upper pages in turn.
    fn program_time(&self, page: u32) -> Nanos {
        if !self.two_speeds {
            return Nanos(self.lower.0 * u64::from(self.steps));
        }
        let upper = u64::from((page + self.steps) / 2 - page / 2);
        let lower = u64::from(self.steps) - upper;
        Nanos(self.lower.0 * lower + self.upper.0 * upper)
    }

    /// Program/erase cycles a block, on average.
    pub(crate) fn cycles(&self) -> u64 {
        self.counts.erases / self.blocks
    }

    /// The share of its rated life that is used; `None` where no endurance is rated.
    pub(crate) fn life_used(&self) -> Option<f64> {
        let rated = f64::from(self.endurance?) * self.blocks as f64;
        Some(self.counts.erases as f64 / rated)
    }

    /// Reading a page, for the time of a recovery.
    pub(crate) fn page_read(&self) -> Nanos {
        self.read
    }
}

impl Dies for Nand {
    fn read(&mut self, at: Nanos, spot: Spot, bytes: u64) -> Nanos {
        let time = self.read_time();
        self.sense(at, spot.die, time, bytes)
    }

    fn program(&mut self, at: Nanos, spot: Spot, bytes: u64) -> Nanos {
        let time = self.program_time(spot.page);
        self.store(at, spot.die, time, bytes)
    }

    fn erase(&mut self, at: Nanos, spot: Spot) -> Nanos {
        self.work(at, spot.die, DieWork::Erase { time: self.erase })
    }

    fn work(&mut self, at: Nanos, die: u32, work: DieWork) -> Nanos {
        match work {
            DieWork::Read { time, bytes } => self.sense(at, die, time, bytes),
            DieWork::Program { time, bytes } => self.store(at, die, time, bytes),
            DieWork::Erase { time } => {
                self.counts.erases += 1;
                let end = at.max(self.dies[die as usize].until).plus(time);
                self.dies[die as usize] = Die { until: end, suspendable: true };
                end
            }
        }
    }

    fn word_line(&self) -> Option<WordLine> {
        None
    }

    fn count(&self) -> u32 {
        self.dies.len() as u32
    }

    fn power_cut(&mut self, at: Nanos) {
        self.dies.fill(Die { until: at, suspendable: false });
        self.channels.fill(at);
    }

    fn check_wear(&self) -> Result<(), FlashError> {
        match self.endurance {
            Some(rated) if self.cycles() >= u64::from(rated) => {
                Err(FlashError::WornOut { cycles: self.cycles() })
            }
            _ => Ok(()),
        }
    }
}

/// The bytes of pages of all planes on one die.
pub(crate) fn stripe(model: &Model) -> Bytes {
    Bytes(model.nand.page.0.0 * u64::from(model.nand.planes))
}
