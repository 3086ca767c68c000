//! Whatever the files hold: no panic, no endless walk, and no value made up.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::symlink;
use std::path::Path;

use flashlag_inspect::{Probe, Root, environment};
use proptest::prelude::*;

const FILES: &[&str] = &[
    "proc/self/mountinfo",
    "proc/self/io",
    "proc/stat",
    "proc/loadavg",
    "proc/meminfo",
    "proc/cpuinfo",
    "proc/pressure/cpu",
    "proc/pressure/io",
    "proc/sys/kernel/ostype",
    "proc/sys/kernel/osrelease",
    "proc/device-tree/model",
    "etc/os-release",
    "getprop",
    "sys/devices/disk/size",
    "sys/devices/disk/stat",
    "sys/devices/disk/partition",
    "sys/devices/disk/queue/write_cache",
    "sys/devices/disk/queue/scheduler",
    "sys/devices/disk/queue/nr_requests",
    "sys/devices/disk/queue/fua",
    "sys/devices/disk/device/type",
    "sys/devices/disk/device/name",
    "sys/devices/disk/device/life_time",
    "sys/devices/disk/dm/uuid",
    "sys/devices/disk/loop/backing_file",
    "sys/class/thermal/thermal_zone0/type",
    "sys/class/thermal/thermal_zone0/temp",
    "sys/class/thermal/cooling_device0/type",
    "sys/class/thermal/cooling_device0/cur_state",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq",
    "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
];

fn write(root: &Path, file: &str, contents: &[u8]) {
    let path = root.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, contents).unwrap();
}

/// A tree in which `8:0` is the one disk.
fn tree() -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(tree.path().join("sys/dev/block")).unwrap();
    symlink("../../devices/disk", tree.path().join("sys/dev/block/8:0")).unwrap();
    tree
}

fn look(root: &Path) {
    let root = Root::captured(root);
    let directory = Path::new("/mnt/x");
    let seen = environment(&root, directory);
    serde_json::to_string(&seen).unwrap();
    let probe = Probe::open(&root, directory);
    let counters = probe.counters();
    let mut again = seen.clone();
    probe.complete(&mut again);
    let _ = counters.since(&counters);
}

/// Bytes of any kind, and the tokens of which real files are made in any order.
fn contents() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        Just("cpu "),
        Just("some avg10="),
        Just("total="),
        Just("18446744073709551615 "),
        Just("99999999999999999999 "),
        Just("-1 "),
        Just("\n"),
        Just(" - "),
        Just("8:0 "),
        Just("/ "),
        Just("\\040"),
        Just("\\9"),
        Just("MMC"),
        Just("SD"),
        Just("0x0b "),
        Just("0x "),
        Just("["),
        Just("]: ["),
        Just("read_bytes: "),
        Just("MemTotal: "),
        Just("CRYPT-"),
        Just("processor\t: 0\n"),
        Just("flags : hypervisor\n"),
        Just("0.5.5 "),
        Just("ext4 "),
        Just("btrfs "),
        Just("overlay "),
        Just("upperdir=/mnt/x,"),
        Just("cpu"),
        Just("/dev/mapper/ "),
        Just("/dev/ "),
        Just("é"),
        Just("=")
    ];
    let tokens =
        prop::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat().into_bytes());
    prop_oneof![tokens, prop::collection::vec(any::<u8>(), 0..200)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn odd_contents_never_panic(
        all in prop::collection::vec(contents(), FILES.len()),
        real_mount in any::<bool>(),
    ) {
        let tree = tree();
        for (file, contents) in FILES.iter().zip(&all) {
            write(tree.path(), file, contents);
        }
        if real_mount {
            write(tree.path(), FILES[0], b"1 0 8:0 / / rw - ext4 /dev/sda rw");
        }
        look(tree.path());
    }
}

#[test]
fn a_loop_device_on_itself_ends() {
    let tree = tree();
    write(tree.path(), "proc/self/mountinfo", b"1 0 8:0 / / rw - ext4 /dev/loop0 rw");
    write(tree.path(), "sys/devices/disk/loop/backing_file", b"/disk.img");
    look(tree.path());
}

#[test]
fn an_overlay_on_itself_ends() {
    let tree = tree();
    let line = b"1 0 0:40 / / rw - overlay overlay rw,upperdir=/upper";
    write(tree.path(), "proc/self/mountinfo", line);
    look(tree.path());
}

#[test]
fn slaves_that_lead_back_end() {
    let tree = tree();
    write(tree.path(), "proc/self/mountinfo", b"1 0 8:0 / / rw - ext4 /dev/dm-0 rw");
    std::fs::create_dir_all(tree.path().join("sys/devices/disk/slaves")).unwrap();
    symlink("../..", tree.path().join("sys/devices/disk/slaves/up")).unwrap();
    symlink("../../disk", tree.path().join("sys/devices/disk/slaves/disk")).unwrap();
    look(tree.path());
}

#[test]
fn a_link_out_of_the_tree_is_not_followed_to_this_machine_s_disks() {
    let tree = tempfile::tempdir().unwrap();
    write(tree.path(), "proc/self/mountinfo", b"1 0 8:0 / / rw - ext4 /dev/sda rw");
    std::fs::create_dir_all(tree.path().join("sys/dev/block")).unwrap();
    symlink("/sys", tree.path().join("sys/dev/block/8:0")).unwrap();
    let seen = environment(&Root::captured(tree.path()), Path::new("/mnt"));
    assert!(seen.device.name.value().is_none(), "{:?}", seen.device.name);
}
