//! Files that appear as a whole: written under a temporary name beside their place, then renamed
//! onto it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FlockOperation, Mode, OFlags, RenameFlags, Stat, flock, fstat, linkat, openat,
    renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::directory::{is_regular, is_same};
use super::error::GuardError;
use super::name::{TEMPORARY_ENDING, is_temporary, new_id, temporary_name};

/// How often a temporary file is created again if a concurrent clean-up has removed it.
const ATTEMPTS: u32 = 16;

/// Bytes per write.
const BUFFER: usize = 1 << 16;

/// The file that a published file may replace.
#[derive(Clone, Copy, Debug)]
pub enum Replaces<'a> {
    /// Nothing: there must be no file of that name.
    Nothing,
    /// The file that the caller looked at before; or none, if that one is gone.
    This(&'a Stat),
}

/// Why a file was not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishError {
    /// Another file has the name by now: it was left alone.
    Taken,
    /// The operating system refused.
    Os(Errno),
}

impl From<Errno> for PublishError {
    fn from(errno: Errno) -> PublishError {
        PublishError::Os(errno)
    }
}

/// A directory in which files are published, held by its descriptor: if its path changes, they
/// still go to that directory. Temporaries are new files (`O_EXCL`, `O_NOFOLLOW`) with a random
/// name.
#[derive(Debug)]
pub struct Publisher {
    directory: OwnedFd,
    path: PathBuf,
    temporary: String,
}

