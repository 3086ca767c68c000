use std::path::{Path, PathBuf};

use flashlag_device::{DeviceError, advice_for_errno, advice_within_limits};
use rusqlite::ffi;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use thiserror::Error;

/// A failed step: the database, SQLite's code, the reason, and what to try.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{operation} {}: {reason}{} ({advice})", path.display(), code_in_words(*code))]
pub struct SqliteError {
    /// Operation: `open`, `prepare`, `fill`, `save to`, ...
    pub operation: &'static str,
    pub path: PathBuf,
    /// SQLite's extended result code; 0 if the error is not SQLite's.
    pub code: i32,
    pub errno: Option<i32>,
    pub reason: String,
    pub advice: String,
}

impl SqliteError {
    /// The error for a failure of SQLite. To be called right after the failure: the operating
    /// system's reason is this thread's last error, which the next system call may overwrite.
    pub(crate) fn sqlite(
        operation: &'static str,
        path: &Path,
        error: &rusqlite::Error,
    ) -> SqliteError {
        let last = std::io::Error::last_os_error().raw_os_error();
        let code = error.sqlite_extended_error_code().unwrap_or_default();
        let reason = reason_of(error);
        let errno = errno_of(code, last, path);
        let advice = advice_for(code, errno);
        let errno = errno.map(Errno::raw_os_error);
        let reason = match errno {
            Some(errno) if code & 0xff != ffi::SQLITE_FULL => format!("{reason}: {}", words(errno)),
            _ => reason,
        };
        SqliteError { operation, path: path.to_owned(), code, errno, reason, advice }
    }

    /// The error for a failure of SQLite itself, without a reason of the operating system.
    pub(crate) fn own(
        operation: &'static str,
        path: &Path,
        code: i32,
        error: &rusqlite::Error,
    ) -> SqliteError {
        let (reason, advice) = (reason_of(error), advice_for(code, None));
        SqliteError { operation, path: path.to_owned(), code, errno: None, reason, advice }
    }

    /// The error for a failure of a simulated device or its filesystem, with SQLite's result.
    pub(crate) fn simulated(
        operation: &'static str,
        path: &Path,
        code: i32,
        failure: &DeviceError,
    ) -> SqliteError {
        let reason = format!("{} {}: {}", failure.operation, failure.subject, failure.reason);
        let advice = failure.advice.clone();
        let (path, errno) = (path.to_owned(), failure.errno);
        SqliteError { operation, path, code, errno, reason, advice }
    }

    /// Whether storage can be the cause of a result code.
    pub(crate) fn is_storage(code: i32) -> bool {
        let storage =
            [ffi::SQLITE_IOERR, ffi::SQLITE_FULL, ffi::SQLITE_CANTOPEN, ffi::SQLITE_READONLY];
        storage.contains(&(code & 0xff))
    }

    /// The error for a failed system call.
    pub(crate) fn os(operation: &'static str, path: &Path, errno: Errno) -> SqliteError {
        SqliteError {
            operation,
            path: path.to_owned(),
            code: 0,
            errno: Some(errno.raw_os_error()),
            reason: words(errno.raw_os_error()),
            advice: advice_within_limits(errno, None),
        }
    }

    /// The error for something unexpected that neither SQLite nor the system reported.
    pub(crate) fn wrong(operation: &'static str, path: &Path, reason: String) -> SqliteError {
        let advice = "the database does not contain the written rows: check the storage".to_owned();
        SqliteError { operation, path: path.to_owned(), code: 0, errno: None, reason, advice }
    }

    /// Whether no space was left: the disk is full, or a quota is used up.
    pub fn is_no_space(&self) -> bool {
        [Errno::NOSPC, Errno::DQUOT].iter().any(|errno| Some(errno.raw_os_error()) == self.errno)
    }
}

impl From<SqliteError> for DeviceError {
    fn from(error: SqliteError) -> DeviceError {
        DeviceError {
            operation: error.operation,
            subject: error.path.display().to_string(),
            offset: None,
            errno: error.errno,
            reason: format!("{}{}", error.reason, code_in_words(error.code)),
            advice: error.advice,
        }
    }
}

/// SQLite's own message.
fn reason_of(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        other => other.to_string(),
    }
}

/// The operating system's reason behind SQLite's code. SQLite's clean-up after a failure may make
/// calls that fail harmlessly (for a journal that does not exist), so `last` is used only if this
/// kind of failure can have it.
fn errno_of(code: i32, last: Option<i32>, path: &Path) -> Option<Errno> {
    let last = last.map(Errno::from_raw_os_error);
    let among = |plausible: &[Errno]| last.filter(|errno| plausible.contains(errno));
    match code & 0xff {
        // SQLite returns this code for ENOSPC, and for a short write.
        ffi::SQLITE_FULL => among(&[Errno::DQUOT]).or(Some(Errno::NOSPC)),
        ffi::SQLITE_NOMEM => Some(Errno::NOMEM),
        _ if is_gone(path) => Some(Errno::NOENT),
        ffi::SQLITE_IOERR => among(STORAGE).or_else(|| refusal(path)),
        ffi::SQLITE_READONLY | ffi::SQLITE_CANTOPEN | ffi::SQLITE_PERM => {
            // SQLite tries to open for reading what it can't create, which gives ENOENT whatever
            // the reason was.
            among(STORAGE).or_else(|| among(OPENING)).or_else(|| refusal(path))
        }
        _ => None,
    }
}

