//! Findings from the causes of a phase's waits, if a model reports these or they were inferred.

use flashlag_schema::finding::{Effect, EffectBasis, Estimate, Finding, FindingId};
use flashlag_schema::{Phase, StallCause};
use flashlag_spec::Reading;
use flashlag_units::{Nanos, ratio};

use super::phases::{felt, felt_phases, of_phase, per_thousand};
use crate::LEAST_COST;
use crate::candidate::Context;
use crate::pairs::counted;
use crate::remedy::finding;

/// Share of a phase's waits from which their cause is a finding.
const SHARE: f64 = 0.05;

/// The findings by cause of the wait, each for the phase in which it costs most.
pub(super) fn all(context: &Context<'_>) -> Vec<Finding> {
    let kinds = [
        FindingId::WriteCacheExhausted,
        FindingId::IdleWakeUp,
        FindingId::Throttled,
        FindingId::CollectionPeriod,
        FindingId::DiscardOnDelete,
        FindingId::FewFreeSegments,
    ];
    let dearest = |id| {
        let parts = felt_phases(context).filter_map(|(index, phase)| part(index, phase, id));
        parts.max_by(|a, b| a.cost().total_cmp(&b.cost()))
    };
    let parts = kinds.into_iter().filter_map(dearest);
    parts.map(|part| part.finding(context)).collect()
}

/// The finding that a cause of stalls is part of.
fn id_of(cause: StallCause) -> Option<FindingId> {
    Some(match cause {
        StallCause::WriteCacheFull => FindingId::WriteCacheExhausted,
        StallCause::WakeUp => FindingId::IdleWakeUp,
        StallCause::Throttling => FindingId::Throttled,
        StallCause::GarbageCollection | StallCause::WearLevelling | StallCause::DevicePeriod => {
            FindingId::CollectionPeriod
        }
        StallCause::Discard => FindingId::DiscardOnDelete,
        StallCause::Cleaning => FindingId::FewFreeSegments,
        _ => return None,
    })
}

/// A part of the waits of a phase.
struct Part<'a> {
    id: FindingId,
    index: usize,
    phase: &'a Phase,
    /// `intervals` or `stalls`: where it was read.
    field: &'static str,
    ns: Nanos,
    whole: Nanos,
}

impl Part<'_> {
    fn cost(&self) -> f64 {
        per_thousand(self.ns, self.phase.ops)
    }

    fn finding(&self, context: &Context<'_>) -> Finding {
        let ops = self.phase.ops.max(1);
        let effect = Effect {
            basis: EffectBasis::Part { phase: self.phase.label() },
            per: counted(self.phase),
            now_ns: Nanos(self.whole.0 / ops),
            fixed_ns: Some(Nanos(self.whole.0.saturating_sub(self.ns.0) / ops)),
            cost_s_per_1000: Estimate { value: self.cost(), interval: None },
        };
        let value = format!("{} of {}", self.ns, self.whole);
        let evidence = vec![of_phase(self.index, self.field, value)];
        finding(
            self.id,
            felt(context, Some(self.phase)),
            source(self.id),
            evidence,
            Reading::Value(effect),
        )
    }
}

/// The part of a phase's waits with one cause; `None` if it is small. If not every wait is split,
/// only the listed stalls are counted: the part is then at least this large.
fn part(index: usize, phase: &Phase, id: FindingId) -> Option<Part<'_>> {
    let mean = phase.latency_ns.mean?;
    let whole = Nanos(mean.0.checked_mul(phase.ops)?);
    let split: Vec<_> = phase.intervals.iter().flat_map(|interval| &interval.waited).collect();
    let (field, ns) = if !split.is_empty() {
        let of = split.iter().filter(|part| id_of(part.cause) == Some(id));
        ("intervals", of.fold(Nanos::ZERO, |sum, part| sum.plus(part.ns)))
    } else {
        let of = phase.stalls.iter().filter(|stall| id_of(stall.cause) == Some(id));
        ("stalls", of.fold(Nanos::ZERO, |sum, stall| sum.plus(stall.ns)))
    };
    let ns = ns.min(whole);
    let part = Part { id, index, phase, field, ns, whole };
    let large = ratio(ns.0, whole.0)? >= SHARE && part.cost() >= LEAST_COST;
    large.then_some(part)
}

fn source(id: FindingId) -> &'static str {
    match id {
        FindingId::WriteCacheExhausted => {
            "docs/model.md: writes past a full cache wait for the flash"
        }
        FindingId::IdleWakeUp => {
            "JESD220 (hibern8) and NVM Express (power states): the first request after a rest waits"
        }
        FindingId::Throttled => "docs/model.md: a hot device spaces its requests",
        FindingId::CollectionPeriod => {
            "docs/model.md: the flash copies valid data out of a block before it erases the block"
        }
        FindingId::DiscardOnDelete => "fstrim(8): discards are part of a commit",
        _ => "fs/f2fs/gc.c: a write without a free segment cleans one first",
    }
}
