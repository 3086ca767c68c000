// The one system call here has no safe wrapper.
#![allow(unsafe_code)]

use std::path::{Path, PathBuf};

use flashlag_units::Bytes;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use thiserror::Error;

/// Why free space could not be trimmed: the path, the error, and what to try.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("trim {}: {reason} ({advice})", path.display())]
pub struct TrimError {
    pub path: PathBuf,
    pub errno: i32,
    pub reason: String,
    pub advice: String,
}

/// `struct fstrim_range` of `linux/fs.h`.
#[repr(C)]
struct Range {
    start: u64,
    length: u64,
    least: u64,
}

/// `FITRIM`: `_IOWR('X', 121, struct fstrim_range)`.
const FITRIM: Opcode = opcode::read_write::<Range>(b'X', 121);

/// Trims the free space of the filesystem that holds `path`, as `fstrim` does. Deletions are
/// committed first, since their space is not free before. Returns the bytes that the
/// filesystem says it discarded; some (F2FS mounted with `discard`) say none and trim when idle.
///
/// # Errors
/// The process lacks root's rights (`CAP_SYS_ADMIN`), or the filesystem or the device takes no
/// discards.
pub fn trim(path: &Path) -> Result<Bytes, TrimError> {
    trimmed(path).map_err(|errno| {
        let (reason, advice) = explain(errno, path);
        TrimError { path: path.to_owned(), errno: errno.raw_os_error(), reason, advice }
    })
}

fn trimmed(path: &Path) -> Result<Bytes, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(CWD, path, flags, Mode::empty())?;
    rustix::fs::syncfs(&directory)?;
    let mut range = Range { start: 0, length: u64::MAX, least: 0 };
    // SAFETY: FITRIM reads and writes one `struct fstrim_range`, three 64-bit words, which `Range`
    // is; the descriptor and the range live until it returns.
    unsafe { ioctl(&directory, Updater::<FITRIM, Range>::new(&mut range)) }?;
    Ok(Bytes(range.length))
}

fn explain(errno: Errno, path: &Path) -> (String, String) {
    let shown = path.display();
    let (reason, advice) = match errno {
        Errno::PERM | Errno::ACCESS => (
            "only root may".to_owned(),
            format!(
                "run `sudo fstrim -v {shown}` yourself and go on with --resume, or measure on a \
                 filesystem that is mounted with `discard`"
            ),
        ),
        Errno::OPNOTSUPP => (
            "the storage takes no discards".to_owned(),
            "many SD cards, USB adapters and encrypted volumes don't pass them on; for dm-crypt \
             see allow-discards"
                .to_owned(),
        ),
        Errno::NOTTY => (
            "the filesystem has no trim".to_owned(),
            "FUSE, network and memory filesystems don't; measure on the one below".to_owned(),
        ),
        other => (crate::guard::reason(other), flashlag_device::advice_for_errno(other).to_owned()),
    };
    (reason, advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_number_is_the_kernels() {
        // linux/fs.h, as strace prints it on x86-64 and arm64.
        assert_eq!(FITRIM as u64, 0xc018_5879);
    }

    #[test]
    fn every_refusal_says_what_to_try() {
        let path = Path::new("/data");
        assert!(explain(Errno::PERM, path).1.contains("sudo fstrim -v /data"));
        assert!(explain(Errno::OPNOTSUPP, path).1.contains("allow-discards"));
        assert!(explain(Errno::NOTTY, path).0.contains("no trim"));
        let error = trim(Path::new("/nowhere/at/all")).unwrap_err().to_string();
        assert!(error.contains("/nowhere/at/all"), "{error}");
        let error = trim(Path::new("/proc")).unwrap_err();
        assert_eq!(error.errno, Errno::NOTTY.raw_os_error(), "{error}");
    }
}
