//! How much of a latency is the engine's own?
//!
//! The calibration runs the measuring loop on a device that does nothing. The median that it
//! records is the engine's part of every latency. Above 5 % of a phase's median, the phase measures
//! the program more than is acceptable for comparing devices (fail). From 2 to 5 % the part is
//! noticeable, but smaller than the difference between two runs on real flash (unknown). For saves
//! the engine is SQLite, whose own cost an application pays as well: they are not judged.

use flashlag_schema::{Check, CheckId, Phase};
use flashlag_spec::EngineOverhead;
use flashlag_spec::scenario::EngineKind;

use crate::evidence::Evidence;
use crate::finding::{Finding, combine, percent, share};

const CLAIM: &str = "The engine's own cost is small compared with the measured times";
const VISIBLE: f64 = 0.02;
const TOO_MUCH: f64 = 0.05;

pub(super) fn check(evidence: &Evidence<'_>) -> Option<Check> {
    let measured = |phase: &&Phase| {
        phase.operation.is_block_test()
            && phase.engine != EngineKind::Sqlite
            && phase.latency_ns.p50.is_some()
    };
    let phases: Vec<&Phase> = evidence.phases.iter().filter(measured).collect();
    if phases.is_empty() {
        return None;
    }
    let calibrated = evidence.environment.calibration.value();
    let overhead = calibrated.and_then(|calibration| calibration.engine.value());
    let findings = phases.into_iter().map(|phase| judge_phase(phase, overhead)).collect();
    combine(CheckId::EngineOverhead, CLAIM, findings)
}

fn judge_phase(phase: &Phase, overhead: Option<&EngineOverhead>) -> Finding {
    let Some(overhead) = overhead else {
        let advice = "Run it again: the engine is measured at the start of every run.";
        return Finding::unknown(Some(phase), "The engine was not calibrated.", advice);
    };
    let median = phase.latency_ns.p50.unwrap_or_default();
    let part = share(overhead.latency_p50_ns.0, median.0.max(1));
    let floor = overhead.latency_p50_ns;
    let detail = format!("Doing nothing takes {floor}, {} of the median {median}.", percent(part));
    let advice = "This is no flash latency: is the directory in memory? Else use larger blocks.";
    let finding = if part > TOO_MUCH {
        Finding::fail(Some(phase), detail, advice)
    } else if part > VISIBLE {
        Finding::unknown(Some(phase), detail, advice)
    } else {
        Finding::pass(Some(phase), detail)
    };
    finding.weighing(part)
}

#[cfg(test)]
mod tests {
    use flashlag_schema::CheckStatus;
    use flashlag_spec::{Operation, Reading};
    use flashlag_units::Nanos;

    use super::*;
    use crate::testing::Case;

    fn with_floor(floor: Nanos) -> Option<CheckStatus> {
        let mut case = Case::quiet();
        case.calibrate(|calibration| {
            let overhead = EngineOverhead { latency_p50_ns: floor, ..EngineOverhead::default() };
            calibration.engine = Reading::Value(overhead);
        });
        case.status(check)
    }

    #[test]
    fn a_floor_of_one_part_in_a_thousand_passes_and_of_a_tenth_fails() {
        assert_eq!(with_floor(Nanos(50)), Some(CheckStatus::Pass));
        assert_eq!(with_floor(Nanos::from_micros(5)), Some(CheckStatus::Unknown));
        assert_eq!(with_floor(Nanos::from_micros(10)), Some(CheckStatus::Fail));
    }

    #[test]
    fn an_engine_that_was_not_calibrated_is_unknown() {
        let mut case = Case::quiet();
        case.calibrate(|calibration| calibration.engine = Reading::unavailable("it failed"));
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
    }

    #[test]
    fn two_percent_of_the_median_passes_and_more_than_five_fails() {
        for (floor, status) in [
            (2_000, CheckStatus::Pass),
            (2_001, CheckStatus::Unknown),
            (5_000, CheckStatus::Unknown),
            (5_001, CheckStatus::Fail),
        ] {
            let mut case = Case::quiet();
            case.keep_only("rand_write_4k");
            case.phases[0].latency_ns.p50 = Some(Nanos(100_000));
            case.calibrate(|calibration| {
                let overhead =
                    EngineOverhead { latency_p50_ns: Nanos(floor), ..EngineOverhead::default() };
                calibration.engine = Reading::Value(overhead);
            });
            assert_eq!(case.status(check), Some(status), "{floor} ns");
        }
    }

    #[test]
    fn saves_sqlite_and_phases_without_a_median_are_not_judged() {
        let spared: [fn(&mut Phase); 3] = [
            |phase| phase.operation = Operation::Save,
            |phase| phase.engine = EngineKind::Sqlite,
            |phase| phase.latency_ns.p50 = None,
        ];
        for (index, spare) in spared.into_iter().enumerate() {
            let mut case = Case::quiet();
            case.keep_only("rand_write_4k");
            assert_eq!(case.status(check), Some(CheckStatus::Pass));
            spare(&mut case.phases[0]);
            assert_eq!(case.status(check), None, "{index}");
        }
    }

    #[test]
    fn the_phase_with_the_shortest_median_is_quoted() {
        let mut case = Case::twice("rand_write_4k");
        case.phases[0].latency_ns.p50 = Some(Nanos(900));
        case.phases[1].latency_ns.p50 = Some(Nanos(700));
        assert_eq!(case.quoted(check), "worst");
    }
}
