//! `lifecycle --set protocol=…` runs the steps of the reviewers who measured a device.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Output};

use flashlag_schema::Run;

fn lifecycle(arguments: &[&str]) -> (Output, tempfile::TempDir) {
    let home = tempfile::TempDir::new().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    command.current_dir(home.path()).args(["run", "lifecycle", "-q", "-o", "run.json"]);
    (command.args(arguments).output().unwrap(), home)
}

fn error_of(arguments: &[&str]) -> String {
    let (output, _home) = lifecycle(arguments);
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_simulated_device_runs_its_own_reviewers_protocol_and_shows_their_figures() {
    let (output, home) = lifecycle(&["--on", "sim:sd-a1", "--set", "protocol=published"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let run = Run::from_json(&std::fs::read_to_string(home.path().join("run.json")).unwrap());
    let run = run.unwrap();
    assert_eq!(run.scenario.name, "raspberry-pi-4");
    let typed = "flashlag run lifecycle --on sim:sd-a1 --set protocol=published --seed 1";
    assert_eq!(run.command.join(" "), typed);
    let headline = flashlag_views::headline(&run).sentence;
    assert!(headline.starts_with("Simulated SanDisk Extreme Pro A1: "), "{headline}");
}

#[test]
fn the_command_in_a_run_file_makes_the_same_run_again() {
    let typed: &[&[&str]] = &[
        &["--on", "sim:zero", "--set", "time=20ms", "--leave", "300MB", "--seed", "7"],
        &["--on", "sim:sd-a1", "--set", "protocol=published", "--label", "My card"],
    ];
    for arguments in typed {
        let (output, home) = lifecycle(arguments);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let first = std::fs::read_to_string(home.path().join("run.json")).unwrap();
        let command = Run::from_json(&first).unwrap().command;
        let mut again = Command::new(env!("CARGO_BIN_EXE_flashlag"));
        again.current_dir(home.path()).args(&command[1..]).args(["-q", "-o", "again.json"]);
        let output = again.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{command:?} {output:?}");
        assert!(std::fs::read_to_string(home.path().join("again.json")).unwrap() == first);
    }
}

#[test]
fn a_protocol_that_there_is_not_or_that_nobody_published_is_an_error_that_lists_them() {
    let set = |protocol: &'static str| ["--set", protocol];
    let [key, published] = set("protocol=published");
    let on_directory = error_of(&[key, published]);
    assert!(on_directory.contains("has no profile") && on_directory.contains("androbench"));
    let unreviewed = error_of(&["--on", "sim:ufs31-phone", key, published]);
    assert!(unreviewed.contains("no reviewer measured ufs31-phone"), "{unreviewed}");
    let unknown = error_of(&["--on", "sim:zero", "--set", "protocol=nobody"]);
    assert!(unknown.contains("no protocol is named `nobody`"), "{unknown}");
    let setting = error_of(&["--on", "sim:sd-a1", key, published, "--set", "runs=2"]);
    assert!(setting.contains("runs"), "a protocol has settings of its own: {setting}");
}

#[test]
fn a_schedule_beyond_a_simulated_device_is_overloaded_and_one_within_it_is_not() {
    let home = tempfile::TempDir::new().unwrap();
    let run = |rate: &str| {
        let text = format!(
            "name = \"paced\"\nabout = \"Saves on a schedule.\"\n[[save]]\nname = \"save_wal\"\n\
             statement = \"insert\"\njournal = \"wal\"\nsynchronous = \"full\"\nrows = 100\n\
             time = \"3s\"\narrivals = {{ per_second = {rate} }}\n[[step]]\nmeasure = [\"*\"]\n\
             state = \"new\"\n"
        );
        std::fs::write(home.path().join("paced.toml"), text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
        let file = format!("{rate}.json");
        command.current_dir(home.path()).args(["run", "paced.toml", "-q", "-o", &file]);
        let output = command.args(["--on", "sim:nexus5-2013"]).output().unwrap();
        let stored = std::fs::read_to_string(home.path().join(&file));
        let run = Run::from_json(&stored.unwrap_or_else(|_| panic!("{output:?}"))).unwrap();
        let phase = &run.phases[0];
        (flashlag_views::overload(&run, phase), phase.ops_per_sec)
    };
    // A save takes some 8 ms there: 120 of them fit a second.
    let (kept, done) = run("50.0");
    assert_eq!(kept, None, "{done} of 50 a second");
    let (overloaded, done) = run("400.0");
    let overloaded = overloaded.unwrap();
    assert_eq!((overloaded.done_per_sec, overloaded.due_per_sec), (done, 400.0));
    assert!(done < 300.0);
}
