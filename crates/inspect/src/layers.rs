//! The layers that a write passes through, from the path down to the disk.

use std::path::Path;

use flashlag_schema::{Layer, LayerKind};

use crate::below::Below;
use crate::block::{Stack, mapped_target, name};
use crate::disk;
use crate::encryption::{mapped, per_file};
use crate::filesystem::FilesystemStack;
use crate::mount::Mount;
use crate::reason::Reason;
use crate::root::Root;

/// The layers below a directory; empty if not even its mount is known.
pub(crate) fn layers(
    root: &Root,
    directory: &Path,
    found: &Result<FilesystemStack, Reason>,
    stack: &Result<Stack, Reason>,
) -> Vec<Layer> {
    let Ok(found) = found else { return Vec::new() };
    let mut layers = Vec::new();
    for mount in &found.above {
        bind(mount, &mut layers);
        layers.push(filesystem(mount, kind_above(mount)));
    }
    bind(&found.mount, &mut layers);
    if per_file(root, directory, found) {
        layers.push(layer(LayerKind::FileEncryption, "fscrypt", None));
    }
    layers.push(filesystem(&found.mount, kind_of(&found.mount, stack.is_ok())));
    let Ok(stack) = stack else { return layers };
    partition(root, &stack.top, &mut layers);
    let mut below = stack.filesystems.iter();
    for node in &stack.mapped {
        layers.push(device(root, node, found));
        if name(node).starts_with("loop")
            && let Some(mount) = below.next()
        {
            layers.push(filesystem(mount, LayerKind::Filesystem));
        }
        for slave in Below::of(root, node).devices() {
            partition(root, &slave, &mut layers);
        }
    }
    layers.extend(stack.disks.iter().map(|node| whole_disk(root, node)));
    layers
}

fn layer(kind: LayerKind, name: impl Into<String>, detail: Option<String>) -> Layer {
    Layer { kind, name: name.into(), detail }
}

/// A bind mount of a part of a filesystem, if the kernel reports it.
fn bind(mount: &Mount, layers: &mut Vec<Layer>) {
    if mount.root != Path::new("/") {
        let at = mount.mount_point.to_string_lossy();
        layers.push(layer(LayerKind::Bind, at, Some(mount.root.to_string_lossy().into_owned())));
    }
}

fn filesystem(mount: &Mount, kind: LayerKind) -> Layer {
    layer(kind, mount.mount_point.to_string_lossy(), Some(mount.kind.clone()))
}

fn kind_above(mount: &Mount) -> LayerKind {
    if mount.kind.starts_with("fuse") { LayerKind::Fuse } else { LayerKind::Stacked }
}

fn kind_of(mount: &Mount, is_on_a_device: bool) -> LayerKind {
    match mount.kind.as_str() {
        "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" | "rootfs" => LayerKind::Memory,
        kind if is_on_a_device && !kind.starts_with("fuse") => LayerKind::Filesystem,
        "overlay" => LayerKind::Stacked,
        "9p" | "virtiofs" => LayerKind::Remote,
        kind if ["nfs", "cifs", "smb", "ceph", "fuse.sshfs"]
            .iter()
            .any(|one| kind.starts_with(one)) =>
        {
            LayerKind::Remote
        }
        kind if kind.starts_with("fuse") => LayerKind::Fuse,
        _ => LayerKind::Filesystem,
    }
}

fn partition(root: &Root, node: &Path, layers: &mut Vec<Layer>) {
    if root.has(node.join("partition")) {
        layers.push(layer(LayerKind::Partition, name(node), None));
    }
}

fn device(root: &Root, node: &Path, found: &FilesystemStack) -> Layer {
    let named = name(node);
    if let Some(encryption) = mapped(root, node, found) {
        return layer(LayerKind::BlockEncryption, named, Some(encryption.to_owned()));
    }
    if let Ok(level) = root.line(node.join("md/level")) {
        return layer(LayerKind::Raid, named, Some(level));
    }
    if named.starts_with("loop") {
        return layer(LayerKind::Loop, named, root.line(node.join("loop/backing_file")).ok());
    }
    let target = mapped_target(root, node);
    let kind = if target.as_deref() == Some("lvm") { LayerKind::Volume } else { LayerKind::Mapped };
    layer(kind, named, target)
}

fn whole_disk(root: &Root, node: &Path) -> Layer {
    let kind = disk::kind(root, node);
    let model = disk::model(root, node, &kind);
    let detail = model.value().map_or_else(|| kind.clone(), |model| format!("{kind}, {model}"));
    layer(LayerKind::Disk, name(node), Some(detail))
}
