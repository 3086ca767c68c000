//! Did heat slow the storage or the CPUs?
//!
//! **fail**: throughput fell during a phase while the device was hot; a throttle counter rose
//! during the run; a cooling device that was off when the run began slows a CPU; a CPU frequency
//! limit fell by more than 5 % of the maximum (less is rounding); a Raspberry Pi raised its
//! low-voltage alarm, which slows it as heat does; Android reported throttling that its user can
//! notice (MODERATE or above) before a test or at the end; the storage reached 80 °C, where NVMe
//! disks (WCTEMP is 70 to 85 °C in data sheets) and eMMC and UFS packages (rated to 85 °C) slow
//! themselves down.
//!
//! **pass** needs a storage temperature below 70 °C, and CPUs, or Android's thermal service, that
//! can report throttling and reported none. Cooling that was on before the run began, or a
//! frequency limit that was there all along, may be a setting: unknown. Without a sensor it is
//! unknown: a device that throttles without a sensor looks just like a slow one.

use flashlag_schema::counters::Throttle;
use flashlag_schema::{ChangeKind, Check, CheckId, CheckStatus, Throttling};

use crate::evidence::Evidence;
use crate::finding::{Finding, combine};

const CLAIM: &str = "Heat slowed neither the storage nor the processors";
const HOT: i64 = 80_000;
const WARM: i64 = 70_000;
const LIMIT_FELL_PERCENT: u8 = 5;
const COOL: &str = "Let it cool down (out of its case, off its charger), then run again.";

pub(super) fn check(evidence: &Evidence<'_>) -> Option<Check> {
    if evidence.phases.is_empty() {
        return None;
    }
    let mut findings: Vec<Finding> = Vec::new();
    for phase in evidence.phases {
        let throttled = phase.changes.iter().find(|change| change.kind == ChangeKind::Throttled);
        findings.extend(throttled.map(|change| {
            let fell = change.detail.trim_end_matches('.');
            let detail = format!("Throughput {fell}: it was throttled.");
            Finding::fail(Some(phase), detail, COOL)
        }));
    }
    let by_system = system(evidence);
    let by_kernel = processors(evidence);
    // If the kernel reports nothing, the answer is known if Android's service reports it.
    if by_system.is_none() || by_kernel.status != CheckStatus::Unknown {
        findings.push(by_kernel);
    }
    findings.extend(by_system);
    findings.push(storage(evidence));
    combine(CheckId::ThermalThrottling, CLAIM, findings)
}

/// What Android's thermal service reported; `None` if there is none.
fn system(evidence: &Evidence<'_>) -> Option<Finding> {
    let known = evidence.conditions.iter().filter_map(|read| read.throttling.value().copied());
    let known: Vec<Throttling> = known.collect();
    let worst = known.iter().max()?;
    let times = known.len();
    if *worst < Throttling::Moderate {
        let detail = format!("Android reported no throttling that is noticed ({times} readings).");
        return Some(Finding::pass(None, detail));
    }
    let noticed = known.iter().filter(|level| **level >= Throttling::Moderate).count();
    let level = format!("{worst:?}").to_lowercase();
    let detail =
        format!("Android throttled the phone in {noticed} of {times} readings, at worst: {level}.");
    let advice = "Let it cool, then run again; --cool-to 32C waits before each test.";
    Some(Finding::fail(None, detail, advice))
}

/// The hottest storage reading of the run.
fn storage(evidence: &Evidence<'_>) -> Finding {
    let reading = &evidence.environment.storage_temperature_millicelsius;
    let Some(&(before, after)) = reading.value() else {
        let reason = reading.reason().unwrap_or_default();
        let detail = format!("The storage's temperature is not known: {reason}.");
        return Finding::unknown(
            None,
            detail,
            "Feel whether the device is hot, or repeat the run and compare both runs.",
        );
    };
    let intervals = evidence.phases.iter().flat_map(|phase| &phase.intervals);
    let hottest = intervals.filter_map(|interval| interval.temperature_millicelsius).max();
    let hottest = hottest.unwrap_or(before).max(before).max(after);
    let detail = format!(
        "The storage went from {} to {}, {} at most.",
        celsius(before),
        celsius(after),
        celsius(hottest)
    );
    if hottest >= HOT {
        Finding::fail(None, detail, COOL)
    } else if hottest >= WARM {
        Finding::unknown(None, detail + " Some devices slow down there.", COOL)
    } else {
        Finding::pass(None, detail)
    }
}

fn celsius(millicelsius: i64) -> String {
    format!("{} °C", (millicelsius + 500).div_euclid(1000))
}

