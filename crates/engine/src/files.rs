//! A span of bytes over files of a bounded size.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flashlag_device::{Device, DeviceError, Durability, Op, Request};
use flashlag_schema::scenario;
use flashlag_units::Bytes;
use flashlag_workload::Payload;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::open::{OpenOptions, open};
use crate::presence::{Presence, gone};

/// The bits of an offset within one file: files are at most 2 GiB, which every filesystem takes
/// (FAT's limit is 4 GiB − 1).
pub(crate) const FILE_BITS: u32 = 31;

/// Bytes `0..span` over the files `STEM-0000.dat`, `STEM-0001.dat`, … of a directory, each of
/// 2 GiB but the last. A description: it holds no file open, at most their directory.
#[derive(Clone, Debug)]
pub struct FileSet {
    directory: PathBuf,
    /// The directory itself, where files are made and removed whatever its path leads to.
    opened: Option<Arc<OwnedFd>>,
    stem: String,
    span: Bytes,
}

impl FileSet {
    /// The most that one file holds.
    pub const FILE_BYTES: Bytes = Bytes(1 << FILE_BITS);
    /// A span is rounded down to a multiple of this, so that its end can be written with
    /// `O_DIRECT`; one that is shorter becomes this long.
    pub const GRAIN: Bytes = Bytes(4096);

    /// The files that hold (or will hold) `span` bytes.
    pub fn new(directory: &Path, stem: &str, span: Bytes) -> FileSet {
        let span = span.round_down(FileSet::GRAIN).max(FileSet::GRAIN);
        FileSet { directory: directory.to_owned(), opened: None, stem: stem.to_owned(), span }
    }

    /// The same files in a directory that is open: nobody can put another in its place.
    pub fn opened(self, directory: Arc<OwnedFd>) -> FileSet {
        FileSet { opened: Some(directory), ..self }
    }

    /// A name in the directory, relative to what is open of it.
    pub(crate) fn at(&self, path: &Path) -> (BorrowedFd<'_>, PathBuf) {
        match (&self.opened, path.file_name()) {
            (Some(opened), Some(name)) => (opened.as_fd(), PathBuf::from(name)),
            _ => (rustix::fs::CWD, path.to_owned()),
        }
    }

    /// How many bytes there are.
    pub fn span(&self) -> Bytes {
        self.span
    }

    /// Where the files are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// How many files there are; at least one.
    pub fn count(&self) -> usize {
        self.span.0.div_ceil(FileSet::FILE_BYTES.0) as usize
    }

    /// The path of a file.
    pub fn path(&self, index: usize) -> PathBuf {
        self.directory.join(format!("{}-{index:04}.dat", self.stem))
    }

