//! Redirection of SQLite's `unix` VFS to open directories.
//!
//! SQLite takes paths, and checks each part of a path before it opens the file. Anyone who may
//! rename a directory on the way can replace it by a symbolic link in between, and root would then
//! write and delete where the link leads. SQLite lets a program replace the system calls of its
//! `unix` VFS: a file below a redirected path is opened, checked and removed by the last part of
//! its path, relative to the directory's descriptor, and no symbolic link is followed. Other paths
//! work as usual.
//!
//! Two more calls are replaced. Atomic writes of F2FS are refused unless requested, so that a
//! commit costs what its journal mode says; and for root, SQLite gives journals the owner of their
//! database, which an app's SQLite does not ([`be_an_app`]).
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_ulong, c_void};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once, PoisonError, RwLock};

use rusqlite::ffi;

/// Redirected directories, each with the path that SQLite uses for it.
static REDIRECTIONS: RwLock<Vec<(Vec<u8>, Arc<OwnedFd>)>> = RwLock::new(Vec::new());

/// Whether SQLite commits by atomic writes if the filesystem has them.
static ATOMIC_WRITES: AtomicBool = AtomicBool::new(false);
/// Whether files keep the owner that they were made with.
static KEEP_OWNERS: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The same for the saves of this thread, if their test sets it.
    static ATOMIC_HERE: Cell<Option<bool>> = const { Cell::new(None) };
    /// Atomic writes that the filesystem refused to begin or to commit, since this was last set.
    static REFUSED: Cell<u64> = const { Cell::new(0) };
}

/// Whether the databases that this thread opens from here on commit by atomic writes; `None`: as
/// [`be_an_app`] says.
pub(crate) fn commit_atomically(atomic: Option<bool>) {
    ATOMIC_HERE.set(atomic);
    REFUSED.set(0);
}

/// Atomic writes of this thread that the filesystem refused since [`commit_atomically`]: SQLite makes such
/// a commit with its journal.
pub(crate) fn refused_atomic_writes() -> u64 {
    REFUSED.get()
}

/// Lets SQLite behave on real directories as in an app's process: no file's owner is changed, as root
/// would, and with `atomic_writes` it commits by those of F2FS, as Android's build does. For the whole
/// process.
pub fn be_an_app(atomic_writes: bool) {
    KEEP_OWNERS.store(true, Ordering::Relaxed);
    ATOMIC_WRITES.store(atomic_writes, Ordering::Relaxed);
}

/// Redirection of a path, for as long as this lives: SQLite's files below the path are those of an
/// open directory.
#[derive(Debug)]
pub(crate) struct Redirection {
    directory: Arc<OwnedFd>,
}

impl Redirection {
    /// Redirects `path` to `directory`.
    pub(crate) fn new(path: &Path, directory: Arc<OwnedFd>) -> Redirection {
        static REPLACED: Once = Once::new();
        REPLACED.call_once(replace_calls);
        let mut all = REDIRECTIONS.write().unwrap_or_else(PoisonError::into_inner);
        all.push((path.as_os_str().as_bytes().to_owned(), Arc::clone(&directory)));
        Redirection { directory }
    }
}

impl Drop for Redirection {
    fn drop(&mut self) {
        let mut all = REDIRECTIONS.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, held)| !Arc::ptr_eq(held, &self.directory));
    }
}

/// The descriptor that a path is redirected to, and the path's last part; `.` is the directory
/// itself. If one path is redirected twice, the later redirection counts.
fn find(path: &CStr) -> Option<(RawFd, &CStr)> {
    let all = REDIRECTIONS.read().unwrap_or_else(PoisonError::into_inner);
    let bytes = path.to_bytes();
    all.iter().rev().find_map(|(prefix, directory)| {
        let rest = bytes.strip_prefix(prefix.as_slice())?;
        let name = match rest {
            b"" => c".",
            [b'/', name @ ..] if !name.is_empty() && !name.contains(&b'/') => {
                CStr::from_bytes_with_nul(&path.to_bytes_with_nul()[prefix.len() + 1..]).ok()?
            }
            _ => return None,
        };
        Some((directory.as_raw_fd(), name))
    })
}

thread_local! {
    /// The descriptor that SQLite opened last on this thread; negative if none.
    static OPENED: Cell<RawFd> = const { Cell::new(-1) };
}

/// Forgets which descriptor SQLite opened last on this thread.
pub(crate) fn forget_opened() {
    OPENED.set(-1);
}

/// The descriptor that SQLite opened on this thread since [`forget_opened`].
pub(crate) fn opened() -> Option<RawFd> {
    Some(OPENED.get()).filter(|file| *file >= 0)
}

/// The directory of a file of a redirected path.
///
/// # Safety
/// `path` is null or a string that ends with a zero.
pub(crate) unsafe fn directory_of(path: *const c_char) -> Option<RawFd> {
    if path.is_null() {
        return None;
    }
    // SAFETY: the caller's promise; the string outlives the call.
    let text = unsafe { CStr::from_ptr(path) };
    find(text).map(|(directory, _)| directory)
}

