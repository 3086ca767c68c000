//! Which filesystems are storage, where they are mounted, and which disks are below them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use flashlag_inspect::{Below, Mount, Root, mount_of, mounts};
use flashlag_units::IntoOrder;

use crate::error::LiveError;

/// Filesystems that store nothing, or nothing on a device.
const NOT_STORAGE: [&str; 25] = [
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "functionfs",
    "fusectl",
    "hugetlbfs",
    "mqueue",
    "nsfs",
    "proc",
    "pstore",
    "ramfs",
    "resctrl",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "sysfs",
    "tmpfs",
    "tracefs",
];

/// Whether a filesystem of this kind stores anything on a device.
pub fn is_storage(kind: &str) -> bool {
    !NOT_STORAGE.contains(&kind)
}

/// A device number in the kernel's own encoding.
pub fn kernel_number((major, minor): (u32, u32)) -> u32 {
    (major << 20) | (minor & 0xf_ffff)
}

/// Major and minor of a device number in the kernel's own encoding.
pub fn major_minor(device: u32) -> (u32, u32) {
    (device >> 20, device & 0xf_ffff)
}

/// The mounts that are watched.
#[derive(Clone, Debug)]
pub struct Places {
    mounts: Vec<Mount>,
    /// The mount of the requested path.
    only: Option<Mount>,
}

impl Places {
    /// All storage, or only the filesystem of a path.
    pub fn of(path: Option<&Path>) -> Result<Places, LiveError> {
        let root = Root::system();
        let all = mounts(&root).map_err(LiveError::Mounts)?;
        let only = match path {
            None => None,
            Some(path) => {
                path.metadata()
                    .map_err(|source| LiveError::NoPath { path: path.to_owned(), source })?;
                let mount = mount_of(&root, path).map_err(LiveError::Mounts)?;
                if !is_storage(&mount.kind) {
                    return Err(LiveError::NotStorage { path: path.to_owned(), kind: mount.kind });
                }
                Some(mount)
            }
        };
        let storage = |mount: &Mount| is_storage(&mount.kind);
        Ok(Places { mounts: all.into_iter().filter(storage).collect(), only })
    }

    /// Reads the mounts again. Unmounted ones stay known.
    pub fn renew(&mut self) {
        let Ok(all) = mounts(&Root::system()) else { return };
        for mount in all {
            if is_storage(&mount.kind) && !self.mounts.contains(&mount) {
                self.mounts.push(mount);
            }
        }
    }

    /// Whether only one filesystem is watched.
    pub fn is_one(&self) -> bool {
        self.only.is_some()
    }

    /// Device numbers of the watched filesystems, in the kernel's own encoding.
    pub fn filesystems(&self) -> BTreeSet<u32> {
        match &self.only {
            Some(mount) => [kernel_number(mount.device)].into_iter().into_set(),
            None => self.mounts.iter().map(|mount| kernel_number(mount.device)).into_set(),
        }
    }

    /// The mounts that are watched.
    pub fn watched(&self) -> impl Iterator<Item = &Mount> {
        let only = self.only.as_ref().map(|mount| mount.device);
        self.mounts.iter().filter(move |mount| only.is_none_or(|device| device == mount.device))
    }

    /// The watched disks; `None` for all, including the case that the filesystem's are not known.
    pub fn disks(&self) -> Option<BTreeSet<u32>> {
        let mount = self.only.as_ref()?;
        let mut found = BTreeSet::new();
        let device = match mount.device {
            (0, _) => block_device_of(Path::new(&mount.source))?,
            device => device,
        };
        add_disks(kernel_number(device), &mut found, 0);
        (!found.is_empty()).then_some(found)
    }

    /// The filesystem of a path, if it is watched.
    pub fn watched_device_of(&self, path: &Path) -> Option<u32> {
        let above = self.mounts.iter().filter(|mount| path.starts_with(&mount.mount_point));
        // Of several mounts at one place, the later covers the earlier.
        let mount = above.max_by_key(|mount| mount.mount_point.components().count())?;
        let watched = self.only.as_ref().is_none_or(|only| only.device == mount.device);
        watched.then(|| kernel_number(mount.device))
    }

    /// The mount that shows most of a filesystem.
    pub fn mount_point(&self, device: u32) -> Option<&Path> {
        let here = |mount: &&Mount| kernel_number(mount.device) == device;
        let candidates = self.only.iter().chain(&self.mounts).filter(here);
        let mount = candidates.min_by_key(|mount| mount.root.components().count())?;
        Some(&mount.mount_point)
    }

    /// The disk that a block device is, or is a part of.
    pub fn disk_of(device: u32) -> u32 {
        disk_below(device).unwrap_or(device)
    }

    /// The path of a file, from its components within its filesystem, starting at the root.
    pub fn path(&self, device: u32, components: &[&str]) -> Option<String> {
        let whole: PathBuf =
            std::iter::once("/").chain(components.iter().copied()).collect::<PathBuf>();
        let here = |mount: &&Mount| {
            kernel_number(mount.device) == device && whole.starts_with(&mount.root)
        };
        // The mount with the shortest root shows most of the filesystem: bind mounts of a part have
        // longer ones.
        let candidates = self.only.iter().chain(&self.mounts).filter(here);
        let mount = candidates.min_by_key(|mount| mount.root.components().count())?;
        let within = whole.strip_prefix(&mount.root).ok()?;
        let path = if within.as_os_str().is_empty() {
            mount.mount_point.clone()
        } else {
            mount.mount_point.join(within)
        };
        Some(path.to_string_lossy().into_owned())
    }
}

/// The name of a block device, or its numbers if the device is gone.
pub fn device_name(device: u32) -> String {
    let (major, minor) = major_minor(device);
    let link = fs::read_link(format!("/sys/dev/block/{major}:{minor}"));
    let name = link.ok().and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned()));
    name.unwrap_or_else(|| format!("{major}:{minor}"))
}

/// The numbers of `/dev/NAME`, for filesystems with anonymous device numbers.
pub fn block_device_of(source: &Path) -> Option<(u32, u32)> {
    let status = rustix::fs::stat(source).ok()?;
    let kind = rustix::fs::FileType::from_raw_mode(status.st_mode);
    let (major, minor) = (rustix::fs::major(status.st_rdev), rustix::fs::minor(status.st_rdev));
    (kind == rustix::fs::FileType::BlockDevice).then_some((major, minor))
}

/// The number of the device with that sysfs directory.
fn number_at(node: &Path) -> Option<u32> {
    let text = fs::read_to_string(node.join("dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some(kernel_number((major.parse().ok()?, minor.parse().ok()?)))
}

/// The disk of a partition; any other device is its own disk.
fn disk_below(device: u32) -> Option<u32> {
    match Below::named(&Root::system(), &device_name(device)) {
        Some(Below::Disk(disk)) => number_at(&disk),
        _ => Some(device),
    }
}

/// The whole disks below a device: for a partition its disk, for a mapped device its components.
fn add_disks(device: u32, found: &mut BTreeSet<u32>, depth: u32) {
    let below = Below::named(&Root::system(), &device_name(device)).filter(|_| depth <= 8);
    let lower = match below {
        None => return,
        Some(Below::Disk(disk)) => vec![disk],
        Some(whole) => {
            found.insert(device);
            whole.devices()
        }
    };
    for device in lower.iter().filter_map(|node| number_at(node)) {
        add_disks(device, found, depth + 1);
    }
}
