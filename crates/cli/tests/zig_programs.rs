//! The programs for phones run: those for ARM under qemu's user mode, a whole `quick` each, verified by
//! the program of this machine, and a short run on a phone. The script that runs all tests builds them, with
//! zig as the linker, beside the other tests: these are in a lane of their own.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

#[path = "program/support/moments.rs"]
mod moments;
#[path = "../../seccomp/tests/common/mod.rs"]
mod seccomp;
#[path = "program/support/phone.rs"]
mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use flashlag_standin::Phone;
use moments::short_quick;
use seccomp::Processor;
use serde_json::Value;
use support::Bench;
use tempfile::TempDir;

/// The folder of the ARM programs, as they are now. The script that runs all tests has built them.
///
/// # Errors
/// Why they can't be built here.
fn programs() -> Result<PathBuf, String> {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        // The test is in TARGET/PROFILE/deps.
        let test = std::env::current_exe().unwrap();
        let target = test.ancestors().nth(3).unwrap();
        if std::env::var_os("FLASHLAG_TEST_BUILT").is_none() {
            let mut script = Command::new(root.join("scripts/dist"));
            let status = script.arg("--test").env("CARGO_TARGET_DIR", target).status();
            assert!(status.unwrap().success(), "cannot build the ARM programs");
        }
        target.join("arm-programs")
    };
    let folder = BUILT.get_or_init(build);
    match std::fs::read_to_string(folder.join("missing")) {
        Ok(reason) => Err(reason),
        Err(_) => Ok(folder.clone()),
    }
}

/// A `quick` on a directory by the program for one machine; `kernel` is what its run calls that machine.
fn quick(name: &str, emulator: &str, kernel: &str) {
    let Some(emulator) = flashlag_need::program(emulator, "qemu-user-static") else { return };
    let program = flashlag_need::or_skip!(programs()).join(format!("flashlag-{name}"));
    let home = TempDir::new().unwrap();
    let run = home.path().join("run.json");
    let mut quick = Command::new(emulator);
    // A fifth of the files: the processor is emulated and the program not optimised, which takes minutes.
    quick.arg(program).args(["run", "quick", "-q", "--set", "span=20MB"]);
    quick.arg("--on").arg(home.path()).arg("-o").arg(&run);
    let output = quick.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // A run that can't be trusted, on a disk that answers from memory, is a run all the same.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{:?}: {said}", output.status);

    let verified = Command::new(env!("CARGO_BIN_EXE_flashlag")).arg("verify").arg(&run).output();
    let verified = verified.unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    let run: Value = serde_json::from_slice(&std::fs::read(&run).unwrap()).unwrap();
    let software = run["environment"]["software"]["kernel"].as_str().unwrap();
    assert!(software.contains(kernel), "{software}");
    let phases = run["phases"].as_array().unwrap();
    let idle = phases.iter().find(|phase| phase["ops"].as_u64() == Some(0));
    assert!(phases.len() > 6 && idle.is_none(), "{} phases, {idle:?}", phases.len());
}

#[test]
fn the_program_for_aarch64_measures_a_directory() {
    quick("aarch64", "qemu-aarch64-static", "aarch64");
}

#[test]
fn the_program_for_armv7_measures_a_directory() {
    quick("armv7", "qemu-arm-static", "armv7");
}

#[test]
fn a_phone_of_arm_is_measured_by_the_program_for_arm() {
    let programs = flashlag_need::or_skip!(programs());
    for (runner, abis, kernel) in [
        ("qemu-aarch64-static", "arm64-v8a,armeabi-v7a", "aarch64"),
        ("qemu-arm-static", "armeabi-v7a,armeabi", "armv7"),
    ] {
        let phone = Phone::builder().model("pixel6-android14").abis(abis).runner(runner);
        let Some(bench) = Bench::of(phone) else { return };
        let bench = Bench { programs: programs.clone(), ..bench };
        let run = bench.complete(bench.begin(&["short.toml", "--on", "adb:"]));
        let software = run.environment.software;
        assert!(software.kernel.value().unwrap().contains(kernel), "{software:?}");
        assert_eq!(software.virtualized.value(), Some(&false), "by its properties");
    }
}

