//! What is mounted where, as kernels show it: read-only mounts and devices, quotas, and Android's shared storage
//! behind FUSE, in trees made after `/proc/self/mountinfo` and `/sys`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use flashlag_inspect::{Probe, Root, environment};
use flashlag_schema::counters::DiskCounters;
use flashlag_schema::internals::{FilesystemInternals, PortableFormat, Unplugged, Unsynced};
use flashlag_schema::{Environment, LayerKind, QuotaOf};
use flashlag_spec::Reading;
use flashlag_units::{Bytes, Nanos};

/// A disk `sda` (8:0) with a partition `sda1` (8:1), and the mounts of a list.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new(mounts: &str) -> Tree {
        let tree = Tree(tempfile::tempdir().unwrap());
        tree.file("/proc/self/mountinfo", mounts);
        tree.file("/sys/devices/sda/dev", "8:0\n");
        tree.file("/sys/devices/sda/ro", "0\n");
        tree.file("/sys/devices/sda/sda1/dev", "8:1\n");
        tree.file("/sys/devices/sda/sda1/partition", "1\n");
        tree.file("/sys/devices/sda/sda1/ro", "0\n");
        for (link, target) in [
            ("/sys/dev/block/8:1", "../../devices/sda/sda1"),
            ("/sys/dev/block/8:0", "../../devices/sda"),
            ("/sys/class/block/sda1", "../../devices/sda/sda1"),
        ] {
            let link = tree.real(link);
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(target, link).unwrap();
        }
        tree
    }

    fn real(&self, path: &str) -> PathBuf {
        self.0.path().join(path.trim_start_matches('/'))
    }

    fn file(&self, path: &str, text: &str) {
        let real = self.real(path);
        std::fs::create_dir_all(real.parent().unwrap()).unwrap();
        std::fs::write(real, text).unwrap();
    }

    fn seen(&self, directory: &str) -> Environment {
        environment(&Root::captured(self.0.path()), Path::new(directory))
    }
}

/// ext4 on the partition, with options of the mount and of the filesystem.
fn ext4(mount: &str, filesystem: &str) -> Tree {
    Tree::new(&format!("27 1 8:1 / / {mount},relatime shared:1 - ext4 /dev/sda1 {filesystem}\n"))
}

#[test]
fn a_filesystem_is_read_only_by_the_mount_by_its_own_state_after_an_error_or_by_a_device_below() {
    let why = |tree: &Tree| tree.seen("/home").filesystem.read_only;
    assert_eq!(why(&ext4("rw", "rw,errors=remount-ro")), None, "a policy is no state");
    for (mount, filesystem) in [("ro", "rw"), ("rw", "ro"), ("ro", "ro")] {
        let said = why(&ext4(mount, filesystem));
        assert_eq!(said.as_deref(), Some("/ is mounted with the option ro"));
    }
    // Since Linux 6.15 ext4 keeps `rw` after an error, and says this besides.
    let said = why(&ext4("rw", "rw,emergency_ro,errors=remount-ro"));
    assert_eq!(said.as_deref(), Some("/ is mounted with the option emergency_ro"));
    for (node, name) in [("/sys/devices/sda/sda1/ro", "sda1"), ("/sys/devices/sda/ro", "sda")] {
        let tree = ext4("rw", "rw");
        tree.file(node, "1\n");
        let said = why(&tree).unwrap();
        assert_eq!(said, format!("the block device {name} is read-only"));
    }
}

#[test]
fn a_read_only_mount_above_the_filesystem_that_stores_is_one_too() {
    let tree = Tree::new(
        "27 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n\
         40 27 0:40 / /merged ro,relatime - overlay overlay rw,lowerdir=/a,upperdir=/b,workdir=/c\n",
    );
    let seen = tree.seen("/merged/x").filesystem;
    assert_eq!(seen.read_only.as_deref(), Some("/merged is mounted with the option ro"));
    assert_eq!(seen.kind.value().unwrap(), "ext4");
    assert_eq!(tree.seen("/b").filesystem.read_only, None);
}

