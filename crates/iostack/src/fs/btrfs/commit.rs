//! Commits: of the log by an fsync, and of a transaction with all trees.

use flashlag_stats::Wait;
use flashlag_units::Nanos;

use super::chunks::SUPERBLOCKS;
use super::inode::{Activity, directory};
use super::nodes::{Nodes, RESERVE};
use super::tree::{Key, Kind, NODE_ITEM, Tree};
use super::{Btrfs, Trees};
use crate::fs::map::Block;
use crate::fs::{BLOCK, FileId, NoSpace};
use crate::plan::{BlockRequest, Plan, Run};

/// Bytes of the items in the root tree, which fit into one leaf.
const ROOTS_ITEM: u32 = 3500;

impl Btrfs {
    /// Ensures that `blocks` blocks of data, and the nodes of a commit, can be allocated; commits
    /// the transaction if only that would free them.
    pub(super) fn make_room(&mut self, now: Nanos, blocks: u64) -> Result<Plan, NoSpace> {
        if blocks > 0 && blocks > self.data.free(&self.chunks) {
            return Err(NoSpace);
        }
        let mut plan = self.node_room();
        if blocks > self.data.ready(&self.chunks) {
            plan.then_plan(self.commit());
            self.began.get_or_insert(now);
        }
        if blocks > self.data.ready(&self.chunks) { Err(NoSpace) } else { Ok(plan) }
    }

    /// Makes room for the nodes of the next commit: allocates a chunk of nodes, or commits the
    /// transaction.
    fn node_room(&mut self) -> Plan {
        let wanted = RESERVE + 2 * self.dirty();
        if self.nodes.free() >= wanted || self.nodes.grow(&mut self.chunks) {
            return Plan::new();
        }
        self.commit()
    }

    /// Number of changed nodes, those of the log included.
    fn dirty(&self) -> u64 {
        let Trees { files, checksums, free_space, extents, roots } = &self.trees;
        let trees = [files, checksums, free_space, extents, roots];
        self.log.dirty() + trees.into_iter().map(Tree::dirty).sum::<u64>()
    }

    /// fsync of a file: logs what the running transaction did to it.
    pub(super) fn sync_file(&mut self, now: Nanos, file: FileId) -> Plan {
        let (transaction, checks) = (self.transaction, self.copies);
        let Some(inode) = self.files.get_mut(&file) else { return Plan::new() };
        if !inode.activity.of(transaction).is_changed {
            return Plan::new();
        }
        self.log.file(file, inode, transaction, checks);
        self.commit_log(now)
    }

    /// fsync of the directory: logs names that are new in it.
    pub(super) fn sync_directory(&mut self, now: Nanos) -> Plan {
        let Activity { is_changed, is_logged, .. } = self.directory.activity.of(self.transaction);
        if !std::mem::take(is_changed) {
            return Plan::new();
        }
        let is_first = !std::mem::replace(is_logged, true);
        let new: Vec<(u64, u32)> = std::mem::take(&mut self.directory.new).into_iter().collect();
        self.log.directory(&new, is_first);
        self.commit_log(now)
    }

    /// Writes the log, and then the superblock that points to it. Without room for a log, or with a
    /// new chunk, commits the transaction instead.
    fn commit_log(&mut self, now: Nanos) -> Plan {
        self.began.get_or_insert(now);
        let has_room = self.nodes.free() >= RESERVE + 2 * self.log.dirty();
        if self.chunks.is_grown || !(has_room || self.nodes.grow(&mut self.chunks)) {
            return self.commit();
        }
        let mut plan = Plan::new();
        (plan.commits, plan.flushes_apart) = (true, true);
        plan.step = Wait::FilesystemCommit;
        let written = self.log.write_out(&mut self.nodes);
        plan.then_writes(self.nodes.places(&written));
        plan.then_seal(vec![superblock(SUPERBLOCKS[0])], self.barrier);
        plan
    }

    /// Commits the running transaction: all changed trees, and all copies of the superblock. After
    /// that, what it freed can be allocated again.
    pub(super) fn commit(&mut self) -> Plan {
        let mut plan = Plan::new();
        if self.began.take().is_none() {
            return plan;
        }
        (plan.commits, plan.flushes_apart) = (true, true);
        plan.step = Wait::FilesystemCommit;
        self.log.end(&mut self.nodes);
        let written = self.write_trees();
        plan.then_writes(self.nodes.places(&written));
        plan.then_flush(self.barrier);
        let end = self.chunks.end() * BLOCK;
        let copies = SUPERBLOCKS.into_iter().filter(|offset| offset + BLOCK <= end);
        let mut supers: Vec<BlockRequest> =
            copies.map(|offset| BlockRequest::Write(superblock(offset))).collect();
        if self.barrier
            && let Some(first) = supers.first_mut()
        {
            *first = BlockRequest::WriteDurable(superblock(SUPERBLOCKS[0]));
        }
        plan.then(supers);
        self.transaction += 1;
        self.chunks.is_grown = false;
        self.directory.new.clear();
        let mut freed = self.data.unpin();
        freed.extend(self.nodes.unpin());
        if self.discard {
            plan.then(freed.into_iter().map(BlockRequest::Discard).collect());
        }
        plan
    }

    /// Writes all changed nodes of the trees to new places.
    fn write_trees(&mut self) -> Vec<Block> {
        let (trees, nodes) = (&mut self.trees, &mut self.nodes);
        trees.roots.insert(directory(Kind::Inode, 0), ROOTS_ITEM);
        let (mut written, mut left) = (Vec::new(), Vec::new());
        for tree in
            [&mut trees.files, &mut trees.checksums, &mut trees.free_space, &mut trees.roots]
        {
            written.extend(tree.write_out(nodes, &mut left));
        }
        // The extent tree has an item for each node; items for its own nodes are not modelled.
        let key = |nodes: &Nodes, node: Block| Key {
            object: nodes.block(node, 0) * BLOCK,
            kind: Kind::MetadataExtent,
            offset: 0,
        };
        for node in &left {
            trees.extents.remove(key(nodes, *node));
        }
        for node in &written {
            trees.extents.insert(key(nodes, *node), NODE_ITEM);
        }
        let own = trees.extents.write_out(nodes, &mut left);
        written.extend(own);
        nodes.pin(left);
        written
    }
}

fn superblock(offset: u64) -> Run {
    Run { offset, length: BLOCK }
}
