//! The ranks of a run's tests among published figures.

use flashlag_explain::{Plan, is_fill};
use flashlag_schema::{Phase, Run};
use flashlag_spec::published::{Published, compared};
use flashlag_spec::{Operation, State};
use flashlag_units::Bytes;

use crate::doubt::failures_of;
use crate::format;
use crate::naming::{stage_of, test_title};
use crate::published::{own_devices, title};

/// The rank of one test of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Index of its phase in the run.
    pub phase: usize,
    /// `4K rand write, filled, run 3`; the stage only where there are several.
    pub title: String,
    /// Bytes a second.
    pub bytes_per_sec: f64,
    /// Operations a second.
    pub ops_per_sec: f64,
    /// `0.61 MB/s, 149 operations/s: between Nexus 7 (2012), new (0.45 MB/s) and Nexus 5, new …`.
    pub sentence: String,
    /// The nearest slower figure.
    pub slower: Option<&'static Published>,
    /// The nearest faster figure.
    pub faster: Option<&'static Published>,
    /// Caveats of the comparison: queue depth, page cache; empty without any.
    pub caveat: String,
}

/// The ranks of the four tests when new, and of random writes once full, without failed checks: each
/// among the figures of other devices for the same test, state and durability.
pub fn places(run: &Run) -> Vec<Place> {
    let plan = Plan::of(run);
    let last_full = run.phases.iter().rposition(|phase| {
        phase.state == State::Filled
            && workload(phase) == Some("rand_write_4k")
            && !is_fill(&plan, phase)
    });
    let shown = |index: usize, phase: &Phase| {
        (phase.state == State::New && phase.run == 1) || Some(index) == last_full
    };
    let phases = run.phases.iter().enumerate();
    let places = phases.filter(|(index, phase)| {
        shown(*index, phase)
            && phase.ops > 0
            && phase.background.is_none()
            && !is_fill(&plan, phase)
    });
    places
        .filter(|(_, phase)| failures_of(run, phase).is_empty())
        .filter_map(|(index, phase)| place(run, index, phase))
        .collect()
}

/// The one of the four tests that a phase corresponds to, according to its operation.
fn workload(phase: &Phase) -> Option<&'static str> {
    match (phase.operation, phase.block_bytes) {
        (Operation::SequentialRead, Bytes(262_144)) => Some("seq_read_256k"),
        (Operation::SequentialWrite, Bytes(262_144)) => Some("seq_write_256k"),
        (Operation::RandomRead, Bytes(4096)) => Some("rand_read_4k"),
        (Operation::RandomWrite, Bytes(4096)) => Some("rand_write_4k"),
        _ => None,
    }
}

fn place(run: &Run, index: usize, phase: &Phase) -> Option<Place> {
    let test = workload(phase)?;
    // The published tests had queue depth 1 and took minutes at most.
    if phase.in_flight() != 1 || phase.mixed.is_some() || phase.name == "soak" {
        return None;
    }
    let rate = phase.bytes_per_sec / 1e6;
    if !(rate.is_finite() && rate > 0.0) {
        return None;
    }
    let own = own_devices(run);
    let comparable = |row: &&Published| {
        let as_durable = !writes_at_random(phase) || row.durable == Some(phase.durable);
        row.workload == test && as_durable && row.is_of(phase.state) && !own.contains(&row.device)
    };
    let rows = || compared().iter().filter(comparable);
    let rated = || rows().filter_map(|row| row.mb_per_s().map(|rate| (row, rate)));
    let by_rate = |a: &(&Published, f64), b: &(&Published, f64)| a.1.total_cmp(&b.1);
    let slower = rated().filter(|(_, other)| *other <= rate).max_by(by_rate);
    let faster = rated().filter(|(_, other)| *other > rate).min_by(by_rate);
    let named =
        |(row, rate): (&Published, f64)| format!("{} ({} MB/s)", title(row), format::rate(rate));
    let standing = match (slower, faster) {
        (Some(slower), Some(faster)) => format!("between {} and {}", named(slower), named(faster)),
        (Some(slower), None) => {
            format!("faster than {}, the fastest of other devices published here", named(slower))
        }
        (None, Some(faster)) => {
            format!("slower than {}, the slowest of other devices published here", named(faster))
        }
        (None, None) => return None,
    };
    let several = run.phases.iter().any(|other| other.state != phase.state);
    let stage =
        if several { format!(", {}", stage_of(run, phase).to_lowercase()) } else { String::new() };
    Some(Place {
        phase: index,
        title: format!("{}{stage}", test_title(test)),
        bytes_per_sec: phase.bytes_per_sec,
        ops_per_sec: phase.ops_per_sec,
        sentence: format!(
            "{} MB/s, {} operations/s: {standing}.",
            format::rate(rate),
            format::per_second(phase.ops_per_sec)
        ),
        slower: slower.map(|(row, _)| row),
        faster: faster.map(|(row, _)| row),
        caveat: caveat(phase),
    })
}

fn writes_at_random(phase: &Phase) -> bool {
    phase.operation == Operation::RandomWrite
}

/// The deviations from the published tests.
fn caveat(phase: &Phase) -> String {
    if phase.direct { String::new() } else { "through the page cache here".to_owned() }
}
