//! Opens directories and keeps descriptors, so that nobody can replace a part of the path in
//! between.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, StatxAttributes, StatxFlags, fstat, fstatfs,
    openat, statx,
};
use rustix::io::Errno;

/// Opens a directory that a user named: symbolic links on the way are the user's choice.
pub(crate) fn open_parent(path: &Path) -> Result<OwnedFd, Errno> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    openat(CWD, path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

/// Opens a directory below `parent`, by its name alone, and only if it really is a directory there
/// and nothing is mounted on it.
///
/// # Errors
/// `LOOP` or `NOTDIR` for a symbolic link, `XDEV` for a mount point.
pub(crate) fn open_below(parent: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = openat(parent, name, flags, Mode::empty())?;
    if fstat(&directory)?.st_dev != fstat(parent)?.st_dev || is_mount_root(&directory) {
        return Err(Errno::XDEV);
    }
    Ok(directory)
}

/// Recognises a bind mount of the same filesystem, which has the same device number. Kernels before 5.8
/// don't say.
fn is_mount_root(directory: &OwnedFd) -> bool {
    let seen = statx(directory, "", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS);
    seen.is_ok_and(|seen| seen.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

/// Whether other machines may use the filesystem at the same time: a network filesystem, or one
/// served by a program (FUSE), which may be anything.
pub(crate) fn is_shared(directory: &OwnedFd) -> bool {
    // NFS, SMB 1 to 3, 9P, FUSE and virtiofs, Ceph, Lustre, GFS2, OCFS2, AFS.
    const SHARED: [u32; 10] = [
        0x6969,
        0xff53_4d42,
        0xfe53_4d42,
        0x0102_1997,
        0x6573_5546,
        0x00c3_6400,
        0x0bd0_0bd0,
        0x0116_1970,
        0x7461_636f,
        0x5346_414f,
    ];
    // The field's width differs between architectures; the numbers have 32 bits.
    fstatfs(directory).is_ok_and(|found| SHARED.contains(&(found.f_type as u32)))
}

/// Makes the names in a directory durable. Filesystems that can't sync a directory return `EINVAL`.
pub(crate) fn sync_directory(directory: &OwnedFd) -> Result<(), Errno> {
    match rustix::fs::fsync(directory) {
        Err(Errno::INVAL) => Ok(()),
        other => other,
    }
}

/// Whether two descriptors are the same directory.
pub(crate) fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

pub(crate) fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// Calls `take` with every name in a directory, except `.` and `..`. A name that is not UTF-8 can't
/// be flashlag's and comes with the invalid bytes replaced.
pub(crate) fn for_each_name(
    directory: &OwnedFd,
    mut take: impl FnMut(&str, bool),
) -> Result<(), Errno> {
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let bytes = entry.file_name().to_bytes();
        match std::str::from_utf8(bytes) {
            Ok("." | "..") => {}
            Ok(name) => take(name, true),
            Err(_) => take(&String::from_utf8_lossy(bytes), false),
        }
    }
    Ok(())
}
