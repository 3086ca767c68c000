//! What tests of the lab share: what a boot needs, runs, and what a save cost.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::program::{flashlag, has, plugin};

/// No boot and run of a test takes so long, however busy the machine is.
const PATIENCE: &str = "400";

pub fn kernel() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let folder = std::env::var_os("FLASHLAG_LAB")
        .map(PathBuf::from)
        .or_else(|| Some(cache.or_else(home)?.join("flashlag/lab")))?;
    folder.join("vmlinux").is_file().then_some(folder)
}

/// What a real boot needs; says what is missing.
pub fn can_boot(mkfs: &str) -> bool {
    let programs = ["qemu-system-x86_64", "nbdkit", mkfs];
    let mut missing: Vec<&str> = programs.into_iter().filter(|program| !has(program)).collect();
    if kernel().is_none() {
        missing.push("the lab's kernel (scripts/lab-packages)");
    }
    if plugin().is_none() {
        missing.push("the plugin (cargo build -p flashlag-nbd)");
    }
    if !missing.is_empty() {
        flashlag_need::skip(format!("there is no {}", missing.join(", no ")));
    }
    missing.is_empty()
}

/// The program with a command of its own, killed where it takes too long.
pub fn command(word: &str) -> Command {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", PATIENCE]).arg(flashlag()).arg(word);
    if let Some(plugin) = plugin() {
        command.env("FLASHLAG_NBD_PLUGIN", plugin);
    }
    command
}

/// Saves on a target.
pub fn run(target: &str, output: &Path, more: &[&str]) -> Output {
    let mut command = command("run");
    command.args(["sqlite", "--on", target]).arg("-o").arg(output).args(more).output().unwrap()
}

/// Writes, KiB and flushes of a save, of each phase by name.
pub fn costs(run: &Value) -> Vec<(String, [f64; 3])> {
    let phases = run["phases"].as_array().unwrap().iter().map(|phase| {
        let each =
            |field: &str| phase["ledger"][field].as_f64().unwrap() / phase["ops"].as_f64().unwrap();
        let costs = [each("block_writes"), each("block_bytes") / 1024.0, each("flushes")];
        (phase["name"].as_str().unwrap().to_owned(), costs)
    });
    phases.collect()
}

/// A run that ends well: the folder that has it as `run.json`, the run, and all that it said.
pub fn finished(target: &str, more: &[&str]) -> (tempfile::TempDir, Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let output = run(target, &file, more);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(file.is_file(), "{target}: {said}");
    let run: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    assert_eq!(run["status"]["kind"], "complete", "{target}: {} {said}", run["status"]);
    (folder, run, said)
}
