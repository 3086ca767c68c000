//! `flashlag trace` on what really happens: real SQLite on a real ext4, beside the kernel's own counters.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::engine_common::loop_mount::LoopMount;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The options of the mount: nothing is written but what is asked for, for as long as a test takes.
const QUIET: &str = "commit=600";

fn flashlag() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    command.arg("trace");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether programs can be loaded into this kernel; skips if not.
fn can_trace() -> bool {
    if !flashlag_need::root("programs in the kernel") {
        return false;
    }
    let tried =
        flashlag().args(["--source", "ebpf", "--for", "1ms", "--json", "/"]).output().unwrap();
    if tried.status.success() {
        return true;
    }
    flashlag_need::skip(text(&tried.stderr).trim());
    false
}

/// Bytes written to a disk and its flushes, as the kernel counts: Documentation/block/stat.rst.
fn counted(device: &str) -> (u64, u64) {
    let stat = fs::read_to_string(format!("/sys/block/{device}/stat")).unwrap();
    let fields: Vec<u64> = stat.split_whitespace().map(|field| field.parse().unwrap()).collect();
    (fields[6] * 512, fields[15])
}

/// What a trace of `command` on `path` adds up to.
fn traced(path: &Path, command: &[&str]) -> (Value, Output) {
    let mut flashlag = flashlag();
    flashlag.args(["--json", "--source", "ebpf"]).arg(path).arg("--").args(command);
    let output = flashlag.output().unwrap();
    // After what the command itself printed.
    let begins = output.stdout.iter().position(|byte| *byte == b'{').unwrap_or(0);
    let ledger = serde_json::from_slice(&output.stdout[begins..]);
    (ledger.unwrap_or_else(|_| panic!("{}", text(&output.stderr))), output)
}

#[test]
fn commits_of_sqlite_are_shown_with_the_block_writes_that_the_kernel_counts() {
    if !can_trace() {
        return;
    }
    let Some(sqlite) = flashlag_need::program("sqlite3", "sqlite3") else { return };
    let mount = match LoopMount::ext4(64, QUIET) {
        Ok(mount) => mount,
        Err(reason) => return flashlag_need::skip(reason),
    };
    // One transaction makes the table, and seven fill it.
    let inserts = "insert into t values(zeroblob(100));".repeat(7);
    // What its commits have to make durable: with a journal that is deleted the journal twice, the
    // database and the directory; with a log the log alone, and at the end once more to clear it.
    for (mode, syncs) in [("delete", 4 * 8..=4 * 8), ("wal", 8..=8 + 12)] {
        let database = mount.path().join(format!("{mode}.db"));
        let database = database.to_str().unwrap();
        let sql = format!(
            "pragma journal_mode={mode}; pragma synchronous=full; create table t(a); {inserts}"
        );
        let _ = mount.used_bytes();
        let before = counted(&mount.device());
        let (ledger, output) =
            traced(mount.path(), &[sqlite.to_str().unwrap(), "-batch", database, &sql]);
        let after = counted(&mount.device());
        assert!(output.status.success(), "{}", text(&output.stderr));

        assert_eq!(ledger["source"]["lost"], 0);
        let block = ledger["layers"]["block"]["bytes"].as_u64().unwrap();
        assert_eq!(block, after.0 - before.0, "{mode}: bytes of the device\n{ledger:#}");
        let flushes = ledger["layers"]["flushes"].as_u64().unwrap();
        assert_eq!(flushes, after.1 - before.1, "{mode}: flushes of the device");

        let databases = ledger["databases"].as_array().unwrap();
        assert_eq!(databases.len(), 1, "{databases:#?}");
        let commits = databases[0]["commits"].as_u64().unwrap();
        // Changing to a log is a transaction of its own.
        let expected = if mode == "wal" { 8..=9 } else { 8..=8 };
        assert!(expected.contains(&commits), "{mode}: {commits} commits");
        assert_eq!(databases[0]["journal_mode"], mode, "{databases:#?}");
        let all = ledger["layers"]["syncs"].as_u64().unwrap();
        assert!(syncs.contains(&all), "{mode}: {all} fsyncs");
    }
}

/// Saves as Android's libraries make them, by their calls.
const SAVES: &str = "
import os
os.mkdir('shared_prefs')
def write(path, size):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o660)
    os.write(fd, b'x' * size); os.fsync(fd); os.close(fd)
prefs = 'shared_prefs/p.xml'
write(prefs, 5000)
for i in range(9):
    os.rename(prefs, prefs + '.bak'); write(prefs, 5000); os.unlink(prefs + '.bak')
for i in range(7):
    write('a.new', 3000); os.rename('a.new', 'a')
for i in range(5):
    write('d.preferences_pb.tmp', 2000); os.rename('d.preferences_pb.tmp', 'd.preferences_pb')
