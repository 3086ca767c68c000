//! Syncs of a file: fsync in its three modes, and atomic writes.

use std::collections::BTreeSet;

use flashlag_spec::target::FsyncMode;
use flashlag_units::Nanos;

use super::F2fs;
use super::inode::node_of;
use super::segments::Log;
use crate::fs::{AtomicWrite, BLOCK, FileId, NoSpace};
use crate::plan::{Plan, push_run};

impl F2fs {
    /// fsync or (`data_only`) fdatasync: the nodes that changed and a flush, as `f2fs_do_sync_file`
    /// of Linux 6.12 sends them.
    pub(super) fn sync_file(&mut self, now: Nanos, file: FileId, data_only: bool) -> Plan {
        let mut plan = Plan::new();
        let strict = self.fsync_mode == FsyncMode::Strict;
        let Some(inode) = self.files.get_mut(&file.0) else { return plan };
        // Without a checkpoint, recovery could bring back the new file but not the removal of a
        // name in its directory (`CP_RECOVER_DIR`).
        if strict && inode.fresh && self.unlinked {
            inode.touched = false;
            return self.checkpoint(now);
        }
        let mut nodes = inode.dirty.clone();
        let inode_too = inode.touched && !data_only && (self.in_place || nodes.is_empty());
        if inode_too {
            nodes.insert(0);
        }
        if !data_only {
            inode.touched = false;
        }
        if nodes.is_empty() && inode.settled {
            return plan;
        }
        if !nodes.is_empty() {
            plan.then_plan(self.make_room(now));
            plan.then_writes(self.write_nodes(file.0, &nodes));
            self.changed(now);
        }
        plan.then_flush(self.barrier && self.fsync_mode != FsyncMode::NoBarrier);
        plan
    }

    /// Writes pages of a file as one atomic write. All data is appended to the hot log. The node
    /// that makes it valid is written with FUA after a flush, in every mode but `nobarrier`.
    ///
    /// Since Linux 5.19 the pages go to blocks of a second inode, which are then swapped into the
    /// file; before, they waited in memory (`inmem`). The requests are the same. The call waits for
    /// the data but not for the node (`f2fs_do_sync_file` with `atomic` only keeps the order). The
    /// next atomic write waits for that node before its swap (`f2fs_set_data_blkaddr`), and writes
    /// its data in the meantime; with `inmem` the data waits as well.
    pub(super) fn commit_pages(
        &mut self,
        now: Nanos,
        file: FileId,
        pages: &[u64],
    ) -> Result<AtomicWrite, NoSpace> {
        let ranges: Vec<(u64, u64)> = pages.iter().map(|page| (page * BLOCK, BLOCK)).collect();
        if pages.len() as u64 + self.fresh_nodes(file, &ranges) > self.left() {
            return Err(NoSpace);
        }
        let mut waited = self.make_room(now);
        let mut runs = Vec::new();
        for page in pages {
            match self.append_page(file.0, *page, Log::HotData) {
                Ok(block) => push_run(&mut runs, self.place(block)),
                Err(full) => {
                    self.keep_unsent(runs);
                    return Err(full);
                }
            }
        }
        waited.then_writes(runs);
        let mut nodes: BTreeSet<u32> = pages.iter().map(|page| node_of(*page)).collect();
        if let Some(inode) = self.files.get_mut(&file.0) {
            nodes.extend(&inode.dirty);
            (inode.touched, inode.settled) = (false, true);
        }
        let last = nodes.pop_last();
        let mut after = Plan::new();
        after.then_writes(self.write_nodes(file.0, &nodes));
        let last = self.write_nodes(file.0, &last.into_iter().collect());
        after.then_seal(last, self.barrier);
        self.changed(now);
        Ok(AtomicWrite { waited, after })
    }
}
