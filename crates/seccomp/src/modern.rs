//! The allowed equivalent of a refused system call: a modern call for an old one, and in one case
//! the reverse.

use libc::c_long;

/// A system call: its number and its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub number: c_long,
    pub arguments: [c_long; 6],
}

/// `clock_gettime64`, for which the crate `libc` has no name.
#[cfg(target_arch = "arm")]
const CLOCK_GETTIME64: c_long = 403;

/// 64-bit ARM came too late to Linux for old calls.
#[cfg(target_arch = "aarch64")]
pub(crate) fn modern(_: &Call, _: &mut libc::timespec) -> Option<Call> {
    None
}

/// The call with the same effect, of those that every Android lets an app make; `None` if no such call exists. `wait`
/// must live until the call has been made.
///
/// `fork` is not here: where a C library makes that call, all signals are blocked.
#[cfg(any(target_arch = "x86_64", target_arch = "arm"))]
pub(crate) fn modern(call: &Call, wait: &mut libc::timespec) -> Option<Call> {
    const HERE: c_long = libc::AT_FDCWD as c_long;
    const DIRECTORY: c_long = libc::AT_REMOVEDIR as c_long;
    const NOT_FOLLOWED: c_long = libc::AT_SYMLINK_NOFOLLOW as c_long;
    #[cfg(target_arch = "x86_64")]
    use libc::{SYS_chown as CHOWN, SYS_lchown as LCHOWN};
    #[cfg(target_arch = "arm")]
    use libc::{SYS_chown32 as CHOWN, SYS_lchown32 as LCHOWN};
    let [a, b, c, ..] = call.arguments;
    let (number, arguments) = match call.number {
        libc::SYS_rmdir => (libc::SYS_unlinkat, [HERE, a, DIRECTORY, 0, 0]),
        libc::SYS_link => (libc::SYS_linkat, [HERE, a, HERE, b, 0]),
        libc::SYS_symlink => (libc::SYS_symlinkat, [a, HERE, b, 0, 0]),
        libc::SYS_chmod => (libc::SYS_fchmodat, [HERE, a, b, 0, 0]),
        CHOWN => (libc::SYS_fchownat, [HERE, a, b, c, 0]),
        LCHOWN => (libc::SYS_fchownat, [HERE, a, b, c, NOT_FOLLOWED]),
        // Newer than Android 10. If the kernel is newer too, its vDSO passes a refusal on, and
        // rustix, which calls the vDSO, assumes that clocks never fail. The result has 32 bits: see
        // `widened`.
        #[cfg(target_arch = "arm")]
        CLOCK_GETTIME64 => (libc::SYS_clock_gettime, [a, b, 0, 0, 0]),
        // Android lets 32-bit apps make the old calls that follow.
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => (libc::SYS_openat, [HERE, a, b, c, 0]),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_creat => {
            let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
            (libc::SYS_openat, [HERE, a, c_long::from(flags), b, 0])
        }
        #[cfg(target_arch = "x86_64")]
        libc::SYS_stat => (libc::SYS_newfstatat, [HERE, a, b, 0, 0]),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_lstat => (libc::SYS_newfstatat, [HERE, a, b, NOT_FOLLOWED, 0]),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_access => (libc::SYS_faccessat, [HERE, a, b, 0, 0]),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_readlink => (libc::SYS_readlinkat, [HERE, a, b, c, 0]),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_mkdir => (libc::SYS_mkdirat, [HERE, a, b, 0, 0]),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_unlink => (libc::SYS_unlinkat, [HERE, a, 0, 0, 0]),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rename => (libc::SYS_renameat, [HERE, a, HERE, b, 0]),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_pipe => (libc::SYS_pipe2, [a, 0, 0, 0, 0]),
        // `dup3` refuses what `dup2` allows: twice the same descriptor, which must be an open one.
        #[cfg(target_arch = "x86_64")]
        libc::SYS_dup2 if a == b => (libc::SYS_fcntl, [a, c_long::from(libc::F_GETFD), 0, 0, 0]),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_dup2 => (libc::SYS_dup3, [a, b, 0, 0, 0]),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_poll => (libc::SYS_ppoll, [a, b, until(c, wait), 0, 0]),
        _ => return None,
    };
    let _ = &wait;
    let [a, b, c, d, e] = arguments;
    Some(Call { number, arguments: [a, b, c, d, e, 0] })
}

/// The address of `wait`, set to that number of milliseconds; below zero, which is for ever, no address.
#[cfg(target_arch = "x86_64")]
fn until(milliseconds: c_long, wait: &mut libc::timespec) -> c_long {
    // The kernel takes the lower half of the register.
    let milliseconds = milliseconds as libc::c_int;
    if milliseconds < 0 {
        return 0;
    }
    wait.tv_sec = (milliseconds / 1000).into();
    wait.tv_nsec = c_long::from(milliseconds % 1000) * 1_000_000;
    &raw mut *wait as c_long
}
