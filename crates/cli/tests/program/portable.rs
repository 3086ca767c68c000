//! Drives that other systems read, too, as loop devices: what `explain` says of FAT, exFAT and NTFS by the
//! kernel and by FUSE daemons, whether an fsync keeps what it promises there, and a run with its report.
#![allow(clippy::unwrap_used, reason = "a test that can't go on fails")]

use std::io::Write;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::engine_common::loop_mount::LoopMount;
use crate::support::moments::short_quick;
use crate::support::phone::{Bench, pixel};

/// How it is mounted, its format, and whether a daemon serves it.
const KINDS: [(&str, &str, bool); 5] = [
    ("vfat", "fat", false),
    ("exfat", "exfat", false),
    ("ntfs3", "ntfs", false),
    ("exfat-fuse", "exfat", true),
    ("ntfs-3g", "ntfs", true),
];

/// Those that this machine can mount; skips if there is none.
fn drives() -> Vec<(&'static str, &'static str, bool, LoopMount)> {
    let (mut drives, mut reasons) = (Vec::new(), Vec::new());
    for (kind, format, by_fuse) in KINDS {
        match LoopMount::portable(48, kind, "") {
            Ok(mount) => drives.push((kind, format, by_fuse, mount)),
            Err(reason) => reasons.push(reason),
        }
    }
    if drives.is_empty() {
        flashlag_need::skip(reasons.join("; "));
    }
    drives
}

fn flashlag(words: &[&str], folder: &Path) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flashlag"));
    let output = command.args(words).current_dir(folder).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn explain_names_format_driver_and_what_an_fsync_writes() {
    for (kind, format, by_fuse, mount) in drives() {
        let (code, said) = flashlag(&["explain", ".", "--json"], mount.path());
        assert_eq!(code, Some(0), "{kind}: {said}");
        let seen: Value = serde_json::from_str(&said).unwrap();
        let filesystem = &seen["environment"]["internals"]["filesystem"];
        assert_eq!(filesystem["kind"], "portable", "{kind}: {filesystem}");
        assert_eq!(filesystem["format"], format, "{kind}");
        assert_eq!(filesystem["by_fuse"], by_fuse, "{kind}");
        assert_eq!(filesystem["unsynced"], "later", "{kind}");
        let found: Vec<&Value> =
            seen["findings"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
        assert_eq!(found.iter().any(|id| **id == "fuse_driver"), by_fuse, "{kind}: {found:?}");
        assert!(found.iter().all(|id| **id != "fuse_on_path"), "{kind}: {found:?}");
        let (_, said) = flashlag(&["explain", ".", "-v"], mount.path());
        let by = if by_fuse { "served by a FUSE daemon" } else { "by the kernel" };
        for words in ["no journal", "an fsync writes", by] {
            assert!(
                said.split_whitespace().collect::<Vec<_>>().join(" ").contains(words),
                "{said}"
            );
        }
    }
}

/// Writes a file anew, with or without an fsync.
fn write(path: &Path, synced: bool) {
    let mut file = std::fs::File::create(path).unwrap();
    file.write_all(&[b'x'; 65_536]).unwrap();
    if synced {
        file.sync_all().unwrap();
    }
}

#[test]
fn a_drive_that_is_pulled_out_has_what_was_synced_and_lost_what_was_not() {
    for (kind, _, _, mount) in drives() {
        let whole = |drive: &LoopMount, name: &str| {
            std::fs::read(drive.path().join(name)).is_ok_and(|read| read == [b'x'; 65_536])
        };
        // Another process may have the kernel write everything at that moment: it is tried again.
        let lost = (0..10).any(|round| {
            let [synced, unsynced] = ["synced", "unsynced"].map(|name| format!("{name}{round}"));
            write(&mount.path().join(&synced), true);
            write(&mount.path().join(&unsynced), false);
            let pulled = mount.pulled_out(kind).unwrap();
            assert!(whole(&pulled, &synced), "{kind}: an fsync returned and the file is not there");
            !whole(&pulled, &unsynced)
        });
        assert!(lost, "{kind}: what was not synced was there each time");
    }
}

#[test]
fn a_run_on_such_a_drive_and_its_report_say_what_it_is() {
    let home = TempDir::new().unwrap();
    std::fs::write(home.path().join("short.toml"), short_quick()).unwrap();
    for (kind, format, by_fuse, mount) in drives() {
        let at = mount.path().display().to_string();
        let words =
            ["run", "short.toml", "--set", "span=2MB", "--yes", "-o", "run.json", "--on", &at];
        let (code, said) = flashlag(&[&words[..], &["--force"]].concat(), home.path());
        // A drive of this machine's memory answers too quickly to be trusted.
        assert!(matches!(code, Some(0 | 3)), "{kind}: {said}");
        let run: Value =
            serde_json::from_slice(&std::fs::read(home.path().join("run.json")).unwrap()).unwrap();
        assert_eq!(run["environment"]["internals"]["filesystem"]["format"], format, "{kind}");
        let words = ["report", "run.json", "--force", "-o", "run.md"];
        assert_eq!(flashlag(&words, home.path()).0, Some(0));
        let page = std::fs::read_to_string(home.path().join("run.md")).unwrap();
        let by = if by_fuse { "by a FUSE daemon" } else { "by the kernel" };
        assert!(page.contains(by) && page.contains("no journal"), "{kind}: {page}");
        assert!(std::fs::read_dir(mount.path()).unwrap().flatten().all(|entry| {
            // What `chkdsk` and its like keep on NTFS and FAT.
            !entry.file_name().to_string_lossy().contains("flashlag")
        }));
    }
}

#[test]
fn a_card_in_a_phone_is_measured_and_explained_as_what_android_mounts() {
    let Some(bench) = Bench::of(pixel().volume("ABCD-1234", 64 << 20)) else { return };
    let volumes = bench.adb.shell(&bench.serial, "sm list-volumes").unwrap();
    let volumes = String::from_utf8_lossy(&volumes.stdout).into_owned();
    assert!(volumes.contains(" mounted ABCD-1234"), "{volumes}");
    let run = bench.complete(bench.begin(&["short.toml", "--on", "adb::/storage/ABCD-1234"]));
    assert_eq!(run.target.directory.as_deref(), Some("/storage/ABCD-1234"));
    assert!(run.phases.iter().all(|phase| phase.ops > 0));
    let lost = run.environment.internals.unwrap().unplugged.unwrap();
    assert_eq!(lost.because, "Android calls it a public volume");
    assert!(lost.unwritten_at_end_bytes.value().is_some(), "{lost:?}");
    let output = bench.command(&["explain", "adb::/storage/ABCD-1234"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("Android calls it a public volume"), "{said}");
    assert!(said.contains("true size not known: `flashlag run card`"), "{said}");
    assert!(said.contains("writes no journal: what was not synced is lost"), "{said}");
    assert!(!said.contains("mount -t"), "nobody mounts a phone's card otherwise: {said}");
    bench.is_clean();
    let gone =
        bench.refused(&["run", "short.toml", "--on", "adb::/storage/0000-0000", "-o", "x.json"]);
    assert!(gone.contains("/storage/0000-0000"), "{gone}");
}
