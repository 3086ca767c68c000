//! The trust checks of a simulated run: its arithmetic, fills, samples and steadiness, as of any run.
//! Checks of the clock, the engine and the machine do not apply.

use flashlag_schema::scenario::Durability;
use flashlag_schema::{Check, CheckId, CheckStatus, Environment, Operation, Phase, Trust};
use flashlag_units::Bytes;

use flashlag_trust::{Evidence, Fill, judge};

/// Checks of the measuring machine, which do not apply in virtual time.
const OF_THE_MACHINE: [CheckId; 9] = [
    CheckId::Clock,
    CheckId::EngineOverhead,
    CheckId::CacheBypass,
    CheckId::FlushIsReal,
    CheckId::PayloadIncompressible,
    CheckId::CpuContention,
    CheckId::NeverStopped,
    CheckId::ForeignIo,
    CheckId::ThermalThrottling,
];

/// Judges the phases so far.
pub(super) fn trust(
    environment: &Environment,
    phases: &[Phase],
    fills: &[Fill],
    leave: Bytes,
    free: Bytes,
) -> Trust {
    let evidence = Evidence {
        fills: fills.to_vec(),
        leave,
        free_after: flashlag_schema::Reading::Value(free),
        ..Evidence::new(environment, phases)
    };
    let mut checks = judge(&evidence).checks;
    checks.retain(|check| !OF_THE_MACHINE.contains(&check.id));
    // Only missing flushes are a finding: flushes in a simulation prove nothing about storage.
    checks.extend(flushes(phases, "simulated").filter(|it| it.status != CheckStatus::Pass));
    Trust::of(checks, phases.len())
}

/// Whether durable writes reached the flash of a `simulated` or `virtual` device: by its own count
/// of flushes.
pub(crate) fn flushes(phases: &[Phase], device: &str) -> Option<Check> {
    let durable = phases.iter().filter(|phase| {
        phase.ops > 0
            && phase.durable != Durability::None
            // Several operations in flight may share a flush.
            && phase.in_flight() == 1
            && phase.mixed.is_none()
            && matches!(
                phase.operation,
                Operation::SequentialWrite | Operation::RandomWrite | Operation::Save
            )
    });
    let mut unflushed = Vec::new();
    let mut any = false;
    for phase in durable {
        any = true;
        if phase.ledger.flushes.value().is_none_or(|flushes| *flushes < phase.ops) {
            unflushed.push(phase.label());
        }
    }
    if !any {
        return None;
    }
    let check = |status, detail: String, advice| Check {
        id: CheckId::FlushIsReal,
        status,
        claim: "Durable writes were flushed".to_owned(),
        detail,
        cause: None,
        advice,
        phases: unflushed.clone(),
    };
    if unflushed.is_empty() {
        let detail = format!("The {device} device took at least one flush or FUA write for each.");
        return Some(check(CheckStatus::Pass, detail, None));
    }
    Some(check(
        CheckStatus::Unknown,
        format!(
            "Fewer flushes reached the {device} device than there were durable writes: they can be \
             lost with the power (nobarrier does that)."
        ),
        Some(
            "Compare it with a run without nobarrier to see what that gains and risks.".to_owned(),
        ),
    ))
}
