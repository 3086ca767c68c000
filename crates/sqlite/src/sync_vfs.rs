//! A variant of SQLite's `unix` VFS that makes files durable by the call that SQLite was not built
//! with.
//!
//! SQLite calls `fdatasync` if it was compiled with `HAVE_FDATASYNC`, else `fsync`. A program can't
//! replace that call, and SQLite ignores `SQLITE_SYNC_DATAONLY`. So this VFS opens a file by the
//! `unix` VFS and then replaces one method of the open file, the sync. It also deletes by the
//! `unix` VFS, and then syncs the directory itself if requested. Everything else is the `unix`
//! VFS's own.
//!
//! # Layout
//!
//! SQLite allocates `szOsFile` bytes for an open file. This VFS asks for those of the `unix` VFS
//! and an [`Appendix`] after them.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int};
use std::os::fd::RawFd;
use std::sync::OnceLock;

use flashlag_spec::scenario::SyncCall;
use rusqlite::ffi::{self, sqlite3_file, sqlite3_io_methods, sqlite3_vfs};

use crate::redirect;

/// Name of the VFS in SQLite.
const NAME: &CStr = c"flashlag-sync";
/// Files that SQLite syncs together with their directory, once, if it may have created them.
const WITH_A_NEW_NAME: c_int =
    ffi::SQLITE_OPEN_MAIN_JOURNAL | ffi::SQLITE_OPEN_SUPER_JOURNAL | ffi::SQLITE_OPEN_WAL;

/// The call that SQLite was built with (`.cargo/config.toml` asks for `fdatasync`).
fn built_with() -> SyncCall {
    let flags = option_env!("LIBSQLITE3_FLAGS").unwrap_or_default();
    if flags.contains("HAVE_FDATASYNC") { SyncCall::Fdatasync } else { SyncCall::Fsync }
}

/// Why SQLite does not take the VFS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoVfs {
    #[error("SQLite has no `unix` VFS")]
    NoUnix,
    #[error("an open file is too large")]
    Large,
    #[error("SQLite refuses a VFS (code {0})")]
    Refused(c_int),
}

/// The VFS through which SQLite makes files durable by this call; `None` is SQLite's own.
pub(crate) fn for_call(call: SyncCall) -> Result<Option<&'static str>, NoVfs> {
    if call == built_with() {
        return Ok(None);
    }
    static REGISTERED: OnceLock<Result<(), NoVfs>> = OnceLock::new();
    (*REGISTERED.get_or_init(register))?;
    Ok(Some(NAME.to_str().unwrap_or_default()))
}

/// The data that this VFS keeps behind an open file of the `unix` VFS.
struct Appendix {
    /// The methods of the file: the `unix` VFS's, but for the sync.
    methods: sqlite3_io_methods,
    file: RawFd,
    /// The directory to sync with the file's name; `None` once that is done.
    directory: Option<RawFd>,
}

/// The `unix` VFS.
fn unix() -> Option<&'static sqlite3_vfs> {
    // SAFETY: initialising SQLite is safe at any time, and the `unix` VFS is static and never removed.
    unsafe {
        ffi::sqlite3_initialize();
        ffi::sqlite3_vfs_find(c"unix".as_ptr()).as_ref()
    }
}

/// Distance of the appendix from the start of an open file.
fn appendix_at(unix: &sqlite3_vfs) -> usize {
    let size = usize::try_from(unix.szOsFile).unwrap_or_default();
    size.next_multiple_of(align_of::<Appendix>())
}

fn register() -> Result<(), NoVfs> {
    let unix = unix().ok_or(NoVfs::NoUnix)?;
    let size = appendix_at(unix) + size_of::<Appendix>();
    let own = sqlite3_vfs {
        szOsFile: c_int::try_from(size).map_err(|_| NoVfs::Large)?,
        pNext: std::ptr::null_mut(),
        zName: NAME.as_ptr(),
        xOpen: Some(open),
        xDelete: Some(delete),
        ..*unix
    };
    // SAFETY: the VFS lives for ever; its methods are the `unix` VFS's, which take what they need from
    // the copied fields, and ours, with the signatures that SQLite documents.
    let code = unsafe { ffi::sqlite3_vfs_register(Box::leak(Box::new(own)), 0) };
    match code {
        ffi::SQLITE_OK => Ok(()),
        code => Err(NoVfs::Refused(code)),
    }
}

