use flashlag_units::Bytes;
use rustix::io::Errno;
use thiserror::Error;

/// An operation that failed: on what, where, why, and what to try.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{operation} {subject}{}: {reason} ({})", at(offset), advice)]
pub struct DeviceError {
    /// `write`, `fdatasync`, `open`, …
    pub operation: &'static str,
    /// The path or the device.
    pub subject: String,
    /// Where in it.
    pub offset: Option<Bytes>,
    /// The operating system's error number, if any.
    pub errno: Option<i32>,
    /// What happened, in words.
    pub reason: String,
    /// What to try next.
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
        let text = std::io::Error::from(errno).to_string();
        let reason = text.split(" (os error").next().unwrap_or_default().to_owned();
        DeviceError {
            operation,
            subject: subject.into(),
            offset,
            errno: Some(errno.raw_os_error()),
            reason,
            advice: advice_for_errno(errno).to_owned(),
        }
    }

    /// A slot was used that is not free.
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
}

/// Advice for the user on an operating-system error on storage.
pub fn advice_for_errno(errno: Errno) -> &'static str {
    match errno {
        Errno::NOSPC => "free some space, or leave more with --leave",
        Errno::DQUOT => "the quota is used up: free some of this user's space, or raise the quota",
        Errno::ROFS => {
            "the filesystem is read-only: choose another directory, or see the kernel log"
        }
        Errno::IO => "the storage failed to do it: see the kernel log, and back up this device",
        Errno::NOENT | Errno::STALE | Errno::NODEV | Errno::NXIO => {
            "it has vanished: was the device removed or the directory deleted?"
        }
        Errno::ACCESS | Errno::PERM => "choose a directory that you may write to",
        Errno::INVAL => "the filesystem refuses this kind of I/O: try --set direct=false",
        Errno::MFILE | Errno::NFILE => "too many open files: raise `ulimit -n`",
        Errno::NOMEM | Errno::AGAIN => "memory or a limit on it ran out: try a lower queue depth",
        Errno::FBIG => "the filesystem takes no file that large",
        _ => "see the kernel log",
    }
}
