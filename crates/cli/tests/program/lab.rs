//! Saves inside a real kernel, on a virtual device.
//!
//! Needs QEMU, nbdkit, `mkfs`, and the kernel that `scripts/lab-packages` fetches.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "a test that skips says so")]

use std::process::Command;

use crate::support::lab::{can_boot, costs, finished, run};
use crate::support::program::flashlag;

const SHORT: [&str; 8] = [
    "--set",
    "statement=insert",
    "--set",
    "synchronous=full",
    "--set",
    "saves=60",
    "--set",
    "time=60s",
];

#[test]
fn a_commit_on_a_real_kernel_is_counted_by_the_device_each_write_for_what_it_is() {
    if !can_boot("mkfs.ext4") {
        return;
    }
    let more = [&SHORT[..], &["--set", "journal=delete"]].concat();
    let (folder, run, said) = finished("lab:zero+ext4,size=1GiB", &more);
    assert_eq!(run["target"]["kind"], "lab", "{said}");
    let kernel = run["environment"]["software"]["kernel"].as_str().unwrap();
    assert!(kernel.starts_with("Linux 6."), "{kernel}");
    let ledger = &run["phases"][0]["ledger"];
    let kinds = ["data", "journal", "metadata"].map(|kind| &ledger["kinds"][kind]);
    for (part, whole) in [("writes", "block_writes"), ("bytes", "block_bytes")] {
        let sum: u64 = kinds.iter().map(|kind| kind[part].as_u64().unwrap()).sum();
        assert_eq!(sum, ledger[whole].as_u64().unwrap(), "{whole}: {ledger}");
    }
    let journal = kinds[1]["bytes"].as_u64().unwrap();
    assert!(journal > kinds[2]["bytes"].as_u64().unwrap(), "{ledger}");
    // The rollback journal is made durable, then the database, and ext4 commits twice.
    let [(_, [_, _, flushes])] = costs(&run).try_into().unwrap();
    assert!((3.9..4.5).contains(&flushes), "{flushes}");
    let verified = Command::new(flashlag())
        .arg("verify")
        .arg(folder.path().join("run.json"))
        .output()
        .unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}

#[test]
fn saves_through_a_fuse_daemon_an_overlay_and_a_bind_mount_reach_the_device() {
    if !can_boot("mkfs.ext4") || !can_boot("fuse-overlayfs") {
        return;
    }
    let more = [&SHORT[..], &["--set", "journal=delete,wal"]].concat();
    let (_folder, run, said) = finished("lab:zero+ext4,bind,overlay,fuse,size=1GiB", &more);
    assert_eq!(run["target"]["profile"]["filesystem"], "ext4,bind,overlay,fuse", "{said}");
    assert_eq!(run["environment"]["filesystem"]["kind"], "fuse.fuse-overlayfs", "{said}");
    // A rollback journal's save flushes four times without a layer, and the layers pass each sync on.
    for ((name, [writes, kib, flushes]), least) in costs(&run).into_iter().zip([3.9, 1.9]) {
        assert!((least..least + 0.6).contains(&flushes), "{name}: {flushes} flushes");
        assert!(writes > flushes && kib >= 4.0 * flushes, "{name}: {writes} writes, {kib} KiB");
    }
}

#[test]
fn a_card_with_f2fs_is_proven_in_a_guest_whose_kernel_has_it() {
    if !can_boot("mkfs.f2fs") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let mut command = crate::support::lab::command("run");
    command.args(["card", "--yes", "--on", "lab:zero+f2fs,size=128MiB", "--leave", "8MB", "-o"]);
    let output = command.arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("Genuine: every one of"), "{said}");
    let run: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let card = &run["cards"][0];
    assert!(card["proven_bytes"].as_u64() > Some(40 << 20), "{card}");
    assert_eq!(card["proven_bytes"], card["written_bytes"]);
    // The kernel says where a file of F2FS lies.
    assert!(card["reached"]["to"].as_u64() > Some(60 << 20), "{card}");
}

#[test]
fn what_the_lab_has_not_is_refused_before_anything_boots() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    for (target, said) in [
        ("lab:zero+ext3", "nilfs2"),
        ("lab:zero", "lab:PROFILE+FS"),
        ("lab:zero+f2fs,fast_commit", "ext4 has"),
        ("lab:nexus9+ext4", "`flashlag profiles` lists them"),
        ("lab:zero+ext4,size=much", "no size"),
        ("lab:zero+ext4,sdcardfs", "fuse, overlay, bind"),
        ("lab:zero+exfat,overlay", "ntfs3 have"),
        ("lab:zero+ext4,state=old", "new, full or aged:12mo"),
        ("lab:zero+ext4,time-scale=0", "not between"),
        ("lab:zero+ext4,fill-time-scale=fast", "a number"),
        ("lab:nexus7-2012+ext4,size=1GiB", "at least"),
        ("lab:zufs40-phone+ext4", "only F2FS writes zones in order"),
    ] {
        let output = run(target, &file, &[]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{target}: {error}");
        assert!(error.contains(said), "{target}: {error}");
        assert!(!file.exists(), "{target}");
    }
}

#[test]
fn the_device_reports_what_stalls_in_a_guest_waited_for() {
    if !can_boot("mkfs.ext4") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let mut run = crate::support::lab::command("run");
    let output = run
        .args(crate::support::reported::arguments(folder.path(), ""))
        .arg("-o")
        .arg(&file)
        .output();
    let said = String::from_utf8_lossy(&output.unwrap().stderr).into_owned();
    assert!(file.is_file(), "{said}");
    crate::support::reported::assert_reported(&file, &said);
}
