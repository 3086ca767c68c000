//! The page cache: dirty pages on their way to the device, and clean pages that need not be read
//! again.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};

use flashlag_units::{Nanos, never};

use crate::fs::{BLOCK, FileId};

/// Capacity in pages: about the free memory of a phone.
const PAGES: usize = 64 * 1024;
/// With more dirty pages than this, writers wait for the device (`dirty_ratio`).
pub(crate) const DIRTY_PAGES: usize = 8 * 1024;
/// Age at which dirty pages are written back (`dirty_expire_centisecs`).
const EXPIRES_AFTER: Nanos = Nanos::from_secs(30);
/// Read-ahead of a sequential read, in bytes (`read_ahead_kb`).
pub(crate) const READ_AHEAD: u64 = 128 << 10;

#[derive(Clone, Copy, Debug)]
struct DirtyPage {
    since: Nanos,
    /// The page has no block yet, but is promised one.
    promised: bool,
}

#[derive(Debug, Default)]
struct CachedFile {
    dirty: BTreeMap<u64, DirtyPage>,
    /// Cached pages with their insertion number.
    resident: BTreeMap<u64, u64>,
    /// End of the last read.
    read_to: u64,
}

#[derive(Debug, Default)]
pub(crate) struct PageCache {
    files: BTreeMap<FileId, CachedFile>,
    dirty: usize,
    promised: u64,
    resident: usize,
    /// Pages in the order of insertion, for eviction, with their insertion number. Entries of pages
    /// that were dropped, or inserted again, are skipped.
    order: VecDeque<(FileId, u64, u64)>,
    came: u64,
}

impl PageCache {
    pub(crate) fn dirty_pages(&self) -> usize {
        self.dirty
    }

    /// Number of dirty pages that are promised a block.
    pub(crate) fn promised_pages(&self) -> u64 {
        self.promised
    }

    /// Number of dirty pages of a file.
    pub(crate) fn dirty_of(&self, file: FileId) -> usize {
        self.files.get(&file).map_or(0, |cached| cached.dirty.len())
    }

    pub(crate) fn is_dirty(&self, file: FileId, page: u64) -> bool {
        self.files.get(&file).is_some_and(|cached| cached.dirty.contains_key(&page))
    }

    pub(crate) fn is_resident(&self, file: FileId, page: u64) -> bool {
        self.files.get(&file).is_some_and(|cached| cached.resident.contains_key(&page))
    }

    /// Marks a page dirty; `promised` if it has no block yet.
    pub(crate) fn write(&mut self, now: Nanos, file: FileId, page: u64, promised: bool) {
        let cached = self.files.entry(file).or_default();
        if let Entry::Vacant(vacant) = cached.dirty.entry(page) {
            vacant.insert(DirtyPage { since: now, promised });
            self.dirty += 1;
            self.promised += u64::from(promised);
        }
        self.hold(file, page);
    }

    /// Inserts a clean page, unless it is cached.
    pub(crate) fn hold(&mut self, file: FileId, page: u64) {
        let resident = &mut self.files.entry(file).or_default().resident;
        if let Entry::Vacant(vacant) = resident.entry(page) {
            self.came += 1;
            vacant.insert(self.came);
            self.resident += 1;
            self.order.push_back((file, page, self.came));
            self.evict();
        }
    }

    /// Evicts the oldest clean pages while there are too many.
    fn evict(&mut self) {
        if self.order.len() > 4 * PAGES {
            let files = &self.files;
            self.order.retain(|held| is_held(files, *held));
        }
        let mut left = self.order.len();
        while self.resident > PAGES && left > 0 {
            left -= 1;
            let Some(held) = self.order.pop_front() else { return };
            if !is_held(&self.files, held) {
                continue;
            }
            let Some(cached) = self.files.get_mut(&held.0) else {
                never!("a page is resident of a file that is not cached");
                continue;
            };
            if cached.dirty.contains_key(&held.1) {
                self.order.push_back(held);
                continue;
            }
            cached.resident.remove(&held.1);
            self.resident -= 1;
        }
    }

    /// Number of bytes to read ahead of a read; remembers where the read ends, to recognise
    /// sequential ones.
    pub(crate) fn read_ahead(&mut self, file: FileId, offset: u64, end: u64) -> u64 {
        let cached = self.files.entry(file).or_default();
        let follows = cached.read_to == offset && offset > 0;
        cached.read_to = end;
        if follows { READ_AHEAD } else { 0 }
    }

