//! Cleaning: moves the valid blocks of a segment elsewhere, data to the cold log and nodes to
//! theirs.

use flashlag_stats::Wait;
use flashlag_units::Nanos;

use super::F2fs;
use super::segments::{Log, Owner, Section};
use crate::plan::{BlockRequest, Plan, push_run};

/// Segments cleaned by one call at most.
const MOST: u32 = 8;

impl F2fs {
    /// Keeps more segments free than the reserve, at the caller's cost: by a checkpoint, which
    /// frees empty segments, and by cleaning. Threaded logging, which needs no free segment, starts
    /// long before that.
    pub(super) fn make_room(&mut self, now: Nanos) -> Plan {
        let mut plan = Plan::new();
        self.send_first(&mut plan);
        for _ in 0..MOST {
            if self.segments.free_sections() > self.layout.reserved as usize {
                break;
            }
            if self.segments.prefree_sections() == 0 && !self.clean_one(&mut plan) {
                break;
            }
            self.changed(now);
            plan.then_plan(self.checkpoint(now));
        }
        plan
    }

    /// Moves the valid blocks of the segment that has the fewest; `false` if there is no such
    /// segment.
    pub(super) fn clean_one(&mut self, plan: &mut Plan) -> bool {
        self.segments.fewest_valid().is_some_and(|victim| self.clean(victim, plan))
    }

    /// Moves the valid blocks of a segment; `false` if there was no room for all.
    pub(super) fn clean(&mut self, victim: Section, plan: &mut Plan) -> bool {
        let (mut reads, mut writes, mut all) = (Vec::new(), Vec::new(), true);
        for block in self.segments.valid_blocks(victim) {
            let moved = match self.segments.owner(block) {
                Some(Owner::Data { file, page }) if file != super::DIRECTORY => {
                    self.append_page(file, u64::from(page), Log::ColdData)
                }
                Some(Owner::Node { file, node }) if file != super::DIRECTORY => {
                    self.append_node(file, node)
                }
                // The checkpoint that follows writes the directory's block anyway.
                Some(_) => {
                    self.directory.changed = true;
                    continue;
                }
                None => continue,
            };
            let Ok(new) = moved else {
                all = false;
                break;
            };
            push_run(&mut reads, self.place(block));
            push_run(&mut writes, self.place(new));
        }
        let step = std::mem::replace(&mut plan.step, Wait::Cleaning);
        plan.then(reads.into_iter().map(BlockRequest::Read).collect());
        plan.then_writes(writes);
        plan.step = step;
        all
    }
}
