//! F2FS appends data and nodes to logs. Recovery finds the nodes that an fsync wrote; a checkpoint
//! makes everything durable.
//!
//! Modelled: maps of files in inodes and direct nodes; appending data and (`ipu`) overwriting a few
//! pages of an fsync in place; fsync by writing nodes; checkpoints (every 60 s, for directories,
//! and when segments run short) with their packs, tables and summaries; threaded logging; cleaning
//! of the segment with the fewest valid blocks; discards of segments that a checkpoint freed;
//! fstrim. While the device is idle: discards and (`background_gc=on`) cleaning. Inline data (files
//! of up to 3,488 bytes, in their inodes) moves to a block before a buffered write makes the file
//! larger.
//!
//! On a zoned device (`lfs` mode) a section is a zone, and all writes append, direct ones too.
//! Metadata that has its place (checkpoints and tables) is in the conventional zones. Logs never go
//! on in holes; cleaning moves what is valid of a zone, and the checkpoint that frees a zone resets
//! it.
//!
//! `noipu` is a kernel before 3.17: all writes append, direct ones too; an fsync writes the changed
//! node without the inode; and no data is inline. Not modelled: indirect nodes, compression,
//! age-threshold cleaning.

mod checkpoint;
mod clean;
mod inode;
mod layout;
mod rest;
mod segments;
mod sync;
#[cfg(test)]
mod tests;
mod write;
#[cfg(test)]
mod zoned_tests;

use std::collections::{BTreeMap, BTreeSet};

use flashlag_device::ZoneGeometry;
use flashlag_spec::target::FsyncMode;
use flashlag_units::{Bytes, Nanos};

use self::inode::{INLINE, Inode, Temperature, is_nowhere, node_of};
use self::layout::{CHECKPOINT_EVERY, CLEAN_EVERY, Layout};
use self::segments::{Log, Owner, Section, Segments};
use super::error::LayoutError;
use super::map::{self, Block, HOLE, tick};
use super::model::{AtomicWrite, BLOCK, FileId, Filesystem, NoSpace, Quiet, Reason, blocks, grown};
use crate::plan::{BlockRequest, Plan, Run, push_run};
use crate::spec::StackSpec;

/// Largest number of pages that an fsync overwrites in place (`min_fsync_blocks`).
const IN_PLACE_PAGES: u64 = 8;

#[derive(Debug)]
pub(crate) struct F2fs {
    layout: Layout,
    segments: Segments,
    files: BTreeMap<u32, Inode>,
    directory: Directory,
    next_node: u64,
    /// Number of nodes without a block; one is reserved for each.
    promised: u64,
    /// Nodes whose address changed since the last checkpoint.
    moved_nodes: BTreeSet<u64>,
    version: u64,
    checkpoint_due: Option<Nanos>,
    barrier: bool,
    fsync_mode: FsyncMode,
    /// Whether a name was removed since the last checkpoint: the strict mode checks this.
    unlinked: bool,
    discard: Discarding,
    in_place: bool,
    /// Free segments that were not discarded since they became free.
    untrimmed: BTreeSet<Section>,
    /// When the cleaning thread runs next; `None` without that thread.
    cleaning: Option<Nanos>,
    /// Whether every section is a zone, so that every write appends (`lfs` mode).
    zoned: bool,
    /// Blocks of zones that have an owner and were never sent: the next plan writes them first,
    /// since zones are written in order.
    unsent: Vec<Run>,
}

/// When F2FS discards the segments that a checkpoint frees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Discarding {
    /// Never by itself: only a trim discards.
    Never,
    /// During the checkpoint: before Linux 4.12.
    AtCheckpoint,
    /// In a thread, while the device is idle.
    AtRest,
}

/// The one directory of all files.
#[derive(Debug, Default)]
struct Directory {
    /// Block of names of the root directory. An app's own directory has its few names in its inode.
    entries: Option<Block>,
    node: Option<Block>,
    changed: bool,
}

/// File number that stands for the directory.
const DIRECTORY: u32 = (1 << 31) - 2;

