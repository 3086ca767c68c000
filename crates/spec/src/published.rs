//! What reviewers and papers measured on real devices: the project's own copy, with sources, in
//! `profiles/published.csv`.
//!
//! A row has two uses. A run is [compared](compared) with the figures of other devices; a device
//! profile is [checked](checked) against the figures of its own device. A limit that a review only
//! mentions is not a figure to check a model against, and a variant of a device with another chip
//! is not a separate device to compare a run with.

use std::sync::LazyLock;

use crate::packed::{PackedText, packed};
use crate::scenario::Durability;
use crate::words::State;

/// A published figure. MB is 10^6 bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Published {
    /// The device's key in the data: `nexus7-2012`.
    pub device: String,
    /// `Android 4.3`.
    pub os: String,
    /// `ext4`.
    pub filesystem: String,
    /// `new`, `filled-run-2`, `after-24h-idle-with-fstrim`, `in use`, …
    pub condition: String,
    /// The test: `rand_write_4k`, `write 4096 B`, …
    pub workload: String,
    /// `throughput`, `IOPS`, `latency p50`, `throughput change`.
    pub metric: String,
    /// The value, in `unit`.
    pub value: f64,
    /// `MB/s`, `IOPS`, `ms`, `%`.
    pub unit: String,
    pub source: String,
    /// The method of measurement, if it matters.
    pub note: String,
    /// The way in which each write was made durable; `None` if unknown, and for reads.
    pub durable: Option<Durability>,
    /// Whether runs are compared with it.
    pub is_compared: bool,
    /// Whether profiles are checked against it.
    pub is_checked: bool,
}

static FILE: PackedText = packed!("profiles/published.csv");
static ALL: LazyLock<Vec<Published>> = LazyLock::new(|| parse(&FILE));
static COMPARED: LazyLock<Vec<Published>> = LazyLock::new(|| rows(|row| row.is_compared));
static CHECKED: LazyLock<Vec<Published>> = LazyLock::new(|| rows(|row| row.is_checked));

/// Every row of the file, in its order.
pub fn all() -> &'static [Published] {
    &ALL
}

/// The rows that runs are compared with.
pub fn compared() -> &'static [Published] {
    &COMPARED
}

/// The rows that device profiles are checked against.
pub fn checked() -> &'static [Published] {
    &CHECKED
}

fn rows(is_wanted: fn(&Published) -> bool) -> Vec<Published> {
    ALL.iter().filter(|row| is_wanted(row)).cloned().collect()
}

impl Published {
    /// Whether the figure applies to a device in `state`. A minimum applies in every state, but not
    /// to a device in use.
    pub fn is_of(&self, state: State) -> bool {
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

/// The rows of a file, without its head. A line with too few fields or without a number is left out.
fn parse(text: &str) -> Vec<Published> {
    text.lines().skip(1).filter_map(|line| row(&fields(line))).collect()
}

fn row(fields: &[String]) -> Option<Published> {
    let [
        device,
        os,
        filesystem,
        condition,
        workload,
        metric,
        value,
        unit,
        source,
        note,
        durable,
        used_for,
    ] = fields
    else {
        return None;
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
        durable: match durable.as_str() {
            "fsync" => Some(Durability::Fsync),
            "none" => Some(Durability::None),
            _ => None,
        },
        is_compared: matches!(used_for.as_str(), "comparison" | "both"),
        is_checked: matches!(used_for.as_str(), "check" | "both"),
    })
}

/// The fields of a line of CSV; a quoted one may contain commas and doubled quotes.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_line_of_the_file_is_a_row_that_is_used_and_has_a_source() {
        let text = include_str!("../../../profiles/published.csv");
        assert!(&*FILE == text);
        let head = "device,os,filesystem,condition,workload,metric,value,unit,source,note,durable,\
                    used_for";
        assert_eq!(text.lines().next(), Some(head));
        assert_eq!(all().len(), text.lines().count() - 1);
        for row in all() {
            assert!(row.is_compared || row.is_checked, "{row:?}");
            assert!(!row.source.is_empty() && row.value.is_finite(), "{row:?}");
        }
        let key = |row: &Published| {
            [&row.device, &row.condition, &row.workload, &row.metric].map(Clone::clone)
        };
        let keys: BTreeSet<[String; 4]> = all().iter().map(key).collect();
        assert_eq!(keys.len(), all().len(), "a figure stands twice");
    }

    /// There were two files, one for comparisons with 79 rows and one for checks with 88, 68 of
    /// them the same. Later rows, of devices from 2017 on, are for checks alone.
    #[test]
    fn no_row_of_the_two_former_files_is_lost() {
        const LATER: usize = 153;
        assert_eq!(compared().len(), 79);
        assert!(checked().len() >= 88 + LATER, "{} rows for checks", checked().len());
        assert_eq!(all().iter().filter(|row| row.is_compared && row.is_checked).count(), 68);
    }

    #[test]
    fn a_quoted_field_may_hold_commas_and_quotes() {
        assert_eq!(fields(r#"a,"b, ""c""",,d"#), ["a", r#"b, "c""#, "", "d"]);
    }
}
