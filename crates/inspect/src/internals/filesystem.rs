//! Filesystems' own reports.
//!
//! ext4: Documentation/ABI/testing/sysfs-fs-ext4, `/proc/fs/ext4/DEVICE/options`. F2FS:
//! Documentation/ABI/testing/sysfs-fs-f2fs.

use std::path::{Path, PathBuf};

use flashlag_schema::internals::{
    Calls, Ext4Journal, FilesystemInternals, PortableFormat, Unsynced,
};
use flashlag_spec::Reading;
use flashlag_units::Bytes;

use super::superblock::features;
use crate::mount::Mount;
use crate::reason::Reason;
use crate::root::Root;

/// The report of a mounted filesystem on the device `top`.
pub(super) fn internals(
    root: &Root,
    mount: &Mount,
    top: Result<String, Reason>,
) -> Result<FilesystemInternals, Reason> {
    match mount.kind.as_str() {
        "ext4" => Ok(ext4(root, &top?)),
        "f2fs" => Ok(f2fs(root, mount, &top?)),
        "btrfs" => Ok(btrfs(mount)),
        "vfat" | "msdos" => Ok(portable(mount, PortableFormat::Fat)),
        "exfat" => Ok(portable(mount, PortableFormat::Exfat)),
        "ntfs3" | "ntfs" => Ok(portable(mount, PortableFormat::Ntfs)),
        // The daemons of NTFS and exFAT mount a device as this.
        "fuseblk" => Ok(portable(mount, format_on(root, mount, &top?)?)),
        kind => Err(Reason::none(format!("flashlag reads no statistics of {kind}"))),
    }
}

fn ext4(root: &Root, device: &str) -> FilesystemInternals {
    let options = root.line(Path::new("/proc/fs/ext4").join(device).join("options"));
    let has = |word: &str| -> Result<bool, Reason> {
        Ok(options.clone()?.lines().any(|line| line.trim() == word))
    };
    let value = |key: &str| -> Result<String, Reason> {
        let text = options.clone()?;
        let value = text.lines().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix('='));
        let none = || Reason::none(format!("no {key} among ext4's options"));
        value.map(str::to_owned).ok_or_else(none)
    };
    let sysfs = Path::new("/sys/fs/ext4").join(device);
    FilesystemInternals::Ext4 {
        journal: options.clone().and_then(|text| journal(&text)).into(),
        barrier: has("barrier").and_then(|on| Ok(on && !has("nobarrier")?)).into(),
        commit_s: value("commit")
            .and_then(|text| {
                text.parse().map_err(|_| Reason::none(format!("commit={text:.40} is no number")))
            })
            .into(),
        fast_commits: fast_commits(root, device).into(),
        lifetime_written_bytes: lifetime(root, &sysfs),
        errors: root.number(sysfs.join("errors_count")).into(),
        features: features(root, device).into(),
    }
}

/// The options contain `data=` if there is a journal.
fn journal(options: &str) -> Result<Ext4Journal, Reason> {
    let mode = options.lines().find_map(|line| line.trim().strip_prefix("data="));
    Ok(match mode {
        None => Ext4Journal::None,
        Some("writeback") => Ext4Journal::Writeback,
        Some("ordered") => Ext4Journal::Ordered,
        Some("journal") => Ext4Journal::Journal,
        Some(other) => return Err(Reason::none(format!("ext4 says data={other:.40}"))),
    })
}

/// `fc stats:`, then `12 commits`.
fn fast_commits(root: &Root, device: &str) -> Result<u64, Reason> {
    let file = format!("/proc/fs/ext4/{device}/fc_info");
    let text = root.line(&file)?;
    let count = text.lines().find_map(|line| line.trim().strip_suffix(" commits")?.parse().ok());
    count.ok_or_else(|| Reason::content(file, "counts no commits"))
}

