//! What reviewers and papers measured on real devices: the project's own copy, with sources.

use std::sync::LazyLock;

use flashlag_schema::profile::Profile;
use flashlag_schema::scenario::Durability;
use flashlag_schema::{Run, State};

/// A published figure. MB is 10^6 bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// As it is called in the data: `nexus7-2012`.
    pub device: String,
    /// `Android 4.3`.
    pub os: String,
    /// `ext4`.
    pub filesystem: String,
    /// `new`, `filled-run-2`, `after-24h-idle-with-fstrim`, …
    pub condition: String,
    /// One of the four tests.
    pub workload: String,
    /// `throughput`, `IOPS`, `latency p50`.
    pub metric: String,
    /// Its value.
    pub value: f64,
    /// `MB/s`, `IOPS`, `ms`.
    pub unit: String,
    /// Who published it, and where.
    pub source: String,
    /// How it was measured, where that matters.
    pub note: String,
    /// How each write was made durable; `None` where nothing says, or it is no write.
    pub durable: Option<Durability>,
}

static PUBLISHED: LazyLock<Vec<Published>> =
    LazyLock::new(|| parse(include_str!("../data/published.csv")));

/// The project's own copy of the published figures it uses, each with its source.
pub fn published() -> &'static [Published] {
    &PUBLISHED
}

static OF_PROFILES: LazyLock<Vec<Published>> =
    LazyLock::new(|| parse(include_str!("../../../profiles/published.csv")));

/// The published figures that device profiles are held against.
pub fn published_of_profiles() -> &'static [Published] {
    &OF_PROFILES
}

fn parse(text: &str) -> Vec<Published> {
    text.lines().skip(1).filter_map(|line| row(&fields(line))).collect()
}

fn row(fields: &[String]) -> Option<Published> {
    let [device, os, filesystem, condition, workload, metric, value, unit, source, note, rest @ ..] =
        fields
    else {
        return None;
    };
    let durable = match rest.first().map(String::as_str) {
        Some("fsync") => Some(Durability::Fsync),
        Some("none") => Some(Durability::None),
        _ => None,
    };
    Some(Published {
        device: device.clone(),
        os: os.clone(),
        filesystem: filesystem.clone(),
        condition: condition.clone(),
        workload: workload.clone(),
        metric: metric.clone(),
        value: value.parse().ok()?,
        unit: unit.clone(),
        source: source.clone(),
        note: note.clone(),
        durable,
    })
}

/// The fields of a line of CSV; a quoted one may hold commas and doubled quotes.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                field.push('"');
                letters.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    fields.push(field);
    fields
}

impl Published {
    /// `Moto X, filled, run 2`; `the Android minimum`.
    pub fn title(&self) -> String {
        let device = device_name(&self.device);
        match condition_name(&self.condition) {
            Some(condition) => format!("{device}, {condition}"),
            None => device,
        }
    }

    /// Whether it was measured in that state. A minimum holds in every state; a device in use is in
    /// none of them.
    pub(crate) fn is_of(&self, state: State) -> bool {
        let condition = self.condition.as_str();
        match state {
            _ if condition == "-" => true,
            State::New => condition == "new",
            State::Filled => condition.starts_with("filled-"),
            State::Deleted => condition.starts_with("after-delete-"),
            State::Trimmed => condition == "trimmed",
            State::Idle => condition.contains("idle"),
        }
    }

    /// Megabytes a second; operations of 4,096 bytes are converted. `None` for a latency.
    pub fn mb_per_s(&self) -> Option<f64> {
        match self.unit.as_str() {
            "MB/s" => Some(self.value),
            "IOPS" => Some(self.value * 4096.0 / 1e6),
            _ => None,
        }
    }
}

/// The devices, as the data calls them, that a simulated run's profile stands for.
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
