//! Work while nothing else happens: discards and background cleaning.
//!
//! Both threads of F2FS wait until the filesystem was not used for 5 s (`is_idle`). The discards are
//! those of whole segments; holes of 64 KiB and more, which the kernel also discards, are not
//! modelled.

use flashlag_units::Nanos;

use super::{Discarding, F2fs};
use crate::fs::Quiet;
use crate::plan::{BlockRequest, Plan, push_run};

/// Time without use after which the filesystem is at rest (`DEF_IDLE_INTERVAL`).
const AT_REST: Nanos = Nanos::from_secs(5);
/// Discards of a round (`DEF_MAX_DISCARD_REQUEST`), and time between a round's end and the next
/// (`DEF_MIN_DISCARD_ISSUE_TIME`).
const ROUND: usize = 8;
const BETWEEN_ROUNDS: Nanos = Nanos::from_millis(50);
/// Shortest sleep of the thread that cleans (`DEF_GC_THREAD_MIN_SLEEP_TIME`), and its sleep where it
/// found nothing to clean (`DEF_GC_THREAD_NOGC_SLEEP_TIME`).
pub(super) const CLEAN_EVERY: Nanos = Nanos::from_secs(30);
const NOTHING_TO_CLEAN: Nanos = Nanos::from_secs(300);

impl F2fs {
    /// When the next round of discards is due.
    pub(super) fn next_discards(&self, quiet: &Quiet) -> Nanos {
        if self.discard != Discarding::AtRest || self.untrimmed.is_empty() {
            return Nanos::MAX;
        }
        quiet.used.plus(AT_REST).max(quiet.rested.plus(BETWEEN_ROUNDS))
    }

    /// A round of discards: free segments that lie together are one.
    pub(super) fn discard_some(&mut self) -> Plan {
        let mut runs = Vec::new();
        while let Some(segment) = self.untrimmed.first().copied() {
            // Skip segments that a log has since reused.
            if self.segments.is_free(segment) {
                let run = self.segment_runs(std::iter::once(segment));
                let mut joined = runs.clone();
                run.into_iter().for_each(|run| push_run(&mut joined, run));
                if joined.len() > ROUND {
                    break;
                }
                runs = joined;
            }
            self.untrimmed.remove(&segment);
        }
        let mut plan = Plan::new();
        plan.then(runs.into_iter().map(BlockRequest::Discard).collect());
        plan
    }

    /// When the thread that cleans looks for a segment next.
    pub(super) fn next_cleaning(&self, quiet: &Quiet) -> Nanos {
        match self.cleaning {
            Some(due) if self.segments.has_new_holes => due.max(quiet.used.plus(AT_REST)),
            _ => Nanos::MAX,
        }
    }

    /// Cleans the segment that is cheapest for its age.
    pub(super) fn clean_at_rest(&mut self, now: Nanos) -> Plan {
        let mut plan = Plan::new();
        let sleeps = match self.segments.cheapest() {
            Some(victim) => {
                self.clean(victim, &mut plan);
                self.changed(now);
                CLEAN_EVERY
            }
            None => {
                self.segments.has_new_holes = false;
                NOTHING_TO_CLEAN
            }
        };
        self.cleaning = Some(now.plus(sleeps));
        plan
    }
}