fn processors(evidence: &Evidence<'_>) -> Finding {
    let advice = "Watch /sys/devices/system/cpu/cpufreq while it runs, or use a machine whose \
                  kernel counts throttling.";
    let Some((from, to)) = evidence.ends() else {
        let detail = "Processor throttling was not read.";
        return Finding::unknown(None, detail, advice);
    };
    let (Some(before), Some(after)) = (from.throttle.value(), to.throttle.value()) else {
        let reason = from.throttle.reason().or(to.throttle.reason()).unwrap_or_default();
        let detail = format!("This machine does not report processor throttling: {reason}.");
        return Finding::unknown(None, detail, advice);
    };
    if after.undervoltage == Some(true) {
        let detail = "The supply voltage is too low: the processor slows itself down.";
        return Finding::fail(None, detail, "Use a stronger power supply and a shorter cable.");
    }
    if let Some(sign) = sign_of_throttling(before, after) {
        return Finding::fail(None, sign, COOL);
    }
    let cooled = after.cooling_state.is_some_and(|state| state > 0);
    let limited =
        after.frequency_limit_percent.is_some_and(|limit| limit < 100 - LIMIT_FELL_PERCENT);
    if cooled || limited {
        let detail = "The processors were held back all along, by heat or by a setting.";
        let advice = "Let it cool down, or lift the limit in cpufreq/scaling_max_freq.";
        return Finding::unknown(None, detail, advice);
    }
    Finding::pass(None, "The processors were not throttled.")
}

fn sign_of_throttling(before: &Throttle, after: &Throttle) -> Option<String> {
    if let (Some(from), Some(to)) = (before.core_throttle_count, after.core_throttle_count)
        && to > from
    {
        return Some(match to - from {
            1 => "The processors were throttled once.".to_owned(),
            times => format!("The processors were throttled {times} times."),
        });
    }
    if let (Some(from), Some(to)) = (before.cooling_state, after.cooling_state)
        && to > from
    {
        return Some(format!("CPU cooling went from state {from} to {to} during the run."));
    }
    if let (Some(from), Some(to)) = (before.frequency_limit_percent, after.frequency_limit_percent)
        && to.saturating_add(LIMIT_FELL_PERCENT) < from
    {
        return Some(format!("The CPU's frequency limit fell from {from}% to {to}%."));
    }
    None
}

#[cfg(test)]
mod tests {
    use flashlag_schema::Change;
    use flashlag_spec::Reading;
    use flashlag_units::{Bytes, Nanos};

    use super::*;
    use crate::testing::Case;

    #[test]
    fn cool_and_measured_passes() {
        assert_eq!(Case::quiet().status(check), Some(CheckStatus::Pass));
    }

    fn with(levels: &[Throttling]) -> Option<CheckStatus> {
        let case = Case::quiet();
        let read = |level: &Throttling| flashlag_schema::Conditions {
            throttling: Reading::Value(*level),
            ..Default::default()
        };
        let conditions: Vec<_> = levels.iter().map(read).collect();
        let evidence = Evidence { conditions: &conditions, ..case.evidence() };
        check(&evidence).map(|check| check.status)
    }

    #[test]
    fn androids_word_on_throttling_counts_from_what_a_user_notices() {
        use Throttling::{Light, Moderate, None, Severe};
        assert_eq!(with(&[None, Light, None]), Some(CheckStatus::Pass));
        assert_eq!(with(&[None, Moderate]), Some(CheckStatus::Fail));
        assert_eq!(with(&[Severe, None]), Some(CheckStatus::Fail));
        assert_eq!(with(&[]), Some(CheckStatus::Pass), "the kernel's own counters");
    }

