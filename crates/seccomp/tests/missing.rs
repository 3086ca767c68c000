//! Under Android's filter for apps, a call that it does not know is answered as by a kernel without it. Without
//! the handler it kills. For any processor: `scripts/phone-guest` runs these tests on ARM too.
#![cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod common;

use std::fs;

// What is not imported is not linked: this brings the handler.
use flashlag_seccomp as _;

use common::{ANDROIDS, Processor, allowed, call, filter, under_each};

/// A call that no app may make.
const REFUSED: i64 = libc::SYS_io_uring_setup;

#[test]
fn a_call_that_android_does_not_know_is_answered_as_by_an_old_kernel() {
    let missing = -i64::from(libc::ENOSYS);
    under_each(|android, folder| {
        let known = allowed(android, Processor::HERE);
        let numbers = [libc::SYS_statx, libc::SYS_clone3, libc::SYS_faccessat2, libc::SYS_openat2];
        let numbers = numbers.into_iter().chain([libc::SYS_io_uring_setup, libc::SYS_mount]);
        let refused = numbers.filter(|number| !known.values().any(|allowed| allowed == number));
        let refused: Vec<_> = refused.collect();
        assert_eq!(refused.contains(&libc::SYS_statx), android < 11);
        // Android 8 lets an app try to mount, 15 lets one make threads by `clone3`.
        assert!(refused.len() >= 4, "{refused:?}");
        for number in refused {
            assert_eq!(call(number, [0, 0, 0, 0]), missing, "{number}");
        }
        // The standard library asks by `statx` first.
        fs::write(folder.join("file"), "four").unwrap();
        assert_eq!(fs::metadata(folder.join("file")).unwrap().len(), 4);
    });
}

/// The signal that ends a process which does `what`, without memory of its own; zero if none does.
fn ended_by(what: impl FnOnce()) -> i32 {
    // SAFETY: the child makes system calls alone until it ends, so that no lock of another thread matters.
    let child = unsafe { libc::fork() };
    if child == 0 {
        what();
        // SAFETY: it ends here, without anything that is to be done at an end.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: `status` is valid for writing.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    if libc::WIFSIGNALED(status) { libc::WTERMSIG(status) } else { 0 }
}

#[test]
fn without_the_handler_a_refused_call_kills() {
    for android in ANDROIDS {
        let program = filter(android, &[]);
        let poll = || {
            seccompiler::apply_filter(&program).unwrap();
            call(REFUSED, [0, 0, 0]);
        };
        assert_eq!(ended_by(poll), 0, "with it, none does");
        let by_default = || {
            // SAFETY: no handler of ours runs here.
            unsafe { libc::signal(libc::SIGSYS, libc::SIG_DFL) };
            poll();
        };
        assert_eq!(ended_by(by_default), libc::SIGSYS, "Android {android}");
    }
}

#[test]
fn the_signal_ends_a_program_if_somebody_sends_it() {
    // SAFETY: no memory is handed over.
    let send = || assert_eq!(unsafe { libc::raise(libc::SIGSYS) }, 0);
    assert_eq!(ended_by(send), libc::SIGSYS);
}