/// `open` for SQLite.
///
/// # Safety
/// `path` is a string that ends with a zero, as SQLite's VFS hands it over.
unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: c_int) -> c_int {
    // SAFETY: the caller's promise; the string outlives the call.
    let text = unsafe { CStr::from_ptr(path) };
    let opened = match find(text) {
        Some((directory, name)) => {
            let flags = flags | libc::O_NOFOLLOW;
            // SAFETY: `name` ends with a zero and lives on; a descriptor that was closed is an
            // error of the call.
            unsafe { libc::openat(directory, name.as_ptr(), flags, mode as libc::mode_t) }
        }
        // SAFETY: the caller's promise, passed on.
        None => unsafe { libc::open(path, flags, mode as libc::mode_t) },
    };
    OPENED.set(opened);
    opened
}

/// `unlink` for SQLite.
///
/// # Safety
/// As [`open`].
unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: the caller's promise; the string outlives the call.
    let text = unsafe { CStr::from_ptr(path) };
    match find(text) {
        // SAFETY: as in `open`.
        Some((directory, name)) => unsafe { libc::unlinkat(directory, name.as_ptr(), 0) },
        // SAFETY: the caller's promise, passed on.
        None => unsafe { libc::unlink(path) },
    }
}

/// `access` for SQLite.
///
/// # Safety
/// As [`open`].
unsafe extern "C" fn access(path: *const c_char, mode: c_int) -> c_int {
    // SAFETY: the caller's promise; the string outlives the call.
    let text = unsafe { CStr::from_ptr(path) };
    match find(text) {
        // SAFETY: as in `open`.
        Some((directory, name)) => unsafe { libc::faccessat(directory, name.as_ptr(), mode, 0) },
        // SAFETY: the caller's promise, passed on.
        None => unsafe { libc::access(path, mode) },
    }
}

/// `stat` for SQLite, on systems with a single layout of its result.
///
/// # Safety
/// As [`open`]; `found` takes a `stat`.
#[cfg(target_pointer_width = "64")]
unsafe extern "C" fn stat(path: *const c_char, found: *mut libc::stat) -> c_int {
    // SAFETY: the caller's promise; the string outlives the call.
    let text = unsafe { CStr::from_ptr(path) };
    match find(text) {
        Some((directory, name)) => {
            let flags = libc::AT_SYMLINK_NOFOLLOW;
            // SAFETY: as in `open`; `found` is the caller's promise.
            unsafe { libc::fstatat(directory, name.as_ptr(), found, flags) }
        }
        // SAFETY: the caller's promise, passed on.
        None => unsafe { libc::stat(path, found) },
    }
}

/// `fchown` for SQLite, which calls this only for root, and only for journals.
///
/// # Safety
/// None: a descriptor that was closed is an error of the call.
unsafe extern "C" fn fchown(file: c_int, owner: libc::uid_t, group: libc::gid_t) -> c_int {
    if KEEP_OWNERS.load(Ordering::Relaxed) {
        return 0;
    }
    // SAFETY: numbers only.
    unsafe { libc::fchown(file, owner, group) }
}

/// `F2FS_IOC_START_ATOMIC_WRITE` and `F2FS_IOC_COMMIT_ATOMIC_WRITE`: `_IO(0xf5, 1)` and `_IO(0xf5, 2)`, on
/// every machine that Android or flashlag runs on.
const START_ATOMIC_WRITE: c_ulong = 0xf501;
const COMMIT_ATOMIC_WRITE: c_ulong = 0xf502;

/// `ioctl` for SQLite, which uses it only for F2FS's atomic writes.
///
/// # Safety
///
/// `argument` is what the request takes, as SQLite's VFS passes it.
unsafe extern "C" fn ioctl(file: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    if !ATOMIC_HERE.get().unwrap_or_else(|| ATOMIC_WRITES.load(Ordering::Relaxed)) {
        return -1;
    }
    // SAFETY: the caller's promise, passed on.
    let answer = unsafe { libc::ioctl(file, request as _, argument) };
    if answer != 0 && (request == START_ATOMIC_WRITE || request == COMMIT_ATOMIC_WRITE) {
        REFUSED.set(REFUSED.get() + 1);
    }
    answer
}

/// A system call in SQLite's table: called with the arguments of the call that it replaces.
type Call = unsafe extern "C" fn();

