//! Devices' own reports.
//!
//! eMMC: JESD84-B51, EXT_CSD, which the kernel shows to root in debugfs. UFS:
//! Documentation/ABI/testing/sysfs-driver-ufs. NVMe: the parameter of the kernel's module.

use std::path::Path;

use flashlag_schema::internals::DeviceInternals;
use flashlag_spec::Reading;
use flashlag_units::{Bytes, Nanos};

use super::sd;
use crate::block::name;
use crate::disk::kind;
use crate::life::ufs_host;
use crate::reason::Reason;
use crate::root::Root;

/// The account of a disk.
pub(super) fn internals(root: &Root, disk: &Path) -> Result<DeviceInternals, Reason> {
    match kind(root, disk).as_str() {
        "emmc" => Ok(emmc(root, disk)),
        "sd" => root.line(disk.join("device/ssr")).and_then(|text| sd::of_register(&text)),
        "ufs" => ufs(root, disk),
        "nvme" => Ok(nvme(root)),
        other => Err(Reason::none(format!("a {other} disk reports nothing more"))),
    }
}

fn emmc(root: &Root, disk: &Path) -> DeviceInternals {
    let registers = ext_csd(root, disk);
    let byte = |index: usize| registers.as_ref().map(|bytes| bytes[index]).map_err(Clone::clone);
    let kib = || -> Result<Bytes, Reason> {
        let all = (249..253).map(byte).collect::<Result<Vec<u8>, Reason>>()?;
        let size = all.iter().rev().fold(0u64, |size, byte| size << 8 | u64::from(*byte));
        // The kernel interprets CACHE_SIZE as KiB (include/linux/mmc/card.h).
        Ok(Bytes::from_kib(size))
    };
    DeviceInternals::Emmc {
        command_queue: root.flag(disk.join("device/cmdq_en")),
        cache_bytes: kib().into(),
        cache_on: byte(33).map(|control| control & 1 == 1).into(),
        background_operations: byte(163).map(|enabled| enabled & 3 != 0).into(),
    }
}

/// The 512 registers as 1024 hexadecimal digits.
fn ext_csd(root: &Root, disk: &Path) -> Result<Vec<u8>, Reason> {
    let device = root.resolve(disk.join("device")).unwrap_or_else(|| disk.join("device"));
    let card = name(&device);
    let host = card.split(':').next().unwrap_or(&card);
    let text = root.line(format!("/sys/kernel/debug/{host}/{card}/ext_csd"))?;
    let digits = text.as_bytes();
    let pair = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(text, 16).ok()
    };
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(pair).collect();
    bytes.filter(|bytes| bytes.len() == 512).ok_or("EXT_CSD is not 512 bytes".into())
}

fn ufs(root: &Root, disk: &Path) -> Result<DeviceInternals, Reason> {
    let host = ufs_host(root, disk).ok_or("no UFS host above the disk")?;
    let in_host = |file: &str| host.join(file);
    Ok(DeviceInternals::Ufs {
        version: version(root, &in_host("device_descriptor/specification_version")).into(),
        write_booster: match root.flag(in_host("wb_on")) {
            Reading::Value(on) => Reading::Value(on),
            Reading::Unavailable { .. } => root.flag(in_host("flags/wb_enable")),
        },
        write_booster_free_percent: root
            .line(in_host("attributes/wb_avail_buf"))
            .and_then(|text| tenths(&text))
            .into(),
        host_map: root.flag(in_host("flags/hpb_enable")),
        gear: root.reading(in_host("power_info/gear")),
        lanes: root.number(in_host("power_info/lane")).into(),
        // In microseconds, 0 for off.
        sleeps_after_ns: root.number(in_host("auto_hibern8")).map(Nanos::from_micros).into(),
    })
}

/// `0x0310`: version 3.1.
fn version(root: &Root, file: &Path) -> Result<String, Reason> {
    let text = root.line(file)?;
    let code = text.strip_prefix("0x").and_then(|digits| u16::from_str_radix(digits, 16).ok());
    let code = code.ok_or_else(|| Reason::content(file, format!("is no version: {text:.40}")))?;
    Ok(format!("{}.{}", code >> 8, code >> 4 & 0xF))
}

/// `0x0A` is 100 %, `0x00` is 0 %.
fn tenths(text: &str) -> Result<u8, Reason> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let tenth = u8::from_str_radix(digits, 16).ok().filter(|tenth| *tenth <= 10);
    tenth.map(|tenth| tenth * 10).ok_or_else(|| Reason::none(format!("{text:.40} is no tenth")))
}

/// The kernel lets a disk enter only those sleep states whose wake-up takes less than this
/// parameter, in microseconds.
fn nvme(root: &Root) -> DeviceInternals {
    let file = "/sys/module/nvme_core/parameters/default_ps_max_latency_us";
    DeviceInternals::Nvme { wakes_within_ns: root.number(file).map(Nanos::from_micros).into() }
}
