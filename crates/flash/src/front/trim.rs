use flashlag_spec::profile::{TrimKind, TrimModel};
use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

const MIB: u64 = 1 << 20;

/// Cost of discards, and the queue of postponed ones.
///
/// A discard of b bytes takes `per_range + per_mib · b / MiB`. *Immediate*: the controller does
/// nothing else meanwhile, and the command ends with the work. *Queued*: the command ends at once,
/// the work joins a queue of its own, and a flush ends no earlier than the queue. *Ignored*:
/// nothing is unmapped.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Trims {
    kind: TrimKind,
    per_range: Nanos,
    per_mib: Nanos,
    /// When the queue is empty.
    done: Nanos,
}

impl Trims {
    pub(crate) fn new(model: &TrimModel) -> Trims {
        let (per_range, per_mib) = (model.per_range.0, model.per_mib.0);
        Trims { kind: model.kind, per_range, per_mib, done: Nanos::ZERO }
    }

    pub(crate) fn kind(&self) -> TrimKind {
        self.kind
    }

    /// Time to discard a range of `bytes`.
    pub(crate) fn cost(&self, bytes: u64) -> Nanos {
        let size = u128::from(self.per_mib.0) * u128::from(bytes) / u128::from(MIB);
        self.per_range.plus(Nanos(u64::try_from(size).unwrap_or(u64::MAX)))
    }

    /// Adds work to the queue; returns its end.
    pub(crate) fn queue(&mut self, at: Nanos, cost: Nanos) -> Nanos {
        self.done = self.done.max(at).plus(cost);
        self.done
    }

    /// When the queue is empty.
    pub(crate) fn done(&self) -> Nanos {
        self.done
    }

    pub(crate) fn clear(&mut self) {
        self.done = Nanos::ZERO;
    }
}
