//! System calls that the kernel refuses, as it does in containers, on Android and on filesystems
//! that lack them.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

/// Runs `then` where this call always fails with `errno`: on a thread of its own, so that only it
/// and the processes that it starts are concerned. `Err` says why that can't be had here.
pub fn refused<T: Send>(
    call: i64,
    errno: i32,
    then: impl FnOnce() -> T + Send,
) -> Result<T, String> {
    filtered(call, SeccompAction::Errno(errno as u32), then)
}

/// Runs `then` where this call ends the process that makes it, as Android does to an app: for
/// processes that `then` starts.
#[allow(dead_code, reason = "not every test that has this module starts programs")]
pub fn killed<T: Send>(call: i64, then: impl FnOnce() -> T + Send) -> Result<T, String> {
    filtered(call, SeccompAction::KillProcess, then)
}

fn filtered<T: Send>(
    call: i64,
    action: SeccompAction,
    then: impl FnOnce() -> T + Send,
) -> Result<T, String> {
    let program = program(call, action)?;
    std::thread::scope(|scope| {
        let run = || {
            apply_filter(&program).map_err(|error| format!("seccomp: {error}"))?;
            Ok(then())
        };
        scope.spawn(run).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn program(call: i64, this: SeccompAction) -> Result<BpfProgram, String> {
    let machine = std::env::consts::ARCH.try_into();
    let machine = machine.map_err(|error| format!("seccomp: {error}"))?;
    // No conditions: whatever its arguments are.
    let rules = BTreeMap::from([(call, Vec::new())]);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, this, machine);
    let program = filter.and_then(BpfProgram::try_from);
    program.map_err(|error| format!("seccomp: {error}"))
}