log = os.open('log', os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
for i in range(11):
    os.write(log, b'r' * 100); os.fdatasync(log)
";

#[test]
fn saves_without_sqlite_are_shown_by_kind_as_many_as_were_made() {
    if !can_trace() {
        return;
    }
    let Some(python) = flashlag_need::program("python3", "python3") else { return };
    let mount = match LoopMount::ext4(64, QUIET) {
        Ok(mount) => mount,
        Err(reason) => return flashlag_need::skip(reason),
    };
    let within = format!("import os\nos.chdir('{}')\n{SAVES}", mount.path().display());
    let (ledger, output) = traced(mount.path(), &[python.to_str().unwrap(), "-c", &within]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(ledger["source"]["lost"], 0);
    let rows = ledger["saves"].as_array().unwrap();
    let mut found: Vec<(&str, u64, u64)> = rows
        .iter()
        .map(|row| {
            let number = |key: &str| row[key].as_u64().unwrap();
            (row["kind"].as_str().unwrap(), number("saves"), number("bytes"))
        })
        .collect();
    found.sort_unstable();
    // The file of preferences is first made.
    let expected = [
        ("append_log", 11, 1100),
        ("atomic_file", 7, 21_000),
        ("datastore", 5, 10_000),
        ("in_place", 1, 5000),
        ("shared_preferences", 9, 45_000),
    ];
    assert_eq!(found, expected, "{ledger:#}");
}

/// What the trace has of one device.
fn device<'a>(ledger: &'a Value, name: &str) -> &'a Value {
    let devices = ledger["devices"].as_array().unwrap();
    let found = devices.iter().find(|device| device["name"] == name);
    found.unwrap_or_else(|| panic!("no {name}: {devices:#?}"))
}

/// Whether the totals are those of the devices that count.
fn totals_are_of_the_counted(ledger: &Value) {
    let devices = ledger["devices"].as_array().unwrap();
    let counted = devices.iter().filter(|device| device["counted"] == true);
    let sum: u64 = counted.map(|device| device["writes"]["bytes"].as_u64().unwrap()).sum();
    assert_eq!(ledger["layers"]["block"]["bytes"], sum, "{devices:#?}");
}

/// What a trace of `command` on all storage adds up to.
fn traced_everywhere(command: &[&str]) -> Value {
    let mut flashlag = flashlag();
    let output =
        flashlag.args(["--json", "--source", "ebpf", "--"]).args(command).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn bytes_of_a_loop_device_count_once_and_each_device_has_what_the_kernel_counts() {
    if !can_trace() {
        return;
    }
    let both = LoopMount::ext4(64, QUIET).and_then(|below| {
        let home = tempfile::TempDir::new_in(below.path()).map_err(|error| error.to_string())?;
        let image = home.path().join("image");
        let file = fs::File::create(&image).map_err(|error| error.to_string())?;
        file.set_len(24 << 20).map_err(|error| error.to_string())?;
        crate::engine_common::loop_mount::run(
            Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image),
        )?;
        let above = LoopMount::of_image(home, &image, QUIET)?;
        // The last is unmounted first.
        Ok((below, above))
    });
    let (below, above) = match both {
        Ok(both) => both,
        Err(reason) => return flashlag_need::skip(reason),
    };
    let _ = (above.used_bytes(), below.used_bytes());
    let (upper, lower) = (above.device(), below.device());
    let before = [counted(&upper), counted(&lower)];
    let of = format!("of={}", above.path().join("file").display());
    let dd = ["dd", "if=/dev/zero", &of, "bs=64k", "count=32", "conv=fsync", "status=none"];
    let ledger = traced_everywhere(&dd);
    let after = [counted(&upper), counted(&lower)];
    for (name, (before, after)) in [&upper, &lower].into_iter().zip(before.into_iter().zip(after)) {
        let writes = device(&ledger, name)["writes"]["bytes"].as_u64().unwrap();
        assert_eq!(writes, after.0 - before.0, "{name}: {:#}", ledger["devices"]);
        assert!(writes >= 32 << 16, "{name}: {writes}");
        assert_eq!(device(&ledger, name)["flushes"], after.1 - before.1, "{name}");
    }
    assert_eq!(device(&ledger, &upper)["below"], serde_json::json!([lower]));
    assert_eq!(device(&ledger, &upper)["counted"], false);
    totals_are_of_the_counted(&ledger);
}

