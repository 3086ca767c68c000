//! The trust checks of a simulated run: its arithmetic, fills, samples and steadiness, as of any run.
//! Checks of the clock, the engine and the machine do not apply.

use flashlag_schema::{Check, CheckId, CheckStatus, Environment, Phase, Trust};
use flashlag_spec::Operation;
use flashlag_spec::scenario::Durability;
use flashlag_units::Bytes;

use flashlag_trust::{Evidence, Fill, judge};

/// Checks of the measuring machine, which do not apply in virtual time.
const OF_THE_MACHINE: [CheckId; 10] = [
    CheckId::Clock,
    CheckId::EngineOverhead,
    CheckId::CacheBypass,
    CheckId::FlushIsReal,
    CheckId::PayloadIncompressible,
    CheckId::MachineLimits,
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
        free_after: flashlag_spec::Reading::Value(free),
        ..Evidence::new(environment, phases)
    };
    let mut checks = judge(&evidence).checks;
    checks.retain(|check| !OF_THE_MACHINE.contains(&check.id));
    // Only missing flushes are a finding: flushes in a simulation prove nothing about storage.
    checks.extend(flushes(phases, "simulated").filter(|it| it.status != CheckStatus::Pass));
    Trust::of(checks, phases.len())
}

/// Whether durable writes reached the flash of a `simulated` or `virtual` device, according to its
/// own count of flushes.
pub(crate) fn flushes(phases: &[Phase], device: &str) -> Option<Check> {
    let durable = phases.iter().filter(|phase| {
        phase.ops > 0
            && phase.durable != Durability::None
            // Several operations in flight may share a flush.
            && phase.in_flight() == 1
            && phase.mixed.is_none()
            && phase.replay.is_none()
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

#[cfg(test)]
mod tests {
    use flashlag_schema::Mixed;
    use flashlag_spec::{Reading, State};
    use flashlag_stats::Histogram;
    use flashlag_testing::closed_loop_phase;
    use flashlag_units::Nanos;

    use super::*;

    /// Three durable writes, one at a time, each with a flush.
    fn durable() -> Phase {
        let mut latency = Histogram::new();
        (0..3).for_each(|_| latency.record(Nanos(1_000)));
        let mut phase = closed_loop_phase("w", State::New, Operation::RandomWrite, &latency);
        phase.durable = Durability::Fdatasync;
        phase.queue_depth = 1;
        phase.threads = 1;
        phase.ledger.flushes = Reading::Value(3);
        phase
    }

    fn status(change: impl FnOnce(&mut Phase)) -> Option<CheckStatus> {
        let mut phase = durable();
        change(&mut phase);
        flushes(&[phase], "virtual").map(|check| check.status)
    }

    #[test]
    fn each_durable_write_needs_a_flush_of_its_own() {
        assert_eq!(status(|_| {}), Some(CheckStatus::Pass));
        let flushed = |count: u64| status(|phase| phase.ledger.flushes = Reading::Value(count));
        assert_eq!((flushed(4), flushed(2)), (Some(CheckStatus::Pass), Some(CheckStatus::Unknown)));
        let uncounted = status(|phase| phase.ledger.flushes = Reading::unavailable("no count"));
        assert_eq!(uncounted, Some(CheckStatus::Unknown));
    }

    #[test]
    fn only_phases_of_durable_writes_one_at_a_time_say_anything_of_flushes() {
        assert_eq!(status(|phase| phase.ops = 0), None);
        assert_eq!(status(|phase| phase.durable = Durability::None), None);
        assert_eq!(status(|phase| phase.queue_depth = 2), None);
        assert_eq!(status(|phase| phase.mixed = Some(Mixed { read_percent: 70 })), None);
        assert_eq!(status(|phase| phase.operation = Operation::RandomRead), None);
        assert_eq!(flushes(&[], "virtual"), None);
    }

    #[test]
    fn the_phases_without_flushes_are_named() {
        let mut other = durable();
        (other.name, other.ledger.flushes) = ("x".to_owned(), Reading::Value(0));
        let check = flushes(&[durable(), other.clone()], "virtual");
        assert_eq!(check.map(|check| check.phases), Some(vec![other.label()]));
    }

    const MIB: Bytes = Bytes::from_mib(1);

    #[test]
    fn a_simulation_is_judged_by_its_figures_and_fills_but_not_by_its_machine() {
        let environment = Environment::default();
        let fill = Fill {
            name: "fill".to_owned(),
            leave: MIB,
            free: Bytes::from_mib(9),
            no_space: false,
            quota: false,
        };
        let of = |phases: &[Phase]| {
            trust(&environment, phases, std::slice::from_ref(&fill), MIB, Bytes::from_mib(9))
        };
        let ids = |trust: &Trust| trust.checks.iter().map(|check| check.id).collect::<Vec<_>>();
        let flushed = of(&[durable()]);
        assert!(!ids(&flushed).iter().any(|id| OF_THE_MACHINE.contains(id)), "{flushed:?}");
        assert!(ids(&flushed).contains(&CheckId::Accounting), "{flushed:?}");
        let room_of = |trust: &Trust| {
            let room = trust.checks.iter().find(|check| check.id == CheckId::FreeSpace);
            room.map(|room| room.detail.clone()).unwrap_or_default()
        };
        assert!(room_of(&flushed).contains("was to be spared"), "{}", room_of(&flushed));
        let bare = trust(&environment, &[durable()], &[], MIB, Bytes::from_mib(9));
        let text = room_of(&bare);
        assert!(text.contains("1.0 MB is to stay free"), "{text}");
        let mut lost = durable();
        lost.ledger.flushes = Reading::Value(0);
        assert!(ids(&of(&[lost])).contains(&CheckId::FlushIsReal));
    }
}
