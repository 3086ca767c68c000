//! The block devices below a filesystem, down to its disks, by `/sys/dev/block`.

use std::path::{Path, PathBuf};

use crate::below::{Below, whole};
use crate::mount::{Mount, mount_of};
use crate::reason::Reason;
use crate::root::Root;

/// Most layers of mapping to follow: a cycle of links is not a stack.
const DEEPEST: usize = 16;

/// The block devices below a filesystem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stack {
    /// The sysfs directory of the device that holds the filesystem: a partition, `dm-0`, a disk.
    pub top: PathBuf,
    /// Every device that holds a part of the filesystem, `top` first.
    pub members: Vec<PathBuf>,
    /// The sysfs directories of the whole disks at the bottom, without duplicates; never empty.
    pub disks: Vec<PathBuf>,
    /// Mapped devices in between, from the top: `dm-0 (crypt)`, `loop0`.
    pub between: Vec<String>,
    /// sysfs directories of those.
    pub mapped: Vec<PathBuf>,
    /// Further filesystems in between: below a loop device, for example.
    pub filesystems: Vec<Mount>,
}

/// The last part of a path as text.
pub(crate) fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The stack below a mount.
///
/// # Errors
/// Why the filesystem has no block device: it is in memory, on a network, or not visible.
pub(crate) fn stack_below(root: &Root, mount: &Mount) -> Result<Stack, Reason> {
    let top = node_of(root, mount)?;
    let mut stack = Stack {
        members: members(root, mount, &top),
        top,
        disks: Vec::new(),
        between: Vec::new(),
        mapped: Vec::new(),
        filesystems: Vec::new(),
    };
    for node in stack.members.clone() {
        descend(root, &node, &mut stack, 0);
    }
    if stack.disks.is_empty() {
        let top = stack.top.display();
        return Err(Reason::none(format!("nothing could be followed below {top}")));
    }
    Ok(stack)
}

/// Filesystems in memory.
const MEMORY: [&str; 5] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "rootfs"];
/// Network filesystems, by the prefix of their type.
const REMOTE: [&str; 7] = ["nfs", "cifs", "smb3", "9p", "virtiofs", "ceph", "fuse.sshfs"];

/// Whether a mount holds its files in memory alone.
pub fn is_in_memory(mount: &Mount) -> bool {
    MEMORY.contains(&mount.kind.as_str())
}

/// Whether a mount stores its files on a disk of this machine, visible or not.
pub(crate) fn is_on_a_disk(mount: &Mount) -> bool {
    !is_in_memory(mount) && !REMOTE.iter().any(|kind| mount.kind.starts_with(kind))
}

/// The sysfs directory of a mount's block device.
fn node_of(root: &Root, mount: &Mount) -> Result<PathBuf, Reason> {
    let (major, minor) = mount.device;
    if major != 0 {
        let link = format!("/sys/dev/block/{major}:{minor}");
        return root.resolve(&link).ok_or(Reason::missing(link));
    }
    if is_in_memory(mount) {
        let words = format!("{} is held in memory: no block device is below", mount.kind);
        return Err(Reason::none(words));
    }
    if REMOTE.iter().any(|kind| mount.kind.starts_with(kind)) {
        return Err(Reason::none(format!("{} is served by another machine", mount.kind)));
    }
    // Btrfs and other filesystems with an anonymous device number name the device.
    let device = mount.source.strip_prefix("/dev/").ok_or_else(|| {
        Reason::none(format!("{} has no block device that can be seen from here", mount.kind))
    })?;
    node_named(root, device).map_err(|reason| {
        if mount.kind.starts_with("fuse") {
            // `/dev/fuse` leads to the process that serves the files; it is no disk.
            let kind = &mount.kind;
            Reason::none(format!("{kind} is served by a process: what lies below can't be seen"))
        } else {
            reason
        }
    })
}

/// `/dev/mapper/NAME` by the mapped device's name, else by the kernel's.
fn node_named(root: &Root, device: &str) -> Result<PathBuf, Reason> {
    let mapped = device.strip_prefix("mapper/");
    if let Some(wanted) = mapped {
        for disk in root.names("/sys/class/block") {
            let directory = Path::new("/sys/class/block").join(disk);
            if root.line(directory.join("dm/name")).is_ok_and(|found| found == wanted) {
                return root.resolve(&directory).ok_or(Reason::missing(wanted));
            }
        }
    }
    let link = Path::new("/sys/class/block").join(device.rsplit('/').next().unwrap_or(device));
    root.resolve(&link).ok_or_else(|| Reason::missing(link))
}

