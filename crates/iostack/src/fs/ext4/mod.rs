//! ext4: data in place, metadata through an ordered journal.
//!
//! Modelled: allocation near a goal (delayed until data is written), the metadata blocks that a
//! call changes (bitmaps, descriptors, inode tables, extent leaves, the directory, the superblock's
//! orphan list), commits by fsync and every 5 s, modification times in ticks of 10 ms (so a second
//! fsync within a tick commits nothing), discards after the commit that freed a range, fstrim; with
//! `fast_commit` the fsync of a file writes one block of the fast-commit area and leaves the
//! transaction to the next commit; blocks preallocated for a growing file. Not modelled: quota, the
//! buddy allocator, htree directories, reads of metadata (a running system has it in memory).

mod growth;
mod journal;
mod layout;

use std::collections::BTreeMap;

use flashlag_units::{Bytes, Nanos};

use self::journal::Journal;
use self::layout::Layout;
use super::error::LayoutError;
use super::map::{self, Block, BlockRun, HOLE, tick};
use super::model::{BLOCK, FileId, Filesystem, NoSpace, Reason, blocks, grown};
use super::space::{GROUP, Space, group_of};
use crate::plan::{BlockRequest, Plan, Run, push_run};
use crate::spec::StackSpec;

/// Number of extents in an inode, and in a leaf block.
const EXTENTS_IN_INODE: u64 = 4;
const EXTENTS_IN_LEAF: u64 = 340;

#[derive(Debug)]
pub(crate) struct Ext4 {
    space: Space,
    layout: Layout,
    journal: Journal,
    total: u64,
    barrier: bool,
    discard: bool,
    files: BTreeMap<FileId, Inode>,
    /// Inodes in use, by index.
    inodes: Vec<bool>,
    /// Ranges freed in the running transaction, to be discarded after its commit.
    freed: Vec<BlockRun>,
    /// Groups in which nothing was freed since the last trim.
    trimmed: Vec<bool>,
}

#[derive(Debug)]
struct Inode {
    index: usize,
    size: u64,
    map: Vec<Block>,
    extents: u64,
    leaves: Vec<Block>,
    /// Blocks preallocated for the next pages, and the first of those pages.
    kept: Option<(u64, BlockRun)>,
    modified: Option<u64>,
    /// Transactions that must be committed for an fsync, and for an fdatasync.
    sync: u64,
    data_sync: u64,
}

impl Ext4 {
    pub(crate) fn new(capacity: Bytes, spec: &StackSpec) -> Result<Ext4, LayoutError> {
        let blocks = (capacity.0 / BLOCK).min(u64::from(HOLE.0));
        let mut space = Space::new(blocks);
        let layout = Layout::new(blocks, &mut space)?;
        let mut journal = Journal::new(layout.journal, spec.barrier);
        if spec.fast_commit {
            journal = journal.with_fast_commits();
        }
        let groups = space.groups() as usize;
        Ok(Ext4 {
            total: space.free(),
            space,
            layout,
            journal,
            barrier: spec.barrier,
            discard: spec.discard,
            files: BTreeMap::new(),
            inodes: Vec::new(),
            freed: Vec::new(),
            // mke2fs discards the device.
            trimmed: vec![true; groups],
        })
    }

    /// Marks a file's inode changed. `data`: fdatasync must commit the change, too.
    fn inode_changed(&mut self, now: Nanos, file: FileId, data: bool) {
        let Some(inode) = self.files.get_mut(&file) else { return };
        inode.sync = self.journal.running;
        if data {
            inode.data_sync = self.journal.running;
        }
        let block = self.layout.inode(inode.index as u64);
        self.journal.change(now, block);
    }

    fn group_changed(&mut self, now: Nanos, group: u64) {
        self.journal.change(now, self.layout.block_bitmap(group));
        self.journal.change(now, self.layout.descriptor(group));
    }

