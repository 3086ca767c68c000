//! Making the filesystem, on the host, in a sparse file that the device then begins with.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use flashlag_units::Bytes;

use crate::error::LabError;
use crate::spec::{Filesystem, LabSpec};

/// How long no `mkfs` takes on a sparse file.
const PATIENCE: &str = "120";

/// Makes the filesystem of `spec` in the file `image`, which is as large as the device.
///
/// # Errors
/// The program is not installed, or says no.
pub fn make_filesystem(spec: &LabSpec, image: &Path, size: Bytes) -> Result<(), LabError> {
    let file = File::create(image).map_err(LabError::file("create", image))?;
    file.set_len(size.0).map_err(LabError::file("size", image))?;
    drop(file);
    let (program, package) = (format!("mkfs.{}", spec.filesystem), package(spec.filesystem));
    // Where a user's PATH has no programs of the administrator, they are still there.
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("timeout");
    command.env("PATH", path).args(["-s", "KILL", PATIENCE, &program]);
    let output = command.args(options(spec)).arg(image).output();
    let output = output.map_err(|_| LabError::Missing {
        program: "timeout".to_owned(),
        package: "coreutils".to_owned(),
    })?;
    match output.status.code() {
        Some(0) => Ok(()),
        // `timeout` found no such program.
        Some(127) => Err(LabError::Missing { program, package: package.to_owned() }),
        _ => {
            let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(LabError::Program { program, reason })
        }
    }
}

/// The program that makes the filesystem of `spec`, what package has it, and its options.
pub fn make_command(spec: &LabSpec) -> (String, &'static str, Vec<&'static str>) {
    (format!("mkfs.{}", spec.filesystem), package(spec.filesystem), options(spec))
}

fn package(filesystem: Filesystem) -> &'static str {
    match filesystem {
        Filesystem::Ext4 => "e2fsprogs",
        Filesystem::F2fs => "f2fs-tools",
        Filesystem::Btrfs => "btrfs-progs",
        Filesystem::Xfs => "xfsprogs",
        Filesystem::Nilfs2 => "nilfs-tools",
    }
}

fn options(spec: &LabSpec) -> Vec<&'static str> {
    match spec.filesystem {
        // Blocks of 1 KiB on small disks are its own idea; phones have 4 KiB. Its tables are all
        // written now, not by a thread in the middle of a measurement.
        Filesystem::Ext4 => {
            let mut options = vec!["-q", "-F", "-b", "4096", "-E"];
            options.push("lazy_itable_init=0,lazy_journal_init=0,nodiscard");
            if spec.fast_commit {
                options.extend(["-O", "fast_commit"]);
            }
            options
        }
        Filesystem::F2fs => vec!["-q", "-f"],
        Filesystem::Btrfs => vec!["-q", "-f"],
        Filesystem::Xfs => vec!["-q", "-f"],
        Filesystem::Nilfs2 => vec!["-q", "-f"],
    }
}
