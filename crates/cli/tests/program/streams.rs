//! Streams that are closed or full, signals and limits: the exit status says how the run ended.
#![allow(clippy::unwrap_used)]

use std::fs::{self, File, OpenOptions};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

const SCENARIO: &str = r#"
name = "tiny"
about = "A moment of writes."

[settings]
time = "2ms"

[[io]]
name = "write"
operation = "write"
pattern = "random"
block = "4KiB"
span = "4MB"
time = "$time"

[[step]]
measure = ["write"]
"#;

struct Scene {
    home: TempDir,
}

impl Scene {
    fn new() -> Scene {
        let home = TempDir::new().unwrap();
        fs::create_dir(home.path().join("target")).unwrap();
        fs::write(home.path().join("tiny.toml"), SCENARIO).unwrap();
        Scene { home }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
        command.args(arguments).current_dir(self.home.path()).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    fn run(&self, on: &str, more: &[&str]) -> Command {
        let run = ["run", "tiny.toml", "--leave", "1MB", "--on", on, "-o", "run.json"];
        self.command(&[&run[..], more].concat())
    }
}

fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

/// A pipe whose reader is gone.
fn closed() -> Stdio {
    let mut reader = Command::new("true").stdin(Stdio::piped()).spawn().unwrap();
    let stream = reader.stdin.take().unwrap();
    reader.wait().unwrap();
    Stdio::from(stream)
}

#[test]
fn a_full_log_below_standard_error_keeps_the_exit_status() {
    let scene = Scene::new();
    let status = scene.command(&["report", "nosuch.json"]).stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(2));
    let status = scene.run("sim:zero", &["--force"]).stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(0));
    let status = scene.command(&["--nonsense"]).stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(2));
    for (limit, expected) in [("write.max>1ns", 1), ("write.max>100s", 0)] {
        let more = ["--force", "--fail-if", limit];
        let status = scene.run("sim:nexus5-2013", &more).stderr(full()).status().unwrap();
        assert_eq!(status.code(), Some(expected), "{limit}");
    }
}

#[test]
fn a_reader_that_went_away_before_the_summary_changes_no_exit_status() {
    let scene = Scene::new();
    for (limit, expected) in [("write.max>1ns", 1), ("write.max>100s", 0)] {
        for stdout in [closed(), Stdio::from(full())] {
            let mut command = scene.run("sim:nexus5-2013", &["--force", "--fail-if", limit]);
            let output = command.stdout(stdout).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(expected), "{limit}: {said}");
            assert!(said.contains("write: max is"), "{said}");
        }
    }
    let output = scene.command(&["report", "run.json"]).stdout(closed()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "a pipe that is closed early is no error of report");
}

#[test]
fn a_limit_of_file_sizes_is_an_error_that_is_said_and_cleans_up() {
    let scene = Scene::new();
    let program = env!("CARGO_BIN_EXE_flashlag");
    // 1024 blocks of 1024 bytes, of which the file under test needs four thousand.
    let run =
        format!("ulimit -f 1024; exec {program} run tiny.toml --leave 1MB --on target -o run.json");
    let mut command = Command::new("bash");
    command.args(["-c", &run]).current_dir(scene.home.path());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("File too large"), "{said}");
    assert_eq!(fs::read_dir(scene.path("target")).unwrap().count(), 0, "nothing is left");
}

fn ended(child: &mut Child) -> ExitStatus {
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it did not end");
}

#[test]
fn a_signal_ends_a_run_with_128_and_its_number_and_the_file_to_go_on_with() {
    for (signal, expected) in [(libc::SIGINT, 130), (libc::SIGTERM, 143), (libc::SIGHUP, 129)] {
        let scene = Scene::new();
        let mut child = scene.run("target", &["--set", "time=60s", "--yes"]).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        while fs::read_dir(scene.path("target")).unwrap().count() == 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        let pid = rustix::process::Pid::from_child(&child);
        let signal = rustix::process::Signal::from_named_raw(signal).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
        let status = ended(&mut child);
        let mut said = String::new();
        std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
        assert_eq!(status.code(), Some(expected), "{said}");
        assert!(said.contains("--resume -o run.json"), "{said}");
        assert_eq!(fs::read_dir(scene.path("target")).unwrap().count(), 0, "nothing is left");
    }
}

#[test]
fn what_verify_finds_is_its_status_whoever_reads_its_lines() {
    let scene = Scene::new();
    scene.run("sim:zero", &[]).output().unwrap();
    let good = fs::read_to_string(scene.path("run.json")).unwrap();
    let bad = good.replacen("\"ops\": ", "\"ops\": 9", 1);
    assert_ne!(good, bad);
    fs::write(scene.path("bad.json"), bad).unwrap();
    for (name, expected) in [("run.json", 0), ("bad.json", 1)] {
        let heard = scene.command(&["verify", name]).output().unwrap();
        assert_eq!(heard.status.code(), Some(expected), "{name}: {heard:?}");
        let unheard = scene.command(&["verify", name]).stdout(closed()).output().unwrap();
        assert_eq!(unheard.status.code(), Some(expected), "{name}: {unheard:?}");
    }
}

#[test]
fn a_signal_in_a_series_says_how_to_go_on_with_all_of_it() {
    let scene = Scene::new();
    let more = ["--set", "time=60s", "--yes", "--runs", "3"];
    let mut child = scene.run("target", &more).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while fs::read_dir(scene.path("target")).unwrap().count() == 0 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let status = ended(&mut child);
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    assert_eq!(status.code(), Some(130), "{said}");
    assert!(said.contains("run 1 of 3 was stopped"), "{said}");
    assert!(said.contains("--runs 3 --resume -o run.json"), "{said}");
    // The file of the first alone is another command, which would leave out two runs.
    assert!(!said.contains("-o run-1.json"), "{said}");
}
