//! Btrfs, which writes data and trees to a new place each time.
//!
//! Modelled: extents of data that are copied on write (`nodatacow`: overwritten in place) and freed
//! when no file uses any of their blocks; the log tree of an fsync with its inodes, names, extents
//! and checksums, in two copies (`DUP`, `mkfs.btrfs`'s default since 5.15), made valid by the
//! superblock; commits of the transaction every 30 s, with the trees of files, extents, checksums,
//! free space and roots; blocks that are free again only after that commit; chunks of data and
//! nodes; discards after a commit, fstrim. fsync and fdatasync do the same here.
//!
//! Not modelled: inline files (up to 2 KiB in their inode's leaf), compression, snapshots,
//! balancing, asynchronous discards, free-space extents (all are bitmaps), reads of metadata (a
//! running system has it in memory), and nodes that the kernel writes back before a commit.

mod chunks;
mod commit;
mod data;
mod extents;
mod inode;
mod log;
mod nodes;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::BTreeMap;

use flashlag_units::{Bytes, Nanos};

use self::chunks::Chunks;
use self::data::Data;
use self::extents::Piece;
use self::inode::{Activity, Inode, file_extent, last_of};
use self::log::Log;
use self::nodes::{Nodes, RESERVE};
use self::tree::{
    BITMAP_ITEM, CHECKED_BY_ITEM, CHECKSUM_ITEM, EXTENT_ITEM, Key, MAPPED_BY_ITEM, Tree,
};
use super::error::LayoutError;
use super::map::{Block, BlockRun};
use super::model::{BLOCK, FileId, Filesystem, NoSpace, Reason, blocks, grown};
use crate::plan::{BlockRequest, Plan, Run, push_run};
use crate::spec::StackSpec;

/// Interval of commits (`BTRFS_DEFAULT_COMMIT_INTERVAL`).
const COMMIT_EVERY: Nanos = Nanos::from_secs(30);

#[derive(Debug)]
pub(crate) struct Btrfs {
    chunks: Chunks,
    data: Data,
    nodes: Nodes,
    trees: Trees,
    log: Log,
    total: u64,
    files: BTreeMap<FileId, Inode>,
    directory: Directory,
    /// Number of the running transaction, and when it began.
    transaction: u64,
    began: Option<Nanos>,
    barrier: bool,
    discard: bool,
    /// Whether data is copied on write, and then has checksums.
    copies: bool,
}

/// The trees that a transaction commit writes.
#[derive(Debug)]
struct Trees {
    files: Tree,
    checksums: Tree,
    free_space: Tree,
    extents: Tree,
    roots: Tree,
}

/// The one directory of all files.
#[derive(Debug, Default)]
struct Directory {
    activity: Activity,
    /// Names that the log does not have, by their place in the directory, which is the file's
    /// number.
    new: BTreeMap<u64, u32>,
}

impl Btrfs {
    pub(crate) fn new(capacity: Bytes, spec: &StackSpec) -> Result<Btrfs, LayoutError> {
        let mut chunks = Chunks::new(capacity)?;
        let data = Data::new(&mut chunks);
        let nodes = Nodes::new(&mut chunks);
        chunks.is_grown = false;
        let tree = Tree::new;
        Ok(Btrfs {
            total: data.free(&chunks),
            data,
            chunks,
            nodes,
            trees: Trees {
                files: tree(),
                checksums: tree(),
                free_space: tree(),
                extents: tree(),
                roots: tree(),
            },
            log: Log::new(),
            files: BTreeMap::new(),
            directory: Directory::default(),
            transaction: 1,
            began: None,
            barrier: spec.barrier,
            discard: spec.discard,
            copies: spec.copy_on_write,
        })
    }

    /// Marks a file changed by the running transaction.
    fn change(&mut self, now: Nanos, file: FileId) -> Option<&mut Inode> {
        self.began.get_or_insert(now);
        let inode = self.files.get_mut(&file)?;
        inode.activity.of(self.transaction).is_changed = true;
        self.trees.files.insert(inode::inode(file), inode::INODE);
        Some(inode)
    }

    fn directory_changed(&mut self, now: Nanos) -> &mut Activity {
        self.began.get_or_insert(now);
        self.trees.files.insert(inode::directory(tree::Kind::Inode, 0), inode::INODE);
        let activity = self.directory.activity.of(self.transaction);
        activity.is_changed = true;
        activity
    }

