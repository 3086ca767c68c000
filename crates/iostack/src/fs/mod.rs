//! Filesystems: which blocks are written where, and when.
//!
//! A filesystem only keeps track of blocks. It answers calls with plans; it never uses the device
//! and never waits.

mod btrfs;
mod error;
mod ext4;
mod f2fs;
mod map;
mod model;
mod raw;
mod space;
#[cfg(test)]
mod tests;

use flashlag_device::ZoneGeometry;
use flashlag_units::Bytes;

pub(crate) use self::error::LayoutError;
use crate::spec::{FilesystemKind, StackSpec};
pub use model::FileId;
pub(crate) use model::{AtomicWrite, BLOCK, Filesystem, NoSpace, Quiet, Reason, blocks};

/// Makes a filesystem on a device of this size, with zones or without.
pub(crate) fn make(
    spec: &StackSpec,
    capacity: Bytes,
    zones: Option<ZoneGeometry>,
) -> Result<Box<dyn Filesystem>, LayoutError> {
    check_zones(spec, zones)?;
    Ok(match spec.kind {
        FilesystemKind::Raw => Box::new(raw::Raw::new(capacity, spec)),
        FilesystemKind::Ext4 => Box::new(ext4::Ext4::new(capacity, spec)?),
        FilesystemKind::F2fs => Box::new(f2fs::F2fs::new(capacity, spec, zones)?),
        FilesystemKind::Btrfs => Box::new(btrfs::Btrfs::new(capacity, spec)?),
    })
}

/// Room for files on an empty filesystem, computed without its tables: a device may be too large to
/// be simulated and still need an answer.
pub(crate) fn room(
    spec: &StackSpec,
    capacity: Bytes,
    zones: Option<ZoneGeometry>,
) -> Result<Bytes, LayoutError> {
    check_zones(spec, zones)?;
    match spec.kind {
        FilesystemKind::F2fs => f2fs::F2fs::room(capacity, spec, zones),
        // The other filesystems need only a bit per block.
        _ => Ok(make(spec, capacity, zones)?.free()),
    }
}

/// Refuses what Linux does not mount on a zoned device: F2FS alone only appends there, as its options
/// allow.
fn check_zones(spec: &StackSpec, zones: Option<ZoneGeometry>) -> Result<(), LayoutError> {
    let Some(zones) = zones else { return Ok(()) };
    if spec.kind != FilesystemKind::F2fs {
        return Err(LayoutError::NotOnZones);
    }
    if !spec.ipu {
        return Err(LayoutError::OldOnZones);
    }
    if !spec.discard {
        return Err(LayoutError::NoReset);
    }
    if zones.open < LOGS {
        return Err(LayoutError::FewOpen { open: zones.open });
    }
    Ok(())
}

/// Logs of F2FS, each of which has a zone open (`active_logs`).
pub(crate) const LOGS: u32 = 6;
