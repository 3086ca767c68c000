//! Whether a database commits by F2FS's batch atomic writes.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use rusqlite::{Connection, ffi};

/// Whether SQLite found that the open database's file takes several writes as one.
pub(crate) fn is_atomic(connection: &Connection) -> bool {
    let mut file: *mut ffi::sqlite3_file = std::ptr::null_mut();
    let into: *mut c_void = (&raw mut file).cast();
    // SAFETY: the connection is open, and this call stores a pointer to the file of its database, which
    // lives as long as the connection is open.
    let answer: c_int = unsafe {
        let main = c"main".as_ptr();
        ffi::sqlite3_file_control(connection.handle(), main, ffi::SQLITE_FCNTL_FILE_POINTER, into)
    };
    if answer != ffi::SQLITE_OK || file.is_null() {
        return false;
    }
    // SAFETY: the file is open, so that its methods are those of a VFS, called as documented.
    let found = unsafe {
        let methods = (*file).pMethods.as_ref();
        methods.and_then(|methods| methods.xDeviceCharacteristics).map(|ask| ask(file))
    };
    found.is_some_and(|found| found & ffi::SQLITE_IOCAP_BATCH_ATOMIC != 0)
}
