//! `flashlag trace --beside`: frames of a user interface beside a recording or a run of the same machine,
//! by its real clocks.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::engine_common::loop_mount::LoopMount;

const MS: u64 = 1_000_000;

/// A field of a message of Perfetto's, a number.
fn number(field: u32, value: u64) -> Vec<u8> {
    [varint((field << 3).into()), varint(value)].concat()
}

/// A field that is a message or a text.
fn message(field: u32, parts: &[Vec<u8>]) -> Vec<u8> {
    let inner = parts.concat();
    [varint((field << 3 | 2).into()), varint(inner.len() as u64), inner].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A frame of a process, by the boot-time clock: its beginning, its deadline, its end.
#[derive(Clone, Copy, Debug)]
struct Frame {
    pid: u64,
    from: u64,
    due: u64,
    to: u64,
}

/// A trace with these frames alone, all late by the app's fault, as `FrameTimeline.cpp` writes them.
fn perfetto(frames: &[Frame]) -> Vec<u8> {
    let packet = |t: u64, event: Vec<u8>| message(1, &[number(8, t), message(76, &[event])]);
    let mut trace = Vec::new();
    for (frame, token) in frames.iter().zip(1..) {
        let begin = |cookie| vec![number(1, cookie), number(2, token), number(4, frame.pid)];
        let actual = [begin(token * 2 + 1), vec![number(6, 2), number(9, 64), number(10, 1)]];
        let end = |cookie: u64| message(5, &[number(1, cookie)]);
        trace.extend(packet(frame.from, message(3, &begin(token * 2))));
        trace.extend(packet(frame.from, message(4, &actual.concat())));
        trace.extend(packet(frame.due, end(token * 2)));
        trace.extend(packet(frame.to, end(token * 2 + 1)));
    }
    trace
}

/// fsyncs of main threads in the kernel's events of such a trace: process, beginning, end.
fn fsyncs(syncs: &[(u64, u64, u64)]) -> Vec<u8> {
    let event = |t: u64, pid: u64, field: u32| {
        let body = [number(1, 8 << 8 | 16), number(2, 7)];
        message(2, &[number(1, t), number(2, pid), message(field, &body)])
    };
    let both = |(pid, from, to): &(u64, u64, u64)| [event(*from, *pid, 43), event(*to, *pid, 44)];
    let events: Vec<Vec<u8>> = syncs.iter().flat_map(both).collect();
    message(1, &[message(1, &[number(1, 0), events.concat()])])
}

fn flashlag(folder: &Path, words: &[&str]) -> (bool, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    let output = command.args(words).current_dir(folder).env("COLUMNS", "200").output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

fn ledger(folder: &Path, words: &[&str]) -> Value {
    let (_, json, error) = flashlag(folder, &[words, &["--json"]].concat());
    serde_json::from_str(&json).unwrap_or_else(|_| panic!("{error}"))
}

/// Saves of 8 MB, each after a quarter of a second of sleep, with the boot-time clock before the sleep and
/// before and after the fsync.
const SAVES: &str = "
import os, time
clock = lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME)
for i in range(3):
    asleep = clock()
    time.sleep(0.25)
    file = os.open(f'save{i}', os.O_WRONLY | os.O_CREAT)
    os.write(file, os.urandom(8 << 20))
    before = clock()
    os.fsync(file)
    print(os.getpid(), asleep, before, clock(), flush=True)
time.sleep(0.25)
";

#[test]
fn frames_that_a_recorded_fsync_of_the_apps_main_thread_made_late_are_named_and_no_others() {
    if !flashlag_need::root("a recording of system calls") {
        return;
    }
    let Some(python) = flashlag_need::program("python3", "python3") else { return };
    let mount = match LoopMount::ext4(128, "commit=600") {
        Ok(mount) => mount,
        Err(reason) => return flashlag_need::skip(reason),
    };
    let within = format!("import os\nos.chdir('{}')\n{SAVES}", mount.path().display());
    let folder = tempfile::tempdir().unwrap();
    let place = mount.path().to_str().unwrap();
    let record =
        ["trace", "-o", "saves.jsonl", place, "--", python.to_str().unwrap(), "-c", &within];
    let (recorded, printed, error) = flashlag(folder.path(), &record);
    let head = std::fs::read_to_string(folder.path().join("saves.jsonl")).unwrap_or_default();
    if !recorded || !head.contains("\"system_calls\"") {
        return flashlag_need::skip(error.trim());
    }
    let syncs: Vec<Vec<u64>> = printed
        .lines()
        .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect())
        .collect();
    let (mut frames, mut expected) = (Vec::new(), Vec::new());
    for sync in &syncs {
        let (pid, asleep, from, to) = (sync[0], sync[1], sync[2], sync[3]);
        // Later than a millisecond, which the fsync takes however fast the disk and full the CPU is; and a
        // frame while the thread sleeps.
        frames.push(Frame { pid, from: asleep, due: asleep + 10 * MS, to: asleep + 100 * MS });
        frames.push(Frame { pid, from, due: to - MS, to });
        expected.push(to - from);
    }
    std::fs::write(folder.path().join("ui.pftrace"), perfetto(&frames)).unwrap();
    let beside = ["trace", "--from", "ui.pftrace", "--beside", "saves.jsonl"];
    let found = ledger(folder.path(), &beside);
    let seen = &found["frames"];
    assert_eq!((&seen["frames"], &seen["late"]), (&6.into(), &6.into()), "{seen:#}");
    assert_eq!(seen["by_storage"], 3, "{seen:#}\n{syncs:?}");
    for ((late, took), name) in seen["listed"].as_array().unwrap().iter().zip(expected).zip(0..) {
        assert_eq!(late["frame"]["took_ns"], took, "{late:#}");
        let wait = &late["wait"];
        assert!(wait["file"].as_str().unwrap().ends_with(&format!("save{name}")), "{late:#}");
        assert_eq!((&wait["what"], &wait["task"]), (&"sync".into(), &"its main thread".into()));
        assert!(wait["took_ns"].as_u64().unwrap() <= took, "{late:#}");
    }
    // Each save was felt, and is said to be.
    let saves = found["saves"].as_array().unwrap();
    let janks: u64 = saves.iter().map(|row| row["waits"]["janks"].as_u64().unwrap()).sum();
    assert_eq!((saves.len(), janks), (3, 3), "{saves:#?}");
    let (_, shown, _) = flashlag(folder.path(), &beside);
    assert!(shown.contains("Of 6 frames 6 were late, 3 of them by waits for storage."), "{shown}");
    assert!(shown.contains("3 of 3 make a frame late"), "{shown}");
}

