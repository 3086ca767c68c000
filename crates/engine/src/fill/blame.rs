use std::path::Path;

use flashlag_device::DeviceError;
use rustix::fs::{CWD, Mode, OFlags, StatVfsMountFlags, openat};
use rustix::io::Errno;

/// The error with the state of the filesystem that holds `path`, where that explains it: one that has
/// given up after an error of its own answers with plain I/O errors at first.
pub fn explained(error: DeviceError, path: &Path) -> DeviceError {
    let io_error = error.errno == Some(Errno::IO.raw_os_error());
    if io_error && is_read_only(path) {
        let reason = format!("{}; the filesystem is read-only now", error.reason);
        let advice = "it met an error and gave up: see the kernel log, then check it (fsck)";
        return DeviceError { reason, advice: advice.to_owned(), ..error };
    }
    error
}

/// Whether nothing can be written there any more. Linux since 6.15 does not say so in the mount's
/// flags where ext4 met an error: a file without a name, which leaves nothing behind, asks it.
fn is_read_only(path: &Path) -> bool {
    let stat = rustix::fs::statvfs(path);
    if stat.is_ok_and(|stat| stat.f_flag.contains(StatVfsMountFlags::RDONLY)) {
        return true;
    }
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::RUSR | Mode::WUSR).is_err_and(|errno| errno == Errno::ROFS)
}
