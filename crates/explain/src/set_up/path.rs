//! What the layers between a path and its disk say.

use flashlag_schema::LayerKind;
use flashlag_schema::finding::{Fact, Finding, FindingId, Severity};
use flashlag_schema::internals::{FilesystemInternals, PortableFormat};

use super::rule::{Rule, Seen, fact, found, of_layer};

pub(super) const RULES: &[Rule] =
    &[fuse, fuse_driver, software_encryption, loop_device, virtual_disk, not_on_flash, overlay];

fn fuse(seen: &Seen<'_>) -> Option<Finding> {
    if of_fuse_driver(seen).is_some() {
        return None;
    }
    let by_kind = || {
        let kind = seen.kind().filter(|kind| kind.starts_with("fuse"))?;
        Some(fact("filesystem.kind", kind))
    };
    let evidence = seen.layer(LayerKind::Fuse).map(of_layer).or_else(by_kind)?;
    Some(found(FindingId::FuseOnPath, Severity::Costly, COST_OF_FUSE, vec![evidence]))
}

const COST_OF_FUSE: &str =
    "profiles/pixel-2016.toml: slower by up to 30 % as published, 0.1 ms a call as assumed there";

/// A daemon in the place of a driver of the kernel's.
fn fuse_driver(seen: &Seen<'_>) -> Option<Finding> {
    let evidence = vec![fact("internals.filesystem.format", of_fuse_driver(seen)?.name())];
    Some(found(FindingId::FuseDriver, Severity::Costly, COST_OF_FUSE, evidence))
}

fn of_fuse_driver(seen: &Seen<'_>) -> Option<PortableFormat> {
    match seen.filesystem()? {
        // Android chooses the driver, and no owner mounts it otherwise: there it is a daemon on the path.
        FilesystemInternals::Portable { format, by_fuse: true, .. } if !seen.is_android() => {
            Some(*format)
        }
        _ => None,
    }
}

/// Encryption of a block device, or of files, on a CPU without instructions for AES.
fn software_encryption(seen: &Seen<'_>) -> Option<Finding> {
    let layer = seen.layer(LayerKind::BlockEncryption).or(seen.layer(LayerKind::FileEncryption))?;
    // Inline encryption in the storage controller takes no CPU time.
    if seen.option(|option| option == "inlinecrypt").is_some() {
        return None;
    }
    let aes = seen.internals()?.aes_instructions.value()?;
    (!aes).then(|| {
        found(
            FindingId::SoftwareEncryption,
            Severity::Costly,
            "Adiantum (Crowley and Biggers, 2018): AES-XTS without instructions is 5 times slower on ARM",
            vec![of_layer(layer), fact("internals.aes_instructions", "none")],
        )
    })
}

fn loop_device(seen: &Seen<'_>) -> Option<Finding> {
    let layer = seen.layer(LayerKind::Loop)?;
    Some(misleading(
        FindingId::LoopDevice,
        "each write passes a second filesystem",
        of_layer(layer),
    ))
}

fn virtual_disk(seen: &Seen<'_>) -> Option<Finding> {
    let kind = seen.disk().filter(|kind| matches!(*kind, "virtio" | "xen" | "hyper-v" | "nbd"));
    let evidence = match (kind, seen.0.software.virtualized.value()) {
        (Some(kind), _) => fact("device.kind", kind),
        (None, Some(true)) if seen.disk().is_some() => {
            fact("software.virtualized", "a hypervisor is below")
        }
        _ => return None,
    };
    let source = "the host's caches, limits and other guests answer, not the flash";
    Some(misleading(FindingId::VirtualDisk, source, evidence))
}

fn not_on_flash(seen: &Seen<'_>) -> Option<Finding> {
    let layer = seen.layer(LayerKind::Memory).or(seen.layer(LayerKind::Remote))?;
    Some(misleading(
        FindingId::NotOnFlash,
        "no block device of this machine is below",
        of_layer(layer),
    ))
}

fn overlay(seen: &Seen<'_>) -> Option<Finding> {
    let mut stacked = seen.0.layers.iter().filter(|layer| layer.kind == LayerKind::Stacked);
    let layer = stacked.find(|layer| layer.detail.as_deref() == Some("overlay"))?;
    Some(found(
        FindingId::Overlay,
        Severity::Minor,
        "Documentation/filesystems/overlayfs.rst: copy up before the first change of a file",
        vec![of_layer(layer)],
    ))
}

fn misleading(id: FindingId, source: &str, evidence: Fact) -> Finding {
    found(id, Severity::Misleading, source, vec![evidence])
}
