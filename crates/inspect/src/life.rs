//! The wear that a disk reports.
//!
//! eMMC (JESD84-B51, EXT_CSD 267 to 269) and UFS (JESD220, Device Health Descriptor) report the
//! used share of rated life in tenths: 0x01 is 0 to 10 % used, 0x0A is 90 to 100 %, 0x0B is beyond.
//! 0x00 means "not defined", and is absent here.

use std::path::Path;

use flashlag_schema::DeviceLife;

use crate::block::name;
use crate::reason::Reason;
use crate::root::Root;

pub(crate) fn life(root: &Root, disk: &Path, kind: &str) -> Result<DeviceLife, Reason> {
    match kind {
        "emmc" => emmc(root, disk),
        "ufs" => ufs(root, disk),
        "nvme" => crate::nvme::life(root, disk),
        "sd" => Err("SD cards do not report their wear".into()),
        "sata" | "usb" => Err("its wear is in SMART, which needs root: see `smartctl`".into()),
        _ => Err(Reason::none(format!("a {kind} disk does not report its wear"))),
    }
}

/// `device/life_time` is `0x01 0x02`: memory of type A and B; the worse of the two counts.
fn emmc(root: &Root, disk: &Path) -> Result<DeviceLife, Reason> {
    let file = disk.join("device/life_time");
    let line = root.line(&file)?;
    let source = "eMMC life_time";
    let used = worst(line.split_whitespace(), source)?;
    let pre_eol = root.line(disk.join("device/pre_eol_info")).ok();
    Ok(DeviceLife {
        used_percent_at_most: used,
        pre_eol: pre_eol.and_then(|code| pre_eol_name(&code)),
        source: source.to_owned(),
        written_bytes: None,
    })
}

fn ufs(root: &Root, disk: &Path) -> Result<DeviceLife, Reason> {
    let host = ufs_host(root, disk).ok_or("no UFS host above the disk")?;
    let health = host.join("health_descriptor");
    let estimates = ["life_time_estimation_a", "life_time_estimation_b"];
    let read: Vec<_> = estimates.map(|file| root.line(health.join(file))).into();
    let known: Vec<&str> = read.iter().filter_map(|line| line.as_deref().ok()).collect();
    if known.is_empty() {
        return Err(read.into_iter().find_map(Result::err).unwrap_or(Reason::missing(health)));
    }
    let source = "UFS health descriptor";
    let used = worst(known.into_iter(), source)?;
    let pre_eol = root.line(health.join("eol_info")).ok();
    Ok(DeviceLife {
        used_percent_at_most: used,
        pre_eol: pre_eol.and_then(|code| pre_eol_name(&code)),
        source: source.to_owned(),
        written_bytes: None,
    })
}

/// The upper bound of the worst tenth reported; 110 % stands for "beyond".
fn worst<'a>(codes: impl Iterator<Item = &'a str>, source: &str) -> Result<u8, Reason> {
    let tenths = codes.filter_map(code).filter(|tenth| (0x01..=0x0B).contains(tenth));
    let worst = tenths
        .max()
        .ok_or_else(|| Reason::none(format!("{source}: the device leaves it undefined")))?;
    Ok(worst as u8 * 10)
}

fn code(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn pre_eol_name(text: &str) -> Option<String> {
    let name = match code(text)? {
        1 => "normal",
        2 => "warning",
        3 => "urgent",
        _ => return None,
    };
    Some(name.to_owned())
}

/// The UFS host controller of a SCSI disk: the ancestor that has the UFS descriptors or a UFS
/// controller's name.
pub(crate) fn ufs_host<'a>(root: &Root, disk: &'a Path) -> Option<&'a Path> {
    let is_host = |above: &&Path| {
        let named = name(above);
        root.has(above.join("health_descriptor"))
            || named.contains(".ufshc")
            || named.contains("ufshcd")
            || named.ends_with(".ufs")
    };
    disk.ancestors().skip(1).find(is_host)
}