/// All member devices of a filesystem; the one that it was mounted by comes first.
fn members(root: &Root, mount: &Mount, top: &Path) -> Vec<PathBuf> {
    let all = match mount.kind.as_str() {
        "btrfs" => btrfs_members(root, top),
        "f2fs" => f2fs_members(root, top),
        _ => Vec::new(),
    };
    let others = all.into_iter().filter(|node| node != top);
    std::iter::once(top.to_owned()).chain(others).collect()
}

fn btrfs_members(root: &Root, top: &Path) -> Vec<PathBuf> {
    let filesystems = root.names("/sys/fs/btrfs").into_iter();
    let devices = filesystems.map(|one| Path::new("/sys/fs/btrfs").join(one).join("devices"));
    let own = devices.filter(|devices| root.names(devices).contains(&name(top)));
    own.flat_map(|devices| {
        root.names(&devices).into_iter().filter_map(move |one| root.resolve(devices.join(one)))
    })
    .collect()
}

/// Of zoned storage F2FS has one device with the conventional zones, and the others on a second. Linux lists them
/// since 6.12: `Disk: 1 (zoned=1): 0x… - 0x… on /dev/sdb`.
fn f2fs_members(root: &Root, top: &Path) -> Vec<PathBuf> {
    let map = Path::new("/proc/fs/f2fs").join(name(top)).join("disk_map");
    // Older kernels have none, and then the first device stands for all.
    let map = root.text(map).unwrap_or_default();
    let paths = map.lines().filter(|line| line.starts_with("Disk:"));
    let paths = paths.filter_map(|line| line.rsplit_once(" on /dev/"));
    paths.filter_map(|(_, device)| node_named(root, device.trim()).ok()).collect()
}

fn descend(root: &Root, node: &Path, stack: &mut Stack, depth: usize) {
    let node = whole(root, node);
    if depth >= DEEPEST || stack.disks.contains(&node) || stack.mapped.contains(&node) {
        return;
    }
    let below = match Below::of(root, &node) {
        Below::Devices(devices) => devices,
        Below::File(file) => below_file(root, &file, stack).into_iter().collect(),
        Below::Disk(disk) => vec![disk],
    };
    if below.is_empty() {
        stack.disks.push(node);
        return;
    }
    stack.between.push(describe(root, &node));
    stack.mapped.push(node);
    for slave in below {
        descend(root, &slave, stack, depth + 1);
    }
}

/// The block device below a loop device's file.
fn below_file(root: &Root, file: &Path, stack: &mut Stack) -> Option<PathBuf> {
    // An unlinked file was in the same directory.
    let mount = mount_of(root, file.parent()?).ok()?;
    let node = node_of(root, &mount).ok();
    stack.filesystems.push(mount);
    node
}

/// `dm-0 (crypt)`, `md0 (raid1)`, `loop0`.
fn describe(root: &Root, node: &Path) -> String {
    let device = name(node);
    if let Some(target) = mapped_target(root, node) {
        return format!("{device} ({target})");
    }
    match root.line(node.join("md/level")) {
        Ok(level) => format!("{device} ({level})"),
        Err(_) => device,
    }
}

/// The target of a device-mapper device, by its UUID or, on Android, its name: only root can read
/// the table itself.
pub(crate) fn mapped_target(root: &Root, node: &Path) -> Option<String> {
    let uuid = root.line(node.join("dm/uuid")).unwrap_or_default();
    let label = root.line(node.join("dm/name")).ok();
    let (prefix, rest) = uuid.split_once('-').unwrap_or((&uuid, ""));
    match prefix {
        "CRYPT" if !rest.starts_with("VERITY") && !rest.starts_with("INTEGRITY") => {
            Some("crypt".to_owned())
        }
        "CRYPT" => Some(rest.split('-').next().unwrap_or(rest).to_ascii_lowercase()),
        "LVM" => Some("lvm".to_owned()),
        "mpath" => Some("multipath".to_owned()),
        _ => label,
    }
}