impl F2fs {
    pub(crate) fn new(
        capacity: Bytes,
        spec: &StackSpec,
        zones: Option<ZoneGeometry>,
    ) -> Result<F2fs, LayoutError> {
        let layout = Layout::new(capacity.0 / BLOCK, zones)?;
        let thread_from = zones.is_none().then(|| layout.thread_from(spec.ipu));
        let mut segments = Segments::new(layout.sections, layout.section, thread_from);
        let names = Owner::Data { file: DIRECTORY, page: 0 };
        let entries = if spec.rootdir { segments.append(Log::HotData, names) } else { None };
        let node = segments.append(Log::HotNode, Owner::Node { file: DIRECTORY, node: 0 });
        let mut fs = F2fs {
            segments,
            layout,
            files: BTreeMap::new(),
            directory: Directory { entries, node, changed: false },
            next_node: 4,
            promised: 0,
            moved_nodes: BTreeSet::new(),
            version: 0,
            checkpoint_due: None,
            barrier: spec.barrier,
            fsync_mode: spec.fsync_mode,
            unlinked: false,
            discard: match (spec.discard, spec.ipu) {
                _ if zones.is_some() => Discarding::AtCheckpoint,
                (false, _) => Discarding::Never,
                (true, true) => Discarding::AtRest,
                (true, false) => Discarding::AtCheckpoint,
            },
            in_place: spec.ipu,
            untrimmed: BTreeSet::new(),
            cleaning: spec.background_cleaning.then_some(CLEAN_EVERY),
            zoned: zones.is_some(),
            unsent: Vec::new(),
        };
        // What mkfs.f2fs wrote.
        let written = entries.into_iter().chain(node).map(|block| fs.place(block)).collect();
        fs.keep_unsent(written);
        Ok(fs)
    }

    /// What [`Filesystem::free`] returns for an empty filesystem, computed without its tables.
    pub(crate) fn room(
        capacity: Bytes,
        spec: &StackSpec,
        zones: Option<ZoneGeometry>,
    ) -> Result<Bytes, LayoutError> {
        let layout = Layout::new(capacity.0 / BLOCK, zones)?;
        // The root directory's node, and the block with its entries.
        let used = 1 + u64::from(spec.rootdir);
        Ok(Bytes(layout.most().saturating_sub(used) * BLOCK))
    }

    fn place(&self, block: Block) -> Run {
        Run { offset: (self.layout.main + u64::from(block.0)) * BLOCK, length: BLOCK }
    }

    /// Records that the next checkpoint has something to write.
    fn changed(&mut self, now: Nanos) {
        self.checkpoint_due.get_or_insert(now.plus(CHECKPOINT_EVERY));
    }

    /// Number of blocks that files can still use.
    fn left(&self) -> u64 {
        self.layout.most().saturating_sub(self.segments.used() + self.promised)
    }

    /// Appends a page and changes the node that points to it; frees the page's old block.
    fn append_page(&mut self, file: u32, page: u64, log: Log) -> Result<Block, NoSpace> {
        let owner = Owner::Data { file, page: page as u32 };
        let block = self.segments.append(log, owner).ok_or(NoSpace)?;
        let old = self.files.get_mut(&file).map(|inode| {
            if inode.map.len() as u64 <= page {
                inode.map.resize(page as usize + 1, HOLE);
            }
            self.promised += inode.change(node_of(page));
            std::mem::replace(&mut inode.map[page as usize], block)
        });
        if let Some(old) = old.filter(|old| *old != HOLE) {
            self.segments.invalidate(old);
        }
        Ok(block)
    }

    /// Appends a new version of a node.
    fn append_node(&mut self, file: u32, node: u32) -> Result<Block, NoSpace> {
        let owner = Owner::Node { file, node };
        let block = self.segments.append(Log::WarmNode, owner).ok_or(NoSpace)?;
        let Some(inode) = self.files.get_mut(&file) else { return Ok(block) };
        while inode.nodes.len() <= node as usize {
            inode.nodes.push((self.next_node, HOLE));
            self.next_node += 1;
        }
        let was_dirty = inode.dirty.remove(&node);
        inode.fresh &= node != 0;
        let (number, old) = inode.nodes[node as usize];
        inode.nodes[node as usize].1 = block;
        self.moved_nodes.insert(number);
        if old != HOLE {
            self.segments.invalidate(old);
        } else if was_dirty {
            self.promised -= 1;
        }
        Ok(block)
    }

    /// Appends new versions of several nodes.
    fn write_nodes(&mut self, file: u32, nodes: &BTreeSet<u32>) -> Vec<Run> {
        let mut runs = Vec::new();
        for node in nodes {
            if let Ok(block) = self.append_node(file, *node) {
                push_run(&mut runs, self.place(block));
            }
        }
        runs
    }

