//! Callbacks from SQLite: registration, and the memory that connections share.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use rsqlite_vfs::ffi::{self, sqlite3_file, sqlite3_io_methods};
use rsqlite_vfs::{SQLiteIoMethods, SQLiteVfs, SQLiteVfsFile, VfsErrorCode, register_vfs};

use super::file::StackFile;
use super::store::{Os, Store};

/// Name of the VFS in SQLite.
pub(crate) const NAME: &str = "flashlag";

struct Vfs;

struct IoMethods;

/// Registers the VFS with SQLite, once per process and for good.
pub(crate) fn register() -> Result<(), String> {
    static REGISTERED: OnceLock<Result<(), String>> = OnceLock::new();
    let registered = REGISTERED.get_or_init(|| {
        // SAFETY: `Vfs` and `IoMethods` keep the constructor and the file of `rsqlite_vfs` and add
        // callbacks of shared memory with the version that has them. Their data is `()`, and an
        // open file is `Send` and `Sync` (below), so that no thread can misuse it. SQLite is built
        // thread-safe, and the cell lets one thread register, once.
        let registration = unsafe { register_vfs::<IoMethods, Vfs>(NAME, (), false) };
        registration.map(drop).map_err(|error| error.to_string())
    });
    registered.clone()
}

const _: () = {
    const fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<StackFile>();
};

impl SQLiteVfs<IoMethods> for Vfs {
    type Os = Os;

    fn os((): &()) -> &Os {
        &Os
    }
}

impl SQLiteIoMethods for IoMethods {
    type Store = Store;
    const VERSION: c_int = 2;
    const METHODS: sqlite3_io_methods = sqlite3_io_methods {
        iVersion: Self::VERSION,
        xClose: Some(Self::xClose),
        xRead: Some(Self::xRead),
        xWrite: Some(Self::xWrite),
        xTruncate: Some(Self::xTruncate),
        xSync: Some(Self::xSync),
        xFileSize: Some(Self::xFileSize),
        xLock: Some(Self::xLock),
        xUnlock: Some(Self::xUnlock),
        xCheckReservedLock: Some(Self::xCheckReservedLock),
        xFileControl: Some(file_control),
        xSectorSize: Some(Self::xSectorSize),
        xDeviceCharacteristics: Some(Self::xDeviceCharacteristics),
        xShmMap: Some(shared_map),
        xShmLock: Some(shared_lock),
        xShmBarrier: Some(shared_barrier),
        xShmUnmap: Some(shared_unmap),
        xFetch: None,
        xUnfetch: None,
    };
}

/// Our file behind SQLite's.
///
/// # Safety
/// `file` is open by this VFS, and nobody else uses it until the borrow ends.
unsafe fn file_of<'a>(file: *mut sqlite3_file) -> &'a StackFile {
    let opened = SQLiteVfsFile::from_file(file);
    // SAFETY: `xOpen` made it such a file with a `StackFile` in it, which stays until `xClose`.
    unsafe { (*opened).handle::<StackFile>() }
}

/// The same, to be changed.
///
/// # Safety
/// As [`file_of`].
unsafe fn file_of_mut<'a>(file: *mut sqlite3_file) -> &'a mut StackFile {
    let opened = SQLiteVfsFile::from_file(file);
    // SAFETY: as in `file_of`.
    unsafe { (*opened).handle_mut::<StackFile>() }
}

/// Result code for a failed call.
fn code_of(error: rsqlite_vfs::VfsError) -> c_int {
    error.raw_code()
}

/// The calls of atomic writes; all others are those of `rsqlite_vfs`.
///
/// # Safety
/// As SQLite calls `xFileControl`.
unsafe extern "C" fn file_control(
    file: *mut sqlite3_file,
    op: c_int,
    argument: *mut c_void,
) -> c_int {
    let ours = [
        ffi::SQLITE_FCNTL_BEGIN_ATOMIC_WRITE,
        ffi::SQLITE_FCNTL_COMMIT_ATOMIC_WRITE,
        ffi::SQLITE_FCNTL_ROLLBACK_ATOMIC_WRITE,
    ];
    let Some(call) = ours.iter().position(|ours| *ours == op) else {
        // SAFETY: the caller's promise, passed on.
        return unsafe { IoMethods::xFileControl(file, op, argument) };
    };
    // SAFETY: SQLite calls this with a file it has open, one call at a time.
    let file = unsafe { file_of_mut(file) };
    match call {
        0 => file.begin_atomic(),
        1 => return file.commit_atomic().map_or_else(code_of, |()| ffi::SQLITE_OK),
        _ => file.abort_atomic(),
    }
    ffi::SQLITE_OK
}

/// # Safety
/// As SQLite calls `xShmMap`.
unsafe extern "C" fn shared_map(
    file: *mut sqlite3_file,
    region: c_int,
    bytes: c_int,
    extend: c_int,
    mapped: *mut *mut c_void,
) -> c_int {
    // SAFETY: SQLite calls this with a file it has open, one call at a time.
    let file = unsafe { file_of(file) };
    let found = match (usize::try_from(region), usize::try_from(bytes)) {
        (Ok(region), Ok(bytes)) => file.in_memory(VfsErrorCode::Io, |database| {
            database.shared.map(file.handle, region, bytes, extend != 0)
        }),
        _ => return ffi::SQLITE_IOERR,
    };
    let (pointer, code) = match found {
        Ok(Some(pointer)) => (pointer, ffi::SQLITE_OK),
        // A region that is too small, or could not be allocated.
        Ok(None) if extend != 0 => (ptr::null_mut(), ffi::SQLITE_IOERR),
        Ok(None) => (ptr::null_mut(), ffi::SQLITE_OK),
        Err(error) => (ptr::null_mut(), code_of(error)),
    };
    // SAFETY: SQLite gives a place for the pointer.
    unsafe { *mapped = pointer };
    code
}

/// # Safety
/// As SQLite calls `xShmLock`.
unsafe extern "C" fn shared_lock(
    file: *mut sqlite3_file,
    first: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: SQLite calls this with a file it has open, one call at a time.
    let file = unsafe { file_of(file) };
    let (Ok(first), Ok(count)) = (usize::try_from(first), usize::try_from(count)) else {
        return ffi::SQLITE_IOERR;
    };
    let alone = flags & ffi::SQLITE_SHM_EXCLUSIVE != 0;
    let done = file.in_memory(VfsErrorCode::IoLock, |database| {
        if flags & ffi::SQLITE_SHM_UNLOCK != 0 {
            database.shared.unlock(file.handle, first, count);
            return true;
        }
        database.shared.lock(file.handle, first, count, alone)
    });
    match done {
        Ok(true) => ffi::SQLITE_OK,
        Ok(false) => ffi::SQLITE_BUSY,
        Err(error) => code_of(error),
    }
}

/// # Safety
/// Safe: connections that share memory are on one thread.
unsafe extern "C" fn shared_barrier(_file: *mut sqlite3_file) {
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

/// # Safety
/// As SQLite calls `xShmUnmap`: it uses none of the file's regions from here on.
unsafe extern "C" fn shared_unmap(file: *mut sqlite3_file, _delete: c_int) -> c_int {
    // SAFETY: SQLite calls this with a file it has open, one call at a time.
    let file = unsafe { file_of(file) };
    let done = file.in_memory(VfsErrorCode::Io, |database| database.shared.unmap(file.handle));
    done.map_or_else(code_of, |()| ffi::SQLITE_OK)
}