impl Publisher {
    /// Opens the directory. Symbolic links on the way there are the user's choice.
    pub fn open(path: &Path) -> Result<Publisher, GuardError> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(CWD, path, flags, Mode::empty())
            .map_err(|errno| GuardError::os("open", path, errno))?;
        Ok(Publisher { directory, path: path.to_owned(), temporary: temporary_name(&new_id()) })
    }

    /// The directory as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which directory it is: device and inode.
    pub fn identity(&self) -> Result<(u64, u64), Errno> {
        fstat(&self.directory).map(|stat| (stat.st_dev, stat.st_ino))
    }

    /// The path under which files are written before they are renamed: a crash can leave this file.
    pub fn temporary(&self) -> PathBuf {
        self.path.join(&self.temporary)
    }

    /// The file of that name in the directory; a symbolic link is not followed.
    pub fn look(&self, name: &OsStr) -> Result<Option<Stat>, Errno> {
        match statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Opens a regular file of the directory for reading, and no symbolic link, device or pipe.
    pub fn read(&self, name: &OsStr) -> Result<File, Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.directory, name, flags, Mode::empty())?;
        if is_regular(&fstat(&file)?) { Ok(File::from(file)) } else { Err(Errno::INVAL) }
    }

    /// Whether files can be created here: checked before anything is measured.
    pub fn probe(&self) -> Result<(), Errno> {
        let made = self.create()?;
        self.discard(&made);
        Ok(())
    }

    /// Publishes a file in one step: a reader sees the file that was there before, or all of the
    /// new one. Returns the file's identity. Fails if another file has the name, or if writing
    /// fails; then no temporary is left.
    pub fn publish(
        &self,
        name: &OsStr,
        contents: &[u8],
        replaces: Replaces<'_>,
    ) -> Result<Stat, PublishError> {
        self.publish_written(name, |to| to.write_all(contents), replaces)
    }

    /// As [`Publisher::publish`], for contents that are written piece by piece, so that a large
    /// file is never whole in memory; written again if a concurrent clean-up has removed the
    /// temporary.
    pub fn publish_written(
        &self,
        name: &OsStr,
        contents: impl Fn(&mut dyn Write) -> io::Result<()>,
        replaces: Replaces<'_>,
    ) -> Result<Stat, PublishError> {
        for _ in 1..ATTEMPTS {
            match self.publish_once(name, &contents, replaces) {
                // A clean-up removed it before it was locked, or the directory was removed.
                Err(PublishError::Os(Errno::NOENT)) => {}
                done => return done,
            }
        }
        self.publish_once(name, &contents, replaces)
    }

    fn publish_once(
        &self,
        name: &OsStr,
        contents: &impl Fn(&mut dyn Write) -> io::Result<()>,
        replaces: Replaces<'_>,
    ) -> Result<Stat, PublishError> {
        let file = self.create()?;
        let mut to = BufWriter::with_capacity(BUFFER, &file);
        let written = contents(&mut to).and_then(|()| to.flush()).and_then(|()| file.sync_all());
        drop(to);
        let placed = match written {
            Ok(()) => self.place(name, replaces),
            Err(error) => Err(PublishError::Os(Errno::from_io_error(&error).unwrap_or(Errno::IO))),
        };
        match placed {
            Ok(()) => Ok(fstat(&file)?),
            Err(error) => {
                self.discard(&file);
                Err(error)
            }
        }
    }

    /// A new temporary, locked if the filesystem has locks: so a clean-up sees that it is in use.
    fn create(&self) -> Result<File, Errno> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = openat(&self.directory, self.temporary.as_str(), flags, Mode::from(0o666))?;
        // A filesystem without locks is no error.
        let _ = flock(&made, FlockOperation::NonBlockingLockExclusive);
        Ok(File::from(made))
    }

    /// Removes the temporary, if the name still leads to it.
    fn discard(&self, made: &File) {
        let named = statat(&self.directory, self.temporary.as_str(), AtFlags::SYMLINK_NOFOLLOW);
        if let (Ok(named), Ok(made)) = (named, fstat(made))
            && is_same(&named, &made)
        {
            // The first error is the one to report.
            let _ = unlinkat(&self.directory, self.temporary.as_str(), AtFlags::empty());
        }
    }

    fn place(&self, name: &OsStr, replaces: Replaces<'_>) -> Result<(), PublishError> {
        let found = self.look(name)?;
        match (replaces, found) {
            (Replaces::This(before), Some(found)) if is_same(before, &found) => {
                Ok(renameat(&self.directory, self.temporary.as_str(), &self.directory, name)?)
            }
            (_, Some(_)) => Err(PublishError::Taken),
            (_, None) => self.place_new(name),
        }
    }

    /// Renames the temporary only if no file has the name, even if another process creates one now.
    fn place_new(&self, name: &OsStr) -> Result<(), PublishError> {
        let (at, temporary) = (&self.directory, self.temporary.as_str());
        match renameat_with(at, temporary, at, name, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            Err(Errno::EXIST) => return Err(PublishError::Taken),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
            Err(errno) => return Err(errno.into()),
        }
        // NFS and many FUSE filesystems don't support `RENAME_NOREPLACE`, but they have hard links.
        match linkat(at, temporary, at, name, AtFlags::empty()) {
            Ok(()) => Ok(unlinkat(at, temporary, AtFlags::empty())?),
            Err(Errno::EXIST) => Err(PublishError::Taken),
            // FAT and others have neither; a moment ago no file had the name.
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {
                Ok(renameat(at, temporary, at, name)?)
            }
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Whether a file with a temporary's name was left by a dead process: a regular file of this user
/// with one link, which nobody has locked. If there are no locks, it must be an hour old.
pub(crate) fn is_abandoned(directory: &OwnedFd, name: &str) -> Result<bool, Errno> {
    const LONG_SECONDS: i64 = 3600;
    debug_assert!(is_temporary(OsStr::new(name)) && name.ends_with(TEMPORARY_ENDING));
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(directory, name, flags, Mode::empty()) {
        Err(Errno::NOENT | Errno::LOOP | Errno::NXIO | Errno::ACCESS) => return Ok(false),
        other => other?,
    };
    let stat = fstat(&file)?;
    let user = rustix::process::geteuid();
    if !is_regular(&stat) || stat.st_nlink != 1 || stat.st_uid != user.as_raw() {
        return Ok(false);
    }
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(_) => {
            let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime).tv_sec;
            Ok(now.saturating_sub(stat.st_mtime as i64) > LONG_SECONDS)
        }
    }
}
