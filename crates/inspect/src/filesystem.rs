//! The filesystem that holds a directory, and what is above and below it.

use std::path::{Path, PathBuf};

use flashlag_schema::{Filesystem, Reading};
use flashlag_units::Bytes;

use crate::block::{Stack, name};
use crate::mount::{Mount, mount_of};
use crate::root::Root;

/// Filesystems on filesystems that are followed down.
const DEEPEST: usize = 8;

/// The filesystem on the device, and those that lie above it, from the top.
pub(crate) struct FilesystemStack {
    pub mount: Mount,
    pub above: Vec<Mount>,
}

/// Follows pass-through filesystems (overlay, ecryptfs, sdcardfs, Android's FUSE) down to the one
/// that stores.
pub(crate) fn find(root: &Root, directory: &Path) -> Result<FilesystemStack, String> {
    let mut mount = mount_of(root, directory)?;
    let mut above: Vec<Mount> = Vec::new();
    while let Some(lower) = lower_directory(root, &mount) {
        let Ok(below) = mount_of(root, &lower) else { break };
        let turns = below.id == mount.id || above.iter().any(|seen| seen.id == below.id);
        if turns || above.len() >= DEEPEST {
            break;
        }
        above.push(std::mem::replace(&mut mount, below));
    }
    Ok(FilesystemStack { mount, above })
}

/// The directory in which a pass-through filesystem keeps its files, if visible.
fn lower_directory(root: &Root, mount: &Mount) -> Option<PathBuf> {
    let lower = match mount.kind.as_str() {
        "overlay" => PathBuf::from(mount.option("upperdir")?),
        "ecryptfs" | "sdcardfs" | "esdfs" => PathBuf::from(&mount.source),
        // Android serves shared storage through MediaProvider's FUSE daemon over /data/media
        // (source.android.com, "FUSE passthrough").
        "fuse" if mount.source == "/dev/fuse" && is_shared_storage(&mount.mount_point) => {
            PathBuf::from("/data/media")
        }
        _ => return None,
    };
    let seen = lower.is_absolute() && (!root.is_live() || lower.exists());
    seen.then_some(lower)
}

fn is_shared_storage(mount_point: &Path) -> bool {
    let emulated = mount_point.ends_with("emulated");
    emulated && ["/storage", "/mnt"].iter().any(|parent| mount_point.starts_with(parent))
}

/// The filesystem as a run file stores it.
pub(crate) fn filesystem(
    root: &Root,
    directory: &Path,
    found: &Result<FilesystemStack, String>,
    stack: &Result<Stack, String>,
) -> Filesystem {
    let size = size(root, directory);
    let size = |pick: fn(&(Bytes, Bytes, Bytes)) -> Bytes| -> Reading<Bytes> {
        size.as_ref().map(pick).map_err(Clone::clone).into()
    };
    let mount = found.as_ref().map(|found| &found.mount);
    let text = |pick: fn(&Mount) -> String| -> Reading<String> {
        mount.map(pick).map_err(Clone::clone).into()
    };
    Filesystem {
        kind: text(|mount| mount.kind.clone()),
        mount_point: text(|mount| mount.mount_point.to_string_lossy().into_owned()),
        source: text(|mount| mount.source.clone()),
        options: mount.map(|mount| mount.options.clone()).map_err(Clone::clone).into(),
        total_bytes: size(|size| size.0),
        free_bytes: size(|size| size.1),
        block_bytes: size(|size| size.2),
        layers: layers(found, stack),
    }
}

fn layers(found: &Result<FilesystemStack, String>, stack: &Result<Stack, String>) -> Vec<String> {
    let above = found.iter().flat_map(|found| &found.above);
    let above = above.map(|mount| mount.kind.clone());
    let below = stack.iter().flat_map(|stack| {
        let loops = stack.mapped.iter().map(|node| name(node));
        let loops = loops.filter(|device| device.starts_with("loop"));
        let below = stack.filesystems.iter().zip(loops);
        below.map(|(mount, device)| format!("{} below {device}", mount.kind))
    });
    above.chain(below).collect()
}

/// Size, space free for this user, and allocation block.
fn size(root: &Root, directory: &Path) -> Result<(Bytes, Bytes, Bytes), String> {
    if !root.is_live() {
        return Err("a captured tree has no sizes".to_owned());
    }
    let status = rustix::fs::statvfs(directory)
        .map_err(|error| format!("statvfs {}: {error}", directory.display()))?;
    let blocks = |count: u64| Bytes(count.saturating_mul(status.f_frsize));
    Ok((blocks(status.f_blocks), blocks(status.f_bavail), Bytes(status.f_frsize)))
}
