//! Whether programs can be started; alone, since a refused call counts for the whole process.
#![cfg(target_arch = "x86_64")]
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

mod common;

use flashlag_seccomp::programs_can_start;

#[test]
fn programs_can_start_until_an_old_call_is_refused() {
    assert!(programs_can_start());
    let program = common::filter(10, &[]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            seccompiler::apply_filter(&program).unwrap();
            let _ = std::fs::metadata("/");
            assert!(programs_can_start(), "`statx` is not an old call");
            let _ = std::fs::remove_dir("/there/is/no/such/folder");
            assert!(!programs_can_start());
        });
    });
}
