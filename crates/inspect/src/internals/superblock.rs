//! The features in ext4's superblock, which only root can read:
//! Documentation/filesystems/ext4/super.rst.

use std::path::Path;

use crate::reason::Reason;
use crate::root::Root;

/// The superblock's offset on the device, and its size.
const PLACE: u64 = 1024;
const SIZE: u64 = 1024;
const MAGIC: [u8; 2] = [0x53, 0xef];

/// Features by their word (compatible at 0x5C, incompatible at 0x60, read-only compatible at 0x64),
/// as e2fsprogs names them; only those that change what a write costs, or what a crash leaves.
const FEATURES: [(usize, u32, &str); 11] = [
    (0x5c, 0x0004, "has_journal"),
    (0x5c, 0x0400, "fast_commit"),
    (0x5c, 0x1000, "orphan_file"),
    (0x60, 0x0040, "extent"),
    (0x60, 0x8000, "inline_data"),
    (0x60, 0x1_0000, "encrypt"),
    (0x60, 0x2_0000, "casefold"),
    (0x64, 0x0200, "bigalloc"),
    (0x64, 0x0400, "metadata_csum"),
    (0x64, 0x8000, "verity"),
    (0x64, 0x0100, "quota"),
];

/// The features of the ext4 on a device.
pub(super) fn features(root: &Root, device: &str) -> Result<Vec<String>, Reason> {
    let path = Path::new("/dev").join(device);
    of_superblock(&root.bytes(&path, PLACE, SIZE)?)
        .ok_or_else(|| Reason::content(path, "has no superblock of ext4"))
}

fn of_superblock(bytes: &[u8]) -> Option<Vec<String>> {
    if bytes.get(0x38..0x3a)? != MAGIC {
        return None;
    }
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let mut found = Vec::new();
    for (at, bit, name) in FEATURES {
        if word(at)? & bit != 0 {
            found.push(name.to_owned());
        }
    }
    Some(found)
}
