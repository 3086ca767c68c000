//! The checks of a run before it was resumed. The kernel's counters around its tests ended with that
//! process, and a row that a check covered then is the same row now: what failed for a test that is
//! not measured again still fails, and what was unknown is unknown.

use flashlag_schema::{Check, CheckStatus, Phase};

/// What was found in a run before it was resumed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Earlier {
    checks: Vec<Check>,
    kept: Vec<String>,
}

impl Earlier {
    /// The checks of the run file, as far as they cover phases that are kept.
    pub fn of(checks: &[Check], kept: &[Phase]) -> Earlier {
        let mut labels: Vec<String> = Vec::new();
        for label in kept.iter().map(Phase::label) {
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        Earlier { checks: checks.to_vec(), kept: labels }
    }

    /// The checks of all phases, from those of this process.
    pub(super) fn joined(&self, mut now: Vec<Check>) -> Vec<Check> {
        for before in self.checks.iter().filter_map(|check| self.still_true(check)) {
            match now.iter_mut().find(|check| check.id == before.id) {
                Some(check) => join(check, before),
                None => now.push(before),
            }
        }
        now
    }

    /// A check that did not pass, about kept phases alone; `None` if it covers none of them.
    fn still_true(&self, check: &Check) -> Option<Check> {
        let covered = |label: &&String| check.phases.is_empty() || check.phases.contains(label);
        let phases: Vec<String> = self.kept.iter().filter(covered).cloned().collect();
        let holds = check.status != CheckStatus::Pass && !phases.is_empty();
        holds.then(|| Check { phases, ..check.clone() })
    }
}

/// The worse of the two outcomes; of two that are the same, one that covers the phases of both.
fn join(now: &mut Check, before: Check) {
    if before.status < now.status {
        *now = before;
        return;
    }
    if now.status < before.status || now.phases.is_empty() {
        return;
    }
    let missing = before.phases.into_iter().filter(|label| !now.phases.contains(label));
    let missing: Vec<String> = missing.collect();
    if missing.is_empty() {
        return;
    }
    now.phases.extend(missing);
    if !now.detail.contains(&before.detail) {
        // Both say the same of other tests, with other figures.
        now.detail = format!("{} Before it was resumed: {}", now.detail, before.detail);
    }
    now.cause = now.cause.or(before.cause);
    now.advice = now.advice.take().or(before.advice);
}

#[cfg(test)]
mod tests {
    use flashlag_schema::{CheckId, Trust};
    use flashlag_spec::Verdict;

    use super::*;
    use crate::evidence::Evidence;
    use crate::testing::Case;

    /// The trust of the quiet run, whose first `kept` phases are of an earlier process with these
    /// checks.
    fn resumed(kept: usize, checks: &[Check]) -> Trust {
        let mut case = Case::quiet();
        case.counters.iter_mut().take(kept).for_each(|around| *around = None);
        let earlier = Earlier::of(checks, &case.phases[..kept]);
        crate::judge(&Evidence { earlier: Some(&earlier), ..case.evidence() })
    }

    fn found(status: CheckStatus, phases: &[&str]) -> Check {
        Check {
            id: CheckId::ForeignIo,
            status,
            claim: "Nothing else used the device".to_owned(),
            detail: "Others moved 9.9 MB.".to_owned(),
            cause: None,
            advice: Some("Stop what else uses the disk.".to_owned()),
            phases: phases.iter().map(|label| (*label).to_owned()).collect(),
        }
    }

    fn foreign(trust: &Trust) -> &Check {
        trust.checks.iter().find(|check| check.id == CheckId::ForeignIo).unwrap()
    }

    #[test]
    fn a_test_that_is_not_measured_again_keeps_its_failed_check() {
        let failed = found(CheckStatus::Fail, &["new: seq_read_256k"]);
        let trust = resumed(1, std::slice::from_ref(&failed));
        assert_eq!(trust.verdict, Verdict::Untrusted);
        assert_eq!(*foreign(&trust), failed);
        // Nothing that this process measured is accused, and no other check fails.
        let fails = trust.checks.iter().filter(|check| check.status == CheckStatus::Fail);
        assert_eq!(fails.count(), 1);
    }

    #[test]
    fn a_check_of_the_whole_run_covers_what_was_measured_then() {
        let trust = resumed(2, &[found(CheckStatus::Fail, &[])]);
        assert_eq!(foreign(&trust).phases, ["new: seq_read_256k", "new: rand_read_4k"]);
        let unknown = resumed(2, &[found(CheckStatus::Unknown, &[])]);
        assert_eq!(foreign(&unknown).status, CheckStatus::Unknown);
    }

    #[test]
    fn a_test_that_is_measured_again_is_judged_anew() {
        let again = resumed(1, &[found(CheckStatus::Fail, &["new: save_wal"])]);
        assert_eq!(foreign(&again).status, CheckStatus::Pass);
        let nothing_kept = resumed(0, &[found(CheckStatus::Fail, &[])]);
        assert_eq!(foreign(&nothing_kept).status, CheckStatus::Pass);
        let passed = resumed(1, &[found(CheckStatus::Pass, &[])]);
        assert_eq!(foreign(&passed).status, CheckStatus::Pass);
    }

    #[test]
    fn failures_of_both_processes_are_one_check_that_covers_the_phases_of_both() {
        let mut now = found(CheckStatus::Fail, &["new: rand_read_4k"]);
        now.detail = "Others moved 3.0 MB.".to_owned();
        let kept = &Case::quiet().phases[..1];
        let earlier = Earlier::of(&[found(CheckStatus::Fail, &["new: seq_read_256k"])], kept);
        let once = earlier.joined(vec![now]);
        assert_eq!(once.len(), 1);
        assert_eq!(once[0].phases, ["new: rand_read_4k", "new: seq_read_256k"]);
        assert_eq!(
            once[0].detail,
            "Others moved 3.0 MB. Before it was resumed: Others moved 9.9 MB."
        );
        // Stored and resumed once more, nothing is said twice.
        assert_eq!(earlier.joined(once.clone()), once);
        let whole = earlier.joined(vec![found(CheckStatus::Fail, &[])]);
        assert_eq!(whole[0].phases, Vec::<String>::new());
        let worse_now = Earlier::of(&[found(CheckStatus::Unknown, &[])], kept);
        let fails = worse_now.joined(vec![found(CheckStatus::Fail, &["new: save_wal"])]);
        assert_eq!(fails[0].phases, ["new: save_wal"]);
    }
}