    fn free_pages(&mut self, file: u32, from: u64) {
        let Some(inode) = self.files.get_mut(&file) else { return };
        let from = (from as usize).min(inode.map.len());
        let pages = inode.map.split_off(from);
        let last = if from == 0 { 0 } else { node_of(from as u64 - 1) };
        let nodes = inode.nodes.split_off((last as usize + 1).min(inode.nodes.len()));
        // A node that was never written stays dirty.
        let mut dropped = inode.dirty.split_off(&(last + 1));
        dropped.retain(|node| nodes.get((*node - last - 1) as usize).is_none_or(is_nowhere));
        self.promised -= dropped.len() as u64;
        self.promised += inode.change(last);
        for block in pages.into_iter().filter(|block| *block != HOLE) {
            self.segments.invalidate(block);
        }
        for (number, block) in nodes {
            self.moved_nodes.insert(number);
            if block != HOLE {
                self.segments.invalidate(block);
            }
        }
    }
}

impl Filesystem for F2fs {
    fn total(&self) -> Bytes {
        let names = 1 + u64::from(self.directory.entries.is_some());
        Bytes((self.layout.most() - names) * BLOCK)
    }

    fn free(&self) -> Bytes {
        Bytes(self.left() * BLOCK)
    }

    fn create(&mut self, now: Nanos, file: FileId) -> Result<(), NoSpace> {
        if self.left() == 0 {
            return Err(NoSpace);
        }
        let mut inode =
            Inode { touched: true, inline: self.in_place, fresh: true, ..Inode::default() };
        self.promised += inode.change(0);
        self.files.insert(file.0, inode);
        self.directory.changed = true;
        self.changed(now);
        Ok(())
    }

    fn name(&mut self, file: FileId, name: &str) {
        if let Some(inode) = self.files.get_mut(&file.0) {
            inode.by_name = Temperature::of(name);
        }
    }

    fn delete(&mut self, now: Nanos, file: FileId) {
        self.segments.now = now;
        self.unlinked = true;
        self.free_pages(file.0, 0);
        let Some(inode) = self.files.remove(&file.0) else { return };
        let is_promised = |node: &&u32| inode.nodes.get(**node as usize).is_none_or(is_nowhere);
        self.promised -= inode.dirty.iter().filter(is_promised).count() as u64;
        for (number, block) in inode.nodes {
            self.moved_nodes.insert(number);
            if block != HOLE {
                self.segments.invalidate(block);
            }
        }
        self.directory.changed = true;
        self.changed(now);
    }

    fn resize(&mut self, now: Nanos, file: FileId, size: u64) {
        self.segments.now = now;
        let Some(inode) = self.files.get_mut(&file.0) else { return };
        let old = std::mem::replace(&mut inode.size, size);
        if old == size {
            return;
        }
        self.promised += inode.change(0);
        if size < old {
            self.free_pages(file.0, size.div_ceil(BLOCK));
        }
        self.changed(now);
    }

    fn size(&self, file: FileId) -> u64 {
        self.files.get(&file.0).map_or(0, |inode| inode.size)
    }

    fn outgrows(&mut self, file: FileId, size: u64) -> bool {
        let Some(inode) = self.files.get_mut(&file.0) else { return false };
        let outgrows = inode.inline && size > INLINE;
        inode.inline &= !outgrows;
        outgrows && inode.size > 0
    }

    fn writes_old_end(&self, file: FileId) -> bool {
        // As counted on Linux 6.12: one page for each call that makes a file larger.
        self.fsync_mode == FsyncMode::Strict
            && self.files.get(&file.0).is_some_and(|inode| !inode.inline)
    }

    fn locate(&self, file: FileId, offset: u64, length: u64) -> Vec<Run> {
        let Some(inode) = self.files.get(&file.0) else { return Vec::new() };
        map::locate(&inode.map, offset, length, |block| self.place(block).offset)
    }

    fn is_mapped(&self, file: FileId, page: u64) -> bool {
        self.files.get(&file.0).is_some_and(|inode| map::is_mapped(&inode.map, page))
    }

    fn write(
        &mut self,
        now: Nanos,
        file: FileId,
        ranges: &[(u64, u64)],
        reason: Reason,
    ) -> Result<Plan, NoSpace> {
        self.segments.now = now;
        if let Some(inode) = self.files.get_mut(&file.0) {
            let small = inode.size <= INLINE && reason != Reason::Direct;
            if inode.inline && small {
                self.promised += inode.change(0);
                self.changed(now);
                return Ok(Plan::new());
            }
            inode.inline = false;
        }
        let pages = |(offset, length): &(u64, u64)| {
            let (first, end) = blocks(*offset, *length);
            end - first
        };
        let fresh = self.holes(file, ranges);
        if fresh > 0 && fresh + self.fresh_nodes(file, ranges) > self.left() {
            return Err(NoSpace);
        }
        let mut plan = self.make_room(now);
        let count = ranges.iter().map(pages).sum();
        let log = self.files.get_mut(&file.0).map_or(Log::WarmData, |inode| {
            inode.settled = false;
            // Direct writes to zones are written back from the page cache at once.
            let reason = match reason {
                Reason::Direct if self.zoned => Reason::Writeback,
                other => other,
            };
            inode.log(reason, count, !self.in_place)
        });
        let (mut reads, mut runs) = (Vec::new(), Vec::new());
        for &(offset, length) in ranges {
            let written =
                self.write_range(file, offset, length, reason, log, &mut reads, &mut runs);
            if let Err(full) = written {
                self.keep_unsent(runs);
                return Err(full);
            }
        }
        self.resize(now, file, grown(self.size(file), ranges, reason));
        // Blocks written in place need no checkpoint.
        if !self.segments.changed.is_empty() {
            self.changed(now);
        }
        plan.then(reads);
        plan.then_writes(runs);
        Ok(plan)
    }

