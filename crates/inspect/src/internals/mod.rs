//! What filesystem, device and memory report about themselves.

mod databases;
mod device;
mod extents;
mod filesystem;
mod memory;
mod sd;
mod superblock;
mod unplugged;

use std::path::Path;

use flashlag_schema::internals::{Databases, Internals};
use flashlag_units::Nanos;

pub use extents::reach;
pub(crate) use memory::meminfo;
pub use memory::{memory_pressure, unwritten_memory};
pub(crate) use unplugged::unwritten;

use crate::block::{Stack, name};
use crate::filesystem::FilesystemStack;
use crate::reason::Reason;
use crate::root::Root;
use crate::thermal::throttle;

/// The state below a directory. What can't be read is absent, with the reason.
pub(crate) fn internals(
    root: &Root,
    directory: &Path,
    found: &Result<FilesystemStack, Reason>,
    stack: &Result<Stack, Reason>,
) -> Internals {
    let top = stack.as_ref().map(|stack| name(&stack.top)).map_err(Clone::clone);
    let mount = found.as_ref().map(|found| &found.mount).map_err(Clone::clone);
    let disk = stack.as_ref().map_err(Clone::clone);
    let disk = disk
        .and_then(|stack| stack.disks.first().cloned().ok_or(Reason::from("no disk was found")));
    Internals {
        filesystem: mount.and_then(|mount| filesystem::internals(root, mount, top)).into(),
        device: disk.and_then(|disk| device::internals(root, &disk)).into(),
        memory: memory::state(root),
        trimmed_before_ns: trimmed(root).into(),
        aes_instructions: aes(root).into(),
        thermal: throttle(root).into(),
        databases: searched(root, directory, false).into(),
        unplugged: unplugged::unplugged(root, found, stack),
    }
}

/// The databases below a directory; a captured tree does not contain them.
pub(crate) fn searched(root: &Root, directory: &Path, named: bool) -> Result<Databases, Reason> {
    if !root.is_live() {
        return Err("a captured tree has no files of apps".into());
    }
    databases::databases(directory, named)
}

/// systemd's timer leaves an empty file, whose modification time is that of its last run.
fn trimmed(root: &Root) -> Result<Nanos, Reason> {
    const STAMP: &str = "/var/lib/systemd/timers/stamp-fstrim.timer";
    let enabled = ["/etc/systemd/system/timers.target.wants/fstrim.timer"];
    if !enabled.iter().any(|path| root.is_there(Path::new(path))) {
        return Err("no timer of systemd trims here".into());
    }
    root.age(Path::new(STAMP))
        .ok_or_else(|| Reason::content(STAMP, "is not there: the timer is on, and has not run"))
}

/// Instructions for AES: `aes` among x86's flags and ARM's features.
fn aes(root: &Root) -> Result<bool, Reason> {
    let text = root.line("/proc/cpuinfo")?;
    let lists = text.lines().filter_map(|line| line.split_once(':'));
    let mut lists = lists.filter(|(key, _)| matches!(key.trim(), "flags" | "Features"));
    let (_, list) =
        lists.next().ok_or_else(|| Reason::content("/proc/cpuinfo", "lists no features"))?;
    Ok(list.split_whitespace().any(|word| word == "aes"))
}
