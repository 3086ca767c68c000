//! Temperatures, and whether the CPUs are throttled by heat.

use std::path::{Path, PathBuf};

use flashlag_schema::counters::Throttle;

use crate::reason::Reason;
use crate::root::Root;

/// Plausible temperatures, in thousandths of a degree. A sensor that reads others is off or broken.
const PLAUSIBLE: std::ops::RangeInclusive<i64> = -50_000..=200_000;

/// The files of the machine's sensors, found once: a reading is then cheap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sensors {
    storage: Vec<PathBuf>,
    cpu: Vec<PathBuf>,
}

const STORAGE_ZONES: &[&str] = &["ufs", "emmc", "mmc", "nvme", "ssd", "sdcard"];
const CPU_ZONES: &[&str] = &["cpu", "x86_pkg_temp", "soc", "tsens", "cluster"];
const CPU_CHIPS: &[&str] = &["coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal"];

impl Sensors {
    /// Looks for sensors: on the disks themselves (NVMe and `drivetemp` hwmon), then thermal
    /// zones by their name.
    pub fn find(root: &Root, disks: &[PathBuf]) -> Sensors {
        let mut sensors = Sensors::default();
        for disk in disks {
            let device = disk.join("device");
            for above in [device.clone(), device.join("device"), device.join("hwmon")] {
                let chips = root.names(&above);
                let chips = chips.iter().filter(|chip| chip.starts_with("hwmon"));
                sensors.storage.extend(chips.map(|chip| above.join(chip).join("temp1_input")));
            }
        }
        for (zone, kind) in named(root, "/sys/class/thermal", "thermal_zone", "type") {
            let file = zone.join("temp");
            if STORAGE_ZONES.iter().any(|part| kind.contains(part)) {
                sensors.storage.push(file);
            } else if CPU_ZONES.iter().any(|part| kind.contains(part)) {
                sensors.cpu.push(file);
            }
        }
        for (chip, kind) in named(root, "/sys/class/hwmon", "hwmon", "name") {
            if CPU_CHIPS.contains(&kind.as_str()) {
                sensors.cpu.push(chip.join("temp1_input"));
            }
        }
        sensors.storage.retain(|file| root.has(file));
        sensors
    }

    /// The hottest storage sensor.
    pub fn storage(&self, root: &Root) -> Result<i64, Reason> {
        hottest(root, &self.storage).ok_or("no storage temperature sensor".into())
    }

    /// The hottest CPU sensor.
    pub fn cpu(&self, root: &Root) -> Result<i64, Reason> {
        hottest(root, &self.cpu).ok_or("no CPU temperature sensor".into())
    }
}

fn hottest(root: &Root, files: &[PathBuf]) -> Option<i64> {
    let read = files.iter().filter_map(|file| root.number::<i64>(file).ok());
    // A disabled zone reads 0.
    read.filter(|temperature| *temperature != 0 && PLAUSIBLE.contains(temperature)).max()
}

fn named(root: &Root, class: &str, prefix: &str, file: &str) -> Vec<(PathBuf, String)> {
    let entries = root.names(class).into_iter().filter(|entry| entry.starts_with(prefix));
    let entries = entries.map(|entry| Path::new(class).join(entry));
    let named = entries.filter_map(|entry| {
        let kind = root.line(entry.join(file)).ok()?;
        Some((entry, kind.to_ascii_lowercase()))
    });
    named.collect()
}

/// Reads all signs of throttling.
///
/// # Errors
/// The machine reports no usable sign: a count, a cooling state or a frequency limit.
pub(crate) fn throttle(root: &Root) -> Result<Throttle, Reason> {
    let cpus = root.names("/sys/devices/system/cpu");
    let is_cpu = |name: &&String| {
        let number = name.strip_prefix("cpu").unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let cpus: Vec<PathBuf> = cpus
        .iter()
        .filter(is_cpu)
        .map(|cpu| Path::new("/sys/devices/system/cpu").join(cpu))
        .collect();
    let each = |file: &str| -> Vec<u64> {
        cpus.iter().filter_map(|cpu| root.number(cpu.join(file)).ok()).collect()
    };
    let counts = each("thermal_throttle/core_throttle_count");
    let throttle = Throttle {
        core_throttle_count: (!counts.is_empty())
            .then(|| counts.iter().fold(0, |sum: u64, count| sum.saturating_add(*count))),
        cooling_state: cooling_state(root),
        frequency_limit_percent: cpus.iter().filter_map(|cpu| limit_percent(root, cpu)).min(),
        frequency_khz: each("cpufreq/scaling_cur_freq").into_iter().max(),
        undervoltage: undervoltage(root),
    };
    let can_be_judged = throttle.core_throttle_count.is_some()
        || throttle.cooling_state.is_some()
        || throttle.frequency_limit_percent.is_some();
    if can_be_judged {
        Ok(throttle)
    } else {
        Err("no throttle counters, cooling devices or cpufreq".into())
    }
}

fn undervoltage(root: &Root) -> Option<bool> {
    let chips = named(root, "/sys/class/hwmon", "hwmon", "name");
    let (chip, _) = chips.iter().find(|(_, kind)| kind == "rpi_volt")?;
    root.number::<u64>(chip.join("in0_lcrit_alarm")).ok().map(|alarm| alarm != 0)
}

fn limit_percent(root: &Root, cpu: &Path) -> Option<u8> {
    let most =
        root.number::<u64>(cpu.join("cpufreq/cpuinfo_max_freq")).ok().filter(|most| *most > 0)?;
    let limit = root.number::<u64>(cpu.join("cpufreq/scaling_max_freq")).ok()?;
    u8::try_from(u128::from(limit) * 100 / u128::from(most)).ok()
}

fn cooling_state(root: &Root) -> Option<u64> {
    let devices = named(root, "/sys/class/thermal", "cooling_device", "type");
    let slows = |kind: &str| kind.contains("cpu") || kind.contains("processor");
    let devices = devices.iter().filter(|(_, kind)| slows(kind));
    devices.filter_map(|(device, _)| root.number(device.join("cur_state")).ok()).max()
}