/// # Safety
/// `file` was opened by [`open`] and is not closed.
unsafe fn appendix<'a>(file: *mut sqlite3_file) -> Option<&'a mut Appendix> {
    let at = appendix_at(unix()?);
    // SAFETY: SQLite allocated `szOsFile` bytes, aligned to 8, and [`open`] put an appendix there.
    Some(unsafe { &mut *file.cast::<u8>().add(at).cast::<Appendix>() })
}

/// `xOpen`.
///
/// # Safety
/// As SQLite calls it.
unsafe extern "C" fn open(
    _vfs: *mut sqlite3_vfs,
    path: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    let Some((unix, call)) = unix().and_then(|unix| Some((unix, unix.xOpen?))) else {
        return ffi::SQLITE_CANTOPEN;
    };
    redirect::forget_opened();
    // SAFETY: SQLite's own arguments, and more memory at `file` than the `unix` VFS needs.
    let code = unsafe { call(std::ptr::from_ref(unix).cast_mut(), path, file, flags, flags_out) };
    if code != ffi::SQLITE_OK {
        return code;
    }
    // SAFETY: a file that was opened has methods, and nobody else uses the file yet.
    unsafe {
        let Some(methods) = (*file).pMethods.as_ref() else { return ffi::SQLITE_CANTOPEN };
        let Some(opened) = redirect::opened() else {
            // SQLite reused a file descriptor from an earlier open: the database is open twice in
            // this process.
            methods.xClose.map(|close| close(file));
            (*file).pMethods = std::ptr::null();
            return ffi::SQLITE_CANTOPEN;
        };
        let may_be_new = flags & ffi::SQLITE_OPEN_CREATE != 0 && flags & WITH_A_NEW_NAME != 0;
        let directory = if may_be_new { redirect::directory_of(path) } else { None };
        let methods = sqlite3_io_methods { xSync: Some(sync), ..*methods };
        let place = file.cast::<u8>().add(appendix_at(unix)).cast::<Appendix>();
        place.write(Appendix { methods, file: opened, directory });
        (*file).pMethods = &raw const (*place).methods;
    }
    code
}

/// `xSync`: the file, then once the directory of a new name, whose errors are ignored as the `unix` VFS
/// does.
///
/// # Safety
/// As SQLite calls it.
unsafe extern "C" fn sync(file: *mut sqlite3_file, _flags: c_int) -> c_int {
    // SAFETY: these methods belong to files of [`open`] only.
    let Some(appendix) = (unsafe { appendix(file) }) else { return ffi::SQLITE_IOERR_FSYNC };
    if !make_durable(appendix.file) {
        return ffi::SQLITE_IOERR_FSYNC;
    }
    if let Some(directory) = appendix.directory.take() {
        make_durable(directory);
    }
    ffi::SQLITE_OK
}

/// `xDelete`.
///
/// # Safety
/// As SQLite calls it.
unsafe extern "C" fn delete(
    _vfs: *mut sqlite3_vfs,
    path: *const c_char,
    sync_directory: c_int,
) -> c_int {
    let Some((unix, call)) = unix().and_then(|unix| Some((unix, unix.xDelete?))) else {
        return ffi::SQLITE_IOERR_DELETE;
    };
    // SAFETY: SQLite's path, which ends with a zero.
    let directory = unsafe { redirect::directory_of(path) };
    let ours = sync_directory & 1 != 0 && directory.is_some();
    let theirs = if ours { 0 } else { sync_directory };
    // SAFETY: SQLite's own arguments.
    let code = unsafe { call(std::ptr::from_ref(unix).cast_mut(), path, theirs) };
    match directory {
        Some(directory) if ours && code == ffi::SQLITE_OK && !make_durable(directory) => {
            ffi::SQLITE_IOERR_DIR_FSYNC
        }
        _ => code,
    }
}

