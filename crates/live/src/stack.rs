//! Which block device is mapped to which, from `/sys`.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use flashlag_inspect::{Below, Root, mount_of};

use crate::places::{block_device_of, device_name, is_storage, kernel_number};

/// The devices directly below a block device, by name; `None` if `/sys` does not show them.
pub fn below(name: &str) -> Option<Vec<String>> {
    below_in(&Root::system(), name)
}

/// [`below`] in a tree with the layout of `/sys`.
fn below_in(root: &Root, name: &str) -> Option<Vec<String>> {
    let last = |node: &PathBuf| Some(node.file_name()?.to_string_lossy().into_owned());
    match Below::named(root, name)? {
        Below::Disk(disk) => Some(vec![last(&disk)?]),
        Below::File(file) => below_file(&file),
        Below::Devices(devices) => devices.iter().map(last).collect(),
    }
}

/// Whether a device consists of others, as dm and md do: its requests are repeated to those.
pub(crate) fn is_stacked(name: &str) -> bool {
    Below::named(&Root::system(), name).is_some_and(|below| !below.devices().is_empty())
}

/// The device that a loop device's file is on. The kernel's path may belong to another mount
/// namespace, or to an unlinked file: then the device is not known.
fn below_file(file: &Path) -> Option<Vec<String>> {
    let status = std::fs::metadata(file).ok()?;
    if let Some(device) = block_device_of(file) {
        return Some(vec![device_name(kernel_number(device))]);
    }
    let device = (rustix::fs::major(status.dev()), rustix::fs::minor(status.dev()));
    if device.0 != 0 {
        return Some(vec![device_name(kernel_number(device))]);
    }
    let mount = mount_of(&Root::system(), file).ok()?;
    if !is_storage(&mount.kind) {
        return Some(Vec::new());
    }
    let device = block_device_of(&PathBuf::from(&mount.source))?;
    Some(vec![device_name(kernel_number(device))])
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A `/sys` with a disk, its two partitions, a mapped device over one of them, an array over the other and
    /// a second disk, and a mapped device over both.
    fn made_up() -> tempfile::TempDir {
        let sys = tempfile::tempdir().unwrap();
        let at = |path: &str| sys.path().join("sys").join(path);
        fs::create_dir_all(at("class/block")).unwrap();
        for (name, folder) in [
            ("sda", "devices/pci/block/sda"),
            ("sda1", "devices/pci/block/sda/sda1"),
            ("sda2", "devices/pci/block/sda/sda2"),
            ("sdb", "devices/pci/block/sdb"),
            ("dm-0", "devices/virtual/block/dm-0"),
            ("dm-1", "devices/virtual/block/dm-1"),
            ("md0", "devices/virtual/block/md0"),
            ("loop0", "devices/virtual/block/loop0"),
        ] {
            fs::create_dir_all(at(folder)).unwrap();
            symlink(at(folder), at("class/block").join(name)).unwrap();
        }
        for partition in ["sda1", "sda2"] {
            fs::write(at("class/block").join(partition).join("partition"), "1\n").unwrap();
        }
        for (upper, lower) in
            [("dm-0", "sda1"), ("md0", "sdb"), ("md0", "sda2"), ("dm-1", "md0"), ("dm-1", "dm-0")]
        {
            let slaves = at("class/block").join(upper).join("slaves");
            fs::create_dir_all(&slaves).unwrap();
            symlink(at("class/block").join(lower), slaves.join(lower)).unwrap();
        }
        sys
    }

    #[test]
    fn partitions_lie_on_their_disk_and_mapped_devices_and_arrays_on_what_they_are_made_of() {
        let sys = made_up();
        for (name, expected) in [
            ("sda", &[][..]),
            ("sda1", &["sda"]),
            ("dm-0", &["sda1"]),
            ("md0", &["sda2", "sdb"]),
            ("dm-1", &["dm-0", "md0"]),
        ] {
            assert_eq!(below_in(&Root::captured(sys.path()), name).unwrap(), expected, "{name}");
        }
    }

    #[test]
    fn of_a_device_that_is_gone_or_a_name_that_is_a_path_nothing_is_said() {
        let sys = made_up();
        for name in ["sdz", "../block/sda", "8:1", ""] {
            assert_eq!(below_in(&Root::captured(sys.path()), name), None, "{name}");
        }
    }

    #[test]
    fn a_loop_device_lies_on_the_device_of_its_file_and_on_nothing_known_once_that_is_removed() {
        let sys = made_up();
        let root = Root::captured(sys.path());
        let folder = sys.path().join("sys/class/block/loop0/loop");
        fs::create_dir(&folder).unwrap();
        let file = sys.path().join("image with spaces");
        fs::write(&file, "").unwrap();
        fs::write(folder.join("backing_file"), format!("{}\n", file.display())).unwrap();
        assert_eq!(below_in(&root, "loop0"), below_file(&file));
        fs::write(folder.join("backing_file"), format!("{} (deleted)\n", file.display())).unwrap();
        assert_eq!(below_in(&root, "loop0"), None);
    }
}
