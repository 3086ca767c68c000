//! The sources of `flashlag trace` beside eBPF, on real files: tracepoints as text, and events of files.
//! tracefs is mounted in a namespace of mounts of each test's own, where nobody else's mount of it is left.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::engine_common::loop_mount::LoopMount;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const TRACEFS: &str = "/sys/kernel/tracing";

/// Takes tracefs away in a namespace of mounts: perf and others mount it for the whole machine.
const NOT_MOUNTED: &str = "umount -a -l -t tracefs 2>/dev/null";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// flashlag after some commands of a shell, in mounts of its own.
fn after(setup: &str, words: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    let script = format!("{NOT_MOUNTED}\n{setup}\nexec \"$0\" trace \"$@\"");
    command.args(["-m", "sh", "-c", &script, env!("CARGO_BIN_EXE_flashlag")]).args(words);
    command
}

/// Whether tracefs can be mounted; skips if not.
fn can_mount() -> bool {
    if !flashlag_need::root("mounting tracefs") {
        return false;
    }
    let script = format!("{NOT_MOUNTED}\nmount -t tracefs t {TRACEFS}");
    let mounted = Command::new("unshare").args(["-m", "sh", "-c", &script]).output().unwrap();
    if !mounted.status.success() {
        flashlag_need::skip(text(&mounted.stderr).trim());
    }
    mounted.status.success()
}

fn mounted(options: &str) -> Option<LoopMount> {
    match LoopMount::ext4(64, options) {
        Ok(mount) => Some(mount),
        Err(reason) => {
            flashlag_need::skip(reason);
            None
        }
    }
}

fn ledger(output: &Output) -> Value {
    let begins = output.stdout.iter().position(|byte| *byte == b'{').unwrap_or(0);
    let ledger = serde_json::from_slice(&output.stdout[begins..]);
    ledger.unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

/// Bytes written to a disk, as the kernel counts: Documentation/block/stat.rst.
fn counted(device: &str) -> u64 {
    let stat = fs::read_to_string(format!("/sys/block/{device}/stat")).unwrap();
    let sectors: u64 = stat.split_whitespace().nth(6).unwrap().parse().unwrap();
    sectors * 512
}

fn sum(ledger: &Value, file: &str, of: impl Fn(&Value) -> u64) -> u64 {
    let writers = ledger["writers"].as_array().unwrap();
    let wanted = |writer: &&Value| writer["file"].as_str().is_some_and(|name| name.ends_with(file));
    writers.iter().filter(wanted).map(of).sum()
}

#[test]
fn tracefs_shows_the_writes_of_a_command_and_the_device_bytes_that_the_kernel_counts() {
    if !can_mount() {
        return;
    }
    let Some(mount) = mounted("commit=600") else { return };
    let folder = mount.path().to_str().unwrap().to_owned();
    // 10 writes of 5,000 bytes, and an fsync; direct writes, which have no tracepoint of ext4; a pipe.
    let script = "cd \"$0\" && dd if=/dev/zero of=cached bs=5000 count=10 conv=fsync status=none && \
                  dd if=/dev/zero of=direct bs=4096 count=3 oflag=direct status=none && \
                  echo hello | cat > /dev/null";
    let _ = mount.used_bytes();
    let before = counted(&mount.device());
    let words = ["--source", "tracefs", "--mount-tracefs", "--json", &folder, "--", "sh", "-c"];
    let output = after("", &[&words[..], &[script, &folder]].concat()).output().unwrap();
    let after = counted(&mount.device());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let ledger = ledger(&output);
    assert_eq!(ledger["source"]["kind"], "tracefs");
    assert_eq!(ledger["source"]["lost"], 0);
    let bytes = |writer: &Value| writer["calls"]["bytes"].as_u64().unwrap_or(0);
    let syncs = |writer: &Value| writer["syncs"]["count"].as_u64().unwrap_or(0);
    assert_eq!(sum(&ledger, "/cached", bytes), 50_000, "{ledger:#}");
    assert_eq!(sum(&ledger, "/cached", syncs), 1, "{ledger:#}");
    let waited = ledger["writers"].as_array().unwrap().iter();
    let waited: u64 = waited.filter_map(|writer| writer["syncs"]["waited_ns"].as_u64()).sum();
    assert!(waited > 0, "{ledger:#}");
    assert_eq!(ledger["layers"]["block"]["bytes"], after - before, "{ledger:#}");
    // What is no file, or nobody knows any more, is no write to storage.
    let all = ledger["layers"]["calls"]["bytes"].as_u64().unwrap();
    assert!((0..=3).any(|known| all == 50_000 + known * 4096), "{ledger:#}");
}

#[test]
fn the_instance_and_the_mount_are_gone_after_ctrl_c() {
    if !can_mount() {
        return;
    }
    let folder = tempfile::TempDir::new().unwrap();
    let (began, left) = (folder.path().join("began"), folder.path().join("left"));
    // The shell stays, to look after flashlag has ended.
    let script = format!(
        "\"$0\" trace --source tracefs --mount-tracefs --for 600s -o {}/t.jsonl & pid=$!\n\
         while ! ls {TRACEFS}/instances/flashlag-$pid >/dev/null 2>&1; do sleep 0.05; done\n\
         cat {TRACEFS}/instances/flashlag-$pid/tracing_on > '{}'\n\
         kill -INT $pid; wait $pid\n\
         grep -c ' tracefs ' /proc/mounts > '{}'\n\
         mount -t tracefs t {TRACEFS} && ls {TRACEFS}/instances | grep -c \"^flashlag-$pid$\" >> '{}'\n",
        folder.path().display(),
        began.display(),
        left.display(),
        left.display(),
    );
    // A process in the background of a shell ignores the signal of Ctrl-C unless the shell has jobs.
    let script = format!("set -m\n{NOT_MOUNTED}\n{script}");
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script, env!("CARGO_BIN_EXE_flashlag")]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = text(&output.stderr);
    assert!(folder.path().join("t.jsonl").exists(), "{said}");
    assert!(began.exists(), "{said}");
    let left = fs::read_to_string(left).unwrap();
    let left: Vec<&str> = left.lines().collect();
    assert_eq!(left, ["0", "0"], "mounts, instances; {said}");
}

