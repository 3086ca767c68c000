//! Calls: create, delete, truncate, read, write, sync.

use std::collections::BTreeSet;

use flashlag_device::{Device, DeviceError, Errno, VirtualClock};
use flashlag_units::Bytes;

use super::Inner;
use crate::cache::{DIRTY_PAGES, pages};
use crate::fs::{BLOCK, FileId, Reason, blocks};
use crate::host_queue::Pid;
use crate::plan::{BlockRequest, Plan, Run, push_run};

/// Pages that one map block maps if no two are contiguous.
const MAPPED_BY_BLOCK: u64 = 256;
/// Blocks that are never reserved for data: they are for maps and names.
const SPARE_BLOCKS: u64 = 64;

impl<D: Device<Clock = VirtualClock>> Inner<D> {
    pub(crate) fn create(&mut self, name: &str) -> Result<FileId, DeviceError> {
        if self.names.contains_key(name) {
            return Err(DeviceError::os("create", name, None, Errno::EXIST));
        }
        self.compute(self.call_time(0, false));
        let file = FileId(self.next_file);
        let now = self.now();
        let made = self.fs.create(now, file);
        made.map_err(|_| DeviceError::os("create", name, None, Errno::NOSPC))?;
        self.fs.name(file, name);
        self.next_file += 1;
        self.names.insert(name.to_owned(), file);
        self.named.insert(file, name.to_owned());
        Ok(file)
    }

    pub(crate) fn delete(&mut self, name: &str) -> Result<(), DeviceError> {
        let missing = || DeviceError::os("delete", name, None, Errno::NOENT);
        let file = self.names.remove(name).ok_or_else(missing)?;
        self.compute(self.call_time(0, false));
        self.named.remove(&file);
        self.contents.remove(&file);
        self.cache.drop_from(file, 0);
        let now = self.now();
        self.fs.delete(now, file);
        Ok(())
    }

    pub(crate) fn truncate(&mut self, file: FileId, size: u64) -> Result<(), DeviceError> {
        self.compute(self.call_time(0, false));
        self.cache.drop_from(file, pages(size));
        if let Some(contents) = self.contents.get_mut(&file) {
            contents.truncate(size);
        }
        let now = self.now();
        self.fs.resize(now, file, size);
        self.fs.touch(now, file);
        Ok(())
    }

    /// Renames a file; replaces a file that has the new name. The filesystem writes what any change
    /// of the inode writes.
    pub(crate) fn rename(&mut self, from: &str, to: &str) -> Result<(), DeviceError> {
        let missing = || DeviceError::os("rename", from, None, Errno::NOENT);
        let file = self.names.get(from).copied().ok_or_else(missing)?;
        if self.names.contains_key(to) {
            self.delete(to)?;
        } else {
            self.compute(self.call_time(0, false));
        }
        self.names.remove(from);
        self.names.insert(to.to_owned(), file);
        self.named.insert(file, to.to_owned());
        let now = self.now();
        self.fs.name(file, to);
        self.fs.rename(now, file);
        Ok(())
    }

    pub(crate) fn change_mode(&mut self, file: FileId) {
        self.compute(self.call_time(0, false));
        let now = self.now();
        self.fs.touch(now, file);
    }

    /// Size of a file.
    pub(crate) fn size_of(&self, file: FileId) -> u64 {
        self.fs.size(file)
    }

    /// The file with this name.
    pub(crate) fn find(&self, name: &str) -> Option<FileId> {
        self.names.get(name).copied()
    }

    pub(super) fn no_room(&self, operation: &'static str, file: FileId) -> DeviceError {
        let name = self.named.get(&file).map_or("a file", String::as_str);
        DeviceError::os(operation, name, None, Errno::NOSPC)
    }

    pub(super) fn read_data(
        &mut self,
        file: FileId,
        offset: u64,
        into: &mut [u8],
    ) -> Result<usize, DeviceError> {
        let left = self.fs.size(file).saturating_sub(offset);
        let count = (into.len() as u64).min(left) as usize;
        let (call, plan) =
            (self.call_time(count as u64, false), self.read_plan(file, offset, count as u64));
        self.compute(call);
        self.run(plan)?;
        match self.contents.get(&file) {
            Some(contents) => contents.read(offset, &mut into[..count]),
            None => into[..count].fill(0),
        }
        Ok(count)
    }

    /// Plan of a read through the page cache.
    pub(crate) fn read_plan(&mut self, file: FileId, offset: u64, length: u64) -> Plan {
        self.call_bytes = self.call_bytes.plus(Bytes(length));
        let ahead = self.cache.read_ahead(file, offset, offset + length);
        let (first, end) = blocks(offset, length);
        let missing = (first..end).any(|page| !self.cache.is_resident(file, page));
        let mut plan = Plan::new();
        if !missing {
            return plan;
        }
        let last = pages(self.fs.size(file));
        let end = end.max((first + ahead / BLOCK).min(last));
        let mut runs: Vec<Run> = Vec::new();
        for page in first..end {
            if self.cache.is_resident(file, page) {
                continue;
            }
            for run in self.fs.locate(file, page * BLOCK, BLOCK) {
                push_run(&mut runs, run);
            }
            self.cache.hold(file, page);
        }
        plan.then(runs.into_iter().map(BlockRequest::Read).collect());
        plan
    }

