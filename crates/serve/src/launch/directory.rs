//! Private directories for files of one process.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, flock, fstat, openat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::{Pid, geteuid, test_kill_process};

use crate::error::ServeError;

/// Prefixes of such directories' names; a process number and a counter follow.
const NAMES: [&str; 2] = ["flashlag-", "flashlag-lab-"];
/// Deepest nesting to remove; ours are never that deep.
const DEEPEST: u32 = 16;

/// A directory that only its owner may open, removed when this value is dropped. After a kill, the
/// next process that creates one removes it.
#[derive(Debug)]
pub struct OwnDirectory {
    path: PathBuf,
    /// Held locked while the process lives, since process numbers are reused.
    held: File,
}

impl OwnDirectory {
    /// A directory for sockets, where the system keeps a session's runtime files.
    pub fn for_sockets() -> Result<OwnDirectory, ServeError> {
        let parent = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let parent = parent.filter(|path| path.is_dir()).unwrap_or_else(std::env::temp_dir);
        OwnDirectory::create(&parent, NAMES[0])
    }

    /// A directory for the files of a lab, in the folder for temporary files.
    pub fn for_lab() -> Result<OwnDirectory, ServeError> {
        OwnDirectory::create(&std::env::temp_dir(), NAMES[1])
    }

    fn create(parent: &Path, name: &str) -> Result<OwnDirectory, ServeError> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        remove_dead(parent);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{name}{}-{number}", std::process::id()));
            let advice = "is there room, and may this user write there?";
            let refuse = |error: io::Error| ServeError::file("make", &path, &error, advice);
            match std::fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {}
                // Left by an earlier process with the same number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(refuse(error)),
            }
            let held = open(&path).map_err(refuse)?;
            flock(&held, FlockOperation::NonBlockingLockExclusive)
                .map_err(|errno| refuse(errno.into()))?;
            return Ok(OwnDirectory { path, held });
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for OwnDirectory {
    fn drop(&mut self) {
        // If removing fails now, the next start removes it.
        let _ = remove(&self.path, &self.held);
    }
}

fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
    File::options().read(true).custom_flags(flags.bits() as i32).open(path)
}

/// Removes the directories of killed processes.
fn remove_dead(parent: &Path) {
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().and_then(process_of).is_some_and(is_dead) {
            // Another user's, one that is locked, or one that can't be removed, stays.
            let _ = remove_left(&entry.path());
        }
    }
}

/// The process number in a directory's name; `None` if the name is not ours.
fn process_of(name: &str) -> Option<Pid> {
    let rest = NAMES.iter().rev().find_map(|known| name.strip_prefix(known))?;
    let (process, number) = rest.split_once('-')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let known = digits(process) && digits(number);
    Pid::from_raw(process.parse().ok().filter(|_| known)?)
}

fn is_dead(process: Pid) -> bool {
    test_kill_process(process) == Err(Errno::SRCH)
}

/// Removes a directory that is ours and that no process holds locked, in any PID namespace.
fn remove_left(path: &Path) -> io::Result<()> {
    let held = open(path)?;
    let stat = fstat(&held)?;
    if stat.st_uid != geteuid().as_raw() || stat.st_mode & 0o077 != 0 {
        return Err(io::Error::other("it is another's"));
    }
    flock(&held, FlockOperation::NonBlockingLockExclusive)?;
    remove(path, &held)
}

/// Removes the content of a directory, and then the directory.
fn remove(path: &Path, held: &File) -> io::Result<()> {
    empty(held.as_fd(), fstat(held)?.st_dev, 0)?;
    std::fs::remove_dir(path)
}

/// Removes the content of a directory through descriptors, but no mount point.
fn empty(folder: BorrowedFd<'_>, device: u64, depth: u32) -> io::Result<()> {
    if depth > DEEPEST || fstat(folder)?.st_dev != device {
        return Err(io::Error::other("it is not as it was made"));
    }
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if [&b"."[..], b".."].contains(&name.to_bytes()) {
            continue;
        }
        if entry.file_type() == FileType::Directory {
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
            let inner = openat(folder, name, flags, Mode::empty())?;
            empty(inner.as_fd(), device, depth + 1)?;
            unlinkat(folder, name, AtFlags::REMOVEDIR)?;
        } else {
            unlinkat(folder, name, AtFlags::empty())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::*;

    /// The number of a process that has ended.
    fn dead() -> u32 {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    fn make(path: PathBuf, mode: u32) -> PathBuf {
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: String| parent.path().join(name);
        let (gone, here) = (dead(), std::process::id());
        let lab = make(at(format!("flashlag-lab-{gone}-0")), 0o700);
        std::fs::create_dir_all(lab.join("flash/files")).unwrap();
        std::fs::write(lab.join("flash/files/image"), "x").unwrap();
        std::os::unix::fs::symlink("/etc", lab.join("link")).unwrap();
        let left = [lab, make(at(format!("flashlag-{gone}-7")), 0o700)];
        let others = [
            make(at(format!("flashlag-{here}-9999")), 0o700),
            make(at(format!("flashlag-{gone}-8")), 0o755),
            make(at(format!("flashlag-work-{gone}-0")), 0o700),
            make(at(format!("flashlag-{gone}-x")), 0o700),
            make(at(format!("flashlag-{gone}")), 0o700),
        ];
        // This directory is locked by a process that has another number in its own PID namespace.
        let held = make(at(format!("flashlag-{gone}-10")), 0o700);
        let lock = open(&held).unwrap();
        flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
        let link = at(format!("flashlag-{gone}-11"));
        std::os::unix::fs::symlink(&others[0], &link).unwrap();

        let made = OwnDirectory::create(parent.path(), NAMES[0]).unwrap();
        assert!(left.iter().all(|path| !path.exists()), "{left:?}");
        assert!(others.iter().chain([&held, &link]).all(|path| path.exists()), "{others:?}");
        let path = made.path().to_owned();
        std::fs::write(path.join("socket"), "").unwrap();
        // It is not removed while it is held.
        drop(OwnDirectory::create(parent.path(), NAMES[1]).unwrap());
        assert!(path.join("socket").exists());
        drop(made);
        assert!(!path.exists());
    }
}
