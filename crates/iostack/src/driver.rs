//! The host's driver: CPU time for each command, before the command is sent and after it completes.
//!
//! Commands are issued one after another, and completed one after another in the interrupt. With a
//! queue of one a command takes issue + device + complete; with more tags the longest of the device's
//! serial stage, `issue` and `complete` sets the pace.

use flashlag_schema::profile::StackModel;
use flashlag_units::Nanos;

/// The two places of the driver that do one thing at a time.
#[derive(Debug)]
pub(crate) struct Driver {
    issue: Lane,
    complete: Lane,
}

#[derive(Debug)]
struct Lane {
    cost: Nanos,
    busy: Nanos,
}

impl Lane {
    fn new(cost: Nanos) -> Lane {
        Lane { cost, busy: Nanos::ZERO }
    }

    /// When the work of one command is done that comes now; `None` if it takes no time.
    fn take(&mut self, now: Nanos) -> Option<Nanos> {
        if self.cost == Nanos::ZERO {
            return None;
        }
        self.busy = self.busy.max(now).plus(self.cost);
        Some(self.busy)
    }
}

impl Driver {
    pub(crate) fn new(model: &StackModel) -> Driver {
        Driver { issue: Lane::new(model.issue.0), complete: Lane::new(model.complete.0) }
    }

    /// When a command is issued that comes now; `None` for at once.
    pub(crate) fn issue(&mut self, now: Nanos) -> Option<Nanos> {
        self.issue.take(now)
    }

    /// When the interrupt has dealt with a command that completes now; `None` for at once.
    pub(crate) fn complete(&mut self, now: Nanos) -> Option<Nanos> {
        self.complete.take(now)
    }
}
