use flashlag_units::Bytes;
use thiserror::Error;

use crate::errno::{Errno, Resource, limit_of, reason_of};

/// An operation that failed: on what, where, why, and what to try.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{operation} {subject}{}: {reason} ({})", at(offset), advice)]
pub struct DeviceError {
    /// `write`, `fdatasync`, `open`, …
    pub operation: &'static str,
    pub subject: String,
    pub offset: Option<Bytes>,
    pub errno: Option<i32>,
    pub reason: String,
    pub advice: String,
}

fn at(offset: &Option<Bytes>) -> String {
    offset.map(|offset| format!(" at byte {}", offset.0)).unwrap_or_default()
}

impl DeviceError {
    /// An operating-system error.
    pub fn os(
        operation: &'static str,
        subject: impl Into<String>,
        offset: Option<Bytes>,
        errno: Errno,
    ) -> DeviceError {
        let reason = reason_of(errno);
        DeviceError {
            operation,
            subject: subject.into(),
            offset,
            errno: Some(errno.raw_os_error()),
            reason,
            advice: advice_within_limits(errno, offset),
        }
    }

    /// The error for using a slot that is not free.
    pub fn busy(operation: &'static str, subject: &str, slot: u32) -> DeviceError {
        DeviceError {
            operation,
            subject: subject.to_owned(),
            offset: None,
            errno: Some(Errno::BUSY.raw_os_error()),
            reason: format!("slot {slot} is not free"),
            advice: "reap its completion before it is used again".to_owned(),
        }
    }

    /// Whether no space was left: the disk is full or a quota is used up.
    pub fn is_no_space(&self) -> bool {
        [Errno::NOSPC, Errno::DQUOT].iter().any(|errno| Some(errno.raw_os_error()) == self.errno)
    }

    /// Whether a quota was used up.
    pub fn is_quota(&self) -> bool {
        self.errno == Some(Errno::DQUOT.raw_os_error())
    }
}

/// Advice on an error; names the shell limit (`ulimit`) that caused it, if one did. `offset` is the
/// position in the file.
pub fn advice_within_limits(errno: Errno, offset: Option<Bytes>) -> String {
    limited(errno, offset, limit_of)
}

fn limited(errno: Errno, offset: Option<Bytes>, limit: impl Fn(Resource) -> Option<u64>) -> String {
    let named = match errno {
        // A write that reaches the limit is short; one that starts at the limit or beyond fails.
        Errno::FBIG => limit(Resource::Fsize)
            .filter(|limit| offset.is_none_or(|offset| offset.0 >= *limit))
            .map(|limit| {
                let bytes = flashlag_units::count(limit);
                format!(
                    "the limit of this shell is {bytes} bytes a file (`ulimit -f`, RLIMIT_FSIZE): \
                     raise it, as by `ulimit -f unlimited`"
                )
            }),
        Errno::MFILE => limit(Resource::Nofile).map(|limit| {
            let files = flashlag_units::count(limit);
            format!("too many open files: the limit of this shell is {files}: raise `ulimit -n`")
        }),
        Errno::NOMEM | Errno::AGAIN => limit(Resource::As).map(|limit| {
            format!(
                "memory ran out: the limit of this shell is {} (`ulimit -v`, RLIMIT_AS): raise it, \
                 or try a lower queue depth",
                Bytes(limit)
            )
        }),
        _ => None,
    };
    named.unwrap_or_else(|| advice_for_errno(errno).to_owned())
}

/// Advice for the user on an operating-system error on storage.
pub fn advice_for_errno(errno: Errno) -> &'static str {
    match errno {
        Errno::NOSPC => "free some space, or leave more with --leave",
        Errno::DQUOT => "the quota is used up: free some of this user's space, or raise the quota",
        Errno::ROFS => {
            "the filesystem is read-only: choose another directory, or see the kernel log"
        }
        Errno::IO => {
            "the storage reported an I/O error: see the kernel log, and back up this device"
        }
        Errno::NOENT | Errno::STALE | Errno::NODEV | Errno::NXIO => {
            "it no longer exists: was the device removed or the directory deleted?"
        }
        Errno::ACCESS | Errno::PERM => "choose a directory that you may write to",
        Errno::INVAL => "the filesystem refuses this kind of I/O: try --set direct=false",
        Errno::MFILE | Errno::NFILE => "too many open files: raise `ulimit -n`",
        Errno::NOMEM | Errno::AGAIN => {
            "memory, or a limit on it, is used up: try a lower queue depth"
        }
        Errno::FBIG => "the filesystem allows no file that large",
        _ => "see the kernel log",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(errno: Errno, offset: Option<u64>, limit: Option<u64>) -> String {
        limited(errno, offset.map(Bytes), |_| limit)
    }

    #[test]
    fn a_limit_of_the_shell_is_named_where_it_is_the_cause() {
        let at = |offset| of(Errno::FBIG, offset, Some(102_400));
        assert!(
            at(Some(102_400)).contains("102,400 bytes a file (`ulimit -f`"),
            "{}",
            at(Some(102_400))
        );
        assert!(at(None).contains("RLIMIT_FSIZE"));
        let filesystem = "the filesystem allows no file that large";
        assert_eq!(at(Some(102_399)), filesystem, "below the limit of the shell");
        assert_eq!(of(Errno::FBIG, Some(1 << 40), None), filesystem, "without one");
        assert!(of(Errno::MFILE, None, Some(1024)).contains("1,024: raise `ulimit -n`"));
        assert!(of(Errno::NOMEM, None, Some(5_000_000)).contains("5.0 MB (`ulimit -v`"));
        assert_eq!(of(Errno::NOMEM, None, None), advice_for_errno(Errno::NOMEM));
        assert_eq!(of(Errno::IO, Some(1), Some(1)), advice_for_errno(Errno::IO));
    }
}
