//! Android's filter of system calls for apps, from the calls that `fixtures/seccomp` has for each Android.
#![allow(dead_code, reason = "not every test that has this module asks everything")]
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::collections::BTreeMap;
use std::path::Path;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

/// The versions of Android that there is a list for: the first with a filter, the last without `statx`, a new one.
pub const ANDROIDS: [u32; 3] = [8, 10, 15];

/// A processor, by its column in a list.
#[derive(Clone, Copy, Debug)]
pub enum Processor {
    Armv7 = 1,
    Aarch64,
    X86_64,
}

/// The calls that an app may make, with their numbers.
pub fn allowed(android: u32, processor: Processor) -> BTreeMap<String, i64> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/seccomp");
    let text = std::fs::read_to_string(folder.join(format!("android{android}.txt"))).unwrap();
    let rows = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let called =
        rows.filter_map(|row| Some((row[0].to_owned(), row[processor as usize].parse().ok()?)));
    let calls: BTreeMap<String, i64> = called.collect();
    assert!(calls.len() > 200, "Android {android}, {processor:?}: {} calls", calls.len());
    calls
}

/// The filter of an app on x86_64, with `more` calls allowed.
pub fn filter(android: u32, more: &[i64]) -> BpfProgram {
    let calls = allowed(android, Processor::X86_64).into_values().chain(more.iter().copied());
    let rules = calls.map(|call| (call, Vec::new())).collect();
    let machine = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Trap, SeccompAction::Allow, machine);
    filter.unwrap().try_into().unwrap()
}
