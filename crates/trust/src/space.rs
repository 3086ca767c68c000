//! Was there room, and did each fill reach its level?
//!
//! A fill has reached its level if the free space exceeds what it was to leave by no more than 2 %,
//! or 8 MiB (metadata, and the last blocks of a fill that counts in larger ones); or if the
//! filesystem accepted no more, which is even fuller. If a fill ended earlier, every row that
//! claims a full device is wrong about its state: fail, and those phases are named. Without a fill,
//! the room that `--leave` promises must exist until the end.

use flashlag_schema::{Check, CheckId, Phase};
use flashlag_spec::State;
use flashlag_units::Bytes;

use crate::evidence::{Evidence, Fill};
use crate::finding::{Finding, combine, percent, share};

const CLAIM: &str = "There was room, and fills reached their level";
const MARGIN: Bytes = Bytes::from_mib(8);

pub(super) fn check(evidence: &Evidence<'_>) -> Option<Check> {
    if evidence.phases.is_empty() {
        return None;
    }
    let claims_full = |phase: &&Phase| phase.state != State::New;
    if evidence.fills.is_empty() && evidence.phases.iter().any(|phase| claims_full(&phase)) {
        let detail = "Phases claim a state after a fill, but how the fill ended is not known.";
        let finding = Finding::unknown(None, detail, "Run it again without --resume.");
        return combine(CheckId::FreeSpace, CLAIM, vec![finding]);
    }
    let mut findings: Vec<Finding> = Vec::new();
    for fill in &evidence.fills {
        match judge_fill(fill) {
            finding if finding.advice.is_empty() => findings.push(finding),
            finding => {
                let covered = evidence.phases.iter().filter(claims_full);
                let named =
                    covered.map(|phase| Finding { phase: phase.label(), ..finding.clone() });
                let named: Vec<Finding> = named.collect();
                findings.extend(if named.is_empty() { vec![finding] } else { named });
            }
        }
    }
    if evidence.fills.is_empty() {
        findings.push(room(evidence));
    }
    combine(CheckId::FreeSpace, CLAIM, findings)
}

fn judge_fill(fill: &Fill) -> Finding {
    let allowed = Bytes(fill.leave.0.saturating_add((fill.leave.0 / 50).max(MARGIN.0)));
    let detail = format!("{} left {} free; {} was to be spared.", fill.name, fill.free, fill.leave);
    if fill.free <= allowed {
        return Finding::pass(None, detail);
    }
    if fill.quota {
        let advice = "Fill it as a user, or in a directory, without a quota, or have the quota raised \
                      (`quota -s` shows it).";
        let detail = format!("{detail} A quota ended it: the storage is not full.");
        return Finding::fail(None, detail, advice);
    }
    if fill.no_space {
        return Finding::pass(None, detail + " The filesystem took no more.");
    }
    let advice = "Let the fill go on to its end (no --budget below it, no Ctrl-C), or ask for a \
                  larger --leave.";
    Finding::fail(None, format!("{detail} It ended early."), advice)
}

fn room(evidence: &Evidence<'_>) -> Finding {
    let filesystem = &evidence.environment.filesystem;
    let advice = "See df, and run it again where free space can be read.";
    let Some(free) = evidence.free_after.value().copied() else {
        let reason = evidence.free_after.reason().unwrap_or_default();
        let detail = format!("How much is free is not known: {reason}.");
        return Finding::unknown(None, detail, advice);
    };
    let used =
        filesystem.total_bytes.value().map(|total| share(total.saturating_minus(free).0, total.0));
    let used = used.map(|used| format!(", {} used", percent(used))).unwrap_or_default();
    let detail = format!("{free} free{used}; {} is to stay free.", evidence.leave);
    if free < evidence.leave {
        let own = evidence.own_bytes.value().copied();
        return match own {
            // Without this run's files there would have been room: no other program is to blame.
            Some(own) if free.plus(own) >= evidence.leave => {
                let detail = format!("{detail} {own} of the rest are this run's own files.");
                let advice = "Measure over less (--set span=), spare less (--leave), or free some \
                              space.";
                Finding::fail(None, detail, advice)
            }
            Some(_) => {
                let advice = "Free some space: something else filled the storage meanwhile.";
                Finding::fail(None, detail, advice)
            }
            None => Finding::fail(None, detail, "Free some space, or spare less (--leave)."),
        };
    }
    Finding::pass(None, detail)
}

