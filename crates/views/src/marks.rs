//! Reference marks below the chart: the small-write latency of devices with published results.

use flashlag_schema::{Phase, Run};
use flashlag_spec::published::{Published, compared};
use flashlag_spec::scenario::Durability;
use flashlag_units::Nanos;

use crate::format;
use crate::published::own_devices;

/// A published device below the picture. Never given a verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The device's name in the data: `nexus7-2012`.
    pub key: &'static str,
    /// `Nexus 7`.
    pub device: String,
    /// Its figures, left to right.
    pub points: Vec<MarkPoint>,
    /// Who published it.
    pub source: String,
    /// What a reader must know before comparing.
    pub note: String,
}

/// A hollow dot, or a bar where the two ends differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkPoint {
    /// `filled 26 to 37 ms`.
    pub label: String,
    /// Shorter end.
    pub from: Nanos,
    /// Longer end.
    pub to: Nanos,
}

/// The note that applies to all marks.
pub const MARKS_NOTE: &str = "Published figures come from other tools and systems. Those of writes \
    stand only beside tests that make writes durable as the reviewers' tools did (fsync): compare \
    orders of magnitude only.";

const FROM_THROUGHPUT: &str = "Mean time of a 4 KiB random write, from its throughput: one at a \
    time is assumed.";

/// The marks that may stand beside a run: those of other devices than the one it simulates, and of
/// writes made durable in the same way as its own. None if the run has no such write.
pub fn marks_beside(run: &Run) -> Vec<Mark> {
    let fsync = |phase: &Phase| phase.is_durable_write() && phase.durable == MARKS_DURABLE;
    if !run.phases.iter().any(fsync) {
        return Vec::new();
    }
    let own = own_devices(run);
    marks().into_iter().filter(|mark| !own.iter().any(|device| device == mark.key)).collect()
}

/// How the writes of all marks were made durable.
const MARKS_DURABLE: Durability = Durability::Fsync;

/// All marks: medians if they were published, otherwise means from throughput.
pub fn marks() -> Vec<Mark> {
    let latency = |device: &'static str, name: &str| {
        let row = writes(device).find(|row| row.metric == "latency p50")?;
        let at = Nanos((row.value * 1e6) as u64);
        let label = format!("{} ms", row.value);
        let point = MarkPoint { label, from: at, to: at };
        Some(Mark {
            key: device,
            device: name.to_owned(),
            points: vec![point],
            source: row.source.clone(),
            note: format!("Median, {}, {}. {}.", row.os, row.filesystem, row.note),
        })
    };
    let throughput = |device: &'static str, name: &str| {
        let points = [range(device, "new", "new"), range(device, "filled", "filled")];
        let source = writes(device).next()?.source.clone();
        let points: Vec<MarkPoint> = points.into_iter().flatten().collect();
        let note = FROM_THROUGHPUT.to_owned();
        Some(Mark { key: device, device: name.to_owned(), points, source, note })
    };
    let marks = [
        latency("moto-z-2016", "Moto Z"),
        throughput("moto-x-2013", "Moto X"),
        latency("pixel-2016", "Pixel"),
        throughput("nexus7-2012", "Nexus 7"),
    ];
    marks.into_iter().flatten().collect()
}

fn writes(device: &str) -> impl Iterator<Item = &'static Published> {
    let of_device = move |row: &&Published| row.device == device;
    compared().iter().filter(|row| row.workload == "rand_write_4k").filter(of_device)
}

/// The mean waits of the rows whose condition begins with `condition`, as one point.
fn range(device: &str, condition: &str, label: &str) -> Option<MarkPoint> {
    let rows = writes(device).filter(|row| row.condition.starts_with(condition));
    let waits: Vec<Nanos> = rows.filter_map(mean_wait).collect();
    let (from, to) = (*waits.iter().min()?, *waits.iter().max()?);
    let (shortest, longest) = (format::ms(from), format::ms(to));
    let label = if shortest == longest {
        format!("{label} {longest} ms")
    } else {
        format!("{label} {shortest} to {longest} ms")
    };
    Some(MarkPoint { label, from, to })
}

/// 4,096 bytes at its throughput.
fn mean_wait(row: &Published) -> Option<Nanos> {
    let rate = row.mb_per_s().filter(|rate| *rate > 0.0)?;
    Some(Nanos((4096.0 / (rate * 1e6) * 1e9) as u64))
}