fn f2fs(root: &Root, mount: &Mount, device: &str) -> FilesystemInternals {
    let sysfs = Path::new("/sys/fs/f2fs").join(device);
    let number = |name: &str| -> Reading<u64> { root.number(sysfs.join(name)).into() };
    let calls = |name: &str| -> Reading<Calls> {
        let count = |way: &str| root.number(sysfs.join(format!("{name}_{way}_calls")));
        let both = count("foreground")
            .and_then(|foreground| Ok(Calls { foreground, background: count("background")? }));
        both.into()
    };
    FilesystemInternals::F2fs {
        free_segments: number("free_segments"),
        dirty_segments: number("dirty_segments"),
        spare_segments: number("ovp_segments"),
        fsync_mode: mount
            .option("fsync_mode")
            .map(str::to_owned)
            .ok_or("this kernel names no fsync_mode among the options")
            .into(),
        ipu_policy: root.reading(sysfs.join("ipu_policy")),
        checkpoints: calls("cp"),
        cleanings: calls("gc"),
        lifetime_written_bytes: lifetime(root, &sysfs),
    }
}

fn lifetime(root: &Root, sysfs: &Path) -> Reading<Bytes> {
    let file: PathBuf = sysfs.join("lifetime_write_kbytes");
    root.number(file).map(Bytes::from_kib).into()
}

fn btrfs(mount: &Mount) -> FilesystemInternals {
    let packed = ["compress", "compress-force"].iter().find_map(|key| mount.option(key));
    FilesystemInternals::Btrfs {
        compression: packed.filter(|kind| *kind != "no" && *kind != "none").map(str::to_owned),
        nodatacow: mount.options.iter().any(|option| option == "nodatacow"),
    }
}

fn portable(mount: &Mount, format: PortableFormat) -> FilesystemInternals {
    let by_fuse = mount.kind == "fuseblk";
    let has = |word: &str| mount.options.iter().any(|option| option == word);
    let unsynced = match format {
        _ if has("sync") => Unsynced::AtOnce,
        PortableFormat::Fat if has("flush") => Unsynced::AtClose,
        _ => Unsynced::Later,
    };
    FilesystemInternals::Portable { format, by_fuse, unsynced }
}

/// The format on a device: by its first sector, which root can read, else by udev's notes.
fn format_on(root: &Root, mount: &Mount, device: &str) -> Result<PortableFormat, Reason> {
    // Android has its devices below /dev/block.
    let named = mount.source.starts_with("/dev/").then(|| PathBuf::from(&mount.source));
    let path = named.unwrap_or_else(|| Path::new("/dev").join(device));
    let sector = root.bytes(&path, 0, 512);
    if let Some(found) = sector.as_ref().ok().and_then(|sector| format_of(sector)) {
        return Ok(found);
    }
    let (major, minor) = mount.device;
    let notes = root.text(format!("/run/udev/data/b{major}:{minor}")).unwrap_or_default();
    let kind = notes.lines().find_map(|line| line.strip_prefix("E:ID_FS_TYPE="));
    match (kind, sector) {
        (Some("vfat"), _) => Ok(PortableFormat::Fat),
        (Some("exfat"), _) => Ok(PortableFormat::Exfat),
        (Some("ntfs"), _) => Ok(PortableFormat::Ntfs),
        (Some(other), _) => {
            Err(Reason::none(format!("flashlag reads no statistics of {other:.40}")))
        }
        (None, Err(reason)) => Err(reason),
        (None, Ok(_)) => Err(Reason::content(path, "begins as none of FAT, exFAT and NTFS does")),
    }
}

/// The name in the first sector: NTFS and exFAT have it where FAT has the name of the system that
/// formatted it, FAT has its own further behind.
fn format_of(sector: &[u8]) -> Option<PortableFormat> {
    let at = |from: usize, name: &[u8]| sector.get(from..)?.starts_with(name).then_some(());
    let exfat = at(3, b"EXFAT   ").map(|()| PortableFormat::Exfat);
    let ntfs = at(3, b"NTFS    ").map(|()| PortableFormat::Ntfs);
    let fat = at(0x36, b"FAT").or(at(0x52, b"FAT32   ")).map(|()| PortableFormat::Fat);
    exfat.or(ntfs).or(fat)
}
