use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

use flashlag_spec::profile::Model;
use flashlag_units::Nanos;

use crate::address::{Block, Die};

/// Program/erase cycles and their effect on reads.
///
/// After c of e rated cycles a page is read `1 + retries · (c / e)²` times on average, each taking
/// tR. The factor stays constant beyond e.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Wear {
    /// Cycles by row and die.
    cycles: Vec<u32>,
    /// Rows that are never used, ascending.
    bad: Vec<Block>,
    dies: u32,
    erases: u64,
    endurance: Option<u32>,
    /// Retries at the end of the rated life; 0 without a rating.
    retries: f64,
    /// tR including retries, by cycles; empty without retries.
    read_times: Vec<Nanos>,
}

/// Number of steps of the table of read times.
const STEPS: u64 = 1 << 12;

impl Wear {
    pub(super) fn new(model: &Model, rows: u32, dies: u32, bad: &[Block]) -> Wear {
        let endurance = model.wear.endurance.filter(|endurance| *endurance > 0);
        let retries = model.wear.retries;
        let read = model.nand.read.0;
        let read_times = match endurance {
            Some(_) if retries > 0.0 => (0..=STEPS)
                .map(|step| {
                    let share = step as f64 / STEPS as f64;
                    Nanos((read.0 as f64 * (1.0 + retries * share * share)) as u64)
                })
                .collect(),
            _ => Vec::new(),
        };
        let retries = if endurance.is_some() { retries } else { 0.0 };
        let cycles = vec![0; rows as usize * dies as usize];
        Wear { cycles, bad: bad.to_vec(), dies, erases: 0, endurance, retries, read_times }
    }

    #[inline]
    fn index(&self, row: Block, die: Die) -> usize {
        row.index() * self.dies as usize + die.index()
    }

    #[inline]
    pub(super) fn erase(&mut self, row: Block, die: Die) {
        let index = self.index(row, die);
        self.cycles[index] += 1;
        self.erases += 1;
    }

    /// Adds cycles to all rows that are not bad.
    pub(super) fn age(&mut self, cycles: u32) {
        let mut bad = self.bad.iter().peekable();
        for (row, of_row) in (0..).map(Block).zip(self.cycles.chunks_mut(self.dies as usize)) {
            if bad.next_if_eq(&&row).is_none() {
                of_row.iter_mut().for_each(|count| *count = count.saturating_add(cycles));
            }
        }
        self.erases += u64::from(cycles) * self.good();
    }

    /// Number of good blocks, each of all planes.
    fn good(&self) -> u64 {
        (self.cycles.len() - self.bad.len() * self.dies as usize).max(1) as u64
    }

    /// Fewest and most cycles of a row that is not bad.
    pub(super) fn range(&self) -> RangeInclusive<u32> {
        let mut bad = self.bad.iter().peekable();
        let rows = self.cycles.iter().step_by(self.dies as usize).zip((0..).map(Block));
        let good =
            rows.filter(|(_, row)| bad.next_if_eq(&row).is_none()).map(|(cycles, _)| *cycles);
        let (least, most) =
            good.fold((u32::MAX, 0), |(least, most), cycles| (least.min(cycles), most.max(cycles)));
        least.min(most)..=most
    }

    #[inline]
    pub(super) fn cycles(&self, row: Block, die: Die) -> u32 {
        self.cycles[self.index(row, die)]
    }

    /// Time to read a page of a row.
    #[inline]
    pub(super) fn read_time(&self, row: Block, die: Die, new: Nanos) -> Nanos {
        match self.endurance {
            Some(endurance) if !self.read_times.is_empty() => {
                let step = u64::from(self.cycles(row, die)) * STEPS / u64::from(endurance);
                self.read_times[step.min(STEPS) as usize]
            }
            _ => new,
        }
    }

    /// Mean number of retries of a read of a row, each a whole read.
    pub(super) fn retries(&self, row: Block, die: Die) -> f64 {
        let rated = f64::from(self.endurance.unwrap_or(u32::MAX));
        let share = (f64::from(self.cycles(row, die)) / rated).min(1.0);
        self.retries * share * share
    }

    /// A number that is unique to a row and its present cycle.
    pub(super) fn row_number(&self, row: Block, die: Die) -> u64 {
        // Unique for 2^28 rows and dies; repeats after 2^20 cycles.
        ((u64::from(self.cycles(row, die)) & 0xf_ffff) << 28) | self.index(row, die) as u64
    }

    pub(super) fn endurance(&self) -> Option<u32> {
        self.endurance
    }

    pub(super) fn mean(&self) -> u64 {
        self.erases / self.good()
    }

    pub(super) fn life_used(&self) -> Option<f64> {
        let rated = f64::from(self.endurance?) * self.good() as f64;
        Some(self.erases as f64 / rated.max(1.0))
    }
}
