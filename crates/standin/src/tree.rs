//! The phone's files before anything is mounted.

use std::fs;
use std::io::Result;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use flashlag_need::find;

/// Tools that both Android's and Debian's toybox have.
const TOOLS: &str = "base64 basename blockdev cal cat chgrp chmod chown chrt cksum clear cmp comm \
    cp cpio cut date df dirname dmesg dos2unix du echo egrep env expand fallocate false fgrep file \
    find flock fmt free fsync getconf grep groups gunzip head hostname id ifconfig ionice iorenice \
    kill killall ln logname losetup ls lsmod lspci lsusb md5sum mkdir mkfifo mknod mktemp mount \
    mountpoint mv nc netcat netstat nice nl nohup nproc od paste patch pgrep pidof pkill pmap \
    printenv printf ps pwd readlink realpath renice rev rm rmdir sed seq setsid sha1sum sha224sum \
    sha256sum sha384sum sha512sum sleep sort split stat strings sync sysctl tac tail tar taskset \
    tee test time top touch true truncate tty ulimit umount uniq unix2dos unlink \
    uptime usleep uudecode uuencode vmstat wc which whoami xargs xxd yes zcat";

/// Tools that Android has and Debian's toybox lacks, or whose version misbehaves: its `timeout`
/// exits with 127 after a short command.
const OTHER_TOOLS: [&str; 5] = ["dd", "tr", "expr", "stty", "timeout"];

/// Libraries that a program linked on this machine may need.
const LIBRARIES: [&str; 4] = ["libgcc_s.so.1", "libpthread.so.0", "libdl.so.2", "librt.so.1"];

const FOLDERS: [&str; 18] = [
    "system/bin",
    "system/xbin",
    "system/etc",
    "vendor/bin",
    "odm/bin",
    "product",
    "data",
    "storage/emulated/0",
    "storage/self",
    "mnt/user/0",
    "mnt/runtime/default/emulated",
    "cache",
    "metadata",
    "proc",
    "sys",
    "dev",
    "lib64",
    ".phone/unreadable/folder",
];

const LINKS: [(&str, &str); 5] = [
    ("sdcard", "/storage/self/primary"),
    ("storage/self/primary", "/storage/emulated/0"),
    ("mnt/user/0/primary", "/storage/emulated/0"),
    ("bin", "/system/bin"),
    ("etc", "/system/etc"),
];

/// Makes the tree below `root`, without the tools with those names.
pub fn make(root: &Path, without: &[String]) -> Result<()> {
    for folder in FOLDERS {
        fs::create_dir_all(root.join(folder))?;
    }
    for (link, target) in LINKS {
        symlink(target, root.join(link))?;
    }
    mode(root, 0o755)?;
    let bin = root.join("system/bin");
    program("mksh-static", &bin.join("sh"))?;
    program("toybox", &bin.join("toybox"))?;
    let mut needed = libraries(&bin.join("toybox"));
    for tool in OTHER_TOOLS {
        if let Some(path) = find(tool).filter(|_| !without.iter().any(|name| name == tool)) {
            needed.extend(libraries(&path));
            copy(&path, &bin.join(tool))?;
        }
    }
    let beside = needed.iter().find(|path| path.ends_with("libc.so.6")).cloned();
    if let Some(folder) = beside.as_deref().and_then(Path::parent) {
        needed.extend(LIBRARIES.map(|name| folder.join(name)));
    }
    for library in needed {
        let into = root.join(library.strip_prefix("/").unwrap_or(&library));
        if library.is_file() && !into.exists() {
            fs::create_dir_all(into.parent().unwrap_or(root))?;
            copy(&library, &into)?;
        }
    }
    for tool in TOOLS.split_whitespace().filter(|tool| !without.iter().any(|name| name == tool)) {
        symlink("toybox", bin.join(tool))?;
    }
    users(root)?;
    let unreadable = root.join(".phone/unreadable");
    fs::write(unreadable.join("file"), "")?;
    mode(&unreadable.join("file"), 0o000)?;
    mode(&unreadable.join("folder"), 0o000)
}

/// The user names that `id` and `ls` print.
fn users(root: &Path) -> Result<()> {
    let users =
        [("root", 0), ("system", 1000), ("sdcard_rw", 1015), ("shell", super::space::SHELL)];
    let passwd = users.map(|(name, id)| format!("{name}:x:{id}:{id}::/:/system/bin/sh\n"));
    let group = users.map(|(name, id)| format!("{name}:x:{id}:\n"));
    fs::write(root.join("system/etc/passwd"), passwd.concat())?;
    fs::write(root.join("system/etc/group"), group.concat())
}

fn program(name: &str, into: &Path) -> Result<()> {
    let found = find(name).unwrap_or_else(|| PathBuf::from(name));
    copy(&found, into)
}

fn copy(from: &Path, into: &Path) -> Result<()> {
    flashlag_need::copy_program(from, into)?;
    mode(into, 0o755)
}

/// Sets the permission bits of a path.
pub fn mode(path: &Path, bits: u32) -> Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(bits))
}

/// Makes the user `shell` the owner of a path.
pub fn give(path: &Path) -> Result<()> {
    chown(path, Some(super::space::SHELL), Some(super::space::SHELL))
}

/// The libraries of a program, as `ldd` lists them.
fn libraries(program: &Path) -> Vec<PathBuf> {
    let Ok(output) = Command::new("ldd").arg(program).output() else { return Vec::new() };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let paths = text.split_whitespace().filter(|word| word.starts_with('/'));
    paths.map(PathBuf::from).collect()
}
