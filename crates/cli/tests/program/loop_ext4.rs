//! The program on a real ext4 of 256 MB on a loop device: full, out of quota, read-only, failing,
//! and killed in each phase.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::engine_common::canary::{Seen, plant, snapshot};
use crate::engine_common::faulty::FaultyMount;
use crate::engine_common::loop_mount::LoopMount;
use crate::engine_common::random::{Random, seed};
use serde_json::Value;
use tempfile::TempDir;

/// A mounted image with a user's things on it, and a place for run files that is not on it.
struct Scene {
    mount: LoopMount,
    before: BTreeMap<PathBuf, Seen>,
    used_before: u64,
    results: TempDir,
}

impl Scene {
    fn new(mount: LoopMount) -> Scene {
        plant(mount.path());
        let before = canaries(mount.path());
        let used_before = mount.used_bytes();
        Scene { mount, before, used_before, results: TempDir::new().unwrap() }
    }

    fn run_file(&self) -> PathBuf {
        self.results.path().join("run.json")
    }

    fn command(&self, scenario: &str, more: &[&str]) -> Command {
        flashlag(scenario, self.mount.path(), &self.run_file(), more)
    }

    fn run(&self, scenario: &str, more: &[&str]) -> Output {
        self.command(scenario, more).output().unwrap()
    }

    fn clean(&self) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
        command.arg("clean").arg(self.mount.path()).output().unwrap()
    }

    fn stored(&self) -> Value {
        serde_json::from_slice(&fs::read(self.run_file()).unwrap()).unwrap()
    }

    /// Everything is as it was: each canary byte for byte, nothing new, no space taken.
    fn assert_as_before(&self, when: &str) {
        let after = canaries(self.mount.path());
        let left: Vec<_> = after.keys().filter(|path| !self.before.contains_key(*path)).collect();
        assert!(left.is_empty(), "{when}: {left:?} was left");
        assert!(after == self.before, "{when}: a canary changed");
        let names = fs::read_dir(self.results.path()).unwrap();
        let mut names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let half_written = names.find(|name| name.ends_with(".flashlag-tmp"));
        assert_eq!(half_written, None, "{when}: a half-written run file was left");
        let used = self.mount.used_bytes();
        // A directory's own blocks never shrink.
        assert!(used <= self.used_before + (1 << 20), "{when}: {used} bytes are in use");
    }
}

fn flashlag(scenario: &str, on: &Path, run_file: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    command.args(["run", scenario, "--yes", "--on"]).arg(on).arg("-o").arg(run_file).args(more);
    command.current_dir(run_file.parent().unwrap());
    command
}

/// Everything on the image but what the filesystem itself keeps there.
fn canaries(root: &Path) -> BTreeMap<PathBuf, Seen> {
    let mut all = snapshot(root);
    all.retain(|path, _| !path.starts_with(root.join("lost+found")));
    all
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// 0 or 3: it ran. Whether it is to be trusted is not what these tests ask.
fn assert_ran(output: &Output) {
    let code = output.status.code();
    let said = text(&output.stderr);
    assert!(code == Some(0) || code == Some(3), "{code:?}\n{said}\n{}", text(&output.stdout));
}

fn phases(run: &Value) -> &Vec<Value> {
    run["phases"].as_array().unwrap()
}

fn states(run: &Value) -> Vec<&str> {
    phases(run).iter().map(|phase| phase["state"].as_str().unwrap()).collect()
}

fn named<'a>(run: &'a Value, name: &str) -> &'a Value {
    phases(run).iter().find(|phase| phase["name"] == name).unwrap()
}

/// A lifecycle that takes seconds: 4 phases new, the fill and 8 filled, 8 deleted, 4 trimmed.
#[rustfmt::skip]
const SHORT: &[&str] = &[
    "--leave", "64MB", "--set", "span=4MB", "--set", "limit=4MB", "--set", "time=60ms",
    "--set", "runs=2",
];
/// A fill that is quick.
#[rustfmt::skip]
const QUICK_FILL: &[&str] = &[
    "--set", "span=4MB", "--set", "time=100ms", "--set", "fill_durable=none", "--leave",
];

fn quick_fill(leave: &str) -> Vec<&str> {
    [QUICK_FILL, &[leave]].concat()
}

#[test]
fn a_fill_to_the_last_byte_ends_well_and_cleans_up() {
    let scene = Scene::new(flashlag_need::or_skip!(LoopMount::ext4(256, "")));
    let output = scene.run("fill", &quick_fill("0"));
    assert_ran(&output);
    let run = scene.stored();
    assert_eq!(run["status"]["kind"], "complete", "{}", text(&output.stderr));
    let fill = named(&run, "fill_rand_4k");
    assert!(fill["bytes"].as_u64().unwrap() > 200 << 20, "{}", fill["bytes"]);
    let filled = |interval: &Value| interval["filled_bytes"].as_u64();
    assert!(fill["intervals"].as_array().unwrap().iter().all(|one| filled(one).is_some()));
    scene.assert_as_before("after a fill to the last byte");
}

