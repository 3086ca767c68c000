//! Cleaning: the segment with the fewest valid blocks is emptied into a log of its own.

use flashlag_units::Nanos;

use super::F2fs;
use super::segments::{Log, Owner};
use crate::plan::{BlockRequest, Plan, push_run};

/// Segments cleaned for one call at most: then it has to do with what there is.
const MOST: u32 = 8;

impl F2fs {
    /// Keeps more segments free than are reserved: by a checkpoint, which frees what is empty, and
    /// by cleaning, at the cost of the call. Long before that, logs go on in the holes of others,
    /// which takes no free segment.
    pub(super) fn make_room(&mut self, now: Nanos) -> Plan {
        let mut plan = Plan::new();
        for _ in 0..MOST {
            if self.segments.free_segments() > self.layout.reserved as usize {
                break;
            }
            if self.segments.prefree_segments() == 0 && !self.clean_one(&mut plan) {
                break;
            }
            self.changed(now);
            plan.then_plan(self.checkpoint(now));
        }
        plan
    }

    /// Moves what is valid of one segment.
    pub(super) fn clean_one(&mut self, plan: &mut Plan) -> bool {
        let Some(victim) = self.segments.fewest_valid() else { return false };
        let (mut reads, mut writes, mut all) = (Vec::new(), Vec::new(), true);
        for block in self.segments.valid_blocks(victim) {
            let moved = match self.segments.owner(block) {
                Some(Owner::Data { file, page }) if file != super::DIRECTORY => {
                    self.append_page(file, u64::from(page), Log::Cold)
                }
                Some(Owner::Node { file, node }) if file != super::DIRECTORY => {
                    self.append_node(file, node)
                }
                // The directory's block is written by the checkpoint that follows.
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
        plan.then(reads.into_iter().map(BlockRequest::Read).collect());
        plan.then_writes(writes);
        all
    }
}