#[cfg(test)]
thread_local! {
    /// The descriptors that this VFS synced on this thread.
    static SYNCED: std::cell::RefCell<Vec<RawFd>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// Makes the call that SQLite was not built with; `errno` says why it failed.
fn make_durable(file: RawFd) -> bool {
    #[cfg(test)]
    SYNCED.with_borrow_mut(|synced| synced.push(file));
    // SAFETY: a descriptor that was closed is an error of the call.
    let result = unsafe {
        match built_with() {
            SyncCall::Fdatasync => libc::fsync(file),
            SyncCall::Fsync => libc::fdatasync(file),
        }
    };
    result == 0
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::sync::Arc;

    use rusqlite::{Connection, OpenFlags};

    use super::*;
    use crate::redirect::Redirection;

    fn other_call() -> SyncCall {
        match built_with() {
            SyncCall::Fdatasync => SyncCall::Fsync,
            SyncCall::Fsync => SyncCall::Fdatasync,
        }
    }

    #[test]
    fn the_call_that_sqlite_makes_by_itself_needs_no_vfs() {
        assert_eq!(for_call(built_with()), Ok(None));
        assert_eq!(for_call(other_call()), Ok(Some("flashlag-sync")));
    }

    /// What a commit syncs through this VFS: files, and `.` for the directory.
    fn synced(journal: &str, synchronous: &str) -> Vec<String> {
        let home = tempfile::tempdir().unwrap();
        let directory: Arc<OwnedFd> = Arc::new(File::open(home.path()).unwrap().into());
        let held = Redirection::new(home.path(), Arc::clone(&directory));
        let vfs = for_call(other_call()).unwrap().unwrap();
        let path = home.path().join("a.db");
        let connection =
            Connection::open_with_flags_and_vfs(&path, OpenFlags::default(), vfs).unwrap();
        connection.pragma_update(None, "journal_mode", journal).unwrap();
        connection.pragma_update(None, "synchronous", synchronous).unwrap();
        connection.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
        SYNCED.take();
        // Reads names while the files are open; a deleted journal still has its old name first.
        let name = |file: &RawFd| {
            if *file == directory.as_raw_fd() { ".".to_owned() } else { file.to_string() }
        };
        let database = fs::read_dir("/proc/self/fd").unwrap().flatten().find_map(|entry| {
            let is_it = fs::read_link(entry.path()).is_ok_and(|target| target == path);
            is_it.then(|| entry.file_name().to_string_lossy().into_owned())
        });
        connection.execute_batch("INSERT INTO t VALUES (2)").unwrap();
        let synced: Vec<String> = SYNCED.take().iter().map(name).collect();
        let rows: u32 =
            connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 2);
        drop((connection, held));
        let beside = |one: String| match one.as_str() {
            "." => one,
            file if Some(file) == database.as_deref() => "database".to_owned(),
            _ => "journal".to_owned(),
        };
        synced.into_iter().map(beside).collect()
    }

    #[test]
    fn every_sync_of_a_commit_is_made_by_this_vfs_and_in_the_order_of_sqlites_own() {
        // The journal and the directory with its name; the journal's header; the database; and with
        // EXTRA the directory again, without the journal.
        let delete = ["journal", ".", "journal", "database"];
        assert_eq!(synced("delete", "full"), delete);
        assert_eq!(synced("delete", "extra"), [&delete[..], &["."]].concat());
        assert_eq!(synced("wal", "full"), ["journal"]);
        assert_eq!(synced("wal", "normal"), [""; 0]);
        assert_eq!(synced("off", "full"), ["database"]);
    }

    #[test]
    fn a_sync_that_fails_is_an_error_with_its_reason() {
        assert!(!make_durable(-1));
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EBADF));
    }
}
