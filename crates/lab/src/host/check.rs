//! Whether this host can mount a target, checked before anything starts.

use std::path::Path;
use std::process::Command;

use crate::error::LabError;
use crate::mkfs::make_program;
use crate::program::find_program;
use crate::spec::{Filesystem, LabSpec};

/// Programs that mounting on the host needs, and their packages.
const PROGRAMS: [(&str, &str); 4] = [
    ("unshare", "util-linux"),
    ("setpriv", "util-linux"),
    ("losetup", "mount"),
    ("nbdfuse", "libnbd-bin"),
];
/// Drivers, each with the file by whose presence it is recognised.
const DRIVERS: [(&str, &str); 2] = [("/dev/fuse", "fuse"), ("/dev/loop-control", "loop")];

/// Checks that the host's own kernel can mount the filesystem of `spec`.
pub fn check_host(spec: &LabSpec) -> Result<(), LabError> {
    if !matches!(spec.filesystem, Filesystem::Ext4 | Filesystem::Btrfs | Filesystem::Xfs) {
        return Err(LabError::HostFilesystem(spec.filesystem));
    }
    if spec.encrypt.is_some() {
        return Err(LabError::HostEncryption);
    }
    if !rustix::process::geteuid().is_root() {
        return Err(LabError::NotRoot);
    }
    for (program, package) in PROGRAMS {
        find_program(program, package)?;
    }
    let (make, package) = make_program(spec);
    find_program(&make, package)?;
    for (program, package) in spec.above.iter().filter_map(|layer| layer.program()) {
        find_program(program, package)?;
    }
    for (file, module) in DRIVERS {
        has_driver(module, || Path::new(file).exists())?;
    }
    let kinds = spec.above.iter().filter_map(|layer| layer.module());
    for kind in kinds.chain([spec.filesystem.name()]) {
        has_driver(kind, || mounts(kind))?;
    }
    Ok(())
}

/// Checks that a driver is loaded, after a request to load it.
fn has_driver(module: &str, is_there: impl Fn() -> bool) -> Result<(), LabError> {
    if is_there() {
        return Ok(());
    }
    // The second look decides; modprobe itself may be missing.
    let _ = Command::new("modprobe").args(["--quiet", module]).output();
    if is_there() {
        return Ok(());
    }
    Err(LabError::NoDriver(module.to_owned()))
}

/// Whether the kernel can mount filesystems of this kind.
fn mounts(kind: &str) -> bool {
    let text = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    text.lines().any(|line| line.split_whitespace().last() == Some(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_a_guest_can_do_is_refused_on_the_host() {
        let error_of = |text| check_host(&LabSpec::parse(text).unwrap()).unwrap_err().to_string();
        assert!(error_of("zero+f2fs,host").contains("a guest mounts f2fs"));
        assert!(error_of("zero+ext4,encrypt,host").contains("leave out `host`, or `encrypt`"));
    }

    #[test]
    fn a_driver_that_is_not_there_is_named() {
        let error = has_driver("flashlag-no-such-driver", || false).unwrap_err().to_string();
        assert!(error.contains("no flashlag-no-such-driver"), "{error}");
        assert!(has_driver("flashlag-no-such-driver", || true).is_ok());
    }
}
