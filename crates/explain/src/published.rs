//! What reviewers and papers measured on real devices, and where a run stands among it.

use std::sync::LazyLock;

use flashlag_units::Nanos;

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
}

/// A published device below the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// `Nexus 7`.
    pub device: String,
    /// Its medians or ranges, left to right.
    pub points: Vec<MarkPoint>,
    /// Who published it.
    pub source: String,
    /// What a reader must know before comparing.
    pub note: String,
}

/// A hollow dot, or a bar where the two ends differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkPoint {
    /// `filled 26-37 ms`.
    pub label: String,
    /// Shorter end.
    pub from: Nanos,
    /// Longer end.
    pub to: Nanos,
}

/// Where one test of a run stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Index of its phase in the run.
    pub phase: usize,
    /// `4K rand write, when new`.
    pub title: String,
    /// Bytes a second.
    pub bytes_per_sec: f64,
    /// Operations a second.
    pub ops_per_sec: f64,
    /// `0.61 MB/s, 149 writes a second: between Nexus 7 (2012) when new (0.45) and …`.
    pub sentence: String,
    /// The nearest slower figure.
    pub slower: Option<&'static Published>,
    /// The nearest faster figure.
    pub faster: Option<&'static Published>,
    /// What must be said before comparing: queue depth, durability; empty where nothing.
    pub caveat: String,
}

static PUBLISHED: LazyLock<Vec<Published>> =
    LazyLock::new(|| parse(include_str!("../data/published.csv")));

/// The project's own copy of the published figures it uses, each with its source.
pub fn published() -> &'static [Published] {
    &PUBLISHED
}

fn parse(text: &str) -> Vec<Published> {
    text.lines().skip(1).filter_map(|line| row(&fields(line))).collect()
}

fn row(fields: &[String]) -> Option<Published> {
    let [device, os, filesystem, condition, workload, metric, value, unit, source, note] = fields
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

/// The marks below the picture: waits of one small durable write on known devices.
pub fn marks() -> Vec<Mark> {
    Vec::new()
}

/// Where the tests of a run stand among the published figures.
pub fn places(run: &flashlag_schema::Run) -> Vec<Place> {
    let _ = run;
    Vec::new()
}
