//! Findings from what the device and the memory report.

use flashlag_schema::finding::{Finding, FindingId, Severity};
use flashlag_schema::internals::DeviceInternals;
use flashlag_units::Bytes;

use super::rule::{Rule, Seen, fact, found};

pub(super) const RULES: &[Rule] =
    &[worn, cache_off, write_booster, no_app_class, scheduler, swapping, held_back];

/// Share of the rated life, in percent, from which a device may slow down and fail.
const WORN_PERCENT: u8 = 80;
/// Memory swapped out to disks above which returning to an app reads from the flash.
const SWAPPED: Bytes = Bytes(64 << 20);
/// CPU frequency limit, in percent, below which saves slow down noticeably.
const HELD_PERCENT: u8 = 80;
/// Share of time in which some task waits for memory, in hundredths of a percent, that is
/// noticeable.
const PRESSED: u64 = 100;

fn worn(seen: &Seen<'_>) -> Option<Finding> {
    let life = seen.0.device.life.value()?;
    let warned = life.pre_eol.as_deref().filter(|state| *state != "normal");
    if life.used_percent_at_most < WORN_PERCENT && warned.is_none() {
        return None;
    }
    let used = format!("at most {}% of the rated life used", life.used_percent_at_most);
    let mut evidence = vec![fact("device.life.used_percent_at_most", used)];
    evidence.extend(warned.map(|state| fact("device.life.pre_eol", state)));
    Some(found(
        FindingId::WornFlash,
        Severity::Danger,
        "JESD84-B51 and JESD220: life time estimation and pre-EOL information",
        evidence,
    ))
}

fn cache_off(seen: &Seen<'_>) -> Option<Finding> {
    let DeviceInternals::Emmc { cache_bytes, cache_on, .. } = seen.device()? else { return None };
    let size = cache_bytes.value().filter(|size| size.0 > 0)?;
    (cache_on.value() == Some(&false)).then(|| {
        found(
            FindingId::DeviceCacheOff,
            Severity::Minor,
            "JESD84-B51, 6.6.31: writes wait for the flash where the cache is off",
            vec![fact("internals.device.cache_on", format!("off, of {size}"))],
        )
    })
}

fn write_booster(seen: &Seen<'_>) -> Option<Finding> {
    let DeviceInternals::Ufs { write_booster, write_booster_free_percent, .. } = seen.device()?
    else {
        return None;
    };
    let evidence = match (write_booster.value(), write_booster_free_percent.value()) {
        (Some(false), _) => fact("internals.device.write_booster", "off"),
        (Some(true), Some(0)) => {
            fact("internals.device.write_booster_free_percent", "none of the buffer is free")
        }
        _ => return None,
    };
    Some(found(
        FindingId::WriteBoosterOff,
        Severity::Minor,
        "JESD220-3: WriteBooster writes to single-level cells first",
        vec![evidence],
    ))
}

fn no_app_class(seen: &Seen<'_>) -> Option<Finding> {
    let DeviceInternals::Sd { app_class, .. } = seen.device()? else { return None };
    (app_class.value() == Some(&0)).then(|| {
        found(
            FindingId::NoAppClass,
            Severity::Costly,
            "SD Physical Layer 5.1: class A1 promises 500 random writes a second, others nothing",
            vec![fact("internals.device.app_class", "none")],
        )
    })
}

/// A disk with many queues needs no I/O scheduler; eMMC and SD cards have one queue.
fn scheduler(seen: &Seen<'_>) -> Option<Finding> {
    let scheduler = seen.0.device.queue.scheduler.value()?;
    (seen.disk() == Some("nvme") && matches!(scheduler.as_str(), "bfq" | "cfq")).then(|| {
        found(
            FindingId::Scheduler,
            Severity::Minor,
            "Documentation/block/bfq-iosched.rst: its cost for each request caps fast devices",
            vec![fact("device.queue.scheduler", scheduler)],
        )
    })
}

fn swapping(seen: &Seen<'_>) -> Option<Finding> {
    let memory = &seen.internals()?.memory;
    let swapped = memory.swapped_to_disk_bytes.value().filter(|bytes| **bytes >= SWAPPED)?;
    let pressed = memory.pressure.value().filter(|one| one.avg10_hundredths >= PRESSED)?;
    let waited = format!("{}% of the last 10 s", pressed.avg10_hundredths / 100);
    Some(found(
        FindingId::Swapping,
        Severity::Costly,
        "Documentation/accounting/psi.rst: tasks waited for memory",
        vec![
            fact("internals.memory.swapped_to_disk_bytes", swapped.to_string()),
            fact("internals.memory.pressure", waited),
        ],
    ))
}

/// Heat, or a weak power supply, that throttles the machine now.
fn held_back(seen: &Seen<'_>) -> Option<Finding> {
    let thermal = seen.internals()?.thermal.value()?;
    let limit = thermal.frequency_limit_percent.filter(|limit| *limit < HELD_PERCENT);
    let evidence = match (thermal.undervoltage, thermal.cooling_state, limit) {
        (Some(true), ..) => fact("internals.thermal.undervoltage", "the supply's voltage is low"),
        (_, Some(state), Some(limit)) if state > 0 => fact(
            "internals.thermal.frequency_limit_percent",
            format!("{limit}%, with cooling at step {state}"),
        ),
        _ => return None,
    };
    Some(found(
        FindingId::Throttled,
        Severity::Costly,
        "Documentation/driver-api/thermal/sysfs-api.rst: cooling devices; cpufreq limits",
        vec![evidence],
    ))
}
