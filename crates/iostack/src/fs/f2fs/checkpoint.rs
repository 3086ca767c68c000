//! Checkpoints: write everything that is in memory, then the checkpoint pack that makes it valid.

use std::collections::BTreeSet;

use flashlag_stats::Wait;
use flashlag_units::Nanos;

use super::segments::{Log, Owner, Section};
use super::{Discarding, F2fs};
use crate::fs::BLOCK;
use crate::plan::{BlockRequest, Plan, Run, push_run};

/// Entries of the node table, and of the segment table, that fit into a pack's summaries.
const NODES_IN_SUMMARY: usize = 38;
const SEGMENTS_IN_SUMMARY: usize = 6;
/// Summary entries of data logs (7 bytes each) that fit beside the tables' entries (507 bytes for
/// each table) and a footer (5 bytes), and those that fit into a block of their own
/// (`f2fs_npages_for_summary_flush`).
const SUMMARIES_BESIDE: u64 = (BLOCK - 2 * 507 - 5) / 7;
const SUMMARIES_IN_BLOCK: u64 = (BLOCK - 5) / 7;

impl F2fs {
    /// Writes names, nodes and tables, then the pack, and discards the segments that it frees.
    pub(super) fn checkpoint(&mut self, _: Nanos) -> Plan {
        let mut plan = Plan::new();
        if self.checkpoint_due.take().is_none() {
            return plan;
        }
        (plan.commits, plan.step) = (true, Wait::Checkpoint);
        self.send_first(&mut plan);
        plan.then_writes(self.write_directory());
        plan.then_writes(self.write_all_nodes());
        plan.then_writes(self.write_tables());
        let pack = self.layout.pack(self.version) * BLOCK;
        let blocks = summary_blocks(self.segments.written_in_data_logs());
        plan.then_writes(vec![Run { offset: pack, length: (1 + blocks) * BLOCK }]);
        let tail = Run { offset: pack + (1 + blocks) * BLOCK, length: BLOCK };
        // The zones are a device of their own, which is flushed before the first, that has the pack
        // (`f2fs_flush_device_cache`).
        plan.then_flush(self.barrier && self.zoned);
        plan.then_seal(vec![tail], self.barrier);
        self.version += 1;
        self.unlinked = false;
        let freed = self.segments.checkpoint();
        if self.discard == Discarding::AtCheckpoint {
            let runs = self.segment_runs(freed.iter().copied());
            plan.then(runs.into_iter().map(BlockRequest::Discard).collect());
        } else {
            self.untrimmed.extend(freed);
        }
        plan
    }

    fn write_directory(&mut self) -> Vec<Run> {
        if !std::mem::take(&mut self.directory.changed) {
            return Vec::new();
        }
        let mut runs = Vec::new();
        let names = Owner::Data { file: super::DIRECTORY, page: 0 };
        if self.directory.entries.is_some()
            && let Some(block) = self.segments.append(Log::HotData, names)
        {
            if let Some(old) = self.directory.entries.replace(block) {
                self.segments.invalidate(old);
            }
            runs.push(self.place(block));
        }
        let node = Owner::Node { file: super::DIRECTORY, node: 0 };
        if let Some(block) = self.segments.append(Log::HotNode, node) {
            if let Some(old) = self.directory.node.replace(block) {
                self.segments.invalidate(old);
            }
            self.moved_nodes.insert(3);
            runs.push(self.place(block));
        }
        runs
    }

    fn write_all_nodes(&mut self) -> Vec<Run> {
        let dirty = self.files.iter().filter(|(_, inode)| !inode.dirty.is_empty());
        let dirty: Vec<(u32, BTreeSet<u32>)> =
            dirty.map(|(file, inode)| (*file, inode.dirty.clone())).collect();
        let mut runs = Vec::new();
        for (file, nodes) in dirty {
            for run in self.write_nodes(file, &nodes) {
                push_run(&mut runs, run);
            }
        }
        runs
    }

    /// Writes the table entries if there are too many for the summaries.
    fn write_tables(&mut self) -> Vec<Run> {
        let nodes = std::mem::take(&mut self.moved_nodes);
        let segments = self.segments.changed.take();
        let mut blocks = BTreeSet::new();
        if nodes.len() > NODES_IN_SUMMARY {
            blocks.extend(nodes.iter().map(|node| self.layout.node_entry(*node, self.version)));
        }
        if segments.len() > SEGMENTS_IN_SUMMARY {
            let entries = segments.iter();
            blocks.extend(entries.map(|one| self.layout.segment_entry(*one, self.version)));
        }
        let mut runs = Vec::new();
        for block in blocks {
            push_run(&mut runs, Run { offset: block * BLOCK, length: BLOCK });
        }
        runs
    }

    /// Ranges of whole segments.
    pub(super) fn segment_runs(&self, segments: impl Iterator<Item = Section>) -> Vec<Run> {
        let mut runs = Vec::new();
        for segment in segments {
            let blocks = self.layout.section;
            let first = self.layout.main + u64::from(segment.0) * blocks;
            push_run(&mut runs, Run { offset: first * BLOCK, length: blocks * BLOCK });
        }
        runs
    }
}

/// Number of blocks of the data logs' compact summaries, which have an entry for each block written
/// in the logs' segments.
fn summary_blocks(entries: u64) -> u64 {
    1 + entries.saturating_sub(SUMMARIES_BESIDE).div_ceil(SUMMARIES_IN_BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_take_a_block_more_where_the_tables_entries_leave_no_room() {
        let blocks = [0, 439, 440, 1023, 1024].map(summary_blocks);
        assert_eq!(blocks, [1, 1, 2, 2, 3]);
    }
}