#[test]
fn a_lifecycle_leaves_what_was_asked_for_and_nothing_of_its_own() {
    let scene = Scene::new(flashlag_need::or_skip!(LoopMount::ext4(256, "")));
    let output = scene.run("lifecycle", SHORT);
    assert_ran(&output);
    let run = scene.stored();
    assert_eq!(run["status"]["kind"], "complete", "{}", text(&output.stderr));
    for state in ["new", "filled", "deleted", "trimmed"] {
        assert!(states(&run).contains(&state), "{state}: {:?}", states(&run));
    }
    let last = named(&run, "fill_seq_1m")["intervals"].as_array().unwrap().last().unwrap();
    let stat = rustix::fs::statvfs(scene.mount.path()).unwrap();
    let (used, total) = (last["filled_bytes"].as_u64().unwrap(), stat.f_blocks * stat.f_frsize);
    // ext4 keeps some blocks for itself; the fill stops within one block of 1 MiB.
    assert!(used + 64_000_000 <= total && used + 80_000_000 >= total, "{used} of {total}");
    scene.assert_as_before("after a lifecycle");
}

#[test]
fn a_filesystem_that_turns_read_only_is_reported_and_the_phases_done_are_kept() {
    let scene = Scene::new(flashlag_need::or_skip!(LoopMount::ext4(256, "errors=remount-ro")));
    let mut child = start(&mut scene.command("lifecycle", SHORT));
    assert!(wait_for_phases(&scene.run_file(), &mut child, 2));
    scene.mount.fail_to_read_only().unwrap();
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("read-only") && said.contains("flashlag-work-"), "{said}");
    let run = scene.stored();
    assert_eq!(run["status"]["kind"], "failed");
    assert!(phases(&run).len() >= 2);
}

#[test]
fn a_device_that_fails_is_reported_and_the_phases_done_are_kept() {
    let faulty = flashlag_need::or_skip!(FaultyMount::ext4(256));
    let results = TempDir::new().unwrap();
    let run_file = results.path().join("run.json");
    let mut child = start(&mut flashlag("lifecycle", faulty.mount.path(), &run_file, SHORT));
    assert!(wait_for_phases(&run_file, &mut child, 2));
    faulty.fail_writes();
    let output = child.wait_with_output().unwrap();
    faulty.heal();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("kernel log") && said.contains("flashlag-work-"), "{said}");
    assert!(phases_in(&run_file) >= 2);
}

#[test]
fn a_quota_ends_the_fill_and_is_called_a_quota() {
    let scene = Scene::new(flashlag_need::or_skip!(LoopMount::btrfs_with_quota(256, 60)));
    let output = scene.run("fill", &quick_fill("20MB"));
    let run = scene.stored();
    let notes = named(&run, "fill_rand_4k")["notes"].to_string();
    assert!(notes.contains("quota"), "{notes}\n{}", text(&output.stderr));
    let checks = run["trust"]["checks"].as_array().unwrap();
    let space = checks.iter().find(|check| check["id"] == "free_space").unwrap();
    assert_eq!(space["status"], "fail", "{space}");
    assert!(space["detail"].as_str().unwrap().contains("A quota ended it"), "{space}");
    let left = canaries(scene.mount.path());
    assert!(left.keys().all(|path| scene.before.contains_key(path)), "{left:?}");
}

#[test]
fn killed_in_any_phase_a_clean_up_leaves_the_canaries_and_nothing_else() {
    let scene = Scene::new(flashlag_need::or_skip!(LoopMount::ext4(256, "")));
    let seed = seed();
    let mut random = Random(seed);
    let mut reached = BTreeMap::<String, u32>::new();
    // Before and in the first test, in the fill, among the filled, while deleting, and so on.
    for done in [0, 0, 2, 4, 4, 5, 9, 13, 15, 21, 23] {
        let _ = fs::remove_file(scene.run_file());
        let mut child = start(&mut scene.command("lifecycle", SHORT));
        let when = format!("killed after {done} phases, seed {seed}");
        assert!(wait_for_phases(&scene.run_file(), &mut child, done), "{when}: it ended before");
        std::thread::sleep(Duration::from_micros(random.below(if done == 0 {
            900_000
        } else {
            60_000
        })));
        child.kill().unwrap();
        child.wait().unwrap();
        let stored = scene.run_file().exists().then(|| scene.stored());
        let last = stored.as_ref().and_then(|run| states(run).last().copied().map(str::to_owned));
        *reached.entry(last.unwrap_or("nothing".to_owned())).or_default() += 1;
        let cleaned = scene.clean();
        // What only looks like ours (it was planted) is reported, and left.
        let said = text(&cleaned.stdout) + &text(&cleaned.stderr);
        assert!(said.contains("flashlag-work-1111111111111111"), "{when}: {said}");
        scene.assert_as_before(&when);
    }
    eprintln!("seed {seed}: killed after phases in {reached:?}");
    for state in ["new", "filled", "deleted", "trimmed"] {
        assert!(reached.contains_key(state), "no kill after {state}: {reached:?}");
    }
}

