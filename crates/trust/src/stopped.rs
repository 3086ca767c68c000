//! Was the process itself stopped while it measured?
//!
//! When a process is stopped by SIGSTOP (Ctrl-Z, a debugger), frozen with its cgroup (Android does
//! this to cached apps) or suspended with the machine, the scheduler reports it as neither running
//! nor runnable: just as if it waited for storage. A second thread that only wakes up at intervals
//! is stopped together with it, and only then (see `flashlag_engine::heartbeat`), so the length of
//! such a stop is known. The stop is in the latencies of the operations that it hit, and can't be
//! removed from any figure. A phase fails if a stop makes up more than half of a stall, or if stops
//! take more than 1 % of its time. Shorter ones are below the difference between two runs on one
//! device.

use flashlag_schema::{Check, CheckId, Phase, StallCause};
use flashlag_units::Nanos;

use crate::evidence::Evidence;
use crate::finding::{Finding, combine, percent, share};

const CLAIM: &str = "The program was never stopped while it measured";
const MOST_STOPPED: f64 = 0.01;
const ADVICE: &str = "Run it again and leave it running: no Ctrl-Z, debugger or cgroup freezer, and \
                      no suspended or migrated machine; on a phone, keep the shell in the foreground.";

pub(super) fn check(evidence: &Evidence<'_>) -> Option<Check> {
    let findings = evidence.phases.iter().map(judge_phase).collect();
    combine(CheckId::NeverStopped, CLAIM, findings)
}

fn judge_phase(phase: &Phase) -> Finding {
    let Some(stopped) = phase.stopped_ns else {
        let detail = "Nothing watched whether the program was stopped.";
        let advice = "Use a kernel with scheduler statistics (CONFIG_SCHED_INFO).";
        return Finding::unknown(Some(phase), detail, advice);
    };
    if stopped == Nanos::ZERO {
        return Finding::pass(Some(phase), "It could run whenever it wanted to.");
    }
    let part = share(stopped.0, phase.elapsed_ns.0);
    let stalls = phase.stalls.iter().filter(|stall| stall.cause == StallCause::Stopped).count();
    let seen = format!(
        "The program stood still for {stopped}, {} of its {}",
        percent(part),
        phase.elapsed_ns
    );
    if stalls == 0 && part <= MOST_STOPPED {
        return Finding::pass(Some(phase), format!("{seen}.")).weighing(part);
    }
    let waits = match stalls {
        0 => String::new(),
        1 => ", which was its stall".to_owned(),
        stalls => format!(", which was {stalls} of its stalls"),
    };
    let detail = format!("{seen}{waits}. That was no wait for the storage.");
    Finding::fail(Some(phase), detail, ADVICE).weighing(part)
}

#[cfg(test)]
mod tests {
    use flashlag_schema::{CheckStatus, StallRecord, Time};

    use super::*;
    use crate::testing::Case;

    fn stall(cause: StallCause) -> StallRecord {
        let ns = Nanos::from_millis(120);
        let time = Some(Time { stopped_ns: ns, ..Time::default() });
        StallRecord { t_ns: Nanos::from_millis(3), ns, cause, time, ..StallRecord::default() }
    }

    #[test]
    fn a_program_that_could_always_run_passes_and_one_not_watched_is_unknown() {
        let mut case = Case::quiet();
        assert_eq!(case.status(check), Some(CheckStatus::Pass));
        case.phases[0].stopped_ns = None;
        assert_eq!(case.status(check), Some(CheckStatus::Unknown));
    }

    #[test]
    fn a_stop_that_was_a_stall_fails_however_short_and_names_its_phase() {
        let mut case = Case::quiet();
        case.phases[2].elapsed_ns = Nanos::from_secs(3600);
        case.phases[2].stopped_ns = Some(Nanos::from_millis(120));
        case.phases[2].stalls = vec![stall(StallCause::Stopped)];
        let found = case.check(check).unwrap();
        assert_eq!(found.status, CheckStatus::Fail);
        assert_eq!(found.phases, [case.phases[2].label()]);
        assert!(found.detail.contains("which was its stall"), "{}", found.detail);
        assert!(found.advice.unwrap().contains("Ctrl-Z"));
    }

    #[test]
    fn a_moment_beside_real_stalls_passes_and_a_hundredth_of_the_time_fails() {
        let mut case = Case::quiet();
        let elapsed = case.phases[1].elapsed_ns;
        case.phases[1].stalls = vec![stall(StallCause::Storage)];
        case.phases[1].stopped_ns = Some(Nanos(elapsed.0 / 200));
        assert_eq!(case.status(check), Some(CheckStatus::Pass));
        case.phases[1].stopped_ns = Some(Nanos(elapsed.0 / 50));
        assert_eq!(case.status(check), Some(CheckStatus::Fail));
    }

    #[test]
    fn a_hundredth_of_the_time_passes_and_a_nanosecond_more_fails() {
        for (stopped, status) in [(10_000_000, CheckStatus::Pass), (10_000_001, CheckStatus::Fail)]
        {
            let mut case = Case::quiet();
            case.phases[1].elapsed_ns = Nanos::from_secs(1);
            case.phases[1].stopped_ns = Some(Nanos(stopped));
            assert_eq!(case.status(check), Some(status), "{stopped}");
        }
    }
}
