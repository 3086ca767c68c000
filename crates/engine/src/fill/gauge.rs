use std::path::{Path, PathBuf};

use flashlag_device::DeviceError;
use flashlag_units::{Bytes, Nanos};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::space::{FreeSpace, free_space_of};

/// The fill level is read at least once in this many bytes and this much time.
const MOST_BYTES: Bytes = Bytes::from_mib(64);
const MOST_TIME: Nanos = Nanos::from_millis(100);
/// Readings between empty and full on small storage, so that a fast fill also has levels; but at
/// most one in 4 MiB, as a reading takes microseconds.
const LEVELS: u64 = 256;
const LEAST_BYTES: Bytes = Bytes::from_mib(4);

/// The fill level of a filesystem during a fill, while other programs write and delete too.
///  Between two readings the fill writes at most half of the free room, at most 64 MiB (less on
/// small storage), and for at most 100 ms. So its own writes never pass the limit, and it notices
/// the writes of others after at most that.
#[derive(Debug)]
pub(super) struct Gauge {
    directory: OwnedFd,
    path: PathBuf,
    leave: Bytes,
    block: Bytes,
    last: FreeSpace,
    next_time: Nanos,
    next_bytes: u64,
}

impl Gauge {
    /// The first reading.
    pub fn open(path: &Path, leave: Bytes, block: Bytes) -> Result<Gauge, DeviceError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(CWD, path, flags, Mode::empty())
            .map_err(|errno| DeviceError::os("open", path.display().to_string(), None, errno))?;
        let last = free_space_of(&directory, path)?;
        Ok(Gauge {
            directory,
            path: path.to_owned(),
            leave,
            block,
            last,
            next_time: Nanos::ZERO,
            next_bytes: 0,
        })
    }

    /// Bytes that may still be written, according to the last reading.
    pub fn room(&self) -> Bytes {
        self.last.available.saturating_minus(self.leave)
    }

    /// Whether another block may be written. If nothing is to be left free, also a block that fits
    /// only in part: then the filesystem reports when it is full.
    pub fn has_room(&self) -> bool {
        let room = self.room();
        room >= self.block || self.leave == Bytes::ZERO && room > Bytes::ZERO
    }

    /// Free bytes, according to the last reading.
    pub fn space(&self) -> FreeSpace {
        self.last
    }

    /// Accounts for blocks in flight: the last of them must fit too.
    pub fn expect_in_flight(&mut self, queue_depth: u32) {
        self.block = Bytes(self.block.0.saturating_mul(u64::from(queue_depth.max(1))));
    }

    /// Reads the level now, whether or not it is due.
    pub fn look_again(&mut self) -> Result<FreeSpace, DeviceError> {
        self.last = free_space_of(&self.directory, &self.path)?;
        Ok(self.last)
    }

    /// Bytes in use, according to the last reading.
    pub fn used(&self) -> Bytes {
        self.last.used()
    }

    /// Whether the next reading is due, `written` bytes after the start of the fill, at `now`.
    #[inline]
    pub fn is_due(&self, written: Bytes, now: Nanos) -> bool {
        written.0 >= self.next_bytes || now >= self.next_time
    }

    /// Whether the limit is so near that the data in the page cache matters.
    pub fn is_near(&self) -> bool {
        self.room() < MOST_BYTES
    }

    /// Reads the level.
    pub fn look(&mut self, written: Bytes, now: Nanos) -> Result<(), DeviceError> {
        self.last = free_space_of(&self.directory, &self.path)?;
        let level = Bytes(self.last.total.0 / LEVELS).max(LEAST_BYTES);
        let allowed = Bytes(self.room().0 / 2).min(MOST_BYTES).min(level);
        self.next_bytes = written.plus(allowed).0;
        self.next_time = now.plus(MOST_TIME);
        Ok(())
    }
}