#[test]
fn the_next_start_cleans_up_as_well() {
    let scene = Scene::new(flashlag_need::or_skip!(LoopMount::ext4(256, "")));
    let mut child = start(&mut scene.command("lifecycle", SHORT));
    assert!(wait_for_phases(&scene.run_file(), &mut child, 6));
    child.kill().unwrap();
    child.wait().unwrap();
    fs::remove_file(scene.run_file()).unwrap();
    assert_ran(&scene.run("fill", &quick_fill("64MB")));
    scene.assert_as_before("after the next start");
}

#[test]
fn resuming_goes_on_with_the_next_phase_on_storage_as_full_as_it_was() {
    let scene = Scene::new(flashlag_need::or_skip!(LoopMount::ext4(256, "")));
    let mut child = start(&mut scene.command("lifecycle", SHORT));
    // Four tests when new, the fill, and one when filled.
    assert!(wait_for_phases(&scene.run_file(), &mut child, 6));
    child.kill().unwrap();
    child.wait().unwrap();
    let killed = scene.stored();
    let done = phases(&killed).len();
    let resume = [SHORT, &["--resume"]].concat();
    let mut resumed = start(&mut scene.command("lifecycle", &resume));
    assert!(wait_for_phases(&scene.run_file(), &mut resumed, done + 1));
    let stat = rustix::fs::statvfs(scene.mount.path()).unwrap();
    let free = stat.f_bavail * stat.f_frsize;
    let next = scene.stored();
    let output = resumed.wait_with_output().unwrap();
    assert_ran(&output);
    let run = scene.stored();
    assert_eq!(run["status"]["kind"], "complete", "{}", text(&output.stderr));
    assert_eq!(phases(&run)[..done], phases(&killed)[..], "the phases done are kept as they were");
    if states(&next).last() == Some(&"filled") {
        assert!(free < 72_000_000, "measured as filled with {free} bytes free");
    }
    scene.assert_as_before("after resuming");
}

#[test]
fn a_polite_signal_ends_it_with_the_phases_done_kept() {
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let scene = Scene::new(flashlag_need::or_skip!(LoopMount::ext4(256, "")));
        let mut child = start(&mut scene.command("lifecycle", SHORT));
        assert!(wait_for_phases(&scene.run_file(), &mut child, 3));
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, signal).unwrap();
        let output = child.wait_with_output().unwrap();
        let run = scene.stored();
        let said = text(&output.stderr);
        assert_eq!(run["status"]["kind"], "interrupted", "{signal:?}: {said}");
        assert!(phases(&run).len() >= 3);
        scene.clean();
        scene.assert_as_before(&format!("{signal:?}"));
    }
}

fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn phases_in(run_file: &Path) -> usize {
    let Ok(bytes) = fs::read(run_file) else { return 0 };
    let Ok(run) = serde_json::from_slice::<Value>(&bytes) else { return 0 };
    run["phases"].as_array().map_or(0, Vec::len)
}

/// Waits until a number of phases are stored; `false` where the program ended before.
fn wait_for_phases(run_file: &Path, child: &mut Child, phases: usize) -> bool {
    let until = Instant::now() + Duration::from_secs(90);
    while Instant::now() < until {
        if phases_in(run_file) >= phases {
            return true;
        }
        if matches!(child.try_wait(), Ok(Some(_))) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    false
}

/// As large as `quick`, and as long as a test may be.
const SPAN: &str = r#"
name = "span"
about = "A test and something beside it, as large as quick's."

[settings]
span = "100MB"

[[io]]
name = "write"
operation = "write"
pattern = "random"
block = "4KiB"
span = "$span"
time = "50ms"
background = "beside"

[[io]]
name = "beside"
operation = "write"
pattern = "sequential"
block = "1MiB"
span = "$span"
time = "60s"
arrivals = { per_second = 5.0 }

[[step]]
measure = ["write"]
"#;

#[test]
fn a_small_volume_works_or_the_error_has_the_command_that_does() {
    for (megabytes, fits) in [(500, true), (200, false), (64, false)] {
        let scene = Scene::new(flashlag_need::or_skip!(LoopMount::ext4(megabytes, "")));
        fs::write(scene.results.path().join("span.toml"), SPAN).unwrap();
        let output = scene.run("span.toml", &[]);
        let said = text(&output.stderr);
        if fits {
            assert_ran(&output);
            continue;
        }
        assert_eq!(output.status.code(), Some(2), "{megabytes} MB: {said}");
        let command = said.lines().find_map(|line| line.strip_prefix("  flashlag ")).unwrap();
        assert!(command.contains("--set span="), "{command}");
        let mut again = Command::new(env!("CARGO_BIN_EXE_flashlag"));
        again.args(command.split(' ')).current_dir(scene.results.path());
        assert_ran(&again.output().unwrap());
        // What is suggested does not write into the last twentieth.
        scene.assert_as_before(&format!("{megabytes} MB"));
    }
}
