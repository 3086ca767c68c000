//! The system calls of saves without SQLite, as strace sees the program make them, against the order that the
//! source of each library has: written down here by hand, from that source and not from flashlag's.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use flashlag_schema::trace::{TraceLedger, TraceSaveKind};

const SAVES: usize = 3;

/// One call by its name and the last part of each path: `rename save-0.xml save-0.xml.bak`. `None` for calls on
/// anything else.
fn call(line: &str) -> Option<String> {
    let line = line.split_once(' ')?.1.trim_start();
    let (name, rest) = line.split_once('(')?;
    // The time of day comes before it.
    let name = name.rsplit(' ').next()?;
    let quoted: Vec<&str> = rest.split('"').skip(1).step_by(2).collect();
    let on_descriptor = rest.split_once('<').and_then(|(_, rest)| rest.split_once('>'));
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let descriptor = on_descriptor.map(|(path, _)| last(path)).unwrap_or_default();
    let ours = |name: &str| name.starts_with("save-");
    let path = quoted.first().map(|path| last(path)).unwrap_or_default();
    match name {
        "newfstatat" | "statx" if ours(&path) => Some(format!("stat {path}")),
        "openat" if ours(&path) && rest.contains("O_TRUNC") => Some(format!("open {path}")),
        "write" if ours(&descriptor) => {
            // The length that was asked for: a line of a call that another thread interrupts has no result.
            let length = rest.split(", ").nth(2)?;
            let written = length.split(|c: char| !c.is_ascii_digit()).next()?;
            Some(format!("write {descriptor} {written}"))
        }
        "fsync" | "fdatasync" if ours(&descriptor) || descriptor == "saves" => {
            Some(format!("{name} {descriptor}"))
        }
        "close" if ours(&descriptor) => Some(format!("close {descriptor}")),
        "fchmodat" if ours(&path) => Some(format!("chmod {path}")),
        "renameat" | "renameat2" if ours(&path) => {
            Some(format!("rename {path} {}", last(quoted.get(1)?)))
        }
        "unlinkat" if ours(&path) => Some(format!("unlink {path}")),
        _ => None,
    }
}