    #[test]
    fn no_sensor_is_unknown_and_says_so() {
        let mut case = Case::quiet();
        case.environment.storage_temperature_millicelsius =
            Reading::unavailable("no storage temperature sensor");
        let found = case.check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Unknown);
        assert!(found.detail.contains("no storage temperature sensor"), "{}", found.detail);
        assert!(found.advice.is_some());
    }

    #[test]
    fn hot_storage_fails_and_warm_is_unknown() {
        for (after, status) in [(84_000, CheckStatus::Fail), (72_000, CheckStatus::Unknown)] {
            let mut case = Case::quiet();
            case.environment.storage_temperature_millicelsius = Reading::Value((40_000, after));
            assert_eq!(case.status(check), Some(status));
        }
    }

    #[test]
    fn throttled_processors_fail() {
        let change: [fn(&mut Throttle); 4] = [
            |throttle| throttle.undervoltage = Some(true),
            |throttle| throttle.core_throttle_count = Some(9),
            |throttle| throttle.cooling_state = Some(2),
            |throttle| throttle.frequency_limit_percent = Some(60),
        ];
        for change in change {
            let mut case = Case::quiet();
            if let Reading::Value(throttle) = &mut case.last_counters().throttle {
                change(throttle);
            }
            assert_eq!(case.status(check), Some(CheckStatus::Fail));
        }
    }

    #[test]
    fn a_limit_that_was_there_all_along_is_unknown() {
        let mut case = Case::quiet();
        let limited = Throttle { frequency_limit_percent: Some(60), ..Throttle::default() };
        case.baseline.0.throttle = Reading::Value(limited);
        case.last_counters().throttle = Reading::Value(limited);
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
    }

    #[test]
    fn a_throttled_phase_fails_and_is_named() {
        let mut case = Case::quiet();
        case.phases[1].changes.push(Change {
            kind: ChangeKind::Throttled,
            t_ns: Nanos::from_secs(3),
            written_bytes: Bytes(1),
            bytes_per_sec: None,
            period_ns: None,
            detail: "Throughput fell to a third at 81 °C.".to_owned(),
        });
        let found = case.check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Fail);
        assert_eq!(found.phases.len(), 1);
    }

    #[test]
    fn below_70_degrees_passes_and_80_fails_wherever_the_reading_was() {
        let places: [fn(&mut Case, i64); 3] = [
            |case, at| {
                case.environment.storage_temperature_millicelsius = Reading::Value((at, 40_000));
            },
            |case, at| {
                case.environment.storage_temperature_millicelsius = Reading::Value((40_000, at));
            },
            |case, at| case.phases[2].intervals[3].temperature_millicelsius = Some(at),
        ];
        for (place, set) in places.into_iter().enumerate() {
            for (at, status) in [
                (69_999, CheckStatus::Pass),
                (70_000, CheckStatus::Unknown),
                (79_999, CheckStatus::Unknown),
                (80_000, CheckStatus::Fail),
            ] {
                let mut case = Case::quiet();
                set(&mut case, at);
                let found = case.check(check).unwrap();
                assert_eq!(found.status, status, "{place} {at}");
            }
        }
    }

    #[test]
    fn degrees_are_rounded_to_the_nearest_also_below_zero() {
        let rounded = [(44_499, "44 °C"), (44_500, "45 °C"), (-400, "0 °C"), (-1_600, "-2 °C")];
        for (at, words) in rounded {
            assert_eq!(celsius(at), words);
        }
    }

    /// Judges the CPUs by their throttling before the run and after.
    fn held_back(before: Throttle, after: Throttle) -> Check {
        let mut case = Case::quiet();
        case.baseline.0.throttle = Reading::Value(before);
        case.last_counters().throttle = Reading::Value(after);
        case.check(check).unwrap()
    }

    #[test]
    fn one_throttling_or_one_step_of_cooling_more_fails_and_the_same_does_not() {
        let counted = |times| Throttle { core_throttle_count: Some(times), ..Throttle::default() };
        assert_eq!(held_back(counted(3), counted(3)).status, CheckStatus::Pass);
        let once = held_back(counted(3), counted(4));
        assert_eq!(once.status, CheckStatus::Fail);
        assert!(once.detail.contains("were throttled once."), "{}", once.detail);
        let twice = held_back(counted(3), counted(5));
        assert!(twice.detail.contains("were throttled 2 times."), "{}", twice.detail);
        let cooled = |state| Throttle { cooling_state: Some(state), ..Throttle::default() };
        assert_eq!(held_back(cooled(0), cooled(0)).status, CheckStatus::Pass);
        assert_eq!(held_back(cooled(1), cooled(1)).status, CheckStatus::Unknown);
        assert_eq!(held_back(cooled(1), cooled(2)).status, CheckStatus::Fail);
    }

    #[test]
    fn a_limit_that_fell_by_5_percent_is_rounding_and_by_6_a_throttle() {
        let limit =
            |percent| Throttle { frequency_limit_percent: Some(percent), ..Throttle::default() };
        assert_eq!(held_back(limit(100), limit(95)).status, CheckStatus::Pass);
        assert_eq!(held_back(limit(100), limit(94)).status, CheckStatus::Fail);
        // There all along.
        assert_eq!(held_back(limit(95), limit(95)).status, CheckStatus::Pass);
        assert_eq!(held_back(limit(94), limit(94)).status, CheckStatus::Unknown);
    }
}
