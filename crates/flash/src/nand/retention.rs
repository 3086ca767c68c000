use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::spread::power;

pub(super) const DAY: Nanos = Nanos::from_secs(86_400);
const YEAR: u32 = 365;
/// Older data is read as if it were this old.
const MOST_DAYS: u32 = 20 * YEAR;

/// Growth of a 72-layer TLC's bit errors with the age of data, and with the cycles of its block:
/// n and m of Kim et al., FAST 2019, as the README of the profiles quotes them (kim-2019).
const BY_AGE: f64 = 0.54;
const BY_CYCLES: f64 = 0.14;

/// Retries of reads of old data, whose charge has leaked.
///
/// Data that was written t days ago, into a block with c of e rated cycles, is read another
/// `retention · (t / 365)^0.54 · (c / e)^0.14` times on average. It ages from its block's erase or
/// last program on, by whole days.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Retention {
    /// Day on which a block was last erased or programmed.
    written: Vec<u16>,
    /// Retries in a block of the rated cycles, by days.
    by_age: Vec<f64>,
    /// Share of them, by steps of a block's life.
    by_cycles: Vec<f64>,
}

impl Retention {
    /// `retries` is their number after a year in a block of the rated cycles; a block's life has
    /// this many steps.
    pub(super) fn new(retries: f64, blocks: usize, steps: u64) -> Retention {
        let years = |days: u32| f64::from(days) / f64::from(YEAR);
        Retention {
            written: vec![0; blocks],
            by_age: (0..=MOST_DAYS).map(|days| retries * power(years(days), BY_AGE)).collect(),
            by_cycles: (0..=steps)
                .map(|step| power(step.max(1) as f64 / steps as f64, BY_CYCLES))
                .collect(),
        }
    }

    #[inline]
    pub(super) fn write(&mut self, block: usize, at: Nanos) {
        self.written[block] = day(at);
    }

    /// Mean number of retries; `step`, of the block's life, is asked for where data is old.
    #[inline]
    pub(super) fn retries(&self, block: usize, at: Nanos, step: impl FnOnce() -> usize) -> f64 {
        let days = usize::from(day(at).saturating_sub(self.written[block]));
        match days {
            0 => 0.0,
            _ => self.by_age[days.min(MOST_DAYS as usize)] * self.by_cycles[step()],
        }
    }
}

fn day(at: Nanos) -> u16 {
    u16::try_from(at.0 / DAY.0).unwrap_or(u16::MAX)
}