#[test]
fn quotas_are_those_of_the_mount_options_and_say_which_command_shows_what_is_left() {
    let of = |options: &str| {
        let quotas = ext4("rw", options).seen("/home").filesystem.quotas;
        for quota in &quotas {
            let reason = quota.limit_bytes.reason().unwrap();
            assert!(reason.contains(quota.of.command()), "{reason}");
        }
        quotas.iter().map(|quota| quota.of).collect::<Vec<_>>()
    };
    assert_eq!(
        of("rw,quota,usrquota,grpquota,prjquota"),
        [QuotaOf::User, QuotaOf::Group, QuotaOf::Project]
    );
    assert_eq!(of("rw,jqfmt=vfsv1,usrjquota=aquota.user"), [QuotaOf::User]);
    for none in ["rw", "rw,noquota", "rw,usrjquota=", "rw,uqnoenforce,pqnoenforce"] {
        assert_eq!(of(none), [], "{none}");
    }
}

/// Btrfs on the partition, with a group for the subvolume 256.
fn btrfs(flags: &str) -> Tree {
    let tree = Tree::new(
        "27 1 0:31 /@home /home rw,relatime - btrfs /dev/sda1 rw,ssd,subvolid=256,subvol=/@home\n",
    );
    for (file, text) in [
        ("limit_flags", flags),
        ("max_referenced", "41943040"),
        ("referenced", "41926656"),
        ("max_exclusive", "1000"),
        ("exclusive", "200"),
    ] {
        tree.file(&format!("/sys/fs/btrfs/0b1c/qgroups/0_256/{file}"), &format!("{text}\n"));
    }
    tree.file("/sys/fs/btrfs/0b1c/devices/sda1/dev", "8:1\n");
    tree.file("/sys/fs/btrfs/ffff/devices/sdb1/dev", "8:17\n");
    tree
}

#[test]
fn f2fs_on_zones_has_a_second_disk_whose_requests_count() {
    let tree = Tree::new("27 1 8:1 / /data rw,relatime - f2fs /dev/sda1 rw,mode=lfs\n");
    tree.file("/sys/devices/sdb/dev", "8:16\n");
    std::os::unix::fs::symlink("../../devices/sdb", tree.real("/sys/class/block/sdb")).unwrap();
    tree.file("/sys/devices/sda/stat", "1 0 8 0 10 0 80 0 0 0 0 0 0 0 0 2 0\n");
    tree.file("/sys/devices/sda/sda1/stat", "1 0 8 0 5 0 40 0 0 0 0 0 0 0 0 1 0\n");
    tree.file("/sys/devices/sdb/stat", "2 0 16 0 100 0 800 0 0 0 0 0 0 0 0 3 0\n");
    let written = || {
        let probe = Probe::open(&Root::captured(tree.0.path()), Path::new("/data"));
        let counters = probe.counters();
        let of = |disks: &Reading<DiskCounters>| disks.value().unwrap().write_bytes.0 / 512;
        (of(&counters.disk), of(&counters.partition))
    };
    let alone = written();
    tree.file(
        "/proc/fs/f2fs/sda1/disk_map",
        "Address Layout   :  4096B Block address (# of Segments)\n\nDisk Map for multi devices:\n\
         Disk: 0 (zoned=0): 0x0000000000 - 0x000001ffff on /dev/sda1\n\
         Disk: 1 (zoned=1): 0x0000020000 - 0x000022ffff on /dev/sdb\n",
    );
    assert_eq!((alone, written()), ((80, 40), (880, 840)));
}