/// Errors of reading, writing and syncing an open file.
const STORAGE: &[Errno] = &[
    Errno::IO,
    Errno::DQUOT,
    Errno::NOSPC,
    Errno::ROFS,
    Errno::FBIG,
    Errno::NODEV,
    Errno::NXIO,
    Errno::STALE,
    Errno::NOMEM,
    Errno::PERM,
    Errno::ACCESS,
];
/// Further errors of opening a file.
const OPENING: &[Errno] =
    &[Errno::MFILE, Errno::NFILE, Errno::NOTDIR, Errno::LOOP, Errno::NAMETOOLONG];

/// Whether the directory of the database no longer exists.
fn is_gone(path: &Path) -> bool {
    path.parent().is_some_and(|parent| matches!(parent.try_exists(), Ok(false)))
}

/// The reason why no file can be made beside the database, found by trying; `None` if one can.
/// (`statvfs` does not show it: an ext4 that stopped writing after an error still calls itself
/// writable.)
fn refusal(path: &Path) -> Option<Errno> {
    let probe = path.parent()?.join("save-probe.db");
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(&probe, flags, Mode::RUSR | Mode::WUSR) {
        Ok(_) => {
            let _ = rustix::fs::unlink(&probe);
            None
        }
        Err(Errno::EXIST) => None,
        Err(errno) => Some(errno),
    }
}

fn advice_for(code: i32, errno: Option<Errno>) -> String {
    if let Some(errno) = errno {
        return advice_within_limits(errno, None);
    }
    let advice = match code & 0xff {
        ffi::SQLITE_IOERR => advice_for_errno(Errno::IO),
        ffi::SQLITE_READONLY if code == ffi::SQLITE_READONLY_DBMOVED => {
            advice_for_errno(Errno::NOENT)
        }
        ffi::SQLITE_READONLY => advice_for_errno(Errno::ROFS),
        ffi::SQLITE_CANTOPEN | ffi::SQLITE_PERM => advice_for_errno(Errno::ACCESS),
        ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB => {
            "the storage gave back other bytes than were written: check it"
        }
        ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED | ffi::SQLITE_PROTOCOL => {
            "another program has this database open, or the filesystem has no file locks: choose \
             another directory"
        }
        ffi::SQLITE_TOOBIG => "use smaller rows",
        _ => advice_for_errno(Errno::OPNOTSUPP),
    };
    advice.to_owned()
}

fn words(errno: i32) -> String {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// `, SQLITE_IOERR_WRITE (778)`; empty for 0.
fn code_in_words(code: i32) -> String {
    if code == 0 { String::new() } else { format!(", {} ({code})", name_of(code)) }
}

/// SQLite's name of a result code: the extended code if storage can cause it, otherwise the primary
/// one.
fn name_of(code: i32) -> &'static str {
    match code {
        ffi::SQLITE_IOERR_READ => "SQLITE_IOERR_READ",
        ffi::SQLITE_IOERR_SHORT_READ => "SQLITE_IOERR_SHORT_READ",
        ffi::SQLITE_IOERR_WRITE => "SQLITE_IOERR_WRITE",
        ffi::SQLITE_IOERR_FSYNC => "SQLITE_IOERR_FSYNC",
        ffi::SQLITE_IOERR_DIR_FSYNC => "SQLITE_IOERR_DIR_FSYNC",
        ffi::SQLITE_IOERR_TRUNCATE => "SQLITE_IOERR_TRUNCATE",
        ffi::SQLITE_IOERR_FSTAT => "SQLITE_IOERR_FSTAT",
        ffi::SQLITE_IOERR_DELETE => "SQLITE_IOERR_DELETE",
        ffi::SQLITE_IOERR_DELETE_NOENT => "SQLITE_IOERR_DELETE_NOENT",
        ffi::SQLITE_IOERR_ACCESS => "SQLITE_IOERR_ACCESS",
        ffi::SQLITE_IOERR_LOCK => "SQLITE_IOERR_LOCK",
        ffi::SQLITE_IOERR_CLOSE => "SQLITE_IOERR_CLOSE",
        ffi::SQLITE_IOERR_SHMOPEN => "SQLITE_IOERR_SHMOPEN",
        ffi::SQLITE_IOERR_SHMSIZE => "SQLITE_IOERR_SHMSIZE",
        ffi::SQLITE_IOERR_SHMMAP => "SQLITE_IOERR_SHMMAP",
        ffi::SQLITE_READONLY_DBMOVED => "SQLITE_READONLY_DBMOVED",
        ffi::SQLITE_READONLY_DIRECTORY => "SQLITE_READONLY_DIRECTORY",
        ffi::SQLITE_CANTOPEN_ISDIR => "SQLITE_CANTOPEN_ISDIR",
        ffi::SQLITE_CANTOPEN_SYMLINK => "SQLITE_CANTOPEN_SYMLINK",
        _ => match code & 0xff {
            ffi::SQLITE_FULL => "SQLITE_FULL",
            ffi::SQLITE_IOERR => "SQLITE_IOERR",
            ffi::SQLITE_READONLY => "SQLITE_READONLY",
            ffi::SQLITE_CANTOPEN => "SQLITE_CANTOPEN",
            ffi::SQLITE_CORRUPT => "SQLITE_CORRUPT",
            ffi::SQLITE_NOTADB => "SQLITE_NOTADB",
            ffi::SQLITE_BUSY => "SQLITE_BUSY",
            ffi::SQLITE_LOCKED => "SQLITE_LOCKED",
            ffi::SQLITE_PROTOCOL => "SQLITE_PROTOCOL",
            ffi::SQLITE_NOMEM => "SQLITE_NOMEM",
            ffi::SQLITE_PERM => "SQLITE_PERM",
            ffi::SQLITE_TOOBIG => "SQLITE_TOOBIG",
            _ => "SQLite code",
        },
    }
}