    /// Plan of a direct read. Dirty pages of the range are written first.
    pub(crate) fn direct_read_plan(&mut self, file: FileId, offset: u64, length: u64) -> Plan {
        self.call_bytes = self.call_bytes.plus(Bytes(length));
        let mut plan = Plan::new();
        let (first, end) = blocks(offset, length);
        if self.cache.dirty_of(file) > 0 {
            let written = self.write_back(file, first, end, usize::MAX, Reason::Writeback);
            // Pages for which there is no room stay dirty: the next sync tries again and reports
            // the error.
            plan = written.unwrap_or_default();
        }
        let runs = self.fs.locate(file, offset, length);
        plan.then(runs.into_iter().map(BlockRequest::Read).collect());
        plan
    }

    pub(super) fn write_data(
        &mut self,
        file: FileId,
        offset: u64,
        from: &[u8],
    ) -> Result<(), DeviceError> {
        self.write_call(file, offset, from.len() as u64, false)?;
        self.contents.entry(file).or_default().write(offset, from);
        Ok(())
    }

    /// Carries a write call out.
    pub(super) fn write_call(
        &mut self,
        file: FileId,
        offset: u64,
        length: u64,
        direct: bool,
    ) -> Result<(), DeviceError> {
        let pid = self.begin_write(file, offset, length, direct)?;
        self.wait(pid).map(|_| ())
    }

    /// Begins a write call: the direct write to the device, or the copy into the page cache.
    pub(crate) fn begin_write(
        &mut self,
        file: FileId,
        offset: u64,
        length: u64,
        direct: bool,
    ) -> Result<Pid, DeviceError> {
        self.compute(self.call_time(length, direct));
        let plan = self.write_plan(file, offset, length, direct)?;
        Ok(self.spawn(plan))
    }

    /// Plan of a write call, without its time on the CPU.
    pub(crate) fn write_plan(
        &mut self,
        file: FileId,
        offset: u64,
        length: u64,
        direct: bool,
    ) -> Result<Plan, DeviceError> {
        self.call_bytes = self.call_bytes.plus(Bytes(length));
        if direct {
            self.direct_write(file, offset, length)
        } else {
            self.buffered_write(file, offset, length)
        }
    }

    fn direct_write(
        &mut self,
        file: FileId,
        offset: u64,
        length: u64,
    ) -> Result<Plan, DeviceError> {
        let (first, end) = blocks(offset, length);
        let mut plan = if self.cache.dirty_of(file) > 0 {
            self.write_back(file, first, end, usize::MAX, Reason::Writeback)?
        } else {
            Plan::new()
        };
        if self.cache.promised_pages() > 0 {
            let fresh = (first..end).filter(|page| self.fs.takes_room(file, *page)).count() as u64;
            if !self.has_room(fresh) {
                return Err(self.no_room("write", file));
            }
        }
        self.cache.invalidate(file, first, end);
        let now = self.now();
        self.fs.touch(now, file);
        let written = self.fs.write(now, file, &[(offset, length)], Reason::Direct);
        plan.then_plan(written.map_err(|_| self.no_room("write", file))?);
        Ok(plan)
    }

    fn buffered_write(
        &mut self,
        file: FileId,
        offset: u64,
        length: u64,
    ) -> Result<Plan, DeviceError> {
        let (first, end) = blocks(offset, length);
        let fresh = (first..end)
            .filter(|page| self.fs.takes_room(file, *page) && !self.cache.is_dirty(file, *page));
        let fresh = fresh.count() as u64;
        if !self.has_room(fresh) {
            return Err(self.no_room("write", file));
        }
        let mut plan = self.read_parts(file, offset, length);
        if self.fs.outgrows(file, offset + length) {
            let now = self.now();
            self.cache.write(now, file, 0, true);
            plan.then_plan(self.write_back(file, 0, 1, 1, Reason::Writeback)?);
        }
        plan.then_plan(self.write_old_end(file, offset + length)?);
        let now = self.now();
        for page in first..end {
            let promised = self.fs.takes_room(file, page);
            self.cache.write(now, file, page, promised);
        }
        self.fs.touch(now, file);
        let size = self.fs.size(file).max(offset + length);
        self.fs.resize(now, file, size);
        self.next_writeback = self.next_writeback.min(now.plus(super::writeback::EVERY));
        if self.cache.dirty_pages() > DIRTY_PAGES
            && let Some(victim) = self.cache.any_dirty()
        {
            // A writer that dirties pages writes at least as many back.
            let pages = ((end - first) as usize).max(super::writeback::BATCH);
            plan.then_plan(self.write_back(victim, 0, u64::MAX, pages, Reason::Writeback)?);
        }
        Ok(plan)
    }

