//! The stalls of a phase, by cause.

use flashlag_schema::finding::{StallCount, StallFinding};
use flashlag_schema::{Phase, Run};
use flashlag_units::{InOrder, Nanos};

/// The stalls of each phase that has any, in the order of the run.
pub fn stalls(run: &Run) -> Vec<StallFinding> {
    let stalled = run.phases.iter().map(of_phase).filter(|found| found.seen > 0);
    stalled.collect()
}

/// The stalls of one phase.
pub fn of_phase(phase: &Phase) -> StallFinding {
    let mut causes: Vec<StallCount> = Vec::new();
    for stall in &phase.stalls {
        match causes.iter_mut().find(|count| count.cause == stall.cause) {
            Some(count) => count.stalls += 1,
            None => causes.push(StallCount { cause: stall.cause, stalls: 1 }),
        }
    }
    causes.order_by_key(|count| std::cmp::Reverse(count.stalls));
    StallFinding {
        phase: phase.label(),
        seen: phase.stalls_seen.max(phase.stalls.len() as u64),
        usual: is_usual(phase),
        longest_ns: phase.stalls.iter().map(|stall| stall.ns).max(),
        total_ns: phase.stalls.iter().fold(Nanos::ZERO, |sum, stall| sum.plus(stall.ns)),
        causes,
    }
}

/// Whether the median wait of a phase exceeds the limit of a stall: then waits above it are no
/// stalls.
pub fn is_usual(phase: &Phase) -> bool {
    phase.latency_ns.p50.is_some_and(|median| median > phase.stall_over_ns)
}
