//! Mount options and device names that reveal nothing about their owner.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use flashlag_spec::SCENARIO_KEYS;
use flashlag_units::{Bytes, IntoOrder, Nanos};

/// Keys of mount options whose values are the filesystem's own, according to the kernel's
/// documentation of ext4, F2FS, Btrfs, XFS, overlayfs and FUSE. The value of any other key may be a
/// path, a user or a label.
const KEYS: &[&str] = &[
    "active_logs",
    "age_extent_cache",
    "alloc_mode",
    "allocsize",
    "background_gc",
    "barrier",
    "blksize",
    "checkpoint",
    "checkpoint_merge",
    "commit",
    "compress",
    "compress-force",
    "compress_algorithm",
    "compress_log_size",
    "compress_mode",
    "compress_cache",
    "data",
    "data_err",
    "delalloc",
    "discard",
    "discard_unit",
    "errors",
    "extent_cache",
    "fault_injection",
    "fscache",
    "fsync_mode",
    "index",
    "init_itable",
    "inlinecrypt",
    "inode_readahead_blks",
    "inode64",
    "jqfmt",
    "journal_async_commit",
    "journal_checksum",
    "journal_ioprio",
    "logbsize",
    "logbufs",
    "max_batch_time",
    "max_inline",
    "max_read",
    "memory",
    "metacopy",
    "min_batch_time",
    "mode",
    "nfs_export",
    "noquota",
    "orphan_stub",
    "redirect_dir",
    "reserve_root",
    "size",
    "space_cache",
    "ssd",
    "stripe",
    "sunit",
    "swidth",
    "thread_pool",
    "uuid",
    "volatile",
    "whint_mode",
    "xino",
];

/// Whether a mount option may stay: a bare word, or a value of a known key.
pub fn is_plain_option(option: &str) -> bool {
    let is_word = |text: &str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "_-:%".contains(c);
        !text.is_empty() && text.len() <= 40 && text.chars().all(allowed)
    };
    match option.split_once('=') {
        Some((key, value)) => KEYS.contains(&key) && is_word(value),
        None => is_word(option),
    }
}

/// Words that a scenario's keys accept, from the program's own list.
fn words() -> &'static BTreeSet<String> {
    static WORDS: OnceLock<BTreeSet<String>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let quoted = SCENARIO_KEYS.split('"').skip(1).step_by(2);
        quoted.filter(|word| !word.is_empty()).map(str::to_owned).into_set()
    })
}

/// Whether the value of a setting reveals nothing about its owner: a quantity, or a word that
/// scenarios know.
pub fn is_plain_setting(value: &str) -> bool {
    let items = value.trim_start_matches('[').trim_end_matches(']').split([',', ' ']);
    items.map(|item| item.trim_matches(['"', '\''])).all(is_plain_item)
}

fn is_plain_item(item: &str) -> bool {
    let is_quantity = item.parse::<f64>().is_ok()
        || item.parse::<bool>().is_ok()
        || item.parse::<Bytes>().is_ok()
        || item.parse::<Nanos>().is_ok()
        || item.strip_suffix('%').is_some_and(|number| number.parse::<f64>().is_ok());
    item.is_empty() || item == "removed" || is_quantity || words().contains(item)
}

/// Names of folders and of targets that are common to many machines.
pub fn is_common(part: &str) -> bool {
    const COMMON: &[&str] = &[
        "mnt", "media", "home", "root", "local", "mapper", "disk", "block", "by-uuid", "by-name",
        "system", "vendor", "storage", "emulated", "sdcard", "tmpfs", "overlay", "flashlag",
        "cache", "users", "nexus", "lab", "sim",
    ];
    COMMON.contains(&part) || part.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Prefixes of the kernel's own names of block devices.
const DEVICES: &[&str] = &[
    "mmcblk", "nvme", "loop", "ram", "zram", "dm-", "md", "sr", "nbd", "ublkb", "mtdblock", "sd",
    "vd", "xvd", "hd",
];

/// Whether a name is the kernel's own name of a block device, such as `sda1`, `mmcblk0p2` or
/// `dm-0`, and not that of a volume or a mount point.
pub fn is_device_name(name: &str) -> bool {
    let rest = DEVICES.iter().find_map(|prefix| name.strip_prefix(prefix));
    // Letters of disks, and numbers: `sda1`, `nvme0n1p2`. `sdcard` and `home` are not devices.
    let is_rest = |rest: &str| {
        let letters = rest.chars().take_while(char::is_ascii_lowercase).count();
        let after = &rest[letters..];
        let numbered = |c: char| {
            c.is_ascii_digit() || c == 'n' || c == 'p' || c == 'b' || c == 'o' || c == 't'
        };
        letters <= 2 && rest.len() <= 12 && after.chars().all(numbered)
    };
    rest.is_some_and(is_rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_filesystem_stay_and_those_of_users_and_paths_go() {
        for plain in
            ["rw", "noatime", "nobarrier", "errors=remount-ro", "fsync_mode=posix", "commit=5"]
        {
            assert!(is_plain_option(plain), "{plain}");
        }
        for private in [
            "uid=1000",
            "lowerdir=/home/ann",
            "subvol=/@home",
            "username=ann",
            "data=/x",
            "a b",
            "",
            "context=u:r:x",
        ] {
            assert!(!is_plain_option(private), "{private}");
        }
    }

    #[test]
    fn names_that_the_kernel_gives_stay_and_those_of_people_go() {
        for device in [
            "sda",
            "sda1",
            "vda",
            "mmcblk0",
            "mmcblk0p28",
            "nvme0n1p2",
            "dm-3",
            "loop7",
            "zram0",
            "mmcblk0boot0",
        ] {
            assert!(is_device_name(device), "{device}");
        }
        for name in
            ["vg-ann", "luks-4f2c", "/home/ann", "sdcard", "annes-laptop", "", "mdann", "data"]
        {
            assert!(!is_device_name(name), "{name}");
        }
    }
}