    /// Plan that writes the page with the file's end before a write makes the file `larger`, if the
    /// filesystem does so.
    fn write_old_end(&mut self, file: FileId, larger: u64) -> Result<Plan, DeviceError> {
        let (size, now) = (self.fs.size(file), self.now());
        let page = size / BLOCK;
        let is_cut = !size.is_multiple_of(BLOCK);
        if larger <= size || !is_cut || !self.fs.writes_old_end(file) {
            return Ok(Plan::new());
        }
        let promised = self.fs.takes_room(file, page);
        self.cache.write(now, file, page, promised);
        self.write_back(file, page, page + 1, 1, Reason::Sync { pages: 1 })
    }

    /// Whether blocks can be reserved for `fresh` more pages and their maps. A reservation must
    /// hold until writeback, when no call is left to report an error.
    fn has_room(&self, fresh: u64) -> bool {
        let promised = fresh + self.cache.promised_pages();
        let with_maps = promised + promised / MAPPED_BY_BLOCK + SPARE_BLOCKS;
        fresh == 0 || with_maps * BLOCK <= self.fs.free().0
    }

    /// Reads of pages that are written in part and not cached.
    fn read_parts(&mut self, file: FileId, offset: u64, length: u64) -> Plan {
        let (first, end) = blocks(offset, length);
        let head = (!offset.is_multiple_of(BLOCK)).then_some(first);
        let tail = (!(offset + length).is_multiple_of(BLOCK)).then_some(end - 1);
        let mut reads = Vec::new();
        let parts = [head, tail.filter(|tail| head != Some(*tail))];
        for page in parts.into_iter().flatten() {
            if !self.cache.is_resident(file, page) && self.fs.is_mapped(file, page) {
                let runs = self.fs.locate(file, page * BLOCK, BLOCK);
                reads.extend(runs.into_iter().map(BlockRequest::Read));
            }
        }
        let mut plan = Plan::new();
        plan.then(reads);
        plan
    }

    /// Makes several writes of a file as one atomic write (`F2FS_IOC_COMMIT_ATOMIC_WRITE`). If
    /// there is no room for all of it, writes nothing.
    pub(super) fn atomic_call(
        &mut self,
        file: FileId,
        writes: &[(u64, &[u8])],
    ) -> Result<(), DeviceError> {
        let of = |(offset, from): &(u64, &[u8])| blocks(*offset, from.len() as u64);
        let pages: BTreeSet<u64> =
            writes.iter().map(of).flat_map(|(first, end)| first..end).collect();
        if !self.has_room(pages.len() as u64) {
            return Err(self.no_room("write", file));
        }
        for (offset, from) in writes {
            self.write_call(file, *offset, from.len() as u64, false)?;
            self.contents.entry(file).or_default().write(*offset, from);
        }
        let mut before = Plan::new();
        before.then_compute(self.cpus.caller(self.now(), self.sync_time()));
        let ranges = self.cache.take(file, 0, u64::MAX, usize::MAX);
        let pages: Vec<u64> = ranges.into_iter().flat_map(|(first, end)| first..end).collect();
        let now = self.now();
        let write = self.fs.write_atomically(now, file, &pages);
        let write = write.map_err(|_| self.no_room("write", file))?;
        let data = self.spawn_atomic_data(before, write.waited);
        // The swap into the file must wait for the node of the previous atomic write.
        let earlier = self.unwaited.take();
        let both: Vec<Pid> = earlier.into_iter().chain([data]).collect();
        let swapped = self.scheduler.spawn(Plan::new(), &both);
        self.unwaited = (!write.after.is_empty()).then(|| self.scheduler.spawn(write.after, &both));
        self.wait(swapped)?;
        let ended = earlier.and_then(|pid| self.scheduler.take(pid));
        self.keep_error(ended.and_then(Result::err));
        self.scheduler.take(data).map_or(Ok(()), |ended| ended.map(|_| ()))
    }

    pub(super) fn sync_call(
        &mut self,
        file: Option<FileId>,
        data_only: bool,
    ) -> Result<(), DeviceError> {
        let pid = self.begin_sync(file, data_only)?;
        self.wait(pid)?;
        self.late_error.take().map_or(Ok(()), Err)
    }

    /// Begins an fsync or fdatasync: writes dirty pages, then syncs the filesystem.
    pub(crate) fn begin_sync(
        &mut self,
        file: Option<FileId>,
        data_only: bool,
    ) -> Result<Pid, DeviceError> {
        if let Some(error) = self.late_error.take() {
            return Err(error);
        }
        let mut before = Plan::new();
        before.then_compute(self.cpus.caller(self.now(), self.sync_time()));
        if let Some(file) = file {
            let pages = self.cache.dirty_of(file) as u64;
            if pages > 0 {
                let reason = Reason::Sync { pages };
                before.then_plan(self.write_back(file, 0, u64::MAX, usize::MAX, reason)?);
            }
        }
        let now = self.now();
        let plan = self.fs.sync(now, file, data_only);
        Ok(self.spawn_sync(before, plan))
    }

    pub(super) fn trim(&mut self) -> Result<Bytes, DeviceError> {
        self.sync_call(None, false)?;
        let (plan, discarded) = self.fs.trim();
        self.run(plan)?;
        Ok(discarded)
    }
}
