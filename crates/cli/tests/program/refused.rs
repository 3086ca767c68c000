//! Runs where the kernel or the filesystem refuses a call that we would rather have.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::engine_common::canary::{plant, snapshot};
use crate::engine_common::refused::{killed, refused};
use serde_json::Value;
use tempfile::TempDir;

const DEEP_READS: &str = r#"
name = "refused"
about = "Reads by a ring, for longer than the test needs."

[settings]
time = "60s"

[[io]]
name = "deep"
operation = "read"
pattern = "random"
block = "4KiB"
span = "4MB"
time = "$time"
queue_depth = 8
engine = "io_uring"

[[step]]
measure = ["deep"]
"#;

struct Scene {
    home: TempDir,
}

impl Scene {
    fn new() -> Scene {
        let home = TempDir::new().unwrap();
        fs::create_dir(home.path().join("target")).unwrap();
        fs::write(home.path().join("refused.toml"), DEEP_READS).unwrap();
        Scene { home }
    }

    fn target(&self) -> PathBuf {
        self.home.path().join("target")
    }

    fn run(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
        command.args(["run", "refused.toml", "--on", "target", "-o", "run.json"]);
        // A test of twenty megabytes has its place on a disk that is nearly full too.
        command.args(["--leave", "64MB"]).args(more);
        command.current_dir(self.home.path()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    fn clean(&self) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
        command.arg("clean").arg(self.target()).output().unwrap()
    }
}

/// The directory of a run, once its file under test is there. The planted ones hold none.
fn workspace(target: &Path) -> PathBuf {
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until {
        let entries = fs::read_dir(target).unwrap().map(|entry| entry.unwrap().path());
        let mut ours = entries.filter(|path| path.join("test/test-0000.dat").exists());
        if let Some(found) = ours.next() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("no run began in {}", target.display());
}

#[test]
fn without_locks_a_living_run_is_left_alone_and_a_dead_one_is_cleaned_up() {
    // NFS without its lock service, a FUSE filesystem without them, and one that knows no such call.
    for errno in [libc::ENOLCK, libc::EOPNOTSUPP, libc::ENOSYS] {
        let scene = Scene::new();
        plant(&scene.target());
        let before = snapshot(&scene.target());
        flashlag_need::or_skip!(refused(libc::SYS_flock, errno, || {
            let mut run = scene.run(&[]).spawn().unwrap();
            let ours = workspace(&scene.target());
            scene.clean();
            assert!(ours.join("test/test-0000.dat").exists(), "errno {errno}: it lives");
            assert!(run.try_wait().unwrap().is_none(), "errno {errno}: the run goes on");
            run.kill().unwrap();
            run.wait().unwrap();
            let cleaned = scene.clean();
            assert!(!ours.exists(), "errno {errno}: {cleaned:?}");
        }));
        assert!(snapshot(&scene.target()) == before, "errno {errno}: a canary changed");
    }
}

#[test]
fn a_run_by_a_forbidden_io_uring_says_what_did_its_reads() {
    let scene = Scene::new();
    let short = ["--set", "time=200ms"];
    let run = || scene.run(&short).output().unwrap();
    let output = flashlag_need::or_skip!(refused(libc::SYS_io_uring_setup, libc::EPERM, run));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{said}");
    let run = fs::read(scene.home.path().join("run.json")).unwrap();
    let run: Value = serde_json::from_slice(&run).unwrap();
    let deep = &run["phases"][0];
    assert_eq!((deep["engine"].as_str(), deep["queue_depth"].as_u64()), (Some("psync"), Some(1)));
    assert!(deep["ops"].as_u64().unwrap() > 0);
    let downgrades = run["downgrades"].as_array().unwrap();
    let is_reported = |what: &str| downgrades.iter().any(|one| one["requested"] == what);
    assert!(is_reported("io_uring") && is_reported("queue depth 8"), "{downgrades:?}");
}

#[test]
fn android_which_kills_for_an_io_uring_is_never_asked_for_one() {
    let scene = Scene::new();
    let deep = |android: bool| {
        let mut command = scene.run(&["--set", "time=200ms", "--force"]);
        if android {
            command.env("ANDROID_ROOT", "/system")
        } else {
            command.env_remove("ANDROID_ROOT")
        };
        command.output().unwrap()
    };
    let both = killed(libc::SYS_io_uring_setup, || (deep(false), deep(true)));
    let (elsewhere, android) = flashlag_need::or_skip!(both);
    assert_eq!(elsewhere.status.signal(), Some(libc::SIGSYS), "the filter kills: {elsewhere:?}");
    let said = String::from_utf8_lossy(&android.stderr).into_owned();
    assert!(matches!(android.status.code(), Some(0 | 3)), "{said}");
    let run = fs::read(scene.home.path().join("run.json")).unwrap();
    let run: Value = serde_json::from_slice(&run).unwrap();
    assert_eq!(run["phases"][0]["engine"].as_str(), Some("psync"));
    let downgrades = run["downgrades"].as_array().unwrap();
    let ring = downgrades.iter().find(|one| one["requested"] == "io_uring").unwrap();
    assert_eq!(ring["effective"], "pread and pwrite");
    assert!(ring["reason"].as_str().unwrap().contains("Android"), "{ring:?}");
}
