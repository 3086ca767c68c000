//! Where the pages of a write go: in place, or to the end of a log.

use std::collections::BTreeSet;

use super::inode::node_of;
use super::segments::Log;
use super::{F2fs, IN_PLACE_PAGES};
use crate::fs::{BLOCK, FileId, Filesystem, NoSpace, Reason, blocks, map};
use crate::plan::{BlockRequest, Plan, Run, push_run};

impl F2fs {
    /// Keeps the places of blocks of zones that no plan writes yet.
    pub(super) fn keep_unsent(&mut self, runs: Vec<Run>) {
        if self.zoned {
            self.unsent.extend(runs);
        }
    }

    /// Adds to a plan what has to be written before anything else.
    pub(super) fn send_first(&mut self, plan: &mut Plan) {
        plan.then_writes(std::mem::take(&mut self.unsent));
    }

    /// Number of nodes for which writing these ranges reserves a block.
    pub(super) fn fresh_nodes(&self, file: FileId, ranges: &[(u64, u64)]) -> u64 {
        let Some(inode) = self.files.get(&file.0) else { return 0 };
        let nodes: BTreeSet<u32> = ranges
            .iter()
            .flat_map(|(offset, length)| {
                let (first, end) = blocks(*offset, *length);
                node_of(first)..=node_of(end.saturating_sub(1).max(first))
            })
            .collect();
        nodes.iter().filter(|node| !inode.is_kept(**node)).count() as u64
    }

    /// Whether pages that have a block are overwritten in place.
    fn overwrites(&self, reason: Reason) -> bool {
        self.in_place
            && !self.zoned
            && match reason {
                Reason::Direct => true,
                Reason::Sync { pages } => pages <= IN_PLACE_PAGES,
                Reason::Writeback => false,
            }
    }

    /// Writes a range, in place or appended, and adds the reads that this needs.
    pub(super) fn write_range(
        &mut self,
        file: FileId,
        offset: u64,
        length: u64,
        reason: Reason,
        log: Log,
        reads: &mut Vec<BlockRequest>,
        runs: &mut Vec<Run>,
    ) -> Result<(), NoSpace> {
        let overwrites = self.overwrites(reason);
        let (mut page, end) = blocks(offset, length);
        while page < end {
            let in_place = if overwrites { self.mapped_run(file, page, end) } else { 0 };
            let from = offset.max(page * BLOCK);
            let to = (offset + length).min((page + in_place.max(1)) * BLOCK);
            if in_place > 0 {
                for run in self.locate(file, from, to - from) {
                    push_run(runs, run);
                }
                page += in_place;
                continue;
            }
            // A page that is written only in part, and moves, is read first.
            if reason == Reason::Direct && to - from < BLOCK {
                let old = self.locate(file, page * BLOCK, BLOCK);
                reads.extend(old.into_iter().map(BlockRequest::Read));
            }
            let block = self.append_page(file.0, page, log)?;
            push_run(runs, self.place(block));
            page += 1;
        }
        Ok(())
    }

    /// Number of mapped pages of a file from `first` on, up to the first hole or `end`.
    fn mapped_run(&self, file: FileId, first: u64, end: u64) -> u64 {
        self.files.get(&file.0).map_or(0, |inode| map::mapped_run(&inode.map, first, end))
    }

    /// Number of pages of ranges of a file that have no block.
    pub(super) fn holes(&self, file: FileId, ranges: &[(u64, u64)]) -> u64 {
        let map = self.files.get(&file.0).map_or(&[][..], |inode| &inode.map);
        let holes = |(first, end): (u64, u64)| map::holes(map, first, end);
        ranges.iter().map(|(offset, length)| holes(blocks(*offset, *length))).sum()
    }
}
