//! Work of the controller's own that holds up commands: map checkpoints, refresh, merges.

use flashlag_spec::profile::{HostModel, HousekeepingModel};
use flashlag_units::Nanos;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use crate::spread::Spread;

/// An interval's part that may pass between the time that work is due and the time that it is done.
const PATIENCE: u64 = 32;

/// What a write command means for the housekeeping.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// How long the device did nothing before it.
    pub(super) rest: Nanos,
    pub(super) bytes: u64,
    /// Bytes that found the write cache full since the last write command.
    pub(super) past_cache: u64,
}

/// All kinds of it.
///
/// A kind is due after an interval that is drawn evenly from half to one and a half times its mean,
/// in write commands or in bytes. It takes a log-normal time, which delays the command that finds it
/// due and those behind it. So with an interval of n commands a share 1 / n of them is late at depth
/// 1, d / n at depth d.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Housekeeping {
    kinds: Vec<Kind>,
    random: Pcg64Mcg,
}

#[derive(Debug, Serialize, Deserialize)]
struct Kind {
    measure: Measure,
    interval: u64,
    mean: Nanos,
    spread: Spread,
    /// Whether it is done in pauses first.
    pauses: bool,
    /// What is left of the interval, or of the patience while something is owed.
    left: u64,
    owed: Nanos,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Measure {
    Writes,
    Bytes,
    PastCache,
}

impl Housekeeping {
    /// The housekeeping of a model; `None` if it has none.
    pub(super) fn new(model: &HostModel, seed: u64) -> Option<Housekeeping> {
        if model.housekeeping.is_empty() {
            return None;
        }
        // Not the numbers of the host's own draws.
        let mut random = Pcg64Mcg::seed_from_u64(!seed);
        let kinds = model.housekeeping.iter().map(|kind| Kind::new(kind, &mut random)).collect();
        Some(Housekeeping { kinds, random })
    }

    /// How long a write command waits for what is due.
    #[inline]
    pub(super) fn before(&mut self, load: Load) -> Nanos {
        let mut wait = Nanos::ZERO;
        for kind in &mut self.kinds {
            let passed = match kind.measure {
                Measure::Writes => 1,
                Measure::Bytes => load.bytes,
                Measure::PastCache => load.past_cache,
            };
            kind.owed = Nanos(kind.owed.0.saturating_sub(load.rest.0));
            if passed < kind.left {
                kind.left -= passed;
            } else {
                wait = wait.plus(kind.due(&mut self.random));
            }
        }
        wait
    }
}

impl Kind {
    fn new(model: &HousekeepingModel, random: &mut Pcg64Mcg) -> Kind {
        let (measure, interval) = match (model.writes, model.bytes, model.full) {
            (_, Some(bytes), true) => (Measure::PastCache, bytes.0.0),
            (_, Some(bytes), false) => (Measure::Bytes, bytes.0.0),
            (writes, None, _) => (Measure::Writes, u64::from(writes.unwrap_or(u32::MAX))),
        };
        let mut kind = Kind {
            measure,
            interval: interval.max(1),
            mean: model.mean.0,
            spread: Spread::new(model.spread),
            pauses: model.pauses,
            left: 0,
            owed: Nanos::ZERO,
        };
        kind.left = kind.draw_interval(random);
        kind
    }

    fn draw_interval(&self, random: &mut Pcg64Mcg) -> u64 {
        (self.interval / 2 + random.random_range(0..=self.interval)).max(1)
    }

    /// The interval, or the patience after it, is over: what the present command waits.
    #[cold]
    fn due(&mut self, random: &mut Pcg64Mcg) -> Nanos {
        let patience = self.interval / PATIENCE;
        if self.owed == Nanos::ZERO {
            self.owed = self.spread.of(self.mean, random.random());
            if self.pauses && patience > 0 {
                self.left = patience;
                return Nanos::ZERO;
            }
        }
        self.left = self.draw_interval(random);
        std::mem::take(&mut self.owed)
    }
}