    /// Cuts pages out of a file and releases their blocks.
    fn cut(&mut self, file: FileId, first: u64, end: u64) {
        let Some(inode) = self.files.get_mut(&file) else { return };
        let cut = inode.map.cut(first, end);
        for page in cut.gone {
            self.trees.files.remove(file_extent(file, page));
        }
        if let Some(page) = cut.rest {
            self.trees.files.insert(file_extent(file, page), inode::FILE_EXTENT);
            inode.activity.of(self.transaction).rests.push(page);
        }
        for run in cut.freed {
            self.data_changed(run);
            if let Some(extent) = self.data.release(run) {
                self.trees.extents.remove(extent_key(extent));
            }
        }
    }

    /// Marks the checksum items and free-space bitmaps of these blocks changed.
    fn data_changed(&mut self, run: BlockRun) {
        let Trees { checksums, free_space, .. } = &mut self.trees;
        let checksums = (checksums, CHECKED_BY_ITEM, CHECKSUM_ITEM);
        let free_space = (free_space, MAPPED_BY_ITEM, BITMAP_ITEM);
        let changed = self.copies.then_some(checksums).into_iter().chain([free_space]);
        for (tree, each, size) in changed {
            let (first, last) = (run.first.number() / each, (run.end().number() - 1) / each);
            for index in first..=last {
                tree.insert(inode::checksum(index * each), size);
            }
        }
    }

    /// Writes pages of a file to new extents; adds their ranges of the device to `runs`.
    fn copy(
        &mut self,
        file: FileId,
        (first, end): (u64, u64),
        runs: &mut Vec<Run>,
    ) -> Result<(), NoSpace> {
        if first >= end {
            return Ok(());
        }
        let goal = self.goal(file, first);
        self.cut(file, first, end);
        let mut at = first;
        while at < end {
            let run = self.data.allocate(&mut self.chunks, goal, end - at).ok_or(NoSpace)?;
            self.data_changed(run);
            self.trees.extents.insert(extent_key(run), EXTENT_ITEM);
            self.trees.files.insert(file_extent(file, at), inode::FILE_EXTENT);
            if let Some(inode) = self.files.get_mut(&file) {
                inode.map.put(at, Piece { run, born: self.transaction });
            }
            push_run(runs, run.bytes());
            at += run.count;
        }
        if let Some(inode) = self.files.get_mut(&file) {
            inode.activity.of(self.transaction).written.push((first, end));
        }
        Ok(())
    }

    /// The goal of an allocation: where the page is now, or the page before it
    /// (`get_extent_allocation_hint`).
    fn goal(&self, file: FileId, page: u64) -> Block {
        let block = |page| self.files.get(&file).and_then(|inode| inode.map.block(page));
        let before = || page.checked_sub(1).and_then(block);
        block(page).or_else(before).unwrap_or(Block(0))
    }

    /// Ranges of pages that a write puts into new extents, and the reads of pages that it covers
    /// only in part.
    fn fresh(
        &self,
        file: FileId,
        range: (u64, u64),
        reason: Reason,
    ) -> (Vec<(u64, u64)>, Vec<Run>) {
        let (offset, length) = range;
        let (first, end) = blocks(offset, length);
        if !self.copies {
            let holes = self.files.get(&file).map(|inode| inode.map.holes(first, end));
            return (holes.unwrap_or_default(), Vec::new());
        }
        let mut reads = Vec::new();
        if reason == Reason::Direct {
            let head = (!offset.is_multiple_of(BLOCK)).then_some(first);
            let tail = (!(offset + length).is_multiple_of(BLOCK)).then_some(end - 1);
            for page in head.into_iter().chain(tail.filter(|tail| head != Some(*tail))) {
                reads.extend(self.locate(file, page * BLOCK, BLOCK));
            }
        }
        (vec![(first, end)], reads)
    }
}

fn extent_key(run: BlockRun) -> Key {
    let object = run.first.number() * BLOCK;
    Key { object, kind: tree::Kind::Extent, offset: run.count * BLOCK }
}

impl Filesystem for Btrfs {
    fn total(&self) -> Bytes {
        Bytes(self.total * BLOCK)
    }

    fn free(&self) -> Bytes {
        Bytes(self.data.free(&self.chunks) * BLOCK)
    }

    fn create(&mut self, now: Nanos, file: FileId) -> Result<(), NoSpace> {
        if self.nodes.free_then() < RESERVE && !self.nodes.grow(&mut self.chunks) {
            return Err(NoSpace);
        }
        self.files.insert(file, Inode::default());
        self.name(file, "");
        self.directory_changed(now);
        if let Some(inode) = self.change(now, file) {
            inode.activity.is_whole = true;
        }
        Ok(())
    }

