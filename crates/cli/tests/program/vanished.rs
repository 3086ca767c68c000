//! Files and directories that somebody takes away while a run has them open: what is measured then
//! is on no storage that anybody asked about, and no system call says so.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// A test that is done before the files vanish, the one in which they do, and one that must not
/// begin. The second is long enough to be met in it.
const TESTS: &str = r#"
name = "vanish"
about = "Something to take away."

[[io]]
name = "before"
operation = "write"
pattern = "random"
block = "4KiB"
span = "4MB"
time = "100ms"

[[io]]
name = "during"
operation = "write"
pattern = "random"
block = "4KiB"
span = "4MB"
time = "2s"

[[io]]
name = "never"
operation = "read"
pattern = "random"
block = "4KiB"
span = "4MB"
time = "100ms"

[[step]]
measure = ["before", "during", "never"]
"#;

const SAVES: &str = r#"
name = "vanish"
about = "Something to take away."

[[io]]
name = "before"
operation = "write"
pattern = "random"
block = "4KiB"
span = "4MB"
time = "100ms"

[[save]]
name = "during"
journal = "wal"
rows = 100
time = "2s"

[[step]]
measure = ["before", "during"]
"#;

struct Scene {
    home: TempDir,
    scenario: PathBuf,
}

impl Scene {
    fn new(tests: &str) -> Scene {
        let home = TempDir::new().unwrap();
        fs::create_dir(home.path().join("target")).unwrap();
        let scenario = home.path().join("vanish.toml");
        fs::write(&scenario, tests).unwrap();
        Scene { home, scenario }
    }

    fn target(&self) -> PathBuf {
        self.home.path().join("target")
    }

    fn run_file(&self) -> PathBuf {
        self.home.path().join("run.json")
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
        command.arg("run").arg(&self.scenario).args(["--yes", "--leave", "64MB", "--on"]);
        command.arg(self.target());
        command.arg("-o").arg(self.run_file()).args(more).current_dir(self.home.path());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    /// Takes something away in the middle of the second test.
    fn run_and(&self, take_away: impl FnOnce(&Path)) -> (Output, Value) {
        let mut child = self.command(&[]).spawn().unwrap();
        wait_for_a_phase(&self.run_file(), &mut child);
        std::thread::sleep(Duration::from_millis(500));
        take_away(&self.target());
        let output = child.wait_with_output().unwrap();
        (output, self.stored())
    }

    fn stored(&self) -> Value {
        serde_json::from_slice(&fs::read(self.run_file()).unwrap()).unwrap()
    }
}

fn wait_for_a_phase(run_file: &Path, child: &mut Child) {
    let until = Instant::now() + Duration::from_secs(60);
    let stored = || serde_json::from_slice::<Value>(&fs::read(run_file).unwrap_or_default());
    while !stored().is_ok_and(|run| run["phases"].as_array().is_some_and(|all| !all.is_empty())) {
        assert!(Instant::now() < until && child.try_wait().unwrap().is_none(), "no phase came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The only directory of ours in a target.
fn workspace(target: &Path) -> PathBuf {
    let entries = fs::read_dir(target).unwrap().map(|entry| entry.unwrap().path());
    let ours = |path: &PathBuf| path.to_str().unwrap().contains("flashlag-work-");
    entries.into_iter().find(ours).unwrap()
}

fn said(output: &Output) -> String {
    // The message is folded to the width of a terminal.
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// It failed, said where, why and what to try, kept what was done, and did not go on.
fn assert_reported(output: &Output, run: &Value, path: &str, why: &str) {
    let said = said(output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for part in ["find ", path, why, "--resume"] {
        assert!(said.contains(part), "{part} is not said: {said}");
    }
    assert_eq!(run["status"]["kind"], "failed", "{said}");
    let phases = run["phases"].as_array().unwrap();
    let names: Vec<&str> = phases.iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["before", "during"], "{said}");
    assert_ne!(phases[0]["cut_short"], true);
    assert_eq!(phases[1]["cut_short"], true, "what was measured on a file that is gone is cut off");
}

#[test]
fn a_deleted_target_ends_the_run_and_a_new_one_can_go_on() {
    let scene = Scene::new(TESTS);
    let (output, run) = scene.run_and(|target| fs::remove_dir_all(target).unwrap());
    assert_reported(&output, &run, "target/flashlag-work-", "it was deleted, moved or unmounted");
    fs::create_dir(scene.target()).unwrap();
    let resumed = scene.command(&["--resume"]).output().unwrap();
    assert!(matches!(resumed.status.code(), Some(0 | 3)), "{}", said(&resumed));
    let run = scene.stored();
    assert_eq!(run["status"]["kind"], "complete");
    let whole = |phase: &Value| phase["cut_short"] != true;
    let phases = run["phases"].as_array().unwrap();
    assert!(phases.len() == 3 && phases.iter().all(whole), "{}", run["phases"]);
}

#[test]
fn a_target_that_is_moved_away_is_reported_and_cleaned_where_it_went() {
    let scene = Scene::new(TESTS);
    let aside = scene.home.path().join("aside");
    let (output, run) = scene.run_and(|target| {
        fs::rename(target, &aside).unwrap();
        fs::create_dir(target).unwrap();
    });
    assert_reported(&output, &run, "target/flashlag-work-", "it was deleted, moved or unmounted");
    assert_eq!(fs::read_dir(&aside).unwrap().count(), 0, "nothing of ours is left there");
    assert_eq!(fs::read_dir(scene.target()).unwrap().count(), 0, "nor was anything made here");
}

#[test]
fn a_deleted_file_under_test_is_reported() {
    let scene = Scene::new(TESTS);
    let (output, run) = scene.run_and(|target| {
        fs::remove_file(workspace(target).join("test/test-0000.dat")).unwrap();
    });
    assert_reported(&output, &run, "test/test-0000.dat", "it was deleted, moved or unmounted");
}

#[test]
fn another_file_in_the_place_of_the_one_under_test_is_reported() {
    let scene = Scene::new(TESTS);
    let (output, run) = scene.run_and(|target| {
        let file = workspace(target).join("test/test-0000.dat");
        let other = target.join("other.dat");
        fs::copy(&file, &other).unwrap();
        fs::rename(&other, &file).unwrap();
    });
    assert_reported(
        &output,
        &run,
        "test/test-0000.dat",
        "something other than the run's own is in its place",
    );
}

#[test]
fn a_deleted_database_is_reported() {
    let scene = Scene::new(SAVES);
    let (output, run) = scene.run_and(|target| {
        fs::remove_file(workspace(target).join("saves/save-0.db")).unwrap();
    });
    assert_reported(&output, &run, "saves/save-0.db", "it was deleted, moved or unmounted");
}
