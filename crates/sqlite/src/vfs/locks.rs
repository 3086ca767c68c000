use rsqlite_vfs::LockLevel;

/// Locks of a database: any number of readers, one writer among them.
#[derive(Debug, Default)]
pub(super) struct Locks {
    /// Handles with SHARED or more.
    readers: u32,
    /// The handle with RESERVED or more, and its lock.
    writer: Option<(u64, LockLevel)>,
}

impl Locks {
    /// Raises the lock of `handle` from `held` to `wanted`; returns its new lock, which is less
    /// than `wanted` if others are in the way.
    pub(super) fn raise(&mut self, handle: u64, held: LockLevel, wanted: LockLevel) -> LockLevel {
        if held >= wanted {
            return held;
        }
        let other = self.writer.filter(|(writer, _)| *writer != handle).map(|(_, level)| level);
        if held == LockLevel::None {
            // A writer that waits for readers to leave lets no new ones in.
            if other.is_some_and(|level| level >= LockLevel::Pending) {
                return held;
            }
            self.readers += 1;
        }
        if wanted == LockLevel::Shared {
            return wanted;
        }
        if other.is_some() {
            return held.max(LockLevel::Shared);
        }
        let level = match wanted {
            LockLevel::Exclusive if self.readers > 1 => LockLevel::Pending,
            _ => wanted,
        };
        self.writer = Some((handle, level));
        level
    }

    /// Lowers the lock of `handle` from `held` to `wanted`.
    pub(super) fn lower(&mut self, handle: u64, held: LockLevel, wanted: LockLevel) -> LockLevel {
        if held <= wanted {
            return held;
        }
        if self.writer.is_some_and(|(writer, _)| writer == handle) {
            self.writer = None;
        }
        if wanted == LockLevel::None {
            self.readers -= 1;
        }
        wanted
    }

    /// Whether a handle has reserved the right to write.
    pub(super) fn is_reserved(&self) -> bool {
        self.writer.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LockLevel::{Exclusive, None, Pending, Reserved, Shared};

    #[test]
    fn readers_share_and_one_of_them_may_be_about_to_write() {
        let mut locks = Locks::default();
        assert_eq!(locks.raise(1, None, Shared), Shared);
        assert_eq!(locks.raise(2, None, Shared), Shared);
        assert!(!locks.is_reserved());
        assert_eq!(locks.raise(1, Shared, Reserved), Reserved);
        assert_eq!(locks.raise(2, Shared, Reserved), Shared, "one writer only");
        assert!(locks.is_reserved());
    }

    #[test]
    fn a_writer_waits_for_readers_and_lets_no_new_ones_in() {
        let mut locks = Locks::default();
        locks.raise(1, None, Shared);
        locks.raise(2, None, Shared);
        locks.raise(1, Shared, Reserved);
        assert_eq!(locks.raise(1, Reserved, Exclusive), Pending);
        assert_eq!(locks.raise(3, None, Shared), None);
        assert_eq!(locks.lower(2, Shared, None), None);
        assert_eq!(locks.raise(1, Pending, Exclusive), Exclusive);
        assert_eq!(locks.lower(1, Exclusive, Shared), Shared);
        assert_eq!(locks.raise(3, None, Shared), Shared);
        assert!(!locks.is_reserved());
    }
}
