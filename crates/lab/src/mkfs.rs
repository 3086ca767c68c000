//! Makes the filesystem on the host, in a sparse file that the device loads at its start.

use std::fs::File;
use std::path::Path;

use flashlag_units::Bytes;

use crate::error::LabError;
use crate::program::{BINDER, bounded, find_program};
use crate::spec::{Filesystem, LabSpec};

/// Limit for `mkfs` on a sparse file.
const PATIENCE: &str = "120";

/// Makes the filesystem of `spec` in the file `image`, which is as large as the device.
pub fn make_filesystem(spec: &LabSpec, image: &Path, size: Bytes) -> Result<(), LabError> {
    let file = File::create(image).map_err(LabError::file("create", image))?;
    file.set_len(size.0).map_err(LabError::file("size", image))?;
    drop(file);
    let (program, package) = make_program(spec);
    let make = find_program(&program, package)?;
    let output = bounded(&make, PATIENCE).args(make_options(spec, size)).arg(image).output();
    let output = output.map_err(|_| LabError::Missing {
        program: BINDER.to_owned(),
        package: "util-linux".to_owned(),
    })?;
    match output.status.code() {
        Some(0) => Ok(()),
        _ => {
            let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(LabError::Program { program, reason })
        }
    }
}

/// The program that makes the filesystem of `spec`, and its Debian package.
pub fn make_program(spec: &LabSpec) -> (String, &'static str) {
    let made = match spec.filesystem {
        Filesystem::Ntfs3 => "ntfs",
        other => other.name(),
    };
    (format!("mkfs.{made}"), package(spec.filesystem))
}

/// The Debian package with the programs of a filesystem.
pub(crate) fn package(filesystem: Filesystem) -> &'static str {
    match filesystem {
        Filesystem::Ext4 => "e2fsprogs",
        Filesystem::F2fs => "f2fs-tools",
        Filesystem::Btrfs => "btrfs-progs",
        Filesystem::Xfs => "xfsprogs",
        Filesystem::Nilfs2 => "nilfs-tools",
        Filesystem::Vfat => "dosfstools",
        Filesystem::Exfat => "exfatprogs",
        Filesystem::Ntfs3 => "ntfs-3g",
    }
}

/// The program's options for a device of this size.
pub fn make_options(spec: &LabSpec, size: Bytes) -> Vec<String> {
    let words = match spec.filesystem {
        // As phones have it (`make_ext4fs`): blocks of 4 KiB on small disks too, nothing reserved
        // for root, a journal of 1/64 of the device but 128 MiB at most. All tables are written now,
        // not by a kernel thread during a measurement.
        Filesystem::Ext4 => {
            let journal = (size.0 / 64).clamp(4 << 20, 128 << 20) >> 20;
            let features = if spec.fast_commit { " -O fast_commit" } else { "" };
            format!(
                "-q -F -b 4096 -m 0 -J size={journal} \
                 -E lazy_itable_init=0,lazy_journal_init=0,nodiscard{features}"
            )
        }
        Filesystem::F2fs | Filesystem::Btrfs | Filesystem::Xfs | Filesystem::Nilfs2 => {
            "-q -f".to_owned()
        }
        Filesystem::Vfat => "-F 32".to_owned(),
        Filesystem::Exfat => String::new(),
        // `-F`: the image is no block device; `-f`: it is not filled with zeroes.
        Filesystem::Ntfs3 => "-q -F -f".to_owned(),
    };
    words.split_whitespace().map(str::to_owned).collect()
}
