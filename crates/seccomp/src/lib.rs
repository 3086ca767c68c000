//! Lets a program run in Termux: answers the system calls that Android refuses to apps.
//!
//! Since Android 8, an app and all its child processes run under a seccomp filter that allows the
//! calls of Android's own C library. Any other call raises `SIGSYS`, which kills the process.
//! Rust's standard library and musl make such calls: `statx` before Android 11, and on x86_64
//! `poll`, `open` and `stat` in any Android, the first of them before `main`. A program that
//! imports this crate has a handler for that signal before `main`. The handler makes the modern
//! equivalent of an old call, reads a clock by the older call on 32-bit ARM, and fails any other
//! with `ENOSYS`, as a kernel without that call would: the standard library and musl then fall back
//! on another call.
//!
//! Nothing can be answered while `SIGSYS` is blocked. C libraries block all signals while they
//! start a program: see [`programs_can_start`].
#![deny(unsafe_code)]

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "arm")
))]
mod handler;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "arm")
))]
mod modern;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "arm")
))]
mod registers;

/// Whether this process can start programs with pipes or files as their input and output.
///
/// On x86_64, both musl and the GNU C library connect those by `dup2` while all signals are blocked. Where
/// Android refuses it, the new process dies, and in kernels before Linux 5.16 its parent with it. A program
/// whose input and output are its parent's can be started everywhere, as on ARM can any.
pub fn programs_can_start() -> bool {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    return !handler::refuses_old_calls();
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    true
}
