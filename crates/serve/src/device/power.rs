//! Planned power cuts.

use flashlag_units::Nanos;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::SeedableRng;

use crate::control::CutMoment;

/// A planned power cut.
#[derive(Debug)]
pub(crate) struct Plan {
    when: When,
    stay_off: bool,
}

#[derive(Debug)]
enum When {
    /// At a moment.
    At(Nanos),
    /// Within the last of the next `left` commands: at a random time, or at its start.
    After { left: u64, draws: Option<Box<Pcg64Mcg>> },
}

impl Plan {
    /// A plan for a later moment; `None` for a cut at once.
    pub(super) fn new(moment: CutMoment, now: Nanos, stay_off: bool) -> Option<Plan> {
        let when = match moment {
            CutMoment::Now | CutMoment::AfterCommands(0) => return None,
            CutMoment::AfterNs(time) => When::At(now.plus(time)),
            CutMoment::AfterCommands(left) => When::After { left, draws: None },
            CutMoment::Drawn { seed, within_commands } => {
                let mut draws = Box::new(Pcg64Mcg::seed_from_u64(seed));
                let left = draws.random_range(1..=within_commands.max(1));
                When::After { left, draws: Some(draws) }
            }
        };
        Some(Plan { when, stay_off })
    }

    /// When the cut happens, if that is known yet.
    pub(super) fn moment(&self) -> Option<Nanos> {
        match self.when {
            When::At(at) => Some(at),
            When::After { .. } => None,
        }
    }

    /// When the cut happens and whether the power stays off, if it is due by `now`.
    pub(super) fn due(&self, now: Nanos) -> Option<(Nanos, bool)> {
        self.moment().filter(|at| *at <= now).map(|at| (at, self.stay_off))
    }

    /// Counts a submitted command, which lasts from `started` to `ended`.
    pub(super) fn passed(&mut self, started: Nanos, ended: Nanos) {
        if let When::After { left, draws } = &mut self.when {
            *left -= 1;
            if *left == 0 {
                let at = match draws {
                    Some(draws) => Nanos(draws.random_range(started.0..=ended.0.max(started.0))),
                    None => started,
                };
                self.when = When::At(at);
            }
        }
    }
}
