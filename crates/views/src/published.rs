//! Published figures in words.

use flashlag_schema::Run;
use flashlag_spec::profile::Profile;
use flashlag_spec::published::Published;

/// `Moto X, filled, run 2`; `the Android minimum`.
pub(crate) fn title(row: &Published) -> String {
    let device = device_name(&row.device);
    match condition_name(&row.condition) {
        Some(condition) => format!("{device}, {condition}"),
        None => device,
    }
}

/// The devices in the published data that a simulated run's profile models.
pub(crate) fn own_devices(run: &Run) -> Vec<String> {
    let Some(record) = &run.target.profile else { return Vec::new() };
    let checks = Profile::parse(&record.text).map(|profile| profile.checks).unwrap_or_default();
    let devices = checks.into_iter().map(|check| check.device);
    devices.chain([record.name.clone()]).collect()
}

fn device_name(device: &str) -> String {
    let name = match device {
        "nexus7-2012" => "Nexus 7 (2012)",
        "moto-x-2013" => "Moto X",
        "nexus5-2013" => "Nexus 5",
        "pixel-2016" => "Pixel",
        "moto-z-2016" => "Moto Z",
        "microsd/samsung-evo+-32" => "a Samsung EVO+ card",
        "microsd/sandisk-extreme-pro-a1-32" => "a SanDisk Extreme Pro A1 card",
        "microsd/sandisk-ultra-16" => "a SanDisk Ultra card",
        "microsd/toshiba-c10-16" => "a Toshiba class 10 card",
        "android-cdd-8-handheld-minimum" => "the Android minimum (CDD 8.2)",
        "sd-a1-minimum" => "the SD A1 minimum",
        "sd-a2-minimum" => "the SD A2 minimum",
        other => other,
    };
    name.to_owned()
}

fn condition_name(condition: &str) -> Option<String> {
    if let Some((state, run)) = condition.split_once("-run-") {
        let state = if state == "filled" { "filled" } else { "after deleting" };
        return Some(format!("{state}, run {run}"));
    }
    match condition {
        "-" => None,
        "after-24h-idle-with-fstrim" => Some("after a day idle with trim".to_owned()),
        "after-one-day-of-torture" => Some("after a day of torture".to_owned()),
        other => Some(other.replace('-', " ")),
    }
}
