//! The cipher of an encrypted device: from the header of its LUKS volume, which root can read;
//! otherwise the only disk cipher that the kernel has in use.
//!
//! LUKS1: On-Disk Format Specification 1.2.3. LUKS2: On-Disk Format Specification 1.1.3.
//! `/proc/crypto`: Documentation/crypto/userspace-if.rst and crypto/proc.c.

use std::path::Path;

use crate::below::Below;
use crate::block::name;
use crate::root::Root;

/// The binary header of a LUKS2 volume and the smallest JSON area; LUKS1's header is smaller.
const HEAD: u64 = 16 << 10;
/// Where the JSON area begins.
const JSON: usize = 4096;
const MAGIC: &[u8; 6] = b"LUKS\xba\xbe";

/// `aes-xts-plain64`; `None` if neither source has it.
pub(crate) fn cipher(root: &Root, mapped: &Path) -> Option<String> {
    let lower = Below::of(root, mapped).devices();
    let names = lower.iter().filter_map(|node| node.file_name());
    let heads = names.filter_map(|name| root.bytes(Path::new("/dev").join(name), 0, HEAD).ok());
    heads.filter_map(|head| of_luks(&head)).next().or_else(|| in_use(root))
}

fn of_luks(head: &[u8]) -> Option<String> {
    if head.get(..6)? != MAGIC {
        return None;
    }
    match head.get(6..8)? {
        [0, 1] => Some(format!("{}-{}", text(head.get(8..40)?)?, text(head.get(40..72)?)?)),
        [0, 2] => {
            let json = text(head.get(JSON..)?)?;
            // Skip the key slots, which are encrypted by a cipher of their own.
            let (_, segments) = json.split_once("\"segments\"")?;
            let (_, value) = segments.split_once("\"encryption\":\"")?;
            let (cipher, _) = value.split_once('"')?;
            named(cipher)
        }
        _ => None,
    }
}

/// Zero-terminated text.
fn text(bytes: &[u8]) -> Option<&str> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    std::str::from_utf8(&bytes[..end]).ok().filter(|text| !text.is_empty())
}

/// A plausible name: no other text from a device is passed on.
fn named(cipher: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_:(),".contains(c);
    let is_name = !cipher.is_empty() && cipher.len() <= 64 && cipher.chars().all(plain);
    is_name.then(|| cipher.to_owned())
}

/// Modes that dm-crypt is used with.
const OF_DISKS: [&str; 3] = ["xts(", "adiantum(", "cbc("];

/// `xts(aes) by xts-aes-aesni`: the only cipher of this kind with a user.
fn in_use(root: &Root) -> Option<String> {
    let all = root.line("/proc/crypto").ok()?;
    let of_disks = all.split("\n\n").filter_map(|one| {
        let value = |key: &str| {
            let mut lines = one.lines().filter_map(|line| line.split_once(':'));
            lines.find(|(found, _)| found.trim() == key).map(|(_, value)| value.trim())
        };
        let cipher =
            value("name").filter(|name| OF_DISKS.iter().any(|mode| name.starts_with(mode)))?;
        // The module itself holds one reference.
        let users: u64 = value("refcnt")?.parse().ok().filter(|count| *count > 1)?;
        (value("internal") != Some("yes")).then_some((cipher, value("driver")?, users))
    });
    let mut of_disks = of_disks.collect::<Vec<_>>();
    let (cipher, driver, _) = of_disks.pop().filter(|_| of_disks.is_empty())?;
    Some(format!("{} by {}", named(cipher)?, named(driver)?))
}

/// Whether the layers of encryption name this device.
pub(crate) fn is_encrypted(root: &Root, node: &Path) -> bool {
    name(node).starts_with("dm-")
        && crate::block::mapped_target(root, node).as_deref() == Some("crypt")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn the_head_of_a_first_luks_volume_names_cipher_and_mode() {
        let mut head = [0u8; 592];
        head[..6].copy_from_slice(MAGIC);
        head[7] = 1;
        head[8..11].copy_from_slice(b"aes");
        head[40..51].copy_from_slice(b"xts-plain64");
        assert_eq!(of_luks(&head).unwrap(), "aes-xts-plain64");
        assert_eq!(of_luks(&head[..60]), None, "cut off");
        head[7] = 9;
        assert_eq!(of_luks(&head), None, "another version");
        assert_eq!(of_luks(b"no volume at all"), None);
    }

    #[test]
    fn a_cipher_counts_as_in_use_only_where_it_is_the_only_one() {
        let tree = tempfile::tempdir().unwrap();
        let entry = |name: &str, count: u32| {
            format!(
                "name         : {name}\ndriver       : d-{}\nrefcnt       : {count}\n\n",
                &name[..3]
            )
        };
        let seen = |entries: &[(&str, u32)]| {
            std::fs::create_dir_all(tree.path().join("proc")).unwrap();
            let text: String = entries.iter().map(|(name, count)| entry(name, *count)).collect();
            std::fs::write(tree.path().join("proc/crypto"), text).unwrap();
            in_use(&Root::captured(tree.path()))
        };
        assert_eq!(seen(&[("xts(aes)", 3), ("sha256", 9)]).unwrap(), "xts(aes) by d-xts");
        assert_eq!(seen(&[("xts(aes)", 1)]), None, "nobody uses it");
        assert_eq!(seen(&[("xts(aes)", 3), ("adiantum(xchacha12,aes,nhpoly1305)", 2)]), None);
    }
}
