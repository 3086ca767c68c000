//! Which block device passes its requests on to which, from `/sys`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use flashlag_inspect::{Root, mount_of};

use crate::places::{block_device_of, device_name, is_storage, kernel_number};

/// The devices directly below a block device, by name; `None` where `/sys` does not say.
pub fn below(name: &str) -> Option<Vec<String>> {
    let folder = Path::new("/sys/class/block").join(name);
    // Names in `/sys` have no slash: the numbers of a filesystem without a device do not exist there.
    let real = folder.canonicalize().ok().filter(|_| !name.contains('/'))?;
    if real.join("partition").exists() {
        return Some(vec![real.parent()?.file_name()?.to_string_lossy().into_owned()]);
    }
    if let Ok(file) = fs::read_to_string(real.join("loop/backing_file")) {
        return below_file(Path::new(file.trim_end_matches('\n')));
    }
    let slaves = match fs::read_dir(real.join("slaves")) {
        Ok(slaves) => slaves,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(Vec::new()),
        Err(_) => return None,
    };
    let names = slaves.flatten().map(|slave| slave.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    Some(names)
}

/// The device that a loop device's file is on. The kernel's path may be of another namespace, or of a
/// file that was removed: then nobody knows.
fn below_file(file: &Path) -> Option<Vec<String>> {
    let status = fs::metadata(file).ok()?;
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
