//! The stored programs are those of the source.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

#[test]
fn the_stored_programs_are_what_the_source_compiles_to() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // What `scripts/dist` has installed, if it ran.
    let in_target = Some(root.join("target/dist-tools/bin/python")).filter(|path| path.exists());
    let python = in_target.unwrap_or_else(|| "python3".into());
    let has_compiler = Command::new(&python).args(["-m", "ziglang", "version"]).output();
    if !has_compiler.is_ok_and(|output| output.status.success()) {
        return flashlag_need::skip("compiling for BPF needs the Python package ziglang");
    }
    if flashlag_need::program("llvm-strip", "llvm").is_none() {
        return;
    }
    let folder = tempfile::TempDir::new().unwrap();
    let built = folder.path().join("trace.bpf.o");
    let mut script = Command::new(root.join("scripts/bpf"));
    let output = script.arg("--to").arg(&built).env("PYTHON", &python).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let stored = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf/trace.bpf.o"));
    assert!(
        std::fs::read(&built).unwrap() == stored.unwrap(),
        "bpf/trace.bpf.o is not what scripts/bpf makes of bpf/trace.bpf.c: run it"
    );
}
