//! Names and strings that are written to take over a terminal, through every command.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use flashlag_schema::Run;
use serde_json::Value;
use tempfile::TempDir;

/// Colour, title, bell, carriage return, a line of its own, a C1 control, direction and a tag.
const HOSTILE: &str = "\u{1b}[31m\u{1b}]0;owned\u{7}\r\nFORGED: every figure holds\n\u{9b}2J\u{85}\u{202e}\u{2066}\u{e0041}";

const TINY: &str = include_str!("support/tiny.toml");

struct Scene {
    home: TempDir,
}

impl Scene {
    fn new() -> Scene {
        let home = TempDir::new().unwrap();
        fs::write(home.path().join("tiny.toml"), TINY).unwrap();
        Scene { home }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn flashlag(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
        command.args(arguments).current_dir(self.home.path()).stdin(Stdio::null());
        command.env("XDG_RUNTIME_DIR", self.home.path()).output().unwrap()
    }

    /// Runs it and looks at all that it prints. `machine` output may hold tabs and, in JSON for
    /// another program, what JSON may hold.
    fn check(&self, arguments: &[&str], machine: bool) -> Output {
        let output = self.flashlag(arguments);
        for bytes in [&output.stdout, &output.stderr] {
            let text = String::from_utf8(bytes.clone()).unwrap();
            let acts = |c: &char| {
                let layout = *c == '\n' || (machine && *c == '\t');
                !layout && (c.is_control() || "\u{202e}\u{2066}\u{e0041}".contains(*c))
            };
            let is_json = machine && text.starts_with('{');
            let found = text.chars().find(|c| acts(c) && !(is_json && *c as u32 > 0x7f));
            assert_eq!(found, None, "{arguments:?} printed {text:?}");
            let forged = text.lines().find(|line| line.starts_with("FORGED: every figure holds"));
            assert_eq!(forged, None, "{arguments:?} printed {text:?}");
        }
        output
    }
}

/// Every place of a string in a JSON value.
fn strings(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(at),
        Value::Array(all) => {
            all.iter().enumerate().for_each(|(i, one)| strings(one, format!("{at}/{i}"), found));
        }
        Value::Object(all) => {
            for (key, one) in all {
                let key = key.replace('~', "~0").replace('/', "~1");
                strings(one, format!("{at}/{key}"), found);
            }
        }
        _ => {}
    }
}

/// A run file with the hostile text in each string that a run file can have it in.
fn hostile_run(run: &Path) -> String {
    let mut value: Value = serde_json::from_str(&fs::read_to_string(run).unwrap()).unwrap();
    let mut places = Vec::new();
    strings(&value, String::new(), &mut places);
    let mut changed = 0;
    for place in places {
        let before = value.pointer(&place).unwrap().clone();
        *value.pointer_mut(&place).unwrap() =
            Value::String(format!("{}{HOSTILE}", before.as_str().unwrap()));
        if Run::from_json(&value.to_string()).is_ok() {
            changed += 1;
        } else {
            *value.pointer_mut(&place).unwrap() = before;
        }
    }
    assert!(changed > 20, "only {changed} strings are free");
    // A figure that is absent for a reason, where there is a figure.
    let absent = serde_json::json!({ "p99": HOSTILE });
    if let Some(latency) = value.pointer_mut("/phases/0/latency_ns") {
        latency["absent"] = absent;
    }
    value.to_string()
}

#[test]
fn no_string_of_a_run_file_acts_on_a_terminal_or_forges_a_line() {
    let scene = Scene::new();
    let run = ["run", "tiny.toml", "--on", "sim:nexus5-2013", "-q"];
    for (file, seed) in [("a.json", "1"), ("b.json", "2")] {
        scene.check(&[&run[..], &["-o", file, "--seed", seed]].concat(), false);
        let text = hostile_run(&scene.path(file));
        fs::write(scene.path(&format!("hostile-{file}")), text).unwrap();
    }
    let (a, b) = ("hostile-a.json", "hostile-b.json");
    scene.check(&["verify", a, b], false);
    scene.check(&["report", a], false);
    scene.check(&["-v", "report", a], false);
    for format in ["tsv", "markdown", "csv", "cdm", "openmetrics", "prometheus", "fio", "json"] {
        scene.check(&["report", a, "--format", format], true);
    }
    scene.check(&["compare", a, b], false);
    scene.check(&["compare", a, b, "--force"], false);
    scene.check(&["predict", a, "--change", "fs=f2fs"], false);
    scene.check(&["fit", a, "-o", "p.toml", "--simulations", "1"], false);
    scene.check(&["run", "tiny.toml", "--on", "sim:zero", "-o", a], false);
    scene.check(&["run", "tiny.toml", "--resume", "-o", a], false);
}

#[test]
fn no_name_that_is_typed_acts_on_a_terminal_or_forges_a_line() {
    let scene = Scene::new();
    let setting = format!("{HOSTILE}=1");
    let sim = format!("sim:{HOSTILE}");
    let stack = format!("sim:zero+{HOSTILE}");
    let flag = format!("--{HOSTILE}");
    let directory = scene.path(HOSTILE.split('/').next().unwrap());
    fs::create_dir(&directory).unwrap();
    for arguments in [
        &["run", HOSTILE][..],
        &["run", "--on", "nowhere", "--set", &setting],
        &["run", "--on", "/proc", "--set", &setting],
        &["run", "--on", &sim],
        &["run", "--on", &stack],
        &["run", "--on", "lab:zero", "-o", HOSTILE],
        &["run", "--fail-if", HOSTILE],
        &["run", "-o", HOSTILE],
        &["run", "--leave", HOSTILE],
        &["verify", HOSTILE, HOSTILE],
        &["report", HOSTILE],
        &["compare", HOSTILE, "x"],
        &["predict", HOSTILE, "--change", HOSTILE],
        &["predict", "zero", "--change", HOSTILE],
        &["fit", HOSTILE, "-o", "x.toml"],
        &["fit", "x", "-o", HOSTILE],
        &["profiles", "show", HOSTILE],
        &["profiles", "check", HOSTILE],
        &["scenarios", HOSTILE],
        &["clean", HOSTILE],
        &["clean", "nowhere", HOSTILE],
        &["cuts", HOSTILE],
        &["device", HOSTILE],
        &["device", "stat", HOSTILE],
        &["device", "cut", HOSTILE],
        &["completions", HOSTILE],
        &[HOSTILE],
        &[&flag],
    ] {
        scene.check(arguments, false);
    }
}