    /// Allocates the blocks that are missing in a range of a file.
    fn allocate(&mut self, now: Nanos, file: FileId, first: u64, end: u64) -> Result<(), NoSpace> {
        let missing = self.holes(file, first, end);
        if missing.is_empty() {
            return Ok(());
        }
        let wanted: u64 = missing.iter().map(|(from, to)| to - from).sum();
        if wanted + 1 > self.space.free() {
            return Err(NoSpace);
        }
        if wanted + 1 > self.space.unkept() {
            self.release_all();
        }
        for (from, to) in missing {
            let mut at = from;
            while at < to {
                let run = self.next_run(file, at, to).ok_or(NoSpace)?;
                for group in groups_of(run) {
                    self.group_changed(now, group);
                }
                self.map(now, file, at, run);
                at += run.count;
            }
        }
        self.inode_changed(now, file, true);
        Ok(())
    }

    /// Ranges within `first..end` without blocks.
    fn holes(&mut self, file: FileId, first: u64, end: u64) -> Vec<(u64, u64)> {
        let Some(inode) = self.files.get_mut(&file) else { return Vec::new() };
        if (inode.map.len() as u64) < end {
            inode.map.resize(end as usize, HOLE);
        }
        let mut found: Vec<(u64, u64)> = Vec::new();
        for at in first..end {
            if inode.map[at as usize] == HOLE {
                match found.last_mut() {
                    Some(last) if last.1 == at => last.1 += 1,
                    _ => found.push((at, at + 1)),
                }
            }
        }
        found
    }

    /// The goal of an allocation: after the previous block of the file; else where the block would
    /// be if the file were contiguous; else the start of the inode's group.
    fn goal(&self, file: FileId, at: u64) -> Block {
        let Some(inode) = self.files.get(&file) else { return Block(0) };
        if let Some(&before) = at.checked_sub(1).and_then(|before| inode.map.get(before as usize))
            && before != HOLE
        {
            return before.plus(1);
        }
        let first = inode.map.iter().enumerate().find(|(_, block)| **block != HOLE);
        match first {
            Some((index, block)) => {
                // A contiguous file would end beyond the device: search from the front.
                let number = (block.number() + at).saturating_sub(index as u64);
                if number < HOLE.number() { Block::at(number) } else { HOLE }
            }
            None => Block::at(self.layout.inode_group(inode.index as u64) * GROUP),
        }
    }

    /// Maps a run of blocks into a file, with the extents and leaves that this takes.
    fn map(&mut self, now: Nanos, file: FileId, at: u64, run: BlockRun) {
        let Some(inode) = self.files.get_mut(&file) else { return };
        // An extent has at most 32,768 blocks. A run between two extents may join them.
        let behind = at.checked_sub(1).and_then(|before| inode.map.get(before as usize));
        let joins_behind = behind.is_some_and(|before| {
            *before != HOLE && before.plus(1) == run.first && !at.is_multiple_of(GROUP)
        });
        let end = at + run.count;
        let joins_ahead = inode.map.get(end as usize).is_some_and(|ahead| {
            *ahead == run.end() && *ahead != HOLE && !end.is_multiple_of(GROUP)
        });
        let joined = u64::from(joins_behind) + u64::from(joins_ahead);
        inode.extents = (inode.extents + 1).saturating_sub(joined);
        for (page, block) in (at..end).zip(run.blocks()) {
            inode.map[page as usize] = block;
        }
        if inode.extents <= EXTENTS_IN_INODE {
            return;
        }
        let leaf = (inode.extents / EXTENTS_IN_LEAF) as usize;
        if inode.leaves.len() <= leaf
            && let Some(leaf) = self.space.allocate(run.end(), 1)
        {
            inode.leaves.push(leaf.first);
            self.group_changed(now, group_of(leaf.first));
        }
        // Extents are sorted by file offset, which determines the leaf that changes.
        let Some(inode) = self.files.get(&file) else { return };
        let share = at * inode.leaves.len() as u64 / (inode.map.len() as u64).max(1);
        if let Some(block) = inode.leaves.get(share as usize) {
            self.journal.change(now, *block);
        }
    }

