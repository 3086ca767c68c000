//! The page cache: what was written and is not on the device yet, and what need not be read again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use flashlag_units::Nanos;

use crate::fs::{BLOCK, FileId};

/// What it holds of clean pages: a phone's free memory, more or less.
const PAGES: usize = 64 * 1024;
/// With more dirty pages than this, who writes has to wait for the device (`dirty_ratio`).
pub(crate) const DIRTY_PAGES: usize = 8 * 1024;
/// Pages are written back when they have been dirty for this long (`dirty_expire_centisecs`).
const EXPIRES_AFTER: Nanos = Nanos::from_secs(30);
/// A read that goes on where the last one ended reads this much ahead (`read_ahead_kb`).
pub(crate) const READ_AHEAD: u64 = 128 << 10;

#[derive(Debug, Default)]
struct Cached {
    /// Dirty pages, and since when.
    dirty: BTreeMap<u64, Nanos>,
    resident: BTreeSet<u64>,
    /// Where the last read ended.
    read_to: u64,
}

#[derive(Debug, Default)]
pub(crate) struct PageCache {
    files: BTreeMap<FileId, Cached>,
    dirty: usize,
    /// Pages in the order in which they came, for eviction.
    order: VecDeque<(FileId, u64)>,
}

impl PageCache {
    pub(crate) fn dirty_pages(&self) -> usize {
        self.dirty
    }

    /// Dirty pages of a file.
    pub(crate) fn dirty_of(&self, file: FileId) -> usize {
        self.files.get(&file).map_or(0, |cached| cached.dirty.len())
    }

    pub(crate) fn is_dirty(&self, file: FileId, page: u64) -> bool {
        self.files.get(&file).is_some_and(|cached| cached.dirty.contains_key(&page))
    }

    pub(crate) fn is_resident(&self, file: FileId, page: u64) -> bool {
        self.files.get(&file).is_some_and(|cached| cached.resident.contains(&page))
    }

    /// A page was written to.
    pub(crate) fn write(&mut self, now: Nanos, file: FileId, page: u64) {
        let cached = self.files.entry(file).or_default();
        if !cached.dirty.contains_key(&page) {
            cached.dirty.insert(page, now);
            self.dirty += 1;
        }
        self.hold(file, page);
    }

    /// A page is in memory from now on.
    pub(crate) fn hold(&mut self, file: FileId, page: u64) {
        if self.files.entry(file).or_default().resident.insert(page) {
            self.order.push_back((file, page));
        }
        while self.order.len() > PAGES {
            let Some((file, page)) = self.order.pop_front() else { return };
            let Some(cached) = self.files.get_mut(&file) else { continue };
            if cached.dirty.contains_key(&page) {
                self.order.push_back((file, page));
                return;
            }
            cached.resident.remove(&page);
        }
    }

    /// How far ahead a read is to go that begins here; and remembers where it ended.
    pub(crate) fn read_ahead(&mut self, file: FileId, offset: u64, end: u64) -> u64 {
        let cached = self.files.entry(file).or_default();
        let follows = cached.read_to == offset && offset > 0;
        cached.read_to = end;
        if follows { READ_AHEAD } else { 0 }
    }

    /// Takes the dirty pages of a file within a range, as ranges of pages: up to `most` pages.
    pub(crate) fn take(
        &mut self,
        file: FileId,
        first: u64,
        end: u64,
        most: usize,
    ) -> Vec<(u64, u64)> {
        let Some(cached) = self.files.get_mut(&file) else { return Vec::new() };
        let pages: Vec<u64> =
            cached.dirty.range(first..end).map(|(page, _)| *page).take(most).collect();
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for page in pages {
            cached.dirty.remove(&page);
            self.dirty -= 1;
            match ranges.last_mut() {
                Some(last) if last.1 == page => last.1 += 1,
                _ => ranges.push((page, page + 1)),
            }
        }
        ranges
    }

    /// The file that was dirtied first of those that are dirty, for who has to wait.
    pub(crate) fn any_dirty(&self) -> Option<FileId> {
        let dirty = self.files.iter().find(|(_, cached)| !cached.dirty.is_empty());
        dirty.map(|(file, _)| *file)
    }

    /// Files with a page that has been dirty for too long.
    pub(crate) fn expired(&self, now: Nanos) -> Vec<FileId> {
        let Some(until) = now.0.checked_sub(EXPIRES_AFTER.0) else { return Vec::new() };
        let old = |cached: &Cached| cached.dirty.values().any(|since| since.0 <= until);
        self.files.iter().filter(|(_, cached)| old(cached)).map(|(file, _)| *file).collect()
    }

    /// Forgets pages of a file from `from` on, dirty or not.
    pub(crate) fn drop_from(&mut self, file: FileId, from: u64) {
        let Some(cached) = self.files.get_mut(&file) else { return };
        self.dirty -= cached.dirty.split_off(&from).len();
        cached.resident.split_off(&from);
        if from == 0 {
            self.files.remove(&file);
            self.order.retain(|(held, _)| *held != file);
        }
    }

    /// Pages that a direct write went past are no longer what the file holds.
    pub(crate) fn invalidate(&mut self, file: FileId, first: u64, end: u64) {
        let Some(cached) = self.files.get_mut(&file) else { return };
        if cached.resident.is_empty() {
            return;
        }
        for page in first..end {
            cached.resident.remove(&page);
        }
    }
}

/// The page behind the last one that a size reaches.
pub(crate) const fn pages(size: u64) -> u64 {
    size.div_ceil(BLOCK)
}
