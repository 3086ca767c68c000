//! The host's driver: CPU time for each command, before the command is sent and after it completes.
//!
//! Commands are issued one after another, and completed one after another in the interrupt. With a
//! queue of one a command takes issue + device + complete; with more tags the longest of the device's
//! serial stage, `issue` and `complete` sets the pace.

use flashlag_spec::profile::StackModel;
use flashlag_units::Nanos;

use crate::chance::Chance;
use crate::governor::{Governor, Load};

/// The two places of the driver that do one thing at a time.
#[derive(Debug)]
pub(crate) struct Driver {
    issue: Lane,
    complete: Lane,
    governor: Governor,
    chance: Chance,
}

#[derive(Debug)]
struct Lane {
    cost: Nanos,
    busy: Nanos,
    load: Load,
}

impl Lane {
    fn new(cost: Nanos) -> Lane {
        Lane { cost, busy: Nanos::ZERO, load: Load::default() }
    }

    /// When the work of one command is done that comes now; `None` if it takes no time.
    fn take(&mut self, now: Nanos, governor: Governor, chance: &mut Chance) -> Option<Nanos> {
        if self.cost == Nanos::ZERO {
            return None;
        }
        let from = self.busy.max(now);
        self.busy = from.plus(governor.run(&mut self.load, from, chance.spread(self.cost)));
        Some(self.busy)
    }
}

impl Driver {
    pub(crate) fn new(model: &StackModel) -> Driver {
        Driver {
            issue: Lane::new(model.issue.0),
            complete: Lane::new(model.complete.0),
            governor: Governor::new(model),
            chance: Chance::new(model, 1),
        }
    }

    /// Begins the draws of chance anew, from a seed.
    pub(crate) fn seed(&mut self, model: &StackModel, seed: u64) {
        // Another stream than the callers'.
        self.chance = Chance::new(model, seed ^ 0x9e37_79b9_7f4a_7c15);
    }

    /// When a command is issued that comes now; `None` for at once.
    pub(crate) fn issue(&mut self, now: Nanos) -> Option<Nanos> {
        self.issue.take(now, self.governor, &mut self.chance)
    }

    /// When the interrupt has dealt with a command that completes now; `None` for at once.
    pub(crate) fn complete(&mut self, now: Nanos) -> Option<Nanos> {
        self.complete.take(now, self.governor, &mut self.chance)
    }
}
