//! The devices or the file that a block device is mapped to, according to `/sys`.

use std::path::{Path, PathBuf};

use crate::root::Root;

/// What lies directly below a block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Below {
    /// Below a partition: the sysfs directory of its disk.
    Disk(PathBuf),
    /// Below a loop device: its file. The kernel's path may belong to another mount namespace, or
    /// to an unlinked file; it then ends with ` (deleted)`.
    File(PathBuf),
    /// Below dm and md: the sysfs directories of their components, by name. Empty below a disk.
    Devices(Vec<PathBuf>),
}

impl Below {
    /// What lies below the device with that name; `None` if `/sys` does not have it.
    pub fn named(root: &Root, name: &str) -> Option<Below> {
        // Names in `/sys` have no slash, and the device number of a filesystem without a device is
        // not there.
        let link = Path::new("/sys/class/block").join(name);
        let node = root.resolve(link).filter(|_| !name.contains('/') && !name.is_empty())?;
        Some(Below::of(root, &node))
    }

    /// What lies below the device with that sysfs directory.
    pub(crate) fn of(root: &Root, node: &Path) -> Below {
        let disk = whole(root, node);
        if disk != node {
            return Below::Disk(disk);
        }
        if let Ok(file) = root.line(node.join("loop/backing_file")) {
            return Below::File(PathBuf::from(file));
        }
        let slaves = node.join("slaves");
        let resolved = |slave: &String| root.resolve(slaves.join(slave));
        Below::Devices(root.names(&slaves).iter().filter_map(resolved).collect())
    }

    /// The components of dm and md; empty for any other device.
    pub fn devices(self) -> Vec<PathBuf> {
        match self {
            Below::Devices(devices) => devices,
            Below::Disk(_) | Below::File(_) => Vec::new(),
        }
    }
}

/// The whole disk of a partition; for anything else, the device itself.
pub(crate) fn whole(root: &Root, node: &Path) -> PathBuf {
    match node.parent() {
        Some(parent) if root.has(node.join("partition")) => parent.to_owned(),
        _ => node.to_owned(),
    }
}