    /// Takes up to `most` dirty pages within a range of a file, as ranges of pages.
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
            if let Some(dirty) = cached.dirty.remove(&page) {
                self.dirty -= 1;
                self.promised -= u64::from(dirty.promised);
            }
            match ranges.last_mut() {
                Some(last) if last.1 == page => last.1 += 1,
                _ => ranges.push((page, page + 1)),
            }
        }
        ranges
    }

    /// The first file with dirty pages, for a writer that has to wait.
    pub(crate) fn any_dirty(&self) -> Option<FileId> {
        let dirty = self.files.iter().find(|(_, cached)| !cached.dirty.is_empty());
        dirty.map(|(file, _)| *file)
    }

    /// Files with a page that has been dirty for too long.
    pub(crate) fn expired(&self, now: Nanos) -> Vec<FileId> {
        let Some(until) = now.0.checked_sub(EXPIRES_AFTER.0) else { return Vec::new() };
        let old = |cached: &CachedFile| cached.dirty.values().any(|dirty| dirty.since.0 <= until);
        self.files.iter().filter(|(_, cached)| old(cached)).map(|(file, _)| *file).collect()
    }

    /// Drops the pages of a file from `from` on, dirty or not.
    pub(crate) fn drop_from(&mut self, file: FileId, from: u64) {
        let Some(cached) = self.files.get_mut(&file) else { return };
        let dropped = cached.dirty.split_off(&from);
        self.dirty -= dropped.len();
        self.promised -= dropped.values().filter(|dirty| dirty.promised).count() as u64;
        self.resident -= cached.resident.split_off(&from).len();
        if from == 0 {
            self.files.remove(&file);
        }
    }

    /// Drops clean pages that a direct write has overwritten on the device.
    pub(crate) fn invalidate(&mut self, file: FileId, first: u64, end: u64) {
        let Some(cached) = self.files.get_mut(&file) else { return };
        if cached.resident.is_empty() {
            return;
        }
        for page in first..end {
            self.resident -= usize::from(cached.resident.remove(&page).is_some());
        }
    }
}

/// Whether a page is still cached under this insertion number, which changes when the page is
/// inserted again.
fn is_held(files: &BTreeMap<FileId, CachedFile>, (file, page, came): (FileId, u64, u64)) -> bool {
    files.get(&file).is_some_and(|cached| cached.resident.get(&page) == Some(&came))
}

/// Number of pages of a file of this size.
pub(crate) const fn pages(size: u64) -> u64 {
    size.div_ceil(BLOCK)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId(1);

    fn full() -> PageCache {
        let mut cache = PageCache::default();
        (0..PAGES as u64).for_each(|page| cache.hold(FILE, page));
        cache
    }

    #[test]
    fn the_page_that_came_first_makes_room_for_the_next() {
        let mut cache = full();
        assert!(cache.is_resident(FILE, 0));
        cache.hold(FILE, 1 << 20);
        assert!(!cache.is_resident(FILE, 0) && cache.is_resident(FILE, 1));
        assert_eq!(cache.resident, PAGES);
    }

    #[test]
    fn a_page_that_came_again_is_not_the_oldest_any_more() {
        let mut cache = full();
        cache.invalidate(FILE, 0, 1);
        cache.hold(FILE, 0);
        cache.hold(FILE, 1 << 20);
        assert!(cache.is_resident(FILE, 0) && !cache.is_resident(FILE, 1));
    }

    #[test]
    fn dirty_pages_stay_whatever_comes() {
        let mut cache = PageCache::default();
        (0..100).for_each(|page| cache.write(Nanos::ZERO, FILE, page, true));
        (0..3 * PAGES as u64).for_each(|page| cache.hold(FileId(2), page));
        assert!((0..100).all(|page| cache.is_resident(FILE, page)));
        assert_eq!((cache.dirty_pages(), cache.promised_pages()), (100, 100));
        assert_eq!(cache.take(FILE, 10, 20, 5), [(10, 15)]);
        assert_eq!((cache.dirty_pages(), cache.promised_pages()), (95, 95));
    }

    #[test]
    fn what_is_gone_leaves_no_trace_however_often_it_comes_and_goes() {
        let mut cache = PageCache::default();
        for file in 0..100_000 {
            (0..4).for_each(|page| cache.write(Nanos::ZERO, FileId(file), page, true));
            cache.drop_from(FileId(file), 2);
            assert_eq!(cache.dirty_pages(), 2);
            cache.drop_from(FileId(file), 0);
        }
        assert_eq!((cache.dirty, cache.promised, cache.resident), (0, 0, 0));
        assert!(cache.order.len() <= 4 * PAGES + 1, "{}", cache.order.len());
    }
}
