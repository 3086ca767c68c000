//! Trees made by hand after real devices' `/proc` and `/sys`: each file as the kernel prints it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use flashlag_inspect::{Probe, Root, environment};
use flashlag_schema::counters::Counters;
use flashlag_schema::internals::FilesystemInternals;
use flashlag_schema::{Environment, LayerKind};

fn tree(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(format!("sysfs-{name}"))
}

fn seen(name: &str, directory: &str) -> Environment {
    environment(&Root::captured(tree(name)), Path::new(directory))
}

fn counted(name: &str, directory: &str) -> Counters {
    Probe::open(&Root::captured(tree(name)), Path::new(directory)).counters()
}

fn snapshot(name: &str, directory: &str) {
    let json = serde_json::to_string_pretty(&seen(name, directory)).unwrap();
    insta::assert_snapshot!(name, json);
}

#[test]
fn a_raspberry_pi_with_a_card() {
    snapshot("raspberry-pi-sd", "/home/pi");
}

#[test]
fn an_android_phone_with_emmc_f2fs_and_metadata_encryption() {
    snapshot("android-emmc", "/data/local/tmp");
}

#[test]
fn an_android_phone_with_ufs() {
    snapshot("android-ufs", "/data/local/tmp");
}

#[test]
fn a_laptop_with_nvme_dm_crypt_and_btrfs() {
    snapshot("laptop-nvme-btrfs", "/home/user/project");
}

#[test]
fn a_laptop_with_ext4_on_lvm_on_luks_and_swap_in_compressed_memory() {
    let seen = seen("laptop-luks-lvm", "/home/user");
    let kinds: Vec<LayerKind> = seen.layers.iter().map(|layer| layer.kind).collect();
    let (encrypted, volume) = (LayerKind::BlockEncryption, LayerKind::Volume);
    let below = [LayerKind::Filesystem, volume, encrypted, LayerKind::Partition, LayerKind::Disk];
    assert_eq!(kinds, below);
    // `cryptsetup luksFormat` wrote the head, `mkfs.ext4 -O fast_commit` the superblock.
    let cipher = seen.encryption.value().unwrap().cipher.as_deref();
    assert_eq!(cipher, Some("aes-xts-plain64"));
    let internals = seen.internals.unwrap();
    let Some(FilesystemInternals::Ext4 { features, fast_commits, .. }) =
        internals.filesystem.value()
    else {
        panic!("{:?}", internals.filesystem)
    };
    assert_eq!(features.value().unwrap(), &["has_journal", "fast_commit", "extent"]);
    assert_eq!(fast_commits.value(), Some(&0));
    let memory = internals.memory;
    assert_eq!(memory.swapped_to_memory_bytes.value().unwrap().0, 1 << 30);
    assert_eq!(memory.swapped_to_disk_bytes.value().unwrap().0, 4 << 20);
}

#[test]
fn a_loop_device_on_ext4() {
    snapshot("loop-on-ext4", "/mnt/my image/test");
}

#[test]
fn shared_storage_is_followed_through_fuse_to_the_phone_s_f2fs() {
    let seen = seen("android-emmc", "/storage/emulated/0/flashlag");
    assert_eq!(seen.filesystem.kind.value().unwrap(), "f2fs");
    assert_eq!(seen.filesystem.layers, ["fuse"]);
    assert_eq!(seen.device.kind.value().unwrap(), "emmc");
}

#[test]
fn memory_on_a_phone_is_no_storage() {
    let seen = seen("android-emmc", "/storage/x");
    assert_eq!(seen.filesystem.kind.value().unwrap(), "tmpfs");
    assert!(seen.device.name.reason().unwrap().contains("held in memory"));
    assert!(seen.encryption.value().is_none());
}

#[test]
fn counters_come_from_the_disk_and_from_the_filesystem_s_device() {
    let counters = counted("loop-on-ext4", "/mnt/my image");
    let disk = counters.disk.value().unwrap();
    assert_eq!((disk.writes, disk.flushes), (71_823, Some(3021)));
    let top = counters.partition.value().unwrap();
    assert_eq!((top.writes, top.write_bytes.0), (40, 680 * 512));
}

#[test]
fn a_kernel_that_counts_no_flushes_does_not_count_none() {
    let counters = counted("android-emmc", "/data");
    let disk = counters.disk.value().unwrap();
    assert_eq!((disk.flushes, disk.flush_ns), (None, None));
    assert_eq!(disk.discards, Some(12_034));
}

#[test]
fn temperatures_and_throttling_are_read_where_the_machine_reports_them() {
    let laptop = counted("laptop-nvme-btrfs", "/home");
    assert_eq!(laptop.storage_millicelsius.value(), Some(&38_850));
    assert_eq!(laptop.cpu_millicelsius.value(), Some(&47_000));
    let throttle = laptop.throttle.value().unwrap();
    assert_eq!((throttle.core_throttle_count, throttle.cooling_state), (Some(3), Some(0)));
    let phone = counted("android-ufs", "/data");
    assert_eq!(phone.throttle.value().unwrap().cooling_state, Some(1));
    assert_eq!(phone.storage_millicelsius.value(), Some(&41_250));
    let pi = counted("raspberry-pi-sd", "/home");
    assert_eq!(pi.storage_millicelsius.reason(), Some("no storage temperature sensor"));
    assert!(pi.pressure_cpu.reason().is_some());
    assert_eq!(pi.throttle.value().unwrap().undervoltage, Some(false));
}

#[test]
fn a_tree_with_nothing_in_it_reports_nothing() {
    let empty = tempfile::tempdir().unwrap();
    let root = Root::captured(empty.path());
    let seen = environment(&root, Path::new("/data"));
    let json = serde_json::to_value(&seen).unwrap();
    no_value(&json, "");
    let counters = Probe::open(&root, Path::new("/data")).counters();
    assert!(counters.disk.value().is_none() && counters.self_io.value().is_none());
}

/// Every leaf is a reason, an empty list, or not there.
fn no_value(json: &serde_json::Value, at: &str) {
    match json {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields.iter().filter(|(name, _)| *name != "unavailable") {
                no_value(value, &format!("{at}.{name}"));
            }
        }
        // Why the control groups can't be examined.
        serde_json::Value::Array(_) if at == ".limits.unseen" => {}
        serde_json::Value::Array(items) => assert!(items.is_empty(), "{at}: {json}"),
        value => panic!("{at} is {value} in an empty tree"),
    }
}