#[test]
fn a_commands_streams_and_exit_status_are_its_own() {
    if !can_trace() {
        return;
    }
    for (script, status) in [("echo out; exit 7", 7), ("echo out; kill -9 $$", 128 + 9)] {
        let output = flashlag().args(["--", "sh", "-c", script]).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), "out\n");
    }
    let output = flashlag().args(["--", "/no/such/program"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("/no/such/program can't be run"));
    let output = flashlag().args(["-o", "-", "--", "true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn a_signal_ends_the_command_and_then_the_trace() {
    if !can_trace() {
        return;
    }
    for (signal, number) in [(Signal::TERM, 15), (Signal::INT, 2), (Signal::HUP, 1)] {
        let mut command = flashlag();
        // `exec`: the signal has to reach the process that waits.
        command.args(["--", "sh", "-c", "echo began; exec sleep 600"]);
        let mut running = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut began = [0; 6];
        std::io::Read::read_exact(running.stdout.as_mut().unwrap(), &mut began).unwrap();
        kill_process(Pid::from_child(&running), signal).unwrap();
        let output = running.wait_with_output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(128 + number), "{said}");
        assert!(said.contains("recording took"), "{said}");
    }
}

#[test]
fn the_whole_family_of_a_command_is_recorded_and_nobody_else() {
    if !can_trace() {
        return;
    }
    let mount = match LoopMount::ext4(64, QUIET) {
        Ok(mount) => mount,
        Err(reason) => return flashlag_need::skip(reason),
    };
    let stranger = mount.path().join("stranger");
    let mut other = Command::new("sh")
        .args(["-c", "while echo x >> \"$0\"; do sleep 0.01; done"])
        .arg(&stranger)
        .spawn()
        .unwrap();
    let target = mount.path().join("deep");
    // A child of a child that outlives its parent, and one that ends at once.
    let script = "(sh -c 'printf child > \"$0-child\"' \"$0\") & wait; printf own > \"$0\"; true";
    let (ledger, _) = traced(mount.path(), &["sh", "-c", script, target.to_str().unwrap()]);
    other.kill().unwrap();
    other.wait().unwrap();
    let writers = ledger["writers"].as_array().unwrap();
    let bytes = |name: &str| -> u64 {
        let of = |writer: &&Value| writer["file"].as_str().is_some_and(|file| file.ends_with(name));
        let bytes = |writer: &Value| writer["calls"]["bytes"].as_u64().unwrap_or(0);
        writers.iter().filter(of).map(bytes).sum()
    };
    assert_eq!(bytes("/deep"), 3, "{writers:#?}");
    assert_eq!(bytes("/deep-child"), 5, "{writers:#?}");
    assert_eq!(bytes("/stranger"), 0, "{writers:#?}");
}

#[test]
fn hostile_names_of_files_and_programs_reach_no_terminal() {
    if !can_trace() {
        return;
    }
    let mount = match LoopMount::ext4(64, QUIET) {
        Ok(mount) => mount,
        Err(reason) => return flashlag_need::skip(reason),
    };
    let name = b"a\x1b[2J\n\r\xff\xe2\x80\xae-journal".to_vec();
    let file = mount.path().join(std::ffi::OsString::from_vec(name.clone()));
    let program = mount.path().join(std::ffi::OsString::from_vec(b"p\x1b]0;x\x07".to_vec()));
    flashlag_need::copy_program(&flashlag_need::find("dd").unwrap(), &program).unwrap();
    let mut of = std::ffi::OsString::from("of=");
    of.push(&file);
    let output = flashlag()
        .arg(mount.path())
        .arg("--")
        .arg(&program)
        .args(["if=/dev/zero", "bs=4096", "count=2", "conv=fsync", "status=none"])
        .arg(of)
        .output()
        .unwrap();
    assert!(output.status.success());
    let said = text(&output.stderr);
    let plain = |c: char| c == '\n' || flashlag_units::is_printable(c);
    assert!(said.chars().all(plain), "{said:?}");
    assert!(said.contains("8.2 kB"), "{said}");
}

#[test]
fn of_a_flood_every_write_is_recorded_or_counted_as_lost() {
    if !can_trace() {
        return;
    }
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = folder.path().join("flood");
    let mut of = std::ffi::OsString::from("of=");
    of.push(&file);
    let output = flashlag()
        .args(["--json", "--source", "ebpf"])
        .arg(folder.path())
        .args(["--", "dd", "if=/dev/zero", "bs=1", "count=400000", "status=none"])
        .arg(of)
        .output()
        .unwrap();
    let ledger: Value = serde_json::from_slice(&output.stdout).unwrap();
    let seen = ledger["layers"]["calls"]["count"].as_u64().unwrap();
    let lost = ledger["source"]["lost"].as_u64().unwrap();
    assert!(seen <= 400_000 && seen + lost >= 400_000, "{seen} seen, {lost} lost");
}

#[test]
fn without_rights_counters_are_shown_with_what_they_can_not_say() {
    let Some(setpriv) = flashlag_need::program("setpriv", "util-linux") else { return };
    if !flashlag_need::root("starting a program as another user") {
        return;
    }
    let folder = tempfile::TempDir::new().unwrap();
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    fs::set_permissions(folder.path(), open).unwrap();
    // A copy, since another user may not look into the folder of the build.
    let program = folder.path().join("flashlag");
    flashlag_need::copy_program(Path::new(env!("CARGO_BIN_EXE_flashlag")), &program).unwrap();
    let as_nobody = |words: &[&str]| {
        let mut command = Command::new(&setpriv);
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]);
        command.arg(&program).arg("trace").args(words).current_dir(folder.path());
        command.output().unwrap()
    };
    let script = "dd if=/dev/zero of=big bs=65536 count=20 status=none; sleep 0.3";
    let output = as_nobody(&["--", "sh", "-c", &format!("{script}; exit 5")]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("eBPF can't be used") && said.contains("needs root"), "{said}");
    assert!(said.contains("no files, fsyncs or waits"), "{said}");
    // What has to be a trace is not replaced.
    let output = as_nobody(&["-o", "trace.jsonl", "--for", "1ms"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(!folder.path().join("trace.jsonl").exists());
}

#[test]
fn where_programs_are_refused_the_missing_right_and_the_next_source_are_named() {
    let Some(setpriv) = flashlag_need::program("setpriv", "util-linux") else { return };
    if !flashlag_need::root("giving up capabilities") {
        return;
    }
    // Numbers, since older programs do not know these names: SYS_ADMIN, PERFMON, BPF.
    let cases = [("-cap_21,-cap_38,-cap_39", true, true), ("-cap_21,-cap_38", false, true)];
    for (given_up, without_bpf, without_perfmon) in cases {
        let mut command = Command::new(&setpriv);
        command.arg(format!("--bounding-set={given_up}"));
        command.arg(env!("CARGO_BIN_EXE_flashlag"));
        let asked = ["trace", "--source", "ebpf", "--for", "1ms", "--json", "/"];
        let output = command.args(asked).output().unwrap();
        let said = text(&output.stderr);
        assert!(!output.status.success(), "{said}");
        assert_eq!(said.contains("lacks the capability CAP_BPF"), without_bpf, "{said}");
        assert_eq!(said.contains("lacks the capability CAP_PERFMON"), without_perfmon, "{said}");
        assert!(said.contains("the source tracefs needs less"), "{said}");
    }
}

#[test]
fn counters_of_a_command_are_its_own() {
    let folder = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    // The last command stays for a while, so that its counters are read once it has written.
    let script = "i=0; while [ $i -lt 50 ]; do echo 0123456789; i=$((i+1)); done > out; sleep 0.5";
    let output = flashlag()
        .args(["--source", "counters", "--", "sh", "-c", script])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    let row = said.lines().find(|line| line.starts_with("sh ")).unwrap_or_else(|| panic!("{said}"));
    // 50 lines of the loop, and none of another process.
    assert_eq!(row.split_whitespace().nth(1), Some("50"), "{said}");
}

#[test]
fn writes_and_fsyncs_through_io_uring_are_recorded_with_their_file_and_place() {
    if !can_trace() {
        return;
    }
    let Some(fio) = flashlag_need::program("fio", "fio") else { return };
    let mount = match LoopMount::ext4(64, QUIET) {
        Ok(mount) => mount,
        Err(reason) => return flashlag_need::skip(reason),
    };
    let file = format!("--filename={}/ring", mount.path().display());
    let load = [
        fio.to_str().unwrap(),
        "--name=ring",
        &file,
        "--ioengine=io_uring",
        "--rw=write",
        "--bs=4k",
        "--size=40k",
        "--fsync=1",
        "--fallocate=none",
        "--output=/dev/null",
    ];
    let (ledger, output) = traced(mount.path(), &load);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    let writers = ledger["writers"].as_array().unwrap();
    let of_ring = |writer: &&Value| writer["file"].as_str().is_some_and(|f| f.ends_with("/ring"));
    let sum = |of: &dyn Fn(&Value) -> u64| writers.iter().filter(of_ring).map(of).sum::<u64>();
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    assert_eq!(sum(&|writer| number(&writer["calls"]["count"])), 10, "{ledger:#}");
    assert_eq!(sum(&|writer| number(&writer["calls"]["bytes"])), 40_960, "{ledger:#}");
    // One after each write but perhaps the last, and perhaps one at the end.
    let syncs = sum(&|writer| number(&writer["syncs"]["count"]));
    assert!((9..=11).contains(&syncs), "{syncs} fsyncs\n{ledger:#}");
    assert!(sum(&|writer| number(&writer["syncs"]["waited_ns"])) > 0, "{ledger:#}");
}
