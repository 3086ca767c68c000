//! SQLite opens and removes files below an open directory, not below a path.
//!
//! SQLite takes paths, and looks at each part of one before it opens it: who may rename a directory
//! on the way can put a symbolic link there in between, and would have root write and delete where
//! it leads. SQLite lets a program replace the system calls of its `unix` VFS for such purposes: a
//! path below a directory that is held is opened and removed by its last part, relative to the
//! directory's descriptor, and through no symbolic link; so is whether it is there. All other paths
//! are as ever.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Once, PoisonError, RwLock};

use rusqlite::ffi;

/// Directories that are held, each with the path that SQLite is given for it.
static HELD: RwLock<Vec<(Vec<u8>, Arc<OwnedFd>)>> = RwLock::new(Vec::new());

/// As long as this lives, SQLite's files below a path are those of a descriptor.
#[derive(Debug)]
pub(crate) struct Held {
    directory: Arc<OwnedFd>,
}

impl Held {
    /// From now on `path` is `directory` for SQLite.
    pub(crate) fn new(path: &Path, directory: Arc<OwnedFd>) -> Held {
        static REPLACED: Once = Once::new();
        REPLACED.call_once(replace_calls);
        let mut all = HELD.write().unwrap_or_else(PoisonError::into_inner);
        all.push((path.as_os_str().as_bytes().to_owned(), Arc::clone(&directory)));
        Held { directory }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut all = HELD.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, held)| !Arc::ptr_eq(held, &self.directory));
    }
}

/// The descriptor of the held directory that a path is in, and its last part; `.` is the directory
/// itself. The later of two that are held under one path counts.
fn find(path: &CStr) -> Option<(RawFd, &CStr)> {
    let all = HELD.read().unwrap_or_else(PoisonError::into_inner);
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

/// `open` as SQLite calls it.
///
/// # Safety
/// `path` is a string that ends with a zero, as SQLite's VFS hands it over.
unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: c_int) -> c_int {
    // SAFETY: the caller's promise; the string outlives the call.
    let text = unsafe { CStr::from_ptr(path) };
    match find(text) {
        Some((directory, name)) => {
            let flags = flags | libc::O_NOFOLLOW;
            // SAFETY: `name` ends with a zero and lives on; a descriptor that was closed is an
            // error of the call.
            unsafe { libc::openat(directory, name.as_ptr(), flags, mode as libc::mode_t) }
        }
        // SAFETY: the caller's promise, passed on.
        None => unsafe { libc::open(path, flags, mode as libc::mode_t) },
    }
}

/// `unlink` as SQLite calls it.
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

/// `access` as SQLite calls it.
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

/// `stat` as SQLite calls it, where there is one layout of its result only.
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

/// A system call as SQLite keeps it: it is called with the arguments of the call that it stands for.
type Call = unsafe extern "C" fn();

/// Gives SQLite's `unix` VFS the calls above, for the whole process.
fn replace_calls() {
    type Open = unsafe extern "C" fn(*const c_char, c_int, c_int) -> c_int;
    type Unlink = unsafe extern "C" fn(*const c_char) -> c_int;
    type Access = unsafe extern "C" fn(*const c_char, c_int) -> c_int;
    // SAFETY: SQLite keeps these pointers as functions of no arguments and calls each, by its name,
    // with the signature of the call that it stands for (`aSyscall` in os_unix.c): these.
    let calls = unsafe {
        [
            (c"open", std::mem::transmute::<Open, Call>(open)),
            (c"unlink", std::mem::transmute::<Unlink, Call>(unlink)),
            (c"access", std::mem::transmute::<Access, Call>(access)),
        ]
    };
    #[cfg(target_pointer_width = "64")]
    let calls = {
        type Status = unsafe extern "C" fn(*const c_char, *mut libc::stat) -> c_int;
        let [open, unlink, access] = calls;
        // SAFETY: as above.
        [open, unlink, access, (c"stat", unsafe { std::mem::transmute::<Status, Call>(stat) })]
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
        let _held = Held::new(&real, Arc::new(directory));
        let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let open = || Connection::open_with_flags(real.join("save-0.db"), flags);
        let connection = open().unwrap();
        connection.execute_batch("CREATE TABLE t (x)").unwrap();
        // The attack: a link to somebody else's directory in the place of ours, in mid-run.
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
        let _held = Held::new(&real, Arc::new(File::open(&real).unwrap().into()));
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
        let held = Held::new(
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
