use flashlag_schema::profile::{TrimKind, TrimModel};
use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

const MIB: u64 = 1 << 20;

/// What discards cost, and when the queued ones are worked off.
///
/// A discard of b bytes takes `per_range + per_mib · b / MiB`. Where it is *immediate* the
/// controller does nothing else meanwhile and the command ends with it. Where it is *queued* the
/// command ends at once and the work joins a queue of its own, one discard after another; a flush
/// ends no earlier than that queue. Where it is *ignored* nothing is unmapped.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Trims {
    kind: TrimKind,
    per_range: Nanos,
    per_mib: Nanos,
    /// When what is queued has been worked off.
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

    /// The time that a range takes.
    pub(crate) fn cost(&self, bytes: u64) -> Nanos {
        let size = u128::from(self.per_mib.0) * u128::from(bytes) / u128::from(MIB);
        self.per_range.plus(Nanos(u64::try_from(size).unwrap_or(u64::MAX)))
    }

    /// Puts work in the queue; says when it will be done.
    pub(crate) fn queue(&mut self, at: Nanos, cost: Nanos) -> Nanos {
        self.done = self.done.max(at).plus(cost);
        self.done
    }

    /// When a flush finds the queue empty.
    pub(crate) fn done(&self) -> Nanos {
        self.done
    }

    pub(crate) fn clear(&mut self) {
        self.done = Nanos::ZERO;
    }
}
