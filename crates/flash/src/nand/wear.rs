use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

use flashlag_spec::profile::Model;
use flashlag_units::Nanos;

use super::retention::Retention;
use crate::address::{Block, Die};

/// Program/erase cycles and their effect on reads.
///
/// After c of e rated cycles a page is read `1 + retries · (c / e)²` times on average, each taking
/// tR. The factor stays constant beyond e. Old data is read more often, as [`Retention`] says.
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
    /// `None` if data is read alike at any age.
    retention: Option<Box<Retention>>,
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
        let retention = (endurance.is_some() && model.wear.retention > 0.0)
            .then(|| Box::new(Retention::new(model.wear.retention, cycles.len(), STEPS)));
        let bad = bad.to_vec();
        Wear { cycles, bad, dies, erases: 0, endurance, retries, read_times, retention }
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

    /// Notes that a row holds no data that is older than `at`.
    #[inline]
    pub(super) fn write(&mut self, row: Block, die: Die, at: Nanos) {
        let block = self.index(row, die);
        if let Some(retention) = &mut self.retention {
            retention.write(block, at);
        }
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

    /// Time to read a page of a row at `at`.
    #[inline]
    pub(super) fn read_time(&self, row: Block, die: Die, at: Nanos, new: Nanos) -> Nanos {
        let time = match self.endurance {
            Some(_) if !self.read_times.is_empty() => self.read_times[self.step(row, die)],
            _ => new,
        };
        let again = self.retries_of_age(row, die, at);
        if again > 0.0 { time.plus(Nanos((new.0 as f64 * again) as u64)) } else { time }
    }

    /// Mean number of retries of a read of a row at `at`, each a whole read.
    pub(super) fn retries(&self, row: Block, die: Die, at: Nanos) -> f64 {
        let rated = f64::from(self.endurance.unwrap_or(u32::MAX));
        let share = (f64::from(self.cycles(row, die)) / rated).min(1.0);
        self.retries * share * share + self.retries_of_age(row, die, at)
    }

    #[inline]
    fn retries_of_age(&self, row: Block, die: Die, at: Nanos) -> f64 {
        self.retention.as_ref().map_or(0.0, |retention| {
            retention.retries(self.index(row, die), at, || self.step(row, die))
        })
    }

    /// A row's step of [`STEPS`] of its life.
    #[inline]
    fn step(&self, row: Block, die: Die) -> usize {
        let rated = u64::from(self.endurance.unwrap_or(u32::MAX));
        (u64::from(self.cycles(row, die)) * STEPS / rated).min(STEPS) as usize
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