/// A run of a second, with its tests' times by the boot-time clock.
fn run(folder: &Path) -> Vec<(String, u64, u64)> {
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/program/support/tiny.toml");
    std::fs::create_dir(folder.join("here")).unwrap();
    let words = ["run", scenario, "--on", "here", "-o", "run.json"];
    let (_, _, error) = flashlag(folder, &words);
    let text = std::fs::read_to_string(folder.join("run.json"));
    let run: Value = serde_json::from_str(&text.unwrap_or_else(|_| panic!("{error}"))).unwrap();
    let phases = run["phases"].as_array().unwrap().iter();
    let times = phases.map(|phase| {
        let begun = phase["clocks"]["boot_ns"].as_u64().unwrap();
        let test = phase["name"].as_str().unwrap().to_owned();
        (test, begun, begun + phase["elapsed_ns"].as_u64().unwrap())
    });
    times.collect()
}

/// `CLOCK_BOOTTIME` by another way than flashlag's: what `/proc/uptime` says, to 10 ms.
fn uptime() -> u64 {
    let text = std::fs::read_to_string("/proc/uptime").unwrap();
    let seconds: f64 = text.split_whitespace().next().unwrap().parse().unwrap();
    (seconds * 1e9) as u64
}

#[test]
fn late_frames_are_counted_in_the_test_of_the_run_in_which_they_ended() {
    let folder = tempfile::tempdir().unwrap();
    let before = uptime();
    let tests = run(folder.path());
    let after = uptime();
    let (first, last) = (&tests[0], tests.last().unwrap());
    assert!(before < first.1 + 20 * MS && last.2 < after + 20 * MS, "{before} {tests:?} {after}");
    // One before the run, two in its first test, three in its last.
    let frame = |to: u64| Frame { pid: 7, from: to - 30 * MS, due: to - 14 * MS, to };
    let mut frames = vec![frame(first.1 - 5 * MS)];
    frames.extend([1, 2].map(|part| frame(first.1 + (first.2 - first.1) * part / 3)));
    let (begun, length) = (last.1, last.2 - last.1);
    let in_last = if tests.len() == 1 { 0 } else { 3 };
    frames.extend((1..=in_last).map(|part| frame(begun + length * part / 4)));
    std::fs::write(folder.path().join("ui.pftrace"), perfetto(&frames)).unwrap();
    let beside = ["trace", "--from", "ui.pftrace", "--beside", "run.json"];
    let found = ledger(folder.path(), &beside);
    let counted: Vec<(&str, u64)> = found["run"]["tests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["test"].as_str().unwrap(), row["late"].as_u64().unwrap()))
        .filter(|(_, late)| *late > 0)
        .collect();
    assert!(counted[0].0.ends_with(&first.0) && counted[0].1 == 2, "{counted:?} {tests:?}");
    assert_eq!(counted.iter().map(|(_, late)| late).sum::<u64>(), 2 + in_last, "{counted:?}");
    assert_eq!(found["run"]["elsewhere"], 1, "{found:#}");
    let (_, shown, _) = flashlag(folder.path(), &beside);
    assert!(shown.contains("test of the run"), "{shown}");
}

#[test]
fn a_late_frame_of_a_run_is_by_storage_by_its_own_waits_and_beside_a_stall_by_the_runs() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path());
    let path = folder.path().join("run.json");
    let mut file: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    // A test of a second, with a stall of 100 ms after 300 ms.
    let begun: u64 = 5_000_000 * MS;
    let phase = &mut file["phases"][0];
    phase["clocks"] = serde_json::json!({"boot_ns": begun});
    phase["elapsed_ns"] = (1000 * MS).into();
    let cause = "garbage_collection";
    phase["stalls"] = serde_json::json!([{"t_ns": 300 * MS, "ns": 100 * MS, "cause": cause}]);
    file["phases"] = Value::Array(vec![phase.clone()]);
    std::fs::write(&path, file.to_string()).unwrap();
    let frame = |from: u64, to: u64| {
        let (from, to) = (begun + from * MS, begun + to * MS);
        Frame { pid: 7, from, due: to - 10 * MS, to }
    };
    let sync = |from: u64, to: u64| (7, begun + from * MS, begun + to * MS);
    // Neither; a wait of its own; beside the stall; both.
    let frames = [frame(10, 40), frame(100, 140), frame(310, 340), frame(360, 420)];
    let syncs = fsyncs(&[sync(5, 8), sync(110, 130), sync(370, 400)]);
    let trace = [perfetto(&frames), syncs].concat();
    std::fs::write(folder.path().join("ui.pftrace"), trace).unwrap();
    let beside = ["trace", "--from", "ui.pftrace", "--beside", "run.json"];
    let found = ledger(folder.path(), &beside);
    let test = &found["run"]["tests"][0];
    let counts = ["late", "by_storage", "at_stalls"].map(|count| test[count].as_u64().unwrap());
    assert_eq!(counts, [4, 2, 2], "{found:#}");
    let listed = found["frames"]["listed"].as_array().unwrap();
    let stalls: Vec<&Value> =
        listed.iter().map(|late| &late["during"]["stall"]["took_ns"]).collect();
    assert_eq!(stalls, [&Value::Null, &Value::from(100 * MS)], "{listed:#?}");
    let (_, shown, _) = flashlag(folder.path(), &beside);
    let whole = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for said in [
        "Of 4 frames 4 were late, 2 of them by waits for storage; while the run measured, 4 were late, 2 of them by storage.",
        "took 30 ms; meanwhile new: write, of which an operation took 100 ms (garbage collection)",
    ] {
        assert!(whole.contains(said), "{shown}");
    }
}

