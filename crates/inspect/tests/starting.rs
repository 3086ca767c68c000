//! A process that may start no program; alone, since that holds for all of a process.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use flashlag_inspect::android::program;
use flashlag_inspect::{Root, start_no_programs};

#[test]
fn a_process_that_may_start_no_program_says_so_in_the_place_of_what_one_would_say() {
    let ask = || program(&Root::system(), "no-such-program", &["battery"]).unwrap_err().to_string();
    assert!(ask().contains("there is no /system/bin/no-such-program"), "{}", ask());
    start_no_programs();
    assert!(ask().starts_with("no-such-program battery: Android's filter"), "{}", ask());
    let tree = tempfile::tempdir().unwrap();
    std::fs::create_dir(tree.path().join("dumpsys")).unwrap();
    std::fs::write(tree.path().join("dumpsys/battery.txt"), "level: 50").unwrap();
    let kept = program(&Root::captured(tree.path()), "dumpsys", &["battery"]);
    assert_eq!(kept.as_deref(), Ok("level: 50"), "nothing is started for a captured tree");
}
