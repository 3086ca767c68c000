//! The kind of a disk, and its own description.

use std::path::Path;

use flashlag_schema::{Device, Queue};
use flashlag_spec::Reading;
use flashlag_units::Bytes;

use crate::block::{Stack, name};
use crate::life::life;
use crate::life::ufs_host;
use crate::reason::Reason;
use crate::root::Root;

/// Describes the first disk of a stack.
pub(crate) fn device(root: &Root, stack: &Result<Stack, Reason>) -> Device {
    let stack = match stack {
        Ok(stack) => stack,
        Err(reason) => return absent(&reason.to_string()),
    };
    let Some(disk) = stack.disks.first() else { return absent("no disk was found") };
    let kind = kind(root, disk);
    Device {
        name: Reading::Value(name(disk)),
        model: model(root, disk, &kind),
        firmware: firmware(root, disk),
        size_bytes: root.number(disk.join("size")).map(sectors).into(),
        queue: queue(root, disk),
        life: life(root, disk, &kind).into(),
        kind: Reading::Value(kind),
        stack: between(stack),
    }
}

fn between(stack: &Stack) -> Vec<String> {
    let mut between = stack.between.clone();
    if stack.disks.len() > 1 {
        let disks: Vec<String> = stack.disks.iter().map(|disk| name(disk)).collect();
        between.push(format!("{} disks: {}", disks.len(), disks.join(", ")));
    }
    between
}

fn absent(reason: &str) -> Device {
    let missing = || Reading::unavailable(reason);
    Device {
        name: missing(),
        kind: missing(),
        model: missing(),
        firmware: missing(),
        size_bytes: Reading::unavailable(reason),
        queue: Queue {
            write_cache: missing(),
            fua: Reading::unavailable(reason),
            scheduler: missing(),
            rotational: Reading::unavailable(reason),
            logical_block_bytes: Reading::unavailable(reason),
            physical_block_bytes: Reading::unavailable(reason),
            discard_max_bytes: Reading::unavailable(reason),
            requests: Reading::unavailable(reason),
        },
        life: Reading::unavailable(reason),
        stack: Vec::new(),
    }
}

/// sysfs counts 512-byte sectors, whatever the device's block size is.
fn sectors(count: u64) -> Bytes {
    Bytes(count.saturating_mul(512))
}

/// Kernel names that imply the kind.
const BY_NAME: &[(&str, &str)] = &[
    ("loop", "loop"),
    ("zram", "zram"),
    ("ram", "ram"),
    ("nvme", "nvme"),
    ("nbd", "nbd"),
    ("ublk", "ublk"),
    ("rbd", "network"),
    ("pmem", "pmem"),
    ("mtdblock", "mtd"),
    ("ubiblock", "mtd"),
    ("xvd", "xen"),
    ("dm-", "device-mapper"),
    ("md", "raid"),
    ("bcache", "bcache"),
    ("fd", "floppy"),
    ("sr", "optical"),
];

/// The kind of a disk (`emmc`, `sd`, `ufs`, `nvme`, `sata`, `usb`, `virtio`, …): by the device's
/// own attributes, then by its bus.
pub(crate) fn kind(root: &Root, disk: &Path) -> String {
    match root.line(disk.join("device/type")).as_deref() {
        Ok("MMC") => return "emmc".to_owned(),
        Ok("SD") => return "sd".to_owned(),
        _ => {}
    }
    let path = disk.to_string_lossy();
    let hangs_on = |prefix: &str| {
        let numbered = |part: &str| {
            part.strip_prefix(prefix)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        path.split('/').any(numbered)
    };
    // Check before the name: a virtio-scsi disk is `sda`, and so is a UFS unit.
    let bus = if hangs_on("virtio") {
        "virtio"
    } else if ufs_host(root, disk).is_some() {
        "ufs"
    } else if hangs_on("usb") {
        "usb"
    } else if hangs_on("ata") {
        "sata"
    } else if path.contains("/VMBUS:") || path.contains("/vmbus") {
        "hyper-v"
    } else {
        let device = name(disk);
        let known = BY_NAME.iter().find(|(prefix, _)| device.starts_with(prefix));
        return known.map_or("scsi or other", |(_, kind)| kind).to_owned();
    };
    bus.to_owned()
}

pub(crate) fn model(root: &Root, disk: &Path, kind: &str) -> Reading<String> {
    if kind == "loop" {
        let file = root.line(disk.join("loop/backing_file"));
        return file.map(|file| format!("file {file}")).into();
    }
    let device = disk.join("device");
    if matches!(kind, "emmc" | "sd") {
        let manufacturer = root.line(device.join("manfid"));
        let manufacturer = manufacturer.map(|id| format!(" (manufacturer {id})"));
        let model = root.line(device.join("name"));
        return model.map(|name| name + &manufacturer.unwrap_or_default()).into();
    }
    let vendor = root.line(device.join("vendor")).ok();
    // A virtio disk has a PCI ID here, and all ATA disks say ATA: neither is a vendor.
    let vendor = vendor.filter(|vendor| !vendor.starts_with("0x") && vendor != "ATA");
    match root.line(device.join("model")) {
        Ok(model) => Reading::Value(match vendor {
            Some(vendor) => format!("{vendor} {model}"),
            None => model,
        }),
        Err(_) => Reading::unavailable(format!("a {kind} disk reports no model")),
    }
}

fn firmware(root: &Root, disk: &Path) -> Reading<String> {
    let names = ["firmware_rev", "fwrev", "rev"];
    let found = names.iter().find_map(|file| root.line(disk.join("device").join(file)).ok());
    found.ok_or("the disk reports no firmware revision").into()
}

fn queue(root: &Root, disk: &Path) -> Queue {
    let file = |file: &str| disk.join("queue").join(file);
    let flag = |name: &str| -> Reading<bool> {
        root.number::<u64>(file(name)).map(|number| number != 0).into()
    };
    let bytes = |name: &str| -> Reading<Bytes> { root.number(file(name)).map(Bytes).into() };
    Queue {
        write_cache: root.reading(file("write_cache")),
        fua: flag("fua"),
        scheduler: root.line(file("scheduler")).map(|line| chosen(&line)).into(),
        rotational: flag("rotational"),
        logical_block_bytes: bytes("logical_block_size"),
        physical_block_bytes: bytes("physical_block_size"),
        discard_max_bytes: bytes("discard_max_bytes"),
        requests: root.number(file("nr_requests")).into(),
    }
}

/// `none [mq-deadline] kyber` → `mq-deadline`; a line without brackets is the only choice.
pub(crate) fn chosen(line: &str) -> String {
    let inside = line.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(line, |(chosen, _)| chosen).to_owned()
}
