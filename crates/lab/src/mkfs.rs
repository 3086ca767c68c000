//! Makes the filesystem on the host, in a sparse file that the device loads at its start.

use std::fs::File;
use std::path::Path;

use flashlag_device::ZoneGeometry;
use flashlag_units::Bytes;

use crate::error::LabError;
use crate::program::{BINDER, bounded, find_program, reason};
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
        _ => Err(LabError::Program { program, reason: reason(&output) }),
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
        // Quiet, it would say no reason either.
        Filesystem::F2fs => "-f".to_owned(),
        Filesystem::Btrfs | Filesystem::Xfs | Filesystem::Nilfs2 => "-q -f".to_owned(),
        Filesystem::Vfat => "-F 32".to_owned(),
        Filesystem::Exfat => String::new(),
        // `-F`: the image is no block device; `-f`: it is not filled with zeroes.
        Filesystem::Ntfs3 => "-q -F -f".to_owned(),
    };
    words.split_whitespace().map(str::to_owned).collect()
}

/// A segment of F2FS.
const SEGMENT: u64 = 2 << 20;
/// Blocks of a segment, entries of a block of the segments' table, and of the nodes' table.
const BLOCKS: u64 = 512;
const SEGMENTS_IN_BLOCK: u64 = 55;
const NODES_IN_BLOCK: u64 = 455;

/// What `mkfs.f2fs` takes of the conventional zones (`f2fs_prepare_super_block`): a zone for the superblocks, then
/// checkpoints and tables up to the next zone. A larger disk would hold files as well, which are to be on zones.
pub fn conventional(zones: &ZoneGeometry) -> Bytes {
    let stride = zones.stride().0;
    let segments = zones.end().0.saturating_sub(stride) / SEGMENT;
    let tables = |left: u64| {
        let segment_table = 2 * left.div_ceil(SEGMENTS_IN_BLOCK).div_ceil(BLOCKS);
        let nodes = left.saturating_sub(2 + segment_table) * BLOCKS;
        let node_table = 2 * nodes.div_ceil(NODES_IN_BLOCK).div_ceil(BLOCKS);
        let summaries = left.saturating_sub(2 + segment_table + node_table) + 1;
        2 + segment_table + node_table + summaries.div_ceil(BLOCKS)
    };
    let per_zone = (stride / SEGMENT).max(1);
    Bytes((1 + tables(segments).div_ceil(per_zone)) * stride)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conventional_zones_hold_what_mkfs_lays_there_and_no_more() {
        // By hand, of zones of 96 MiB that are 128 MiB apart: 5,376, 19,200 and 160,000 segments of zones.
        let needed = |count| {
            let (first, size) = (Bytes::from_mib(512), Bytes::from_mib(96));
            conventional(&ZoneGeometry { first, size, count, open: 6 }).0 >> 20
        };
        assert_eq!([84, 300, 2500].map(needed), [256, 384, 2304]);
    }
}