    /// Frees a file's blocks from `from` on.
    fn free_blocks(&mut self, now: Nanos, file: FileId, from: u64) {
        self.release_kept(file);
        let Some(inode) = self.files.get_mut(&file) else { return };
        let from = (from as usize).min(inode.map.len());
        let blocks = inode.map.split_off(from);
        let mut runs: Vec<BlockRun> = Vec::new();
        for block in blocks.into_iter().filter(|block| *block != HOLE) {
            match runs.last_mut() {
                Some(last) if last.end() == block => last.count += 1,
                _ => runs.push(BlockRun { first: block, count: 1 }),
            }
        }
        let kept = from.checked_sub(1).and_then(|last| inode.map.get(last));
        let is_cut = runs
            .first()
            .is_some_and(|run| kept.is_some_and(|kept| *kept != HOLE && kept.plus(1) == run.first));
        let gone = runs.len() as u64 - u64::from(is_cut);
        inode.extents = inode.extents.saturating_sub(gone);
        if from == 0 {
            inode.extents = 0;
            runs.extend(inode.leaves.drain(..).map(|first| BlockRun { first, count: 1 }));
        }
        for run in runs {
            for block in run.blocks() {
                self.space.give_back(block);
                self.journal.forget(block);
            }
            for group in groups_of(run) {
                self.group_changed(now, group);
                self.trimmed[group as usize] = false;
            }
            if self.discard {
                self.freed.push(run);
            }
        }
    }

    fn directory_changed(&mut self, now: Nanos) {
        self.journal.change(now, self.layout.directory);
        self.journal.change(now, self.layout.root_inode());
    }

    /// Commits the running transaction and then discards what it freed.
    fn commit(&mut self, now: Nanos) -> Plan {
        let mut plan = self.journal.commit(now);
        plan.then(self.discards());
        plan
    }

    /// Discards of freed ranges that are still free.
    fn discards(&mut self) -> Vec<BlockRequest> {
        let freed = std::mem::take(&mut self.freed);
        let free = freed.into_iter().flat_map(|run| self.space.free_in(run));
        free.map(discard).collect()
    }
}

fn discard(run: BlockRun) -> BlockRequest {
    BlockRequest::Discard(run.bytes())
}

/// The groups of a run, which has a block at least.
fn groups_of(run: BlockRun) -> impl Iterator<Item = u64> {
    group_of(run.first)..=group_of(run.first.plus(run.count - 1))
}

impl Filesystem for Ext4 {
    fn total(&self) -> Bytes {
        Bytes(self.total * BLOCK)
    }

    fn free(&self) -> Bytes {
        Bytes(self.space.free() * BLOCK)
    }

    fn create(&mut self, now: Nanos, file: FileId) -> Result<(), NoSpace> {
        let index = match self.inodes.iter().position(|taken| !taken) {
            Some(index) => index,
            None => {
                self.inodes.push(false);
                self.inodes.len() - 1
            }
        };
        self.inodes[index] = true;
        let (map, leaves) = (Vec::new(), Vec::new());
        let (size, extents, modified, sync, data_sync) = (0, 0, None, 0, 0);
        let kept = None;
        let inode = Inode { index, size, map, extents, leaves, kept, modified, sync, data_sync };
        self.files.insert(file, inode);
        let group = self.layout.inode_group(index as u64);
        self.journal.change(now, self.layout.inode_bitmap(group));
        self.journal.change(now, self.layout.descriptor(group));
        self.directory_changed(now);
        self.inode_changed(now, file, true);
        Ok(())
    }

    fn delete(&mut self, now: Nanos, file: FileId) {
        let Some(index) = self.files.get(&file).map(|inode| inode.index) else { return };
        self.inode_changed(now, file, true);
        self.free_blocks(now, file, 0);
        self.files.remove(&file);
        self.inodes[index] = false;
        let group = self.layout.inode_group(index as u64);
        self.journal.change(now, self.layout.inode_bitmap(group));
        self.journal.change(now, self.layout.descriptor(group));
        // Each truncation puts the inode on the orphan list and takes it off again.
        self.journal.change(now, self.layout.superblock());
        self.directory_changed(now);
    }