    /// All paths, in order.
    pub fn paths(&self) -> impl Iterator<Item = PathBuf> + '_ {
        (0..self.count()).map(|index| self.path(index))
    }

    /// How long the file of that index is.
    pub fn length(&self, index: usize) -> Bytes {
        let before = (index as u64).saturating_mul(FileSet::FILE_BYTES.0);
        self.span.minus(Bytes(before)).min(FileSet::FILE_BYTES)
    }

    /// Whether every file is there at its full length with every block allocated: laid out before,
    /// by this run or by the one it resumes.
    pub fn is_laid_out(&self) -> bool {
        (0..self.count()).all(|index| {
            let path = self.path(index);
            let (directory, name) = self.at(&path);
            let found = rustix::fs::statat(directory, &name, AtFlags::SYMLINK_NOFOLLOW);
            let Ok(stat) = found else { return false };
            let length = self.length(index).0;
            let allocated = stat.st_blocks as u64 * 512 >= length;
            stat.st_size as u64 == length && allocated
        })
    }

    /// Whether every file is still there, for a caller who must know that what it measured was not
    /// a deleted file.
    ///
    /// # Errors
    /// The first file that is gone.
    pub fn check_present(&self) -> Result<(), DeviceError> {
        for path in self.paths() {
            rustix::fs::stat(&path).map_err(|errno| gone(&path, errno))?;
        }
        Ok(())
    }

    /// Remembers which files these are, for a caller who must also know that nobody put others in
    /// their place.
    ///
    /// # Errors
    /// The first file that is not there.
    pub fn presence(&self) -> Result<Presence, DeviceError> {
        allow_files(self.count() as u64 * 2);
        Presence::of(self.paths())
    }

    /// Writes every byte once, in order, in 1 MiB writes past the page cache where that can be,
    /// stamped as generation 0; then makes it durable and drops it from the page cache. No sparse
    /// files and no preallocation: blocks that were never written read too fast and write too
    /// slowly.
    ///
    /// Returns how many bytes were written: fewer than the span where `stop` was raised.
    ///
    /// # Errors
    /// Whatever the filesystem says; what was written until then is still there.
    pub fn lay_out(
        &self,
        payload: &Payload,
        stop: &AtomicBool,
        on_progress: &mut dyn FnMut(Bytes),
    ) -> Result<Bytes, DeviceError> {
        const STEP: u64 = 1 << 20;
        let options = OpenOptions {
            direct: true,
            engine: scenario::EngineKind::Psync,
            queue_depth: 1,
            durable: scenario::Durability::None,
            block: FileSet::GRAIN,
            buffer: Bytes(STEP),
            write: true,
            create: true,
        };
        let mut device = open(self, &options)?.device;
        let mut completed = Vec::with_capacity(1);
        let mut offset = 0;
        while offset < self.span.0 && !stop.load(Ordering::Relaxed) {
            let length = STEP.min(self.span.0 - offset);
            payload.fill(&mut device.buffer(0)[..length as usize], Bytes(offset), 0);
            let write = Request {
                slot: 0,
                op: Op::Write,
                offset: Bytes(offset),
                length: Bytes(length),
                durability: Durability::None,
            };
            run_one(&mut device, write, &mut completed)?;
            offset += length;
            on_progress(Bytes(offset));
        }
        let flush = Request {
            slot: 0,
            op: Op::Flush,
            offset: Bytes::ZERO,
            length: Bytes::ZERO,
            durability: Durability::None,
        };
        run_one(&mut device, flush, &mut completed)?;
        self.evict()?;
        Ok(Bytes(offset))
    }

    /// Drops what the page cache holds of the files: their data must be durable already.
    ///
    /// # Errors
    /// Where a file can't be opened.
    pub fn evict(&self) -> Result<(), DeviceError> {
        for file in self.open_files(OFlags::RDONLY)? {
            // Advice: a filesystem that has none of it is no error.
            let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
        }
        Ok(())
    }

    /// Removes the files; one that is gone already is no error.
    ///
    /// # Errors
    /// The first file that could not be removed.
    pub fn remove(&self) -> Result<(), DeviceError> {
        for path in self.paths() {
            let (directory, name) = self.at(&path);
            match rustix::fs::unlinkat(directory, &name, AtFlags::empty()) {
                Ok(()) | Err(rustix::io::Errno::NOENT) => {}
                Err(errno) => {
                    let subject = path.display().to_string();
                    return Err(DeviceError::os("unlink", subject, None, errno));
                }
            }
        }
        Ok(())
    }

    /// Opens every file. Never follows a symbolic link: what is at the end of one is not ours.
    pub(crate) fn open_files(&self, flags: OFlags) -> Result<Vec<OwnedFd>, DeviceError> {
        // Once for the I/O, and once for who holds a `Presence`.
        allow_files(self.count() as u64 * 2);
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let open_one = |path: PathBuf| {
            let (directory, name) = self.at(&path);
            rustix::fs::openat(directory, &name, flags, Mode::RUSR | Mode::WUSR)
                .map_err(|errno| DeviceError::os("open", path.display().to_string(), None, errno))
        };
        self.paths().map(open_one).collect()
    }
}

/// Submits one request to an idle device and waits for it.
pub(crate) fn run_one<D: Device>(
    device: &mut D,
    request: Request,
    completed: &mut Vec<flashlag_device::Completion>,
) -> Result<(), DeviceError> {
    completed.clear();
    device.submit(request)?;
    device.reap(1, completed)?;
    completed.drain(..).try_for_each(|completion| completion.result)
}

/// Raises the soft limit of open files where `files` more than the usual few would not fit; where
/// the hard limit is too low, `open` will say so.
fn allow_files(files: u64) {
    const SPARE: u64 = 256;
    let limit = getrlimit(Resource::Nofile);
    let wanted = files + SPARE;
    if limit.current.is_some_and(|current| current < wanted) {
        let current = Some(limit.maximum.map_or(wanted, |maximum| maximum.min(wanted)));
        // Where it is refused, the error is `open`'s to tell.
        let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum: limit.maximum });
    }
}