#[test]
fn what_can_t_be_laid_beside_a_trace_is_refused_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    // Ten years after this machine's start.
    let from = 315_576_000_000 * MS;
    write("ui.pftrace", &perfetto(&[Frame { pid: 7, from, due: from + MS, to: from + 2 * MS }]));
    write("notes.txt", b"no run and no trace\n");
    let strace =
        "7 12:00:00.000000 fsync(3</a>) = 0 <0.1>\n7 12:00:01.000000 fsync(3</a>) = 0 <0.1>\n";
    write("app.strace", strace.as_bytes());
    let refused = |from: &str, beside: &str| {
        let (done, _, error) =
            flashlag(folder.path(), &["trace", "--from", from, "--beside", beside]);
        assert!(!done, "{error}");
        error
    };
    assert!(refused("ui.pftrace", "none.json").contains("cannot read none.json"));
    assert!(refused("ui.pftrace", "notes.txt").contains("notes.txt is neither a run nor a trace"));
    assert!(refused("ui.pftrace", "app.strace").contains("no clock leads from one to the other"));
    assert!(
        refused("app.strace", "ui.pftrace").contains("no frames of a user interface are in it")
    );
    run(folder.path());
    let over =
        ["trace", "--from", "ui.pftrace", "--beside", "run.json", "-o", "run.json", "--force"];
    let before = std::fs::read(folder.path().join("run.json")).unwrap();
    let (done, _, error) = flashlag(folder.path(), &over);
    assert!(!done && error.contains("run.json is read here"), "{error}");
    assert_eq!(std::fs::read(folder.path().join("run.json")).unwrap(), before, "{error}");
    let apart = refused("ui.pftrace", "run.json");
    assert!(apart.contains("were not made at the same time"), "{apart}");
}