    fn resize(&mut self, now: Nanos, file: FileId, size: u64) {
        let Some(inode) = self.files.get_mut(&file) else { return };
        if inode.size == size {
            return;
        }
        let shorter = size < inode.size;
        inode.size = size;
        if shorter {
            self.free_blocks(now, file, size.div_ceil(BLOCK));
            self.journal.change(now, self.layout.superblock());
        }
        self.inode_changed(now, file, true);
    }

    fn size(&self, file: FileId) -> u64 {
        self.files.get(&file).map_or(0, |inode| inode.size)
    }

    fn locate(&self, file: FileId, offset: u64, length: u64) -> Vec<Run> {
        let Some(inode) = self.files.get(&file) else { return Vec::new() };
        map::locate(&inode.map, offset, length, |block| block.number() * BLOCK)
    }

    fn is_mapped(&self, file: FileId, page: u64) -> bool {
        self.files.get(&file).is_some_and(|inode| map::is_mapped(&inode.map, page))
    }

    fn write(
        &mut self,
        now: Nanos,
        file: FileId,
        ranges: &[(u64, u64)],
        reason: Reason,
    ) -> Result<Plan, NoSpace> {
        let mut runs = Vec::new();
        for &(offset, length) in ranges {
            let (first, end) = blocks(offset, length);
            self.allocate(now, file, first, end)?;
            for run in self.locate(file, offset, length) {
                push_run(&mut runs, run);
            }
        }
        self.resize(now, file, grown(self.size(file), ranges, reason));
        let mut plan = Plan::new();
        plan.then_writes(runs);
        Ok(plan)
    }

    fn close(&mut self, file: FileId) {
        self.release_kept(file);
    }

    fn touch(&mut self, now: Nanos, file: FileId) {
        let tick = tick(now);
        let Some(inode) = self.files.get_mut(&file) else { return };
        if inode.modified != Some(tick) {
            inode.modified = Some(tick);
            self.inode_changed(now, file, false);
        }
    }

    fn sync(&mut self, now: Nanos, file: Option<FileId>, data_only: bool) -> Plan {
        let Some(inode) = file.and_then(|file| self.files.get(&file)) else {
            // For a directory, commit the running transaction if there is one.
            return self.commit(now);
        };
        let wanted = if data_only { inode.data_sync } else { inode.sync };
        if wanted == self.journal.running && self.journal.has_changes() {
            // The transaction stays open after a fast commit: the next sync of the file makes
            // another one.
            return self.journal.fast_commit().unwrap_or_else(|| self.commit(now));
        }
        let mut plan = Plan::new();
        plan.then_flush(self.barrier);
        plan
    }

    fn next_tick(&self) -> Nanos {
        self.journal.next_tick()
    }

    fn tick(&mut self, now: Nanos) -> Plan {
        let running = self.journal.running;
        let mut plan = self.journal.tick(now);
        if self.journal.running != running {
            plan.then(self.discards());
        }
        plan
    }

    fn trim(&mut self) -> (Plan, Bytes) {
        let mut plan = Plan::new();
        let mut discarded = 0;
        for group in 0..self.space.groups() {
            if std::mem::replace(&mut self.trimmed[group as usize], true) {
                continue;
            }
            let runs = self.space.free_runs(group);
            discarded += runs.iter().map(|run| run.count).sum::<u64>();
            plan.then(runs.into_iter().map(discard).collect());
        }
        (plan, Bytes(discarded * BLOCK))
    }

    #[cfg(test)]
    fn held(&self) -> Vec<Run> {
        let data = |inode: &Inode| inode.map.clone().into_iter().filter(|block| *block != HOLE);
        let of = |inode| data(inode).chain(inode.leaves.clone());
        let blocks = self.files.values().flat_map(of);
        blocks.map(|first| BlockRun { first, count: 1 }.bytes()).collect()
    }
}
