//! The mount of a directory, from `/proc/self/mountinfo`. Format:
//! Documentation/filesystems/proc.rst, section 3.5.

use std::ffi::OsStr;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};

use crate::reason::Reason;
use crate::root::Root;

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The mount's number.
    pub id: u64,
    /// `major:minor` of the superblock; major 0 if there is no block device below.
    pub device: (u32, u32),
    /// The mounted part of the filesystem: not `/` for a bind mount or a subvolume.
    pub root: PathBuf,
    /// Where the filesystem is seen.
    pub mount_point: PathBuf,
    /// The filesystem's type.
    pub kind: String,
    /// What was mounted: a device, or any other word.
    pub source: String,
    /// Options of the mount and of the filesystem.
    pub options: Vec<String>,
}

impl Mount {
    /// The value of `name=value` in the options.
    pub fn option(&self, name: &str) -> Option<&str> {
        let mut values = self.options.iter().filter_map(|option| option.strip_prefix(name));
        values.find_map(|rest| rest.strip_prefix('='))
    }
}

/// All mounts, in the order of mounting. Malformed lines are skipped.
pub fn mounts(root: &Root) -> Result<Vec<Mount>, Reason> {
    let text = root.line("/proc/self/mountinfo")?;
    Ok(text.lines().filter_map(parse).collect())
}

/// The mount of `directory`: on this machine as the kernel reports it; in a captured tree the mount
/// with the longest mount point above it, the last one if several cover each other.
pub fn mount_of(root: &Root, directory: &Path) -> Result<Mount, Reason> {
    let mut mounts = mounts(root)?;
    let known = root.is_live().then(|| mount_id(directory)).flatten();
    if let Some(index) = known.and_then(|id| mounts.iter().position(|mount| mount.id == id)) {
        return Ok(mounts.swap_remove(index));
    }
    let resolved = root.is_live().then(|| directory.canonicalize().ok()).flatten();
    let directory = resolved.unwrap_or_else(|| directory.to_owned());
    let above = mounts.into_iter().filter(|mount| directory.starts_with(&mount.mount_point));
    above.max_by_key(|mount| mount.mount_point.components().count()).ok_or_else(|| {
        Reason::none(format!("no mount in /proc/self/mountinfo holds {}", directory.display()))
    })
}

/// The kernel's own answer, in `/proc/self/fdinfo` since Linux 3.15. It is right for bind mounts,
/// stacked mounts and subvolumes, where paths and device numbers mislead.
fn mount_id(directory: &Path) -> Option<u64> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = rustix::fs::openat(CWD, directory, flags, Mode::empty()).ok()?;
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", open.as_raw_fd())).ok()?;
    info.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse().ok()
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
fn parse(line: &str) -> Option<Mount> {
    let mut fields = line.split(' ').filter(|field| !field.is_empty());
    let id = fields.next()?.parse().ok()?;
    let (major, minor) = fields.nth(1)?.split_once(':')?;
    let device = (major.parse().ok()?, minor.parse().ok()?);
    let root = path(fields.next()?);
    let mount_point = path(fields.next()?);
    let mount_options = fields.next()?;
    let mut fields = fields.skip_while(|field| *field != "-").skip(1);
    let kind = unescape(fields.next()?);
    let source = unescape(fields.next()?);
    let mut options: Vec<String> = Vec::new();
    for option in mount_options.split(',').chain(fields.next().unwrap_or("").split(',')) {
        let option = unescape(option);
        if !option.is_empty() && !options.contains(&option) {
            options.push(option);
        }
    }
    Some(Mount { id, device, root, mount_point, kind, source, options })
}

fn path(field: &str) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(&unescape_bytes(field)))
}

fn unescape(field: &str) -> String {
    String::from_utf8_lossy(&unescape_bytes(field)).into_owned()
}

/// Space, tab, newline, `#` and backslash are written as three octal digits.
fn unescape_bytes(field: &str) -> Vec<u8> {
    let bytes = field.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match octal(bytes.get(at + 1..at + 4)) {
            Some(byte) if bytes[at] == b'\\' => {
                plain.push(byte);
                at += 4;
            }
            _ => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    plain
}

fn octal(digits: Option<&[u8]>) -> Option<u8> {
    let value = digits?.iter().try_fold(0u32, |value, digit| {
        matches!(digit, b'0'..=b'7').then(|| value * 8 + u32::from(digit - b'0'))
    })?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_in_mount_points_are_decoded() {
        let mount =
            parse("36 35 98:0 / /mnt/my\\040card\\134x rw - ext4 /dev/root rw,a=b").unwrap();
        assert_eq!(mount.mount_point, Path::new("/mnt/my card\\x"));
        assert_eq!(mount.options, ["rw", "a=b"]);
        assert_eq!(mount.option("a"), Some("b"));
    }

    #[test]
    fn optional_fields_are_skipped_whatever_their_number() {
        for tags in ["", "shared:1 ", "shared:1 master:2 propagate_from:3 "] {
            let mount = parse(&format!("1 0 8:1 / / rw {tags}- ext4 /dev/sda1 rw")).unwrap();
            assert_eq!((mount.kind.as_str(), mount.source.as_str()), ("ext4", "/dev/sda1"));
        }
    }

    #[test]
    fn a_broken_escape_stays_as_it_is() {
        assert_eq!(unescape("a\\04"), "a\\04");
        assert_eq!(unescape("a\\999"), "a\\999");
        assert_eq!(unescape("\\777"), "\\777");
    }
}