/// Replaces the system calls of SQLite's `unix` VFS, for the whole process.
fn replace_calls() {
    type Open = unsafe extern "C" fn(*const c_char, c_int, c_int) -> c_int;
    type Unlink = unsafe extern "C" fn(*const c_char) -> c_int;
    type Access = unsafe extern "C" fn(*const c_char, c_int) -> c_int;
    type Fchown = unsafe extern "C" fn(c_int, libc::uid_t, libc::gid_t) -> c_int;
    type Ioctl = unsafe extern "C" fn(c_int, c_ulong, *mut c_void) -> c_int;
    // SAFETY: SQLite keeps these pointers as functions of no arguments and calls each, by its name,
    // with the signature of the call that it stands for (`aSyscall` in os_unix.c): these. `ioctl` has
    // variable arguments there, of which SQLite passes one or none; on Linux they are in the registers
    // of a function with three arguments.
    let calls = unsafe {
        [
            (c"open", std::mem::transmute::<Open, Call>(open)),
            (c"unlink", std::mem::transmute::<Unlink, Call>(unlink)),
            (c"access", std::mem::transmute::<Access, Call>(access)),
            (c"fchown", std::mem::transmute::<Fchown, Call>(fchown)),
            (c"ioctl", std::mem::transmute::<Ioctl, Call>(ioctl)),
        ]
    };
    #[cfg(target_pointer_width = "64")]
    let calls = {
        type Status = unsafe extern "C" fn(*const c_char, *mut libc::stat) -> c_int;
        // SAFETY: as above.
        let stat = (c"stat", unsafe { std::mem::transmute::<Status, Call>(stat) });
        calls.into_iter().chain([stat])
    };
    // SAFETY: initialising SQLite is safe at any time; the VFS that it finds lives for ever, and its
    // method is called as documented, under the lock of `Once`.
    unsafe {
        ffi::sqlite3_initialize();
        let vfs = ffi::sqlite3_vfs_find(c"unix".as_ptr());
        let Some(set) = vfs.as_ref().and_then(|vfs| vfs.xSetSystemCall) else { return };
        for (name, call) in calls {
            set(vfs, name.as_ptr(), Some(call));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;

    use rusqlite::{Connection, OpenFlags};

    use super::*;

    #[test]
    fn databases_and_journals_stay_in_the_directory_whatever_its_path_leads_to() {
        let home = tempfile::tempdir().unwrap();
        let (real, victim) = (home.path().join("saves"), home.path().join("victim"));
        fs::create_dir(&real).unwrap();
        fs::create_dir(&victim).unwrap();
        for name in ["save-0.db", "save-0.db-journal", "save-0.db-wal", "save-0.db-shm"] {
            fs::write(victim.join(name), "root's").unwrap();
        }
        let directory: OwnedFd = File::open(&real).unwrap().into();
        let _held = Redirection::new(&real, Arc::new(directory));
        let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let open = || Connection::open_with_flags(real.join("save-0.db"), flags);
        let connection = open().unwrap();
        connection.execute_batch("CREATE TABLE t (x)").unwrap();
        // The attack: replace our directory in mid-run by a link to somebody else's.
        fs::rename(&real, home.path().join("aside")).unwrap();
        symlink(&victim, &real).unwrap();
        for journal in ["delete", "truncate", "persist", "wal"] {
            connection.pragma_update(None, "journal_mode", journal).unwrap();
            connection.execute_batch("INSERT INTO t VALUES (1)").unwrap();
        }
        assert!(open().is_err(), "a link is not followed");
        drop(connection);
        for name in ["save-0.db", "save-0.db-journal", "save-0.db-wal", "save-0.db-shm"] {
            assert_eq!(fs::read_to_string(victim.join(name)).unwrap(), "root's", "{name}");
        }
        assert!(home.path().join("aside/save-0.db").metadata().unwrap().len() > 0);
    }

    #[test]
    fn a_link_in_the_place_of_a_database_is_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let real = home.path().join("saves");
        fs::create_dir(&real).unwrap();
        fs::write(home.path().join("secret"), "").unwrap();
        symlink(home.path().join("secret"), real.join("save-0.db")).unwrap();
        let _held = Redirection::new(&real, Arc::new(File::open(&real).unwrap().into()));
        let path = c"save-0.db";
        let full = [real.as_os_str().as_bytes(), b"/", path.to_bytes_with_nul()].concat();
        // SAFETY: it ends with a zero.
        let opened = unsafe { open(full.as_ptr().cast(), libc::O_RDWR, 0) };
        assert_eq!(opened, -1);
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::ELOOP));
    }

    #[test]
    fn other_paths_are_as_ever() {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("saves")).unwrap();
        let held = Redirection::new(
            &home.path().join("saves"),
            Arc::new(File::open(home.path().join("saves")).unwrap().into()),
        );
        for name in ["other.db", "saves-2.db"] {
            let connection = Connection::open(home.path().join(name)).unwrap();
            connection.execute_batch("CREATE TABLE t (x)").unwrap();
            drop(connection);
            assert!(home.path().join(name).exists());
        }
        drop(held);
        let connection = Connection::open(home.path().join("saves/late.db")).unwrap();
        connection.execute_batch("CREATE TABLE t (x)").unwrap();
        assert!(home.path().join("saves/late.db").exists());
    }
}