    fn name(&mut self, file: FileId, name: &str) {
        let length = u32::try_from(name.len()).unwrap_or(u32::MAX).min(255);
        if let Some(inode) = self.files.get_mut(&file) {
            inode.name = length;
        }
        let index = u64::from(file.0);
        self.directory.new.insert(index, length);
        let tree = &mut self.trees.files;
        tree.insert(inode::inode_ref(file), inode::INODE_REF + length);
        for kind in [tree::Kind::DirItem, tree::Kind::DirIndex] {
            tree.insert(inode::directory(kind, index), inode::DIR_ENTRY + length);
        }
    }

    fn delete(&mut self, now: Nanos, file: FileId) {
        let Some(inode) = self.files.get_mut(&file) else { return };
        let is_logged = inode.activity.of(self.transaction).is_logged;
        self.cut(file, 0, u64::MAX);
        self.files.remove(&file);
        self.trees.files.remove_range(inode::inode(file), last_of(file));
        let index = u64::from(file.0);
        for kind in [tree::Kind::DirItem, tree::Kind::DirIndex] {
            self.trees.files.remove(inode::directory(kind, index));
        }
        self.directory.new.remove(&index);
        if self.directory_changed(now).is_logged || is_logged {
            self.log.unlink(file, index);
        }
    }

    fn resize(&mut self, now: Nanos, file: FileId, size: u64) {
        let Some(inode) = self.files.get_mut(&file) else { return };
        let old = std::mem::replace(&mut inode.size, size);
        if old == size {
            return;
        }
        if size < old {
            inode.activity.of(self.transaction).is_whole = true;
            self.cut(file, size.div_ceil(BLOCK), u64::MAX);
        }
        self.change(now, file);
    }

    fn size(&self, file: FileId) -> u64 {
        self.files.get(&file).map_or(0, |inode| inode.size)
    }

    fn locate(&self, file: FileId, offset: u64, length: u64) -> Vec<Run> {
        self.files.get(&file).map(|inode| inode.map.locate(offset, length)).unwrap_or_default()
    }

    fn is_mapped(&self, file: FileId, page: u64) -> bool {
        self.files.get(&file).is_some_and(|inode| inode.map.block(page).is_some())
    }

    fn takes_room(&self, file: FileId, page: u64) -> bool {
        self.copies || !self.is_mapped(file, page)
    }

    fn write(
        &mut self,
        now: Nanos,
        file: FileId,
        ranges: &[(u64, u64)],
        reason: Reason,
    ) -> Result<Plan, NoSpace> {
        let parts: Vec<_> = ranges.iter().map(|range| self.fresh(file, *range, reason)).collect();
        let pages = |(ranges, _): &(Vec<(u64, u64)>, Vec<Run>)| -> u64 {
            ranges.iter().map(|(first, end)| end - first).sum()
        };
        let mut plan = self.make_room(now, parts.iter().map(pages).sum())?;
        let (mut reads, mut runs) = (Vec::new(), Vec::new());
        for ((ranges, parts), (offset, length)) in parts.into_iter().zip(ranges) {
            reads.extend(parts.into_iter().map(BlockRequest::Read));
            for range in &ranges {
                let mut written = Vec::new();
                self.copy(file, *range, &mut written)?;
                if self.copies {
                    written.into_iter().for_each(|run| push_run(&mut runs, run));
                }
            }
            if !self.copies {
                for run in self.locate(file, *offset, *length) {
                    push_run(&mut runs, run);
                }
            }
        }
        self.resize(now, file, grown(self.size(file), ranges, reason));
        self.change(now, file);
        plan.then(reads);
        plan.then_writes(runs);
        Ok(plan)
    }

    fn touch(&mut self, now: Nanos, file: FileId) {
        self.change(now, file);
    }

    fn sync(&mut self, now: Nanos, file: Option<FileId>, _: bool) -> Plan {
        match file {
            Some(file) => self.sync_file(now, file),
            None => self.sync_directory(now),
        }
    }

    fn next_tick(&self) -> Nanos {
        self.began.map_or(Nanos::MAX, |began| began.plus(COMMIT_EVERY))
    }

    fn tick(&mut self, now: Nanos) -> Plan {
        if self.next_tick() <= now { self.commit() } else { Plan::new() }
    }

    fn trim(&mut self) -> (Plan, Bytes) {
        // Makes what earlier syncs freed available again.
        let mut plan = self.commit();
        let mut runs = self.data.free_places(&self.chunks);
        runs.extend(self.nodes.free_places());
        let discarded = runs.iter().map(|run| run.length).sum();
        plan.then(runs.into_iter().map(BlockRequest::Discard).collect());
        (plan, Bytes(discarded))
    }

    #[cfg(test)]
    fn held(&self) -> Vec<Run> {
        let mut held = self.data.held();
        held.extend(self.nodes.added());
        held
    }
}