/// The names of the calls in what qemu has traced, `PROCESS NAME(ARGUMENTS) = RESULT`, and the numbers of those
/// that qemu has no name for.
fn traced(text: &str) -> BTreeSet<String> {
    let of_line = |line: &str| match line.split_once("Unknown syscall ") {
        Some((_, number)) => Some(number.split_whitespace().next()?.to_owned()),
        None => {
            let name = line.split_once('(')?.0.rsplit(' ').next()?;
            let named =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
            (!name.is_empty() && name.bytes().all(named)).then(|| name.to_owned())
        }
    };
    text.lines().filter_map(of_line).collect()
}

/// The calls that the program for one machine makes in all tests of `quick`, shortened.
fn calls_of_quick(name: &str, emulator: &Path, programs: &Path) -> BTreeSet<String> {
    let home = TempDir::new().unwrap();
    std::fs::write(home.path().join("short.toml"), short_quick()).unwrap();
    let mut run = Command::new(emulator);
    run.current_dir(home.path()).args(["-strace", "-D", "calls"]);
    run.arg(programs.join(format!("flashlag-{name}")));
    run.args(["run", "short.toml", "-q", "--set", "span=2MB", "--on", ".", "-o", "run.json"]);
    let output = run.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{:?}: {said}", output.status);
    let made = traced(&std::fs::read_to_string(home.path().join("calls")).unwrap());
    for call in ["openat", "pwrite64", "fdatasync", "clone", "exit_group"] {
        assert!(made.contains(call), "{call} was not traced: {made:?}");
    }
    made
}

/// Those of `made` that an Android refuses an app, by name where any list has one.
fn refused(made: &BTreeSet<String>, android: u32, processor: Processor) -> Vec<String> {
    let newest = seccomp::allowed(15, processor);
    let named = |call: &String| {
        let same = |(_, number): &(&String, &i64)| number.to_string() == *call;
        newest.iter().find(same).map_or_else(|| call.clone(), |(name, _)| name.clone())
    };
    let allowed = seccomp::allowed(android, processor);
    let made: BTreeSet<String> = made.iter().map(named).collect();
    made.into_iter().filter(|call| !allowed.contains_key(call)).collect()
}

/// What each Android refuses of the calls that the program for one machine makes in a `quick`.
fn refuses(name: &str, emulator: &str, processor: Processor, expected: [(u32, &[&str]); 3]) {
    let Some(emulator) = flashlag_need::program(emulator, "qemu-user-static") else { return };
    let programs = flashlag_need::or_skip!(programs());
    let made = calls_of_quick(name, &emulator, &programs);
    // None of the lists allows all that another does.
    for (android, expected) in expected {
        assert_eq!(refused(&made, android, processor), expected, "Android {android}");
    }
}

#[test]
fn of_the_calls_of_the_program_for_aarch64_an_old_android_refuses_statx_alone() {
    // The handler says that the kernel lacks it; the standard library then asks by `newfstatat`.
    let old = &["statx"][..];
    let expected = [(8, old), (10, old), (15, &[])];
    refuses("aarch64", "qemu-aarch64-static", Processor::Aarch64, expected);
}

#[test]
fn of_the_calls_of_the_program_for_armv7_an_old_android_refuses_those_newer_than_itself() {
    // As in a kernel without them the standard library goes on by `fstatat64`, and the C library, whose time has
    // 64 bits, by the calls with 32.
    let old = &["clock_getres_time64", "clock_gettime64", "statx"][..];
    let expected = [(8, old), (10, old), (15, &[])];
    refuses("armv7", "qemu-arm-static", Processor::Armv7, expected);
}
