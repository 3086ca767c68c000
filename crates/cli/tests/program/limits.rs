//! Limits of the process that the shell sets: a stack and a memory that are too small for most programs.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Output};

const TINY: &str = r#"
name = "tiny"
about = "A moment of writes."
[[io]]
name = "w"
operation = "write"
pattern = "random"
block = "4KiB"
span = "1MiB"
time = "50ms"
[[step]]
measure = ["w"]
state = "new"
"#;

/// A run beneath a limit, in a folder of its own; what is left there beside its files.
fn limited(limit: &str, on: &str) -> (Output, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tiny.toml"), TINY).unwrap();
    let script = format!("{limit} && exec \"$0\" run tiny.toml --on {on} -o run.json");
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_flashlag")]).current_dir(folder.path());
    let output = command.output().unwrap();
    let entries = folder.path().read_dir().unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    (output, names.filter(|name| name.contains("flashlag")).collect())
}

#[test]
fn a_stack_of_64_kib_is_enough() {
    for on in [".", "sim:nexus5-2013"] {
        let (output, left) = limited("ulimit -s 64", on);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 3)), "{}: {said}", output.status);
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn too_little_memory_is_refused_before_anything_begins_and_no_limit_ends_a_run_by_a_signal() {
    for on in [".", "sim:nexus5-2013"] {
        let (mut loads, mut refused, mut ran) = (false, 0, 0);
        // From what no program can be loaded in to plenty, past where the allocator's reservations just fit.
        for mib in (10..=330).step_by(10) {
            let (output, left) = limited(&format!("ulimit -v {}", mib << 10), on);
            let said = String::from_utf8_lossy(&output.stderr);
            match output.status.code() {
                Some(0 | 3) => ran += 1,
                Some(2) if said.contains("ulimit -v unlimited") => refused += 1,
                // The shell or the loader had no room for the program itself.
                _ if !loads => continue,
                code => panic!("{on}, {mib} MiB: {code:?}: {said}"),
            }
            loads = true;
            assert!(left.is_empty(), "{on}, {mib} MiB: {left:?}");
        }
        assert!(refused >= 3 && ran >= 10, "{on}: {refused} refused, {ran} ran");
    }
}