#[test]
fn an_instance_of_a_flashlag_that_was_killed_is_removed_by_the_next() {
    if !can_mount() {
        return;
    }
    // No process has this number: it is beyond the largest.
    let setup = format!(
        "mount -t tracefs t {TRACEFS}\nmkdir {TRACEFS}/instances/flashlag-4194305\n\
         mkdir {TRACEFS}/instances/others-4194305"
    );
    let list = format!("ls {TRACEFS}/instances; rmdir {TRACEFS}/instances/others-4194305");
    let words = ["--source", "tracefs", "/", "--", "sh", "-c", &list];
    let output = after(&setup, &words).output().unwrap();
    let listed = text(&output.stdout);
    assert!(listed.contains("others-4194305"), "{listed}{}", text(&output.stderr));
    assert!(!listed.contains("flashlag-4194305"), "{listed}");
}

/// Kills a flashlag that has mounted tracefs and records, then does `next`. What is left of mounts of tracefs
/// and of its instance: before, and after.
fn left_by_a_killed_one(next: &str) -> String {
    let folder = tempfile::TempDir::new().unwrap();
    let left = folder.path().join("left");
    let script = format!(
        "{NOT_MOUNTED}\n\
         \"$0\" trace --source tracefs --mount-tracefs --for 600s -o {}/t.jsonl & pid=$!\n\
         count() {{ echo $(grep -c ' tracefs ' /proc/mounts) \
         $(ls {TRACEFS}/instances 2>/dev/null | grep -c \"^flashlag-$pid$\") >> '{}'; }}\n\
         until grep -qx 1 {TRACEFS}/instances/flashlag-$pid/tracing_on; do sleep 0.05; done 2>/dev/null\n\
         kill -KILL $pid; wait $pid\ncount\n{next}\ncount\n\
         grep -q ' tracefs ' /proc/mounts || mount -t tracefs t {TRACEFS}\ncount\n",
        folder.path().display(),
        left.display(),
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script, env!("CARGO_BIN_EXE_flashlag")]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let left = fs::read_to_string(left).unwrap_or_default();
    assert_eq!(left.lines().count(), 3, "{}", text(&output.stderr));
    left
}