#[test]
fn the_quota_of_a_btrfs_subvolume_is_read_with_what_is_used_of_it() {
    let of = |flags| {
        let quotas = btrfs(flags).seen("/home/user").filesystem.quotas;
        quotas
            .into_iter()
            .map(|quota| {
                assert_eq!(quota.of, QuotaOf::Subvolume);
                (
                    quota.used_bytes.value().copied().unwrap(),
                    quota.limit_bytes.value().copied().unwrap(),
                )
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(of("1"), [(Bytes(41_926_656), Bytes(41_943_040))]);
    assert_eq!(of("2"), [(Bytes(200), Bytes(1000))]);
    assert_eq!(of("0"), [], "a group that counts and limits nothing");
}

/// The mounts of a phone with Android 11 or later, with a card as portable storage.
const ANDROID_11: &str = "\
    30 29 253:4 / / ro,relatime - ext4 /dev/block/dm-4 ro,seclabel\n\
    144 30 8:1 / /data rw,nosuid,nodev,noatime - f2fs /dev/block/sda1 rw,fsync_mode=nobarrier\n\
    150 30 8:0 / /mnt/media_rw/1234-ABCD rw,nosuid,nodev,noexec - exfat /dev/block/vold/public:8,0 rw\n\
    160 30 0:90 / /mnt/user/0/emulated rw,nosuid,nodev,noexec - fuse /dev/fuse rw,user_id=0,group_id=0,allow_other\n\
    161 30 0:90 / /storage/emulated rw,nosuid,nodev,noexec - fuse /dev/fuse rw,user_id=0,group_id=0,allow_other\n\
    162 161 8:1 /media/0/Android/data /storage/emulated/0/Android/data rw,nosuid,nodev - f2fs /dev/block/sda1 rw,fsync_mode=nobarrier\n\
    170 30 0:91 / /storage/1234-ABCD rw,nosuid,nodev,noexec - fuse /dev/fuse rw,user_id=0,group_id=0,allow_other\n\
    171 30 0:92 / /storage/5678-ABCD rw,nosuid,nodev,noexec - fuse /dev/fuse rw,user_id=0,group_id=0,allow_other\n";

#[test]
fn shared_storage_of_android_11_is_followed_through_the_fuse_daemon_to_where_it_stores() {
    let tree = Tree::new(ANDROID_11);
    let lies_on = |directory: &str| {
        let seen = tree.seen(directory);
        let filesystem = seen.filesystem;
        let fuse = seen.layers.iter().any(|layer| layer.kind == LayerKind::Fuse);
        (
            filesystem.kind.value().unwrap().clone(),
            filesystem.mount_point.value().unwrap().clone(),
            fuse,
        )
    };
    let on = |kind: &str, at: &str, fuse| (kind.to_owned(), at.to_owned(), fuse);
    assert_eq!(lies_on("/storage/emulated/0/DCIM"), on("f2fs", "/data", true));
    assert_eq!(lies_on("/mnt/user/0/emulated/0"), on("f2fs", "/data", true));
    assert_eq!(lies_on("/data/local/tmp"), on("f2fs", "/data", false));
    // An app's own directory there is mounted past the daemon.
    let own = "/storage/emulated/0/Android/data";
    assert_eq!(lies_on(&format!("{own}/org.example")), on("f2fs", own, false));
    // A card, whose files the daemon has below /mnt/media_rw.
    assert_eq!(lies_on("/storage/1234-ABCD/DCIM"), on("exfat", "/mnt/media_rw/1234-ABCD", true));
    // One whose files can't be seen from here is FUSE and nothing else.
    assert_eq!(lies_on("/storage/5678-ABCD"), on("fuse", "/storage/5678-ABCD", true));
}

/// A drive `sda`, mounted beside a system on `nvme0n1`, and what Linux keeps of it.
fn drive(kind: &str, options: &str) -> Tree {
    let tree = Tree::new(&format!(
        "27 1 259:0 / / rw - ext4 /dev/nvme0n1 rw\n\
         40 27 8:1 / /media/stick rw,nosuid,nodev - {kind} /dev/sda1 rw,{options}\n"
    ));
    tree.file("/sys/devices/nvme0n1/dev", "259:0\n");
    tree.file("/sys/devices/sda/removable", "1\n");
    tree.file("/proc/sys/vm/dirty_expire_centisecs", "3000\n");
    tree.file("/proc/sys/vm/dirty_writeback_centisecs", "500\n");
    tree.file("/proc/meminfo", "MemTotal: 1000 kB\nDirty: 40 kB\nWriteback: 2 kB\n");
    let link = tree.real("/sys/dev/block/259:0");
    std::os::unix::fs::symlink("../../devices/nvme0n1", link).unwrap();
    tree
}

fn lost(tree: &Tree) -> Option<Unplugged> {
    tree.seen("/media/stick").internals.unwrap().unplugged
}

#[test]
fn a_drive_can_be_pulled_out_if_its_medium_or_its_bus_allows_it_and_the_system_is_not_on_it() {
    let seen = lost(&drive("vfat", "utf8")).unwrap();
    assert_eq!(seen.because, "its medium is removable");
    assert_eq!(seen.stays_ns.value(), Some(&Nanos::from_secs(35)));
    assert_eq!(seen.unwritten_bytes.value(), Some(&Bytes::from_kib(42)));
    assert!(seen.of_all_storage);
    // Root sees what waits for this drive alone.
    let tree = drive("vfat", "utf8");
    let stats =
        "BdiWriteback:            8 kB\nBdiReclaimable:         16 kB\nBdiDirtyThresh: 9 kB\n";
    tree.file("/sys/kernel/debug/bdi/8:0/stats", stats);
    let seen = lost(&tree).unwrap();
    assert_eq!(
        (seen.unwritten_bytes.value(), seen.of_all_storage),
        (Some(&Bytes::from_kib(24)), false)
    );
    // One that is fixed, and the system's own.
    let tree = drive("vfat", "utf8");
    tree.file("/sys/devices/sda/removable", "0\n");
    assert_eq!(lost(&tree), None);
    let tree = ext4("rw", "rw");
    tree.file("/sys/devices/sda/removable", "1\n");
    assert_eq!(tree.seen("/home").internals.unwrap().unplugged, None);
    // A kernel that never looks writes nothing by itself.
    let tree = drive("vfat", "utf8");
    tree.file("/proc/sys/vm/dirty_writeback_centisecs", "0\n");
    assert!(lost(&tree).unwrap().stays_ns.reason().unwrap().contains("never writes by itself"));
}

#[test]
fn a_format_is_known_by_the_kernels_type_or_by_what_a_daemon_serves() {
    use PortableFormat::{Exfat, Fat, Ntfs};
    let of = |tree: &Tree| match tree.seen("/media/stick").internals.unwrap().filesystem.value() {
        Some(FilesystemInternals::Portable { format, by_fuse, unsynced }) => {
            Some((*format, *by_fuse, *unsynced))
        }
        _ => None,
    };
    for (kind, options, expected) in [
        ("vfat", "utf8,errors=remount-ro", (Fat, false, Unsynced::Later)),
        ("vfat", "flush", (Fat, false, Unsynced::AtClose)),
        ("vfat", "sync,flush", (Fat, false, Unsynced::AtOnce)),
        ("exfat", "iocharset=utf8", (Exfat, false, Unsynced::Later)),
        ("ntfs3", "sync", (Ntfs, false, Unsynced::AtOnce)),
    ] {
        assert_eq!(of(&drive(kind, options)), Some(expected), "{kind} {options}");
    }
    // A daemon's mount names no format: the first sector does, or udev's notes.
    for (sector, at, format) in
        [("NTFS    ", 3, Ntfs), ("EXFAT   ", 3, Exfat), ("FAT32   ", 82, Fat)]
    {
        let tree = drive("fuseblk", "user_id=0,blksize=4096");
        tree.file("/dev/sda1", &format!("{}{sector}{}", " ".repeat(at), " ".repeat(500)));
        assert_eq!(of(&tree), Some((format, true, Unsynced::Later)), "{sector}");
    }
    for (noted, format) in
        [("ntfs", Some(Ntfs)), ("exfat", Some(Exfat)), ("vfat", Some(Fat)), ("ext4", None)]
    {
        let tree = drive("fuseblk", "user_id=0");
        tree.file("/run/udev/data/b8:1", &format!("S:disk/by-uuid/1\nE:ID_FS_TYPE={noted}\n"));
        assert_eq!(of(&tree).map(|seen| seen.0), format, "{noted}");
    }
    assert_eq!(of(&drive("fuseblk", "user_id=0")), None);
}

#[test]
fn a_card_below_androids_daemon_is_a_public_volume() {
    let tree = Tree::new(ANDROID_11);
    let of = |at: &str| tree.seen(at).internals.unwrap();
    let card = of("/storage/1234-ABCD/DCIM");
    assert_eq!(card.unplugged.unwrap().because, "Android calls it a public volume");
    assert!(matches!(
        card.filesystem.value(),
        Some(FilesystemInternals::Portable { format: PortableFormat::Exfat, by_fuse: false, .. })
    ));
    assert_eq!(of("/data/local/tmp").unplugged, None);
    assert_eq!(of("/storage/5678-ABCD").unplugged, None);
}