    fn touch(&mut self, now: Nanos, file: FileId) {
        let tick = tick(now);
        if let Some(inode) = self.files.get_mut(&file.0)
            && inode.modified != Some(tick)
        {
            inode.modified = Some(tick);
            inode.touched = true;
        }
    }

    /// The inode has the name and the parent, so that the next checkpoint writes it (`f2fs_rename`).
    fn rename(&mut self, now: Nanos, file: FileId) {
        self.touch(now, file);
        if let Some(inode) = self.files.get_mut(&file.0) {
            self.promised += inode.change(0);
        }
        self.directory.changed = true;
        self.changed(now);
    }

    fn sync(&mut self, now: Nanos, file: Option<FileId>, data_only: bool) -> Plan {
        self.segments.now = now;
        match file {
            Some(file) => self.sync_file(now, file, data_only),
            None => self.checkpoint(now),
        }
    }

    fn write_atomically(
        &mut self,
        now: Nanos,
        file: FileId,
        pages: &[u64],
    ) -> Result<AtomicWrite, NoSpace> {
        self.segments.now = now;
        self.commit_pages(now, file, pages)
    }

    fn next_tick(&self) -> Nanos {
        self.checkpoint_due.unwrap_or(Nanos::MAX)
    }

    fn tick(&mut self, now: Nanos) -> Plan {
        self.segments.now = now;
        if self.checkpoint_due.is_some_and(|due| due <= now) {
            return self.checkpoint(now);
        }
        Plan::new()
    }

    fn next_rest(&self, quiet: &Quiet) -> Nanos {
        self.next_discards(quiet).min(self.next_cleaning(quiet))
    }

    fn rest(&mut self, quiet: &Quiet) -> Plan {
        self.segments.now = quiet.now;
        if self.next_discards(quiet) <= quiet.now {
            return self.discard_some();
        }
        if self.next_cleaning(quiet) <= quiet.now {
            return self.clean_at_rest(quiet.now);
        }
        Plan::new()
    }

    fn trim(&mut self) -> (Plan, Bytes) {
        // A trim begins with a checkpoint, which frees the segments of deleted files.
        let mut plan = self.checkpoint(self.segments.now);
        let segments = std::mem::take(&mut self.untrimmed);
        let free = segments.into_iter().filter(|segment| self.segments.is_free(*segment));
        let runs = self.segment_runs(free);
        let discarded = runs.iter().map(|run| run.length).sum();
        plan.then(runs.into_iter().map(BlockRequest::Discard).collect());
        (plan, Bytes(discarded))
    }

    #[cfg(test)]
    fn promised(&self) -> u64 {
        let fresh = |inode: &Inode| {
            let dirty = inode.dirty.iter();
            dirty.filter(|node| inode.nodes.get(**node as usize).is_none_or(is_nowhere)).count()
        };
        self.files.values().map(fresh).sum::<usize>() as u64 * BLOCK
    }

    #[cfg(test)]
    fn held(&self) -> Vec<Run> {
        let mut held = Vec::new();
        let mut of = |block: Block, owner: Owner| {
            if block != HOLE {
                assert_eq!(self.segments.owner(block), Some(owner), "{block:?}");
                held.push(self.place(block));
            }
        };
        for (&file, inode) in &self.files {
            for (page, &block) in (0_u32..).zip(&inode.map) {
                of(block, Owner::Data { file, page });
            }
            for (node, &(_, block)) in (0_u32..).zip(&inode.nodes) {
                of(block, Owner::Node { file, node });
            }
        }

        let Directory { entries, node, .. } = self.directory;
        of(entries.unwrap_or(HOLE), Owner::Data { file: DIRECTORY, page: 0 });
        of(node.unwrap_or(HOLE), Owner::Node { file: DIRECTORY, node: 0 });
        held
    }
}
