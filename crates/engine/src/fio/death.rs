//! A child that is killed when its parent dies: after `kill -9` no fio goes on writing.

use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Signal, set_parent_process_death_signal};

/// Has the kernel kill the child when the thread that starts it ends.
pub(super) fn kill_with_parent(command: &mut Command) {
    let before_exec = || {
        // Where it can't be had fio runs all the same: it ends at its limits.
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
        Ok(())
    };
    // SAFETY: between fork and exec only async-signal-safe calls are allowed; this is one prctl
    // system call, which allocates nothing and takes no lock.
    unsafe { command.pre_exec(before_exec) };
}
