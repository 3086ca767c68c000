//! Finds limits of this process that are too low, before anything begins: if memory ran out later,
//! a signal would kill the program.

use std::os::unix::process::CommandExt;

use flashlag_units::Bytes;
use rustix::process::{Resource, getrlimit};

/// The stack that the program certainly needs, and the stack that it gets if the limit is lower.
const STACK: u64 = 4 << 20;
const OWN_STACK: usize = 8 << 20;
/// The least memory that a measurement or a simulation needs besides the program itself.
const MEMORY: u64 = 64 << 20;

/// With this much address space, the allocator may take as much of it as it likes.
const ROOM: u64 = 4 << 30;
/// The variable that limits the arenas of glibc's allocator; glibc reads it at the start of a
/// program.
const ARENAS: &str = "MALLOC_ARENA_MAX";

/// Starts the program again with one arena where `ulimit -v` limits its address space: glibc reserves 64 MB of
/// it for each thread and takes 128 MB for a moment, in which any other thread's allocation fails.
pub fn with_one_arena() {
    let is_limited = getrlimit(Resource::As).current.is_some_and(|limit| limit < ROOM);
    if !cfg!(target_env = "gnu") || !is_limited || std::env::var_os(ARENAS).is_some() {
        return;
    }
    let mut words = std::env::args_os();
    let (Some(name), Ok(program)) = (words.next(), std::env::current_exe()) else { return };
    // It returns only if it fails: then the program continues in this process.
    let _ = std::process::Command::new(program).arg0(name).args(words).env(ARENAS, "1").exec();
}

/// Runs the whole program, in a thread with its own stack if `ulimit -s` allows too little.
pub fn with_enough_stack(all: fn() -> std::process::ExitCode) -> std::process::ExitCode {
    if getrlimit(Resource::Stack).current.is_none_or(|limit| limit >= STACK) {
        return all();
    }
    let thread = std::thread::Builder::new().stack_size(OWN_STACK).spawn(all);
    match thread.map(std::thread::JoinHandle::join) {
        Ok(Ok(exit)) => exit,
        // The panic has already printed its reason.
        Ok(Err(_)) => std::process::ExitCode::from(101),
        // There is no memory for a stack.
        Err(_) => all(),
    }
}

/// Why there is too little memory to measure or to simulate, and what to do; `None` if there is enough.
pub fn too_little_memory() -> Option<String> {
    let limit = getrlimit(Resource::As).current?;
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = pages.split(' ').next()?.parse().ok()?;
    let taken = pages.saturating_mul(rustix::param::page_size() as u64);
    sentence(limit, taken)
}

fn sentence(limit: u64, taken: u64) -> Option<String> {
    (limit.saturating_sub(taken) < MEMORY).then(|| {
        format!(
            "this process may have {} of memory (ulimit -v), of which the program itself takes {}: it needs at \
             least {} beside that; lift the limit with `ulimit -v unlimited` (a service: LimitAS=infinity)",
            Bytes(limit),
            Bytes(taken),
            Bytes(MEMORY)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_memory_is_what_is_left_beside_the_program() {
        let mib = |mib: u64| mib << 20;
        assert_eq!(sentence(mib(164), mib(100)), None);
        let said = sentence(mib(163), mib(100)).unwrap();
        assert!(said.contains("ulimit -v unlimited"), "{said}");
        assert!(sentence(mib(20), mib(100)).is_some(), "more was taken before the limit was set");
    }
}
