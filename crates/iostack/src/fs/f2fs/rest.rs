//! Work while the device is idle: discards and background cleaning.
//!
//! Both threads of F2FS wait until the filesystem has been idle for 5 s (`is_idle`). Only discards
//! of whole segments are modelled; the kernel also discards holes of 64 KiB and more.

use flashlag_units::Nanos;

use super::layout::CLEAN_EVERY;
use super::{Discarding, F2fs};
use crate::fs::Quiet;
use crate::plan::{BlockRequest, Plan, push_run};

/// Time without requests after which the filesystem is idle (`DEF_IDLE_INTERVAL`).
const AT_REST: Nanos = Nanos::from_secs(5);
/// Discards per round (`DEF_MAX_DISCARD_REQUEST`), and the time between two rounds
/// (`DEF_MIN_DISCARD_ISSUE_TIME`).
const ROUND: usize = 8;
const BETWEEN_ROUNDS: Nanos = Nanos::from_millis(50);
/// Its sleep after it found nothing to clean (`DEF_GC_THREAD_NOGC_SLEEP_TIME`).
const NOTHING_TO_CLEAN: Nanos = Nanos::from_secs(300);
/// Share of the zones, in percent, that are free before its thread cleans a zoned device
/// (`LIMIT_NO_ZONED_GC`), and its sleep after one (`DEF_GC_THREAD_MIN_SLEEP_TIME_ZONED` after every few
/// of the zone's segments).
const ENOUGH_ZONES: u64 = 60;
const ZONE_EVERY: Nanos = Nanos::from_millis(160);

impl F2fs {
    /// When the next round of discards is due.
    pub(super) fn next_discards(&self, quiet: &Quiet) -> Nanos {
        if self.discard != Discarding::AtRest || self.untrimmed.is_empty() {
            return Nanos::MAX;
        }
        quiet.used.plus(AT_REST).max(quiet.rested.plus(BETWEEN_ROUNDS))
    }

    /// One round of discards; adjacent free segments are one discard.
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

    /// When the cleaning thread next looks for a segment.
    pub(super) fn next_cleaning(&self, quiet: &Quiet) -> Nanos {
        match self.cleaning {
            Some(due) if self.segments.has_new_holes && self.is_short_of_zones() => {
                due.max(quiet.used.plus(AT_REST))
            }
            _ => Nanos::MAX,
        }
    }

    /// Whether so few zones are free that the thread cleans; it always does without zones.
    fn is_short_of_zones(&self) -> bool {
        let free = self.segments.free_sections() as u64 * 100;
        !self.zoned || free < u64::from(self.layout.sections) * ENOUGH_ZONES
    }

    /// Cleans the segment with the best ratio of cost to age.
    pub(super) fn clean_at_rest(&mut self, now: Nanos) -> Plan {
        let mut plan = Plan::new();
        self.send_first(&mut plan);
        let sleeps = match self.segments.cheapest() {
            Some(victim) => {
                self.clean(victim, &mut plan);
                self.changed(now);
                if self.zoned { ZONE_EVERY } else { CLEAN_EVERY }
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