/// Runs a test of this kind below strace, which writes the file `trace`.
fn traced(home: &Path, lines: &str) -> PathBuf {
    let scenario = home.join("one.toml");
    let text = format!(
        "name = \"one\"\n[[save]]\nname = \"t\"\n{lines}\nsaves = {SAVES}\n\
         [[step]]\nmeasure = [\"t\"]\n"
    );
    fs::write(&scenario, text).unwrap();
    let (trace, target) = (home.join("trace"), home.join("target"));
    fs::create_dir_all(&target).unwrap();
    let program = env!("CARGO_BIN_EXE_flashlag");
    let output = Command::new("strace")
        .args(["-f", "-tt", "-T", "-y", "-s", "0", "-e", "trace=file,desc,process", "-o"])
        .arg(&trace)
        .arg(program)
        .arg("run")
        .arg(&scenario)
        .arg("--on")
        .arg(&target)
        .arg("-o")
        .arg(home.join("run.json"))
        .args(["--force", "--yes"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // 3: a check of the run failed, as on a busy machine.
    assert!(matches!(output.status.code(), Some(0 | 3)), "{lines}: {said}");
    trace
}

/// The calls of the saves of a test of this kind, after the file was made.
fn calls_of(home: &Path, lines: &str) -> Vec<String> {
    let trace = traced(home, lines);
    let calls: Vec<String> = fs::read_to_string(&trace).unwrap().lines().filter_map(call).collect();
    // The file is first made, and its directory synced.
    let opened = calls.iter().position(|call| call.starts_with("open ")).expect("a file is made");
    let synced = calls[opened..].iter().position(|call| call == "fsync saves");
    calls[opened + synced.expect("and synced with its directory") + 1..].to_vec()
}

/// Whether a call is made when the test is over: what is left is looked at and removed.
fn is_of_the_end(call: &str) -> bool {
    ["stat", "unlink", "fsync saves"].iter().any(|begin| call.starts_with(begin))
}

/// FileStorageConnection.writeScope: FileOutputStream of the scratch file, writeTo by 4096 bytes, fd.sync, use closes,
/// exists, then Files.move: attributes of source and target, unlink of the target, rename.
fn of_a_datastore() -> Vec<String> {
    let (pb, tmp) = ("save-0.preferences_pb", "save-0.preferences_pb.tmp");
    vec![
        format!("open {tmp}"),
        format!("write {tmp} 4096"),
        format!("write {tmp} 904"),
        format!("fsync {tmp}"),
        format!("close {tmp}"),
        format!("stat {tmp}"),
        format!("stat {tmp}"),
        format!("stat {pb}"),
        format!("unlink {pb}"),
        format!("rename {tmp} {pb}"),
    ]
}

#[test]
fn strace_sees_the_calls_of_each_kind_in_the_order_of_its_source() {
    if Command::new("strace").arg("--version").output().is_err() {
        return flashlag_need::skip("no strace");
    }
    let home = tempfile::tempdir().unwrap();
    // SharedPreferencesImpl.writeToFile: exists, exists of the backup, renameTo, new FileOutputStream, writeMapXml,
    // FileUtils.sync, close, setFilePermissionsFromMode, Os.stat, delete of the backup.
    let prefs = [
        "stat save-0.xml",
        "stat save-0.xml.bak",
        "rename save-0.xml save-0.xml.bak",
        "open save-0.xml",
        "write save-0.xml 5000",
        "fsync save-0.xml",
        "close save-0.xml",
        "chmod save-0.xml",
        "stat save-0.xml",
        "unlink save-0.xml.bak",
    ];
    // AtomicFile since Android 11: exists of the legacy backup, FileOutputStream of .new, sync, close, isDirectory,
    // renameTo.
    let atomic = [
        "stat save-0.xml.bak",
        "open save-0.xml.new",
        "write save-0.xml.new 5000",
        "fsync save-0.xml.new",
        "close save-0.xml.new",
        "stat save-0.xml",
        "rename save-0.xml.new save-0.xml",
    ];
    let renamed = [
        "open save-0.json.tmp",
        "write save-0.json.tmp 5000",
        "fsync save-0.json.tmp",
        "close save-0.json.tmp",
        "rename save-0.json.tmp save-0.json",
    ];
    let strings = |calls: &[&str]| calls.iter().map(|call| (*call).to_owned()).collect::<Vec<_>>();
    let cases: [(&str, Vec<String>); 6] = [
        ("kind = \"shared-preferences\"", strings(&prefs)),
        ("kind = \"datastore\"", of_a_datastore()),
        ("kind = \"atomic-file\"", strings(&atomic)),
        ("kind = \"rename\"", strings(&renamed)),
        (
            "kind = \"rename\"\nsync_directory = true",
            strings(&[&renamed[..], &["fsync saves"]].concat()),
        ),
        ("kind = \"append-log\"", strings(&["write save-0.log 100", "fdatasync save-0.log"])),
    ];
    for (lines, each) in cases {
        let size = if lines.contains("append") { "" } else { "\nsize = \"5000B\"" };
        let mut expected = vec![each; SAVES].concat();
        if lines.contains("append") {
            expected.push("close save-0.log".to_owned());
        }
        let calls = calls_of(home.path(), &format!("{lines}{size}"));
        let (saves, end) = calls.split_at(expected.len().min(calls.len()));
        assert_eq!(saves, expected, "{lines}");
        assert!(end.iter().all(|call| is_of_the_end(call)), "{lines}: {end:?}");
    }
}

/// What `flashlag trace` makes of a trace of strace.
fn ledger_of(trace: &Path) -> TraceLedger {
    let output = Command::new(env!("CARGO_BIN_EXE_flashlag"))
        .args(["trace", "--json", "--from"])
        .arg(trace)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The saves of files whose path has `within` in it: file name, kind, saves, bytes; by name.
fn saves_of(trace: &Path, within: &str) -> Vec<(String, TraceSaveKind, u64, u64)> {
    let rows = ledger_of(trace).saves.into_iter().filter(|row| row.saves > 0);
    let mut rows: Vec<_> = rows
        .filter(|row| row.file.contains(within))
        .map(|row| {
            let name = row.file.rsplit('/').next().unwrap_or_default().to_owned();
            (name, row.kind, row.saves, row.bytes.0)
        })
        .collect();
    rows.sort();
    rows
}

#[test]
fn a_trace_shows_as_many_saves_of_each_kind_as_were_made() {
    use TraceSaveKind::{AppendLog, AtomicFile, Backup, Datastore, InPlace, Rename};
    if Command::new("strace").arg("--version").output().is_err() {
        return flashlag_need::skip("no strace");
    }
    let home = tempfile::tempdir().unwrap();
    let n = SAVES as u64;
    // `apply` saves all its changes at once, `commit` each.
    for (lines, name, kind, saves) in [
        ("kind = \"shared-preferences\"", "save-0.xml", Backup, n),
        ("kind = \"shared-preferences\"\nchanges = 4", "save-0.xml", Backup, 4 * n),
        ("kind = \"shared-preferences\"\nchanges = 4\ncall = \"apply\"", "save-0.xml", Backup, n),
        ("kind = \"atomic-file\"", "save-0.xml", AtomicFile, n),
        ("kind = \"atomic-file\"\nandroid = 10", "save-0.xml", Backup, n),
        ("kind = \"datastore\"", "save-0.preferences_pb", Datastore, n),
        ("kind = \"datastore\"\nandroid = 7", "save-0.preferences_pb", Datastore, n),
        ("kind = \"rename\"", "save-0.json", Rename, n),
        ("kind = \"rename\"\nsync_directory = true", "save-0.json", Rename, n),
    ] {
        let trace = traced(home.path(), &format!("{lines}\nsize = \"5000B\""));
        // The file is made before, and synced.
        let made = (name.to_owned(), InPlace, 1, 5000);
        let saved = (name.to_owned(), kind, saves, 5000 * saves);
        let mut expected = vec![made, saved];
        expected.sort();
        assert_eq!(saves_of(&trace, "/saves/save-"), expected, "{lines}");
    }
    let trace = traced(home.path(), "kind = \"append-log\"");
    let appended = ("save-0.log".to_owned(), AppendLog, n, 100 * n);
    assert_eq!(saves_of(&trace, "/saves/save-"), [appended]);
}

/// What a program does below strace in a folder: its trace.
fn below_strace(folder: &Path, command: &[&str]) -> PathBuf {
    let trace = folder.with_extension("strace");
    let output = Command::new("strace")
        .args(["-f", "-tt", "-T", "-y", "-s", "0", "-o"])
        .arg(&trace)
        .args(command)
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    trace
}

const PYTHON: &str = "
import os, tempfile
for i in range(5):
    fd, path = tempfile.mkstemp(dir='.')
    with os.fdopen(fd, 'w') as f:
        f.write('x' * 1000); f.flush(); os.fsync(f.fileno())
    os.replace(path, 'conf.json')
with open('log', 'w') as f:
    for i in range(4):
        f.write('line\\n'); f.flush(); os.fdatasync(f.fileno())
with open('lazy.tmp', 'w') as f:
    f.write('z')
os.rename('lazy.tmp', 'lazy')
";

#[test]
fn the_saves_of_python_git_and_an_editor_are_those_that_they_made() {
    use TraceSaveKind::{AppendLog, Rename};
    for program in ["strace", "python3", "git"] {
        if Command::new(program).arg("--version").output().is_err() {
            return flashlag_need::skip(format!("no {program}"));
        }
    }
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("work");
    fs::create_dir(&folder).unwrap();
    let trace = below_strace(&folder, &["python3", "-c", PYTHON]);
    let within = "/work/";
    let conf = ("conf.json".to_owned(), Rename, 5, 5000);
    assert_eq!(saves_of(&trace, within), [conf, ("log".to_owned(), AppendLog, 4, 20)]);
    let ledger = ledger_of(&trace);
    let lazy = ledger.saves.iter().find(|row| row.file.ends_with("/work/lazy")).unwrap();
    assert_eq!((lazy.saves, lazy.unsynced), (0, 1), "renamed without a sync");
    let conf = ledger.saves.iter().find(|row| row.file.ends_with("conf.json")).unwrap();
    assert_eq!(conf.main, Some(true));

    // Counted a second way: fsyncs of a lock file that is renamed, in strace's own lines.
    below_strace(&folder, &["git", "init", "-q"]);
    fs::write(folder.join("f"), "x").unwrap();
    let git = ["git", "-c", "core.fsync=all", "-c", "user.name=a", "-c", "user.email=a@b"];
    below_strace(&folder, &[&git[..], &["add", "f"]].concat());
    let trace = below_strace(&folder, &[&git[..], &["commit", "-qm", "one"]].concat());
    let lines = fs::read_to_string(&trace).unwrap();
    let locks = lines.lines().filter(|line| line.contains(" fsync(") && line.contains(".lock>"));
    let renames = saves_of(&trace, "/.git/").into_iter().filter(|(_, kind, ..)| *kind == Rename);
    let renames: Vec<_> = renames.collect();
    assert!(renames.iter().any(|(name, ..)| name == "index"), "{renames:?}");
    let saved: u64 = renames.iter().map(|(_, _, saves, _)| saves).sum();
    assert_eq!(saved, locks.count() as u64, "{renames:?}");
}
