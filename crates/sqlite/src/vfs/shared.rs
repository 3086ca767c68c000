use std::cell::Cell;
use std::ffi::c_void;
use std::rc::Rc;

/// Number of locks of a write-ahead log's index (`SQLITE_SHM_NLOCK`).
const LOCKS: usize = 8;

/// The index of a database's write-ahead log, shared by its connections.
///
/// SQLite holds pointers into the regions until it has unmapped them. So the regions are made of
/// cells, are never accessed from here, never move and never shrink. They are freed when the last
/// handle has unmapped them, and never if a handle did not.
#[derive(Debug, Default)]
pub(super) struct SharedIndex {
    regions: Vec<Rc<[Cell<u64>]>>,
    users: Vec<u64>,
    locks: [Lock; LOCKS],
}

#[derive(Clone, Debug, Default)]
struct Lock {
    sharers: Vec<u64>,
    owner: Option<u64>,
}

impl SharedIndex {
    /// Maps a region for `handle`; `None` if it does not exist and must not be created. All regions
    /// of a database have the same size.
    pub(super) fn map(
        &mut self,
        handle: u64,
        region: usize,
        bytes: usize,
        extend: bool,
    ) -> Option<*mut c_void> {
        if !self.users.contains(&handle) {
            self.users.push(handle);
        }
        if extend {
            while self.regions.len() <= region {
                let words = bytes.div_ceil(size_of::<u64>());
                self.regions.push((0..words).map(|_| Cell::new(0)).collect());
            }
        }
        let found = self.regions.get(region)?;
        (found.len() * size_of::<u64>() >= bytes).then(|| Rc::as_ptr(found).cast_mut().cast())
    }

    /// Notes that `handle` holds no pointer any more.
    pub(super) fn unmap(&mut self, handle: u64) {
        self.users.retain(|user| *user != handle);
        for lock in &mut self.locks {
            lock.sharers.retain(|sharer| *sharer != handle);
            lock.owner = lock.owner.filter(|owner| *owner != handle);
        }
        if self.users.is_empty() {
            self.regions.clear();
        }
    }

    /// Takes the locks `first` to `first + count`; `false`, and takes none, if another handle has
    /// one.
    pub(super) fn lock(&mut self, handle: u64, first: usize, count: usize, alone: bool) -> bool {
        let Some(locks) = self.locks.get_mut(first..first.saturating_add(count)) else {
            return false;
        };
        let free = |lock: &Lock| {
            let mine = |holder: &u64| *holder == handle;
            lock.owner.as_ref().is_none_or(mine) && (!alone || lock.sharers.iter().all(mine))
        };
        if !locks.iter().all(free) {
            return false;
        }
        for lock in locks {
            match alone {
                true => lock.owner = Some(handle),
                false if !lock.sharers.contains(&handle) => lock.sharers.push(handle),
                false => {}
            }
        }
        true
    }

    /// Releases the locks `first` to `first + count`.
    pub(super) fn unlock(&mut self, handle: u64, first: usize, count: usize) {
        let locks = self.locks.get_mut(first..first.saturating_add(count)).unwrap_or_default();
        for lock in locks {
            lock.sharers.retain(|sharer| *sharer != handle);
            lock.owner = lock.owner.filter(|owner| *owner != handle);
        }
    }
}

impl Drop for SharedIndex {
    fn drop(&mut self) {
        // A handle may still have pointers: leaking the memory is better than freeing it under
        // them.
        if !self.users.is_empty() {
            std::mem::forget(std::mem::take(&mut self.regions));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_stays_where_it_is_until_the_last_has_let_go() {
        let mut shared = SharedIndex::default();
        assert_eq!(shared.map(1, 0, 32768, false), None);
        let first = shared.map(1, 0, 32768, true).expect("made");
        assert!(shared.map(2, 5, 32768, true).is_some());
        assert_eq!(shared.map(2, 0, 32768, false), Some(first));
        shared.unmap(1);
        assert_eq!(shared.map(2, 0, 32768, false), Some(first));
        shared.unmap(2);
        assert_eq!(shared.map(2, 0, 32768, false), None);
        assert_eq!(first.align_offset(align_of::<u64>()), 0);
    }

    #[test]
    fn a_region_is_never_given_out_as_larger_than_it_is() {
        let mut shared = SharedIndex::default();
        assert!(shared.map(1, 0, 100, true).is_some());
        assert_eq!(shared.map(1, 0, 4096, true), None);
    }

    #[test]
    fn locks_are_shared_or_owned() {
        let mut shared = SharedIndex::default();
        assert!(shared.lock(1, 3, 1, false) && shared.lock(2, 3, 1, false));
        assert!(!shared.lock(1, 0, 8, true), "another shares one of them");
        shared.unlock(2, 3, 1);
        assert!(shared.lock(1, 0, 8, true));
        assert!(!shared.lock(2, 7, 1, false));
        shared.unmap(1);
        assert!(shared.lock(2, 7, 1, true));
        assert!(!shared.lock(2, 7, 2, true), "there is no ninth");
    }
}
