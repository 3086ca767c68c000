use std::path::Path;

use flashlag_device::DeviceError;
use rustix::fs::{CWD, Mode, OFlags, StatVfsMountFlags, openat};
use rustix::io::Errno;

/// Adds the state of the filesystem that holds `path` to the error if it explains it: a filesystem
/// that has shut down after an error of its own returns plain I/O errors at first.
pub fn explained(error: DeviceError, path: &Path) -> DeviceError {
    let io_error = error.errno == Some(Errno::IO.raw_os_error());
    if io_error && is_read_only(path) {
        let reason = format!("{}; the filesystem is read-only now", error.reason);
        let advice = "it met an error and gave up: see the kernel log, then check it (fsck)";
        return DeviceError { reason, advice: advice.to_owned(), ..error };
    }
    error
}

/// Whether the filesystem has become read-only. Since Linux 6.15 the mount's flags don't show it if
/// ext4 met an error: so this creates a file with `O_TMPFILE`, which leaves nothing behind.
fn is_read_only(path: &Path) -> bool {
    let stat = rustix::fs::statvfs(path);
    if stat.is_ok_and(|stat| stat.f_flag.contains(StatVfsMountFlags::RDONLY)) {
        return true;
    }
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::RUSR | Mode::WUSR).is_err_and(|errno| errno == Errno::ROFS)
}
