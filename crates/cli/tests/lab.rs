//! Saves inside a real kernel, on a virtual device.
//!
//! Needs QEMU, nbdkit, `mkfs`, and the kernel that `scripts/lab-packages` fetches.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "a test that skips says so")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// No boot and run of a test takes so long, however busy the machine is.
const PATIENCE: &str = "400";

fn flashlag() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_flashlag"))
}

/// The plugin that cargo built with the workspace.
fn plugin() -> Option<PathBuf> {
    let folder = flashlag().parent()?.to_owned();
    let folders = [folder.clone(), folder.join("deps")];
    folders.map(|folder| folder.join("libflashlag_nbd.so")).into_iter().find(|file| file.is_file())
}

fn kernel() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let folder = std::env::var_os("FLASHLAG_LAB")
        .map(PathBuf::from)
        .or_else(|| Some(cache.or_else(home)?.join("flashlag/lab")))?;
    folder.join("vmlinux").is_file().then_some(folder)
}

fn has(program: &str) -> bool {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// What a real boot needs; says what is missing.
fn can_boot(mkfs: &str) -> bool {
    let programs = ["qemu-system-x86_64", "nbdkit", mkfs];
    let mut missing: Vec<&str> = programs.into_iter().filter(|program| !has(program)).collect();
    if kernel().is_none() {
        missing.push("the lab's kernel (scripts/lab-packages)");
    }
    if plugin().is_none() {
        missing.push("the plugin (cargo build -p flashlag-nbd)");
    }
    if !missing.is_empty() {
        println!("skipped: there is no {}", missing.join(", no "));
    }
    missing.is_empty()
}

fn run(target: &str, output: &Path, more: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", PATIENCE]).arg(flashlag()).args(["run", "sqlite", "--on", target]);
    if let Some(plugin) = plugin() {
        command.env("FLASHLAG_NBD_PLUGIN", plugin);
    }
    command.arg("-o").arg(output).args(more).output().unwrap()
}

const SHORT: [&str; 8] = [
    "--set",
    "statement=insert",
    "--set",
    "synchronous=full",
    "--set",
    "saves=60",
    "--set",
    "time=60s",
];

/// Writes, KiB and flushes of a save, of each phase by name.
fn costs(run: &Value) -> Vec<(String, [f64; 3])> {
    let phases = run["phases"].as_array().unwrap().iter().map(|phase| {
        let each =
            |field: &str| phase["ledger"][field].as_f64().unwrap() / phase["ops"].as_f64().unwrap();
        let costs = [each("block_writes"), each("block_bytes") / 1024.0, each("flushes")];
        (phase["name"].as_str().unwrap().to_owned(), costs)
    });
    phases.collect()
}

fn stored(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_commit_on_a_real_kernel_is_counted_by_the_device_each_write_for_what_it_is() {
    if !can_boot("mkfs.ext4") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let more = [&SHORT[..], &["--set", "journal=delete"]].concat();
    let output = run("lab:zero+ext4,size=1GiB", &file, &more);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(file.is_file(), "{said}");
    let run = stored(&file);
    assert_eq!(run["target"]["kind"], "lab", "{said}");
    assert_eq!(run["status"]["kind"], "complete", "{said}");
    let kernel = run["environment"]["software"]["kernel"].as_str().unwrap();
    assert!(kernel.starts_with("Linux 6."), "{kernel}");
    let ledger = &run["phases"][0]["ledger"];
    let kinds = ["data", "journal", "metadata"].map(|kind| &ledger["kinds"][kind]);
    for (part, whole) in [("writes", "block_writes"), ("bytes", "block_bytes")] {
        let sum: u64 = kinds.iter().map(|kind| kind[part].as_u64().unwrap()).sum();
        assert_eq!(sum, ledger[whole].as_u64().unwrap(), "{whole}: {ledger}");
    }
    let journal = kinds[1]["bytes"].as_u64().unwrap();
    assert!(journal > kinds[2]["bytes"].as_u64().unwrap(), "{ledger}");
    // The rollback journal is made durable, then the database, and ext4 commits twice.
    let [(_, [_, _, flushes])] = costs(&run).try_into().unwrap();
    assert!((3.9..4.5).contains(&flushes), "{flushes}");
    let verified = Command::new(flashlag()).arg("verify").arg(&file).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}

#[test]
fn what_the_lab_has_not_is_refused_before_anything_boots() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    for (target, said) in [
        ("lab:zero+ext3", "nilfs2"),
        ("lab:zero", "lab:PROFILE+FS"),
        ("lab:zero+f2fs,fast_commit", "ext4 has"),
        ("lab:nexus9+ext4", "nexus5-2013"),
        ("lab:zero+ext4,size=much", "no size"),
        ("lab:zero+ext4,fuse", "leave it out"),
        ("lab:zero+ext4,host", "leave it out"),
    ] {
        let output = run(target, &file, &[]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{target}: {error}");
        assert!(error.contains(said), "{target}: {error}");
        assert!(!file.exists(), "{target}");
    }
}