#[test]
fn a_mount_by_a_flashlag_that_was_killed_is_taken_away_by_the_next_with_its_events() {
    if !can_mount() {
        return;
    }
    // Whatever the next one records by, and whether it may mount itself.
    for next in [
        "\"$0\" trace --source tracefs --mount-tracefs / -- true >/dev/null 2>&1",
        "\"$0\" trace --source tracefs / -- true >/dev/null 2>&1",
        "\"$0\" trace / -- true >/dev/null 2>&1",
    ] {
        assert_eq!(left_by_a_killed_one(next), "1 1\n0 0\n1 0\n", "{next}");
    }
    // A mount by the user stays.
    let remounted =
        format!("umount {TRACEFS}; mount -t tracefs mine {TRACEFS}; \"$0\" trace / -- true");
    assert_eq!(left_by_a_killed_one(&remounted), "1 1\n1 0\n1 0\n");
}

#[test]
fn without_permission_nothing_is_mounted_and_the_message_says_how() {
    if !can_mount() {
        return;
    }
    let output = after("", &["--source", "tracefs", "--for", "1ms", "/"]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--mount-tracefs") && said.contains("mount -t tracefs"), "{said}");
}

#[test]
fn events_of_files_say_who_changes_what_and_counters_how_much() {
    if !flashlag_need::root("watching whole filesystems") {
        return;
    }
    let Some(mount) = mounted("commit=600") else { return };
    let folder = mount.path().to_str().unwrap().to_owned();
    // A shell that writes by itself stays until its counters were read: 300 lines of 1,000 bytes.
    let script = "i=0; line=$(printf %01000d 0); while [ $i -lt 300 ]; do echo $line; i=$((i+1)); \
                  done > \"$0/lines\"; sleep 0.4; : > \"$0/empty\"; sleep 0.2";
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    command.args(["trace", "--source", "fanotify", "--json", &folder, "--", "sh", "-c", script]);
    let output = command.arg(&folder).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let ledger = ledger(&output);
    let changes = |writer: &Value| writer["changes"].as_u64().unwrap_or(0);
    assert!(sum(&ledger, "/lines", changes) >= 1, "{ledger:#}");
    assert_eq!(ledger["layers"]["calls"], Value::Null, "no single write is seen: {ledger:#}");
    assert_eq!(ledger["layers"]["syncs"], Value::Null);
    // The kernel counts whole pages: 300 × 1,001 bytes are 74 of them.
    let writers = ledger["writers"].as_array().unwrap().iter();
    let counted: u64 = writers.filter_map(|writer| writer["counted"]["bytes"].as_u64()).sum();
    assert_eq!(counted, (300_u64 * 1001).div_ceil(4096) * 4096, "{ledger:#}");
}

/// Refuses bpf(2) to the program that is started, as a locked down kernel does.
fn without_bpf(command: &mut Command) {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
    let rules = [(libc::SYS_bpf, vec![])].into_iter().collect();
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let machine = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, machine).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    // SAFETY: between fork and exec one system call is made, and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            apply_filter(&program).map_err(|_| std::io::Error::from_raw_os_error(libc::EPERM))
        });
    }
}

