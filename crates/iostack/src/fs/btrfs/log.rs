//! The log tree: what fsyncs have logged of files and the directory since the last transaction
//! commit (`tree-log.c` of Linux 6.12).

use super::inode::{
    CHECKED, CHECKSUM, DIR_ENTRY, DIR_LOG, FILE_EXTENT, INODE, INODE_REF, Inode, checksum,
    directory, file_extent, inode, inode_ref, last_of,
};
use super::nodes::Nodes;
use super::tree::{Kind, Tree};
use crate::fs::FileId;
use crate::fs::map::{Block, BlockRun};

/// The log since the last transaction commit.
#[derive(Debug)]
pub(super) struct Log {
    tree: Tree,
    /// The leaf of the tree that points to the log tree.
    root: Option<Block>,
}

impl Log {
    pub(super) fn new() -> Log {
        Log { tree: Tree::new(), root: None }
    }

    /// Number of nodes that a commit of the log writes, at most.
    pub(super) fn dirty(&self) -> u64 {
        self.tree.dirty() + 1
    }

    /// Logs what the running transaction changed in a file.
    pub(super) fn file(
        &mut self,
        file: FileId,
        changed: &mut Inode,
        transaction: u64,
        checks: bool,
    ) {
        let Inode { map, name, activity, .. } = changed;
        let activity = activity.of(transaction);
        if std::mem::take(&mut activity.is_whole) {
            self.tree.remove_range(inode(file), last_of(file));
            self.tree.insert(inode_ref(file), INODE_REF + *name);
            for (page, piece) in map.pieces(0, u64::MAX) {
                if piece.born == transaction {
                    self.tree.insert(file_extent(file, page), FILE_EXTENT);
                    self.checksums(piece.run, checks);
                }
            }
        } else {
            for (first, end) in &activity.written {
                let (from, to) = (file_extent(file, *first), file_extent(file, *end - 1));
                self.tree.remove_range(from, to);
                for (page, piece) in map.pieces(*first, *end) {
                    self.tree.insert(file_extent(file, page), FILE_EXTENT);
                    self.checksums(piece.run, checks);
                }
            }
            for page in &activity.rests {
                let rest = map.pieces(*page, page + 1).next();
                if rest.is_some_and(|(_, piece)| piece.born == transaction) {
                    self.tree.insert(file_extent(file, *page), FILE_EXTENT);
                }
            }
        }
        self.tree.insert(inode(file), INODE);
        (activity.is_changed, activity.is_logged) = (false, true);
        activity.written.clear();
        activity.rests.clear();
    }

    fn checksums(&mut self, run: BlockRun, checks: bool) {
        let mut at = run.first.number();
        while checks && at < run.end().number() {
            let count = CHECKED.min(run.end().number() - at);
            self.tree.insert(checksum(at), (count * CHECKSUM) as u32);
            at += count;
        }
    }

    /// Logs the directory and the names that are new in it (place and length). `is_first`: nothing
    /// was logged of it in this transaction yet.
    pub(super) fn directory(&mut self, new: &[(u64, u32)], is_first: bool) {
        self.tree.insert(directory(Kind::Inode, 0), INODE);
        if is_first {
            self.tree.insert(directory(Kind::InodeRef, 0), INODE_REF);
            let first = new.first().map_or(0, |(index, _)| *index);
            self.tree.insert(directory(Kind::DirLogIndex, first), DIR_LOG);
        }
        for (index, name) in new {
            self.tree.insert(directory(Kind::DirIndex, *index), DIR_ENTRY + name);
        }
    }

    /// Removes the name of a deleted file from the log.
    pub(super) fn unlink(&mut self, file: FileId, index: u64) {
        self.tree.remove(inode_ref(file));
        self.tree.remove(directory(Kind::DirIndex, index));
    }

    /// Gives all changed nodes new places; returns the nodes to write.
    pub(super) fn write_out(&mut self, nodes: &mut Nodes) -> Vec<Block> {
        let mut left = Vec::new();
        let mut written = self.tree.write_out(nodes, &mut left);
        left.extend(std::mem::replace(&mut self.root, nodes.allocate()));
        written.extend(self.root);
        nodes.pin(left);
        written
    }

    /// Ends the log when its transaction is committed.
    pub(super) fn end(&mut self, nodes: &mut Nodes) {
        nodes.pin(self.tree.addresses().chain(self.root));
        *self = Log::new();
    }
}
