//! Android's filter of system calls for apps, from the calls that `fixtures/seccomp` has for each Android.
#![allow(dead_code, reason = "not every test that has this module asks everything")]
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch, sock_filter};

/// The versions of Android that there is a list for: the first with a filter, the last without `statx`, a new one.
pub const ANDROIDS: [u32; 3] = [8, 10, 15];

/// A processor, by its column in a list.
#[derive(Clone, Copy, Debug)]
pub enum Processor {
    Armv7 = 1,
    Aarch64,
    X86_64,
}

impl Processor {
    /// That of this program.
    #[cfg(target_arch = "x86_64")]
    pub const HERE: Processor = Processor::X86_64;
    /// That of this program.
    #[cfg(target_arch = "aarch64")]
    pub const HERE: Processor = Processor::Aarch64;
}

/// The list of an Android: in the program, which may run where the sources are not.
fn list(android: u32) -> &'static str {
    match android {
        8 => include_str!("../../../../fixtures/seccomp/android8.txt"),
        10 => include_str!("../../../../fixtures/seccomp/android10.txt"),
        15 => include_str!("../../../../fixtures/seccomp/android15.txt"),
        _ => panic!("there is no list for Android {android}, only for {ANDROIDS:?}"),
    }
}

/// The calls that an app may make, with their numbers.
pub fn allowed(android: u32, processor: Processor) -> BTreeMap<String, i64> {
    let rows = list(android).lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let called =
        rows.filter_map(|row| Some((row[0].to_owned(), row[processor as usize].parse().ok()?)));
    let calls: BTreeMap<String, i64> = called.collect();
    assert!(calls.len() > 200, "Android {android}, {processor:?}: {} calls", calls.len());
    calls
}

/// Makes a call as a C library does; what the kernel, or the handler, returned.
pub fn call<const N: usize>(number: i64, given: [i64; N]) -> i64 {
    let mut all = [0_i64; 6];
    all[..N].copy_from_slice(&given);
    let [a, b, c, d, e, f] = all;
    // SAFETY: each caller passes the arguments that its call takes, with addresses of what outlives the call.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    match result {
        -1 => -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap()),
        _ => result,
    }
}

/// Runs `then` on a thread under the filter of each Android.
pub fn under_each(then: impl Fn(u32, &std::path::Path) + Sync) {
    for android in ANDROIDS {
        let folder = tempfile::TempDir::new().unwrap();
        let program = filter(android, &[]);
        std::thread::scope(|scope| {
            let run = || {
                seccompiler::apply_filter(&program).unwrap();
                then(android, folder.path());
            };
            // A refused call that nobody answers ends this whole program.
            scope.spawn(run).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
    }
}

/// The filter of an app on this processor, with `more` calls allowed.
pub fn filter(android: u32, more: &[i64]) -> BpfProgram {
    let calls = allowed(android, Processor::HERE).into_values().chain(more.iter().copied());
    let machine = std::env::consts::ARCH.try_into().unwrap();
    let of_this = compiled(calls, machine);
    #[cfg(target_arch = "aarch64")]
    return before(of_32_bits(android), of_this);
    #[cfg(not(target_arch = "aarch64"))]
    of_this
}

fn compiled(calls: impl Iterator<Item = i64>, machine: TargetArch) -> BpfProgram {
    let rules = calls.map(|call| (call, Vec::new())).collect();
    let filter = SeccompFilter::new(rules, SeccompAction::Trap, SeccompAction::Allow, machine);
    filter.unwrap().try_into().unwrap()
}

/// What the kernel calls the processor of a 32-bit program (`AUDIT_ARCH_ARM`).
const ARM: u32 = 0x4000_0028;

/// The filter of 32-bit apps. The library does not know that processor: in the filter for another, the check of the
/// processor, which is the second instruction, asks for this one.
fn of_32_bits(android: u32) -> BpfProgram {
    let mut program =
        compiled(allowed(android, Processor::Armv7).into_values(), TargetArch::aarch64);
    assert_ne!(program[1].k, ARM);
    program[1].k = ARM;
    program
}

/// One filter for programs of both kinds, as Android's own: `first` for 32-bit ones.
fn before(first: BpfProgram, second: BpfProgram) -> BpfProgram {
    let step = |code, jt, k| sock_filter { code, jt, jf: 0, k };
    // Loads the processor, and goes over the jump behind that comparison if it is ARM.
    let processor = first[0].clone();
    let (if_equal, jump) = (step(0x15, 1, ARM), step(0x05, 0, first.len().try_into().unwrap()));
    [vec![processor, if_equal, jump], first, second].concat()
}