#[cfg(test)]
mod tests {
    use flashlag_schema::CheckStatus;
    use flashlag_spec::Reading;

    use super::*;
    use crate::testing::Case;

    fn filled(free: Bytes, no_space: bool) -> Case {
        let mut case = Case::quiet();
        let leave = Bytes::from_mb(300);
        case.phases.iter_mut().skip(2).for_each(|phase| phase.state = State::Filled);
        let name = "fill_seq_1m".to_owned();
        case.fills.push(Fill { name, leave, free, no_space, quota: false });
        case
    }

    #[test]
    fn a_fill_that_a_quota_ended_is_no_full_storage() {
        let mut case = filled(Bytes::from_mb(900), true);
        case.fills[0].quota = true;
        let found = case.check(check).unwrap();
        assert_eq!((found.status, found.phases.len()), (CheckStatus::Fail, case.phases.len() - 2));
        assert!(found.detail.contains("A quota ended it"), "{}", found.detail);
        // A fill that reached its level is not reported.
        case.fills[0].free = Bytes::from_mb(301);
        assert_eq!(case.status(check), Some(CheckStatus::Pass));
    }

    #[test]
    fn a_fill_that_reached_its_level_passes() {
        let reached = filled(Bytes::from_mb(301), false).check(check).unwrap();
        assert_eq!(reached.status, CheckStatus::Pass);
        assert_eq!(reached.detail, "fill_seq_1m left 301 MB free; 300 MB was to be spared.");
        assert_eq!(filled(Bytes::from_mb(900), true).status(check), Some(CheckStatus::Pass));
    }

    #[test]
    fn a_fill_that_ended_early_fails_the_phases_after_it() {
        let case = filled(Bytes::from_mb(900), false);
        let found = case.check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Fail);
        assert_eq!(found.phases.len(), case.phases.len() - 2);
        assert!(found.advice.is_some());
    }

    #[test]
    fn a_resumed_run_without_its_fill_is_unknown() {
        let mut case = filled(Bytes::from_mb(301), false);
        case.fills.clear();
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
    }

    #[test]
    fn room_is_read_or_unknown_and_used_up_fails() {
        let mut case = Case::quiet();
        assert_eq!(case.status(check), Some(CheckStatus::Pass));
        case.free_after = Reading::Value(Bytes(1));
        let advice = |case: &Case| {
            let found = case.check(check).unwrap();
            assert_eq!(found.status, CheckStatus::Fail);
            found.advice.unwrap()
        };
        assert!(advice(&case).contains("something else"), "our own files are small");
        case.own_bytes = Reading::Value(Bytes::from_mb(1000));
        assert!(!advice(&case).contains("something else"), "our own files took it");
        case.own_bytes = Reading::unavailable("no");
        assert!(!advice(&case).contains("something else"), "nobody knows");
        case.free_after = Reading::unavailable("no");
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
    }

    #[test]
    fn a_fill_may_stop_2_percent_or_8_mib_above_its_level_and_not_a_byte_more() {
        for (leave, granted) in [(300_000_000, 8 << 20), (1_000_000_000, 20_000_000)] {
            for (beyond, status) in [(0, CheckStatus::Pass), (1, CheckStatus::Fail)] {
                let mut case = filled(Bytes(leave + granted + beyond), false);
                case.fills[0].leave = Bytes(leave);
                assert_eq!(case.status(check), Some(status), "{leave} {beyond}");
            }
        }
    }

    #[test]
    fn what_is_to_stay_free_is_enough_and_a_byte_less_fails() {
        for (free, status) in [(0, CheckStatus::Pass), (1, CheckStatus::Fail)] {
            let mut case = Case::quiet();
            let leave = case.evidence().leave;
            case.free_after = Reading::Value(Bytes(leave.0 - free));
            assert_eq!(case.status(check), Some(status));
        }
    }

    #[test]
    fn others_are_blamed_for_the_first_byte_that_our_own_files_do_not_explain() {
        let mut case = Case::quiet();
        case.free_after = Reading::Value(Bytes(case.evidence().leave.0 - 1000));
        for (own, ours) in [(1000, true), (999, false)] {
            case.own_bytes = Reading::Value(Bytes(own));
            let found = case.check(check).unwrap();
            assert_eq!(found.status, CheckStatus::Fail);
            assert_eq!(found.detail.contains("this run's own files"), ours, "{own}");
            assert_eq!(found.advice.unwrap().contains("something else"), !ours, "{own}");
        }
    }
}
