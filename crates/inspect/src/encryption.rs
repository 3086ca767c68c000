//! Encryption between the application and the disk, as far as visible without root.

use std::path::Path;

use flashlag_schema::Encryption;
use rustix::fs::{AtFlags, CWD, StatxFlags};

use crate::block::{Stack, mapped_target, name};
use crate::cipher::{cipher, is_encrypted};
use crate::filesystem::FilesystemStack;
use crate::reason::Reason;
use crate::root::Root;
use crate::software::property;

/// All encryption found, joined by ` + `; `none seen` if all devices down to the disk are known and
/// show none. Encryption inside the disk is not visible.
pub(crate) fn encryption(
    root: &Root,
    directory: &Path,
    found: &Result<FilesystemStack, Reason>,
    stack: &Result<Stack, Reason>,
) -> Result<Encryption, Reason> {
    let found = found.as_ref().map_err(Clone::clone)?;
    let mut kinds: Vec<&str> = Vec::new();
    if found.above.iter().any(|mount| mount.kind == "ecryptfs") {
        kinds.push("ecryptfs");
    }
    if per_file(root, directory, found) {
        kinds.push("fscrypt");
    }
    for node in stack.iter().flat_map(|stack| &stack.mapped) {
        kinds.extend(mapped(root, node, found));
    }
    kinds.dedup();
    let mut mapped = stack.iter().flat_map(|stack| &stack.mapped);
    let crypt = mapped.find(|node| is_encrypted(root, node));
    let cipher = crypt.and_then(|node| cipher(root, node));
    match stack {
        Err(reason) if kinds.is_empty() => Err(reason.clone()),
        _ if kinds.is_empty() => Ok(Encryption { kind: "none seen".to_owned(), cipher: None }),
        _ => Ok(Encryption { kind: kinds.join(" + "), cipher }),
    }
}

/// fscrypt: according to the directory's statx attribute, or without it to Android's properties.
pub(crate) fn per_file(root: &Root, directory: &Path, found: &FilesystemStack) -> bool {
    if root.is_live() {
        // The same bit for every architecture: include/uapi/linux/stat.h, STATX_ATTR_ENCRYPTED.
        const ENCRYPTED: u64 = 0x800;
        let attributes = rustix::fs::statx(CWD, directory, AtFlags::empty(), StatxFlags::empty());
        if attributes.is_ok_and(|attributes| attributes.stx_attributes.bits() & ENCRYPTED != 0) {
            return true;
        }
    }
    let android_data = found.mount.mount_point == Path::new("/data");
    android_data && property(root, "ro.crypto.type").as_deref() == Some("file")
}

pub(crate) fn mapped(root: &Root, node: &Path, found: &FilesystemStack) -> Option<&'static str> {
    let target = mapped_target(root, node)?;
    if target == "crypt" {
        return Some("dm-crypt");
    }
    // vold names the mapped device after the partition. With file-based encryption that is metadata
    // encryption (dm-default-key); without it, the old full-disk encryption.
    let android_data = found.mount.mount_point == Path::new("/data");
    if android_data && target == "userdata" && name(node).starts_with("dm-") {
        return match property(root, "ro.crypto.type").as_deref() {
            Some("block") => Some("dm-crypt"),
            _ => Some("dm-default-key"),
        };
    }
    None
}
