//! The host's driver: CPU time for each command, before the command is sent and after it completes.
//!
//! The driver issues one command after another, and its interrupt handler completes one after
//! another. With a queue of one a command takes issue + device + complete. With more tags the
//! slowest stage sets the pace: the device's serial stage, `issue` or `complete`.

use flashlag_spec::profile::StackModel;
use flashlag_units::Nanos;

use crate::chance::Chance;
use crate::governor::{Governor, Load};

/// The two parts of the driver that handle one command at a time.
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

    /// When the driver is done with a command that arrives now; `None` if that takes no time.
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

    /// Restarts the random draws from a seed.
    pub(crate) fn seed(&mut self, model: &StackModel, seed: u64) {
        // Another stream than the callers'.
        self.chance = Chance::new(model, seed ^ 0x9e37_79b9_7f4a_7c15);
    }

    /// When the driver has issued a command that arrives now; `None` if that takes no time.
    pub(crate) fn issue(&mut self, now: Nanos) -> Option<Nanos> {
        self.issue.take(now, self.governor, &mut self.chance)
    }

    /// When the interrupt handler is done with a command that completes now; `None` if that takes
    /// no time.
    pub(crate) fn complete(&mut self, now: Nanos) -> Option<Nanos> {
        self.complete.take(now, self.governor, &mut self.chance)
    }
}
