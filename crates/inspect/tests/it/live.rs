//! On the machine that runs the tests.

use std::path::Path;

use flashlag_inspect::{Probe, Root, environment};

#[test]
fn this_machine_reports_its_kernel_and_its_mounts() {
    let seen = environment(&Root::system(), Path::new("."));
    assert!(seen.software.kernel.value().is_some_and(|kernel| kernel.starts_with("Linux")));
    assert!(seen.filesystem.kind.value().is_some(), "{:?}", seen.filesystem.kind);
    assert!(seen.filesystem.total_bytes.value().is_some_and(|bytes| bytes.0 > 0));
    assert!(seen.memory_bytes.value().is_some_and(|bytes| bytes.0 > 0));
}

#[test]
fn counters_never_go_back() {
    let probe = Probe::open(&Root::system(), Path::new("."));
    let before = probe.counters();
    let after = probe.counters();
    let delta = after.since(&before);
    assert!(after.at >= before.at);
    for reason in [delta.self_io.reason(), delta.disk.reason(), delta.cpu.reason()] {
        assert_ne!(reason, Some("a counter went back"));
    }
}

#[test]
fn memory_has_no_block_device_and_says_so() {
    let shm = Path::new("/dev/shm");
    if !shm.exists() {
        return flashlag_need::skip("no /dev/shm");
    }
    let seen = environment(&Root::system(), shm);
    if seen.filesystem.kind.value().map(String::as_str) != Some("tmpfs") {
        return flashlag_need::skip("/dev/shm is no tmpfs");
    }
    assert!(seen.device.name.reason().is_some_and(|reason| reason.contains("memory")));
    assert_eq!(Probe::open(&Root::system(), shm).disk_count(), None);
}
