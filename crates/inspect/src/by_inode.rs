//! The path of a file by its inode number, on filesystems that can open files by number (ext4,
//! F2FS).
// The single system call here has no safe wrapper.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// `struct file_handle` (open_by_handle_at(2)) with the kernel's `FILEID_INO32_GEN`: inode number
/// and generation. Generation 0 matches any.
#[repr(C)]
struct Handle {
    bytes: u32,
    kind: i32,
    inode: u32,
    generation: u32,
}

/// The path of a file that the kernel still has in memory, below its filesystem's mount point. This
/// needs root, and reads no more of the filesystem than the inode.
pub fn path_of_inode(mount_point: &Path, inode: u64) -> Option<PathBuf> {
    let mount = File::open(mount_point).ok()?;
    let mut handle = Handle { bytes: 8, kind: 1, inode: inode.try_into().ok()?, generation: 0 };
    // SAFETY: open_by_handle_at reads a `struct file_handle` with as many bytes behind its head as the
    // head says, 8, which `Handle` has. The descriptor and the structure live until the call returns.
    let opened = unsafe {
        libc::syscall(
            libc::SYS_open_by_handle_at,
            mount.as_raw_fd(),
            &raw mut handle,
            libc::O_PATH | libc::O_CLOEXEC,
        )
    };
    let opened = i32::try_from(opened).ok().filter(|opened| *opened >= 0)?;
    // SAFETY: the call has just returned this descriptor, and nobody else has it.
    let opened = File::from(unsafe { OwnedFd::from_raw_fd(opened) });
    let status = opened.metadata().ok()?;
    if status.ino() != inode || status.dev() != mount.metadata().ok()?.dev() {
        return None;
    }
    let path = std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd())).ok()?;
    if status.nlink() == 0 {
        // The file was unlinked: the kernel appends this to the name.
        let name = path.to_str()?.strip_suffix(" (deleted)")?;
        return Some(PathBuf::from(name)).filter(|path| path.starts_with(mount_point));
    }
    // If a file's directory is not in memory, its path leads nowhere.
    let found = path.symlink_metadata().ok()?;
    (found.ino() == inode && found.dev() == status.dev()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_closed_is_found_by_its_number() {
        if !flashlag_need::root("opening a file by its inode's number") {
            return;
        }
        let folder = tempfile::TempDir::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("a file");
        std::fs::write(&path, "x").unwrap();
        let inode = path.metadata().unwrap().ino();
        let root = crate::Root::system();
        let mount = crate::mount_of(&root, folder.path()).unwrap();
        if !["ext2", "ext3", "ext4", "f2fs"].contains(&mount.kind.as_str()) {
            return flashlag_need::skip("opening by number needs ext4 or F2FS");
        }
        assert_eq!(path_of_inode(&mount.mount_point, inode), Some(path.clone()));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(path_of_inode(&mount.mount_point, inode), None);
        assert_eq!(path_of_inode(&mount.mount_point, u64::MAX), None);
    }
}
