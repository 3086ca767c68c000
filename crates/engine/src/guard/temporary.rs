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

/// How often a temporary is made anew where a clean-up beside us was faster.
const ATTEMPTS: u32 = 16;

/// Bytes that are written at once.
const BUFFER: usize = 1 << 16;

/// The file that a published file may replace.
#[derive(Clone, Copy, Debug)]
pub enum Replaces<'a> {
    /// Nothing: there must be no file of that name.
    Nothing,
    /// This file, as it was looked at before; or nothing where that is gone.
    This(&'a Stat),
}

/// Why a file was not published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishError {
    /// Something else has the name by now: it was left alone.
    Taken,
    /// The operating system refused.
    Os(Errno),
}

impl From<Errno> for PublishError {
    fn from(errno: Errno) -> PublishError {
        PublishError::Os(errno)
    }
}

/// A directory in which files are published, by its descriptor: wherever its path leads later, they
/// go to that directory. Temporaries are new files (`O_EXCL`, `O_NOFOLLOW`) with a random name.
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

    /// Where files are written before they are renamed: what a death can leave.
    pub fn temporary(&self) -> PathBuf {
        self.path.join(&self.temporary)
    }

    /// What has that name in the directory; a symbolic link is not followed.
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

    /// Whether files can be made here: asked before anything is measured.
    pub fn probe(&self) -> Result<(), Errno> {
        let made = self.create()?;
        self.discard(&made);
        Ok(())
    }

    /// Puts a file of these contents there in one step: a reader sees what was there before or all
    /// of it. Returns what is there now.
    ///
    /// # Errors
    /// Where something else has the name, or the file can't be written; no temporary is left.
    pub fn publish(
        &self,
        name: &OsStr,
        contents: &[u8],
        replaces: Replaces<'_>,
    ) -> Result<Stat, PublishError> {
        self.publish_written(name, |to| to.write_all(contents), replaces)
    }

    /// As [`Publisher::publish`], of contents that are written piece by piece, and again where a
    /// clean-up was faster: what is larger than memory should be is never whole in it.
    pub fn publish_written(
        &self,
        name: &OsStr,
        contents: impl Fn(&mut dyn Write) -> io::Result<()>,
        replaces: Replaces<'_>,
    ) -> Result<Stat, PublishError> {
        for _ in 1..ATTEMPTS {
            match self.publish_once(name, &contents, replaces) {
                // A clean-up removed it before its lock was there, or the directory was removed.
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

    /// A new temporary, locked where the filesystem can: a clean-up sees that it is in use.
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

    /// Renames the temporary where nothing has the name, even when another process does the same now.
    fn place_new(&self, name: &OsStr) -> Result<(), PublishError> {
        let (at, temporary) = (&self.directory, self.temporary.as_str());
        match renameat_with(at, temporary, at, name, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            Err(Errno::EXIST) => return Err(PublishError::Taken),
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
            Err(errno) => return Err(errno.into()),
        }
        // NFS and many FUSE filesystems know no such rename, but links.
        match linkat(at, temporary, at, name, AtFlags::empty()) {
            Ok(()) => Ok(unlinkat(at, temporary, AtFlags::empty())?),
            Err(Errno::EXIST) => Err(PublishError::Taken),
            // FAT and the like have neither, and no second name was there a moment ago.
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {
                Ok(renameat(at, temporary, at, name)?)
            }
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Whether a file with a temporary's name is one that a dead process left: a regular file of this
/// user with one name, which nobody has locked. Where there are no locks, an hour must have passed.
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
