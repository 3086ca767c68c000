//! The filesystem that holds a directory, and the layers above and below it.

use std::path::{Path, PathBuf};

use flashlag_schema::Filesystem;
use flashlag_spec::Reading;
use flashlag_units::Bytes;

use crate::block::{Stack, name};
use crate::mount::{Mount, mount_of, mounts};
use crate::quota::quotas;
use crate::reason::Reason;
use crate::root::Root;

/// Most stacked filesystems to follow.
const DEEPEST: usize = 8;

/// The filesystem on the device, and those stacked above it, from the top.
pub(crate) struct FilesystemStack {
    pub mount: Mount,
    pub above: Vec<Mount>,
}

/// Follows pass-through filesystems (overlay, ecryptfs, sdcardfs, Android's FUSE) down to the one
/// that stores the files.
pub(crate) fn find(root: &Root, directory: &Path) -> Result<FilesystemStack, Reason> {
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
        // A card used as portable storage: vold mounts it below /mnt/media_rw for the daemon only.
        "fuse" if mount.source == "/dev/fuse" && mount.mount_point.starts_with("/storage") => {
            let card = Path::new("/mnt/media_rw").join(mount.mount_point.file_name()?);
            return is_mounted(root, &card).then_some(card);
        }
        _ => return None,
    };
    // The user `shell` may not look into /mnt/media_rw, and still sees what is mounted there.
    let is_there = || lower.exists() || is_mounted(root, &lower);
    let seen = lower.is_absolute() && (!root.is_live() || is_there());
    seen.then_some(lower)
}

/// Whether a filesystem is mounted at a path.
fn is_mounted(root: &Root, path: &Path) -> bool {
    mounts(root).is_ok_and(|mounts| mounts.iter().any(|mount| mount.mount_point == path))
}

fn is_shared_storage(mount_point: &Path) -> bool {
    let emulated = mount_point.ends_with("emulated");
    emulated && ["/storage", "/mnt"].iter().any(|parent| mount_point.starts_with(parent))
}

/// The filesystem as a run file stores it.
pub(crate) fn filesystem(
    root: &Root,
    directory: &Path,
    found: &Result<FilesystemStack, Reason>,
    stack: &Result<Stack, Reason>,
) -> Filesystem {
    let size = size(root, directory);
    let size = |pick: fn(&(Bytes, Bytes, Bytes)) -> Bytes| -> Reading<Bytes> {
        size.as_ref().map(pick).map_err(Clone::clone).into()
    };
    let mount = found.as_ref().map(|found| &found.mount);
    let top = stack.as_ref().ok().map(|stack| name(&stack.top));
    let text = |pick: fn(&Mount) -> String| -> Reading<String> {
        mount.map(pick).map_err(Clone::clone).into()
    };
    Filesystem {
        kind: text(|mount| mount.kind.clone()),
        mount_point: text(|mount| mount.mount_point.to_string_lossy().into_owned()),
        source: text(|mount| mount.source.clone()),
        options: mount.map(|mount| mount.options.clone()).map_err(Clone::clone).into(),
        read_only: read_only(root, found, stack),
        quotas: mount.map(|mount| quotas(root, mount, top.as_deref())).unwrap_or_default(),
        total_bytes: size(|size| size.0),
        free_bytes: size(|size| size.1),
        block_bytes: size(|size| size.2),
        layers: layers(found, stack),
    }
}

/// Why nothing can be written: a mount option on the way, or a device below.
fn read_only(
    root: &Root,
    found: &Result<FilesystemStack, Reason>,
    stack: &Result<Stack, Reason>,
) -> Option<String> {
    let found = found.as_ref().ok()?;
    // Since Linux 6.15, ext4 keeps `rw` after an error and adds `emergency_ro`.
    let is_of_refusal = |option: &&String| matches!(option.as_str(), "ro" | "emergency_ro");
    let mut mounts = found.above.iter().chain([&found.mount]);
    let refusing = mounts.find_map(|mount| {
        let option = mount.options.iter().find(is_of_refusal)?;
        Some(format!("{} is mounted with the option {option}", mount.mount_point.display()))
    });
    refusing.or_else(|| {
        let stack = stack.as_ref().ok()?;
        let mut nodes = [&stack.top].into_iter().chain(&stack.mapped).chain(&stack.disks);
        let node = nodes.find(|node| root.line(node.join("ro")).is_ok_and(|flag| flag == "1"))?;
        Some(format!("the block device {} is read-only", name(node)))
    })
}

fn layers(found: &Result<FilesystemStack, Reason>, stack: &Result<Stack, Reason>) -> Vec<String> {
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
fn size(root: &Root, directory: &Path) -> Result<(Bytes, Bytes, Bytes), Reason> {
    if !root.is_live() {
        return Err("a captured tree has no sizes".into());
    }
    let status = rustix::fs::statvfs(directory)
        .map_err(|error| Reason::call("statvfs", directory, error))?;
    if status.f_blocks == 0 {
        return Err("the filesystem reports no size".into());
    }
    let blocks = |count: u64| Bytes(count.saturating_mul(status.f_frsize));
    Ok((blocks(status.f_blocks), blocks(status.f_bavail), Bytes(status.f_frsize)))
}
