//! What is lost if a drive is pulled out while it is mounted.

use std::path::Path;

use flashlag_schema::internals::Unplugged;
use flashlag_units::{Bytes, Nanos};

use super::memory::meminfo;
use crate::block::{Stack, stack_below};
use crate::disk;
use crate::filesystem::FilesystemStack;
use crate::mount::{Mount, mount_of};
use crate::reason::Reason;
use crate::root::Root;

/// A public volume of Android's vold: a card or a drive that other systems read, too.
const PUBLIC_VOLUME: &str = "/dev/block/vold/public:";

/// `None` for a drive that can't be pulled out, or whose disk is not known.
pub(super) fn unplugged(
    root: &Root,
    found: &Result<FilesystemStack, Reason>,
    stack: &Result<Stack, Reason>,
) -> Option<Unplugged> {
    let mount = &found.as_ref().ok()?.mount;
    let because = because(root, mount, stack)?;
    let (unwritten, of_all_storage) = unwritten(root, stack);
    Some(Unplugged {
        because: because.to_owned(),
        stays_ns: stays(root).into(),
        unwritten_bytes: unwritten.into(),
        unwritten_at_end_bytes: Err(Reason::none("it is read at the end of a run")).into(),
        of_all_storage,
    })
}

fn because(root: &Root, mount: &Mount, stack: &Result<Stack, Reason>) -> Option<&'static str> {
    if mount.source.starts_with(PUBLIC_VOLUME) {
        return Some("Android calls it a public volume");
    }
    let disks = &stack.as_ref().ok()?.disks;
    // Nobody pulls out the disk that the system runs from, and lives.
    let system = mount_of(root, Path::new("/")).and_then(|mount| stack_below(root, &mount));
    if system.is_ok_and(|system| disks.iter().any(|disk| system.disks.contains(disk))) {
        return None;
    }
    disks.iter().find_map(|node| match disk::kind(root, node).as_str() {
        "usb" => Some("it is on USB"),
        "sd" => Some("it is an SD card"),
        _ => (root.line(node.join("removable")).ok()? == "1").then_some("its medium is removable"),
    })
}

/// Documentation/admin-guide/sysctl/vm.rst: data as old as the first is written when a thread next
/// looks, which it does as often as the second says.
fn stays(root: &Root) -> Result<Nanos, Reason> {
    let centiseconds = |name: &str| root.number::<u64>(format!("/proc/sys/vm/{name}"));
    let (old, looks) =
        (centiseconds("dirty_expire_centisecs")?, centiseconds("dirty_writeback_centisecs")?);
    if looks == 0 {
        return Err(Reason::none(
            "the kernel never writes by itself: dirty_writeback_centisecs is 0",
        ));
    }
    Ok(Nanos::from_millis(old.saturating_add(looks).saturating_mul(10)))
}

/// What is written and not yet on the first disk of a stack, and whether that is of all storage.
pub(crate) fn unwritten(
    root: &Root,
    stack: &Result<Stack, Reason>,
) -> (Result<Bytes, Reason>, bool) {
    match of_disk(root, stack) {
        Some(bytes) => (Ok(bytes), false),
        None => (of_all(root), true),
    }
}

/// By the kernel's statistics of the disk's cache in debugfs.
fn of_disk(root: &Root, stack: &Result<Stack, Reason>) -> Option<Bytes> {
    let disk = stack.as_ref().ok()?.disks.first()?;
    let number = root.line(disk.join("dev")).ok()?;
    let text = root.line(format!("/sys/kernel/debug/bdi/{number}/stats")).ok()?;
    let kib = |name: &str| {
        let mut rest = text.lines().filter_map(|line| line.trim().strip_prefix(name));
        rest.next()?.trim_start_matches(':').split_whitespace().next()?.parse::<u64>().ok()
    };
    let both = kib("BdiReclaimable")?.saturating_add(kib("BdiWriteback")?);
    Some(Bytes::from_kib(both))
}

fn of_all(root: &Root) -> Result<Bytes, Reason> {
    Ok(meminfo(root, "Dirty")?.plus(meminfo(root, "Writeback")?))
}