#[test]
fn where_programs_are_refused_the_next_source_is_taken_and_why_is_said() {
    if !can_mount() {
        return;
    }
    let (text_of, events) = ("the kernel's tracepoints", "fanotify");
    for (setup, options, taken) in [
        (format!("mount -t tracefs t {TRACEFS}"), &[][..], text_of),
        (String::new(), &["--mount-tracefs"][..], text_of),
        (String::new(), &[][..], events),
    ] {
        let words = [options, &["/", "--", "true"]].concat();
        let mut command = after(&setup, &words);
        without_bpf(&mut command);
        let output = command.output().unwrap();
        let said = text(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert!(said.contains("eBPF can't be used"), "{said}");
        assert!(said.contains(&format!("recording by {taken}")), "{said}");
        assert_eq!(said.contains("tracefs is not mounted"), taken == events, "{said}");
    }
}

#[test]
fn hostile_names_reach_neither_the_terminal_nor_break_a_file() {
    if !can_mount() {
        return;
    }
    let Some(mount) = mounted("commit=600") else { return };
    let folder = mount.path().to_str().unwrap().to_owned();
    // Deep enough for a path of 4 KB, with the bytes of the terminal's own commands in it.
    let script = "printf '#!/bin/sh\\n' > /dev/null; cd \"$0\"; i=0; \
                  while [ $i -lt 15 ]; do d=$(printf 'd\\033[2J%0240d' $i); mkdir $d; cd $d; i=$((i+1)); done; \
                  exec 5> \"$(printf 'f\\r\\n\\033]0;x\\007')\"; \
                  printf 'x-1 [000] 1.0: block_rq_issue: 8,0 W 4096 () 0 + 8 [x]\\n%.0s' 1 2 3 >&5; sleep 0.2";
    let kept = mount.path().parent().unwrap().join(format!("kept-{}.jsonl", std::process::id()));
    for source in ["tracefs", "fanotify", "ebpf"] {
        for format in ["jsonl", "perfetto"] {
            let words =
                ["--source", source, "--mount-tracefs", "--force", "--format", format, "-o"];
            let words = [&words[..], &[kept.to_str().unwrap(), &folder, "--", "sh", "-c"]].concat();
            let script = format!("rm -rf \"$0\"/d*; {script}");
            let words = [&words[..], &[&script, &folder]].concat();
            let output = after("", &words).output().unwrap();
            let said = text(&output.stderr);
            assert!(output.status.success(), "{source}: {said}");
            let plain = |c: char| c == '\n' || flashlag_units::is_printable(c);
            assert!(said.chars().all(plain), "{source}: {said:?}");
            // What is said of the recording is one line where standard error is no terminal.
            let page = said.lines().filter(|line| !line.starts_with("flashlag: "));
            let lines = page.map(|line| line.chars().count());
            assert!(lines.max() <= Some(80), "{source}: {said}");
            let written = fs::read_to_string(&kept).unwrap();
            if format == "perfetto" {
                let all: Value = serde_json::from_str(&written).unwrap();
                assert!(all["traceEvents"].is_array() || all.is_array(), "{source}");
            } else {
                assert!(written.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
            }
        }
    }
    fs::remove_file(kept).unwrap();
}

#[test]
fn a_signal_to_a_recorded_command_by_tracefs_leaves_nothing() {
    if !can_mount() {
        return;
    }
    let mut command = after(
        &format!("mount -t tracefs t {TRACEFS}"),
        &["--source", "tracefs", "--", "sh", "-c", "echo began; exec sleep 600"],
    );
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = command.spawn().unwrap();
    let mut began = [0; 6];
    std::io::Read::read_exact(running.stdout.as_mut().unwrap(), &mut began).unwrap();
    let pid = running.id();
    kill_process(Pid::from_child(&running), Signal::TERM).unwrap();
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(128 + 15), "{}", text(&output.stderr));
    let list = format!("{NOT_MOUNTED}; mount -t tracefs t {TRACEFS}; ls {TRACEFS}/instances");
    let listed = Command::new("unshare").args(["-m", "sh", "-c", &list]).output().unwrap();
    assert!(!text(&listed.stdout).contains(&format!("flashlag-{pid}\n")));
    assert!(Path::new(TRACEFS).exists());
}