#[test]
fn no_scenario_or_profile_acts_on_a_terminal_or_forges_a_line() {
    let scene = Scene::new();
    let quoted = Value::String(HOSTILE.to_owned()).to_string();
    // TOML's strings take the same escapes, but for the characters beyond its four digits.
    let quoted = quoted.replace('\u{e0041}', "\\U000E0041").replace('\u{9b}', "\\u009b");
    let hostile = TINY
        .replace("\"tiny\"", &quoted)
        .replace("\"A moment of writes.\"", &quoted)
        .replace("\"None.\"", &quoted);
    fs::write(scene.path("hostile.toml"), hostile).unwrap();
    let output = scene.check(&["run", "hostile.toml", "--on", "sim:zero"], false);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    scene.check(&["scenarios", "hostile.toml"], false);
    let shown = scene.flashlag(&["profiles", "show", "zero"]).stdout;
    let profile = String::from_utf8(shown).unwrap();
    let mut lines: Vec<String> = profile.lines().map(str::to_owned).collect();
    for key in ["name", "about"] {
        let line = lines.iter_mut().find(|line| line.starts_with(&format!("{key} = ")));
        *line.unwrap() = format!("{key} = {quoted}");
    }
    fs::write(scene.path("profile.toml"), lines.join("\n")).unwrap();
    scene.check(&["profiles", "show", "profile.toml"], false);
    scene.check(&["run", "tiny.toml", "--on", "sim:profile.toml"], false);
    scene.check(&["predict", "profile.toml", "--change", "fs=f2fs"], false);
}

#[test]
fn no_name_of_what_a_run_left_acts_on_a_terminal_or_forges_a_line() {
    let scene = Scene::new();
    let parent = scene.path(&HOSTILE.replace('/', "_"));
    let leave = |id: &str| {
        let left = parent.join(format!("flashlag-work-{id}"));
        fs::create_dir_all(left.join("test")).unwrap();
        let manifest = format!(
            r#"{{"schema":"flashlag.workspace/1","id":"{id}","owner":{{"pid":4194305}},
            "created_unix_seconds":0,"subdirectories":["test"]}}"#
        );
        fs::write(left.join("flashlag-manifest.json"), manifest).unwrap();
        left
    };
    let with_stranger = leave("1111111111111111");
    fs::write(with_stranger.join(HOSTILE), "").unwrap();
    let other = parent.join("flashlag-work-3333333333333333");
    fs::create_dir_all(&other).unwrap();
    let version = Value::String(HOSTILE.to_owned());
    let manifest = format!(
        r#"{{"schema":{version},"id":"3333333333333333","owner":{{"pid":1}},
        "created_unix_seconds":0,"subdirectories":[]}}"#
    );
    fs::write(other.join("flashlag-manifest.json"), manifest).unwrap();
    leave("2222222222222222");
    let parent = parent.to_str().unwrap().to_owned();
    let output = scene.check(&["run", "tiny.toml", "--leave", "1MB", "--on", &parent], false);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("note: removed"), "{said}");
    let output = scene.check(&["clean", &parent], false);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("another version made it"), "{said}");
}

#[test]
fn no_reply_of_a_device_acts_on_a_terminal_or_forges_a_line() {
    let scene = Scene::new();
    let socket = scene.path("flashlag-device-evil.control");
    let listener = UnixListener::bind(&socket).unwrap();
    let name = Value::String(HOSTILE.to_owned());
    let stats = format!(
        r#"{{"ok":{{"stats":{{"profile":{name},"size_bytes":1,"seed":1,"time_scale":1.0,
        "virtual_ns":1,"powered":true,"read_only":{name},"host":{{"reads":0,"read_bytes":0,
        "writes":0,"written_bytes":0,"fua_writes":0,"flushes":0,"trims":0,"trimmed_bytes":0,
        "zeroes":0,"failed":0}},"flash":null,"lateness_ns":null,"power_cuts":0,"last_cut":null,"faults":0,
        "recorded":null}}}}}}"#
    );
    let stats = stats.replace("\n", " ") + "\n";
    let error = format!("{{\"error\":{name}}}\n");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut line = String::new();
            let _ = BufReader::new(stream.try_clone().unwrap()).read_line(&mut line);
            let reply = if line.contains("stat") { &stats } else { &error };
            let _ = stream.write_all(reply.as_bytes());
        }
    });
    let socket = socket.to_str().unwrap();
    for format in ["text", "openmetrics", "prometheus", "json"] {
        let output = scene.check(&["device", "stat", socket, "--format", format], true);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}");
    }
    scene.check(&["device", "stat"], false);
    for command in ["cut", "on", "repair"] {
        let output = scene.check(&["device", command, socket], false);
        assert_eq!(output.status.code(), Some(2));
    }
}
