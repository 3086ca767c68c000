use flashlag_explain::{Figures, LagVerdict, is_trusted, verdict};
use flashlag_schema::{Phase, Run};
use flashlag_share::Scrubber;
use flashlag_views::test_name;

use super::state::filled_percent;
use super::{ColumnOf, nanos, short};
use crate::table::Kind::{Boolean, Integer, Real, Text};

/// A test of a run: its parameters, and its figures as users feel them (from the intended start if
/// there was a schedule).
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseRow {
    /// The run's file, relative to the folder.
    pub file: String,
    /// The run's checksum.
    pub run: String,
    /// Place in the run, from 0.
    pub index: u64,
    /// The test's name in the scenario.
    pub name: String,
    /// The same for people.
    pub title: String,
    /// State of the device.
    pub state: &'static str,
    /// Repetition within the state, from 1.
    pub repeat: u32,
    /// Fill level of the filesystem.
    pub filled_percent: Option<f64>,
    /// The operation of the test.
    pub operation: &'static str,
    /// Bytes for each operation.
    pub block_bytes: u64,
    /// Addresses were drawn from a span of this size.
    pub span_bytes: u64,
    /// Operations in flight in each thread.
    pub queue_depth: u32,
    pub threads: u32,
    /// How each operation was made durable.
    pub durable: &'static str,
    /// Whether each operation waits for the previous one.
    pub closed_loop: bool,
    /// The workload beside it.
    pub background: Option<String>,
    /// Duration.
    pub elapsed_ns: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Operations a second.
    pub ops_per_sec: f64,
    /// Bytes a second.
    pub bytes_per_sec: f64,
    /// Number of operations, percentiles, longest, mean and late ones.
    pub figures: Figures,
    pub stalls: u64,
    pub block_device_bytes: Option<u64>,
    /// Flushes at the block device.
    pub flushes: Option<u64>,
    /// How the device would feel; absent if a failed check covers the test.
    pub verdict: Option<LagVerdict>,
    /// Whether it is one of the tests that decide a run's verdict.
    pub decides: bool,
    /// Whether no failed check covers it.
    pub trusted: bool,
}

impl PhaseRow {
    pub(crate) fn of(
        run: &Run,
        (index, phase): (usize, &Phase),
        (file, id): (&str, &str),
        texts: &Scrubber,
    ) -> PhaseRow {
        PhaseRow {
            file: file.to_owned(),
            run: id.to_owned(),
            index: index as u64,
            name: short(&texts.public(&phase.name)),
            title: short(&texts.public(&test_name(run, phase))),
            state: phase.state.name(),
            repeat: phase.run,
            filled_percent: filled_percent(run, phase),
            operation: phase.operation.name(),
            block_bytes: phase.block_bytes.0,
            span_bytes: phase.span_bytes.0,
            queue_depth: phase.queue_depth,
            threads: phase.threads,
            durable: phase.durable.name(),
            closed_loop: phase.closed_loop,
            background: phase.background.as_deref().map(|it| short(&texts.public(it))),
            elapsed_ns: phase.elapsed_ns.0,
            bytes: phase.bytes.0,
            ops_per_sec: phase.ops_per_sec,
            bytes_per_sec: phase.bytes_per_sec,
            figures: Figures::of_phase(phase),
            stalls: phase.stalls_seen,
            block_device_bytes: phase.ledger.block_bytes.value().map(|bytes| bytes.0),
            flushes: phase.ledger.flushes.value().copied(),
            verdict: verdict(run, phase),
            decides: false,
            trusted: is_trusted(run, phase),
        }
    }
}

/// The columns of a test.
#[rustfmt::skip]
pub const PHASES: &[ColumnOf<PhaseRow>] = &[
    ColumnOf { name: "file", kind: Text, about: "the run's file, relative to the folder", value: |r| (&r.file).into() },
    ColumnOf { name: "run", kind: Text, about: "checksum of the run as it was measured", value: |r| (&r.run).into() },
    ColumnOf { name: "phase_index", kind: Integer, about: "place in the run, from 0", value: |r| r.index.into() },
    ColumnOf { name: "name", kind: Text, about: "the test's name in the scenario", value: |r| (&r.name).into() },
    ColumnOf { name: "title", kind: Text, about: "the test's name for people", value: |r| (&r.title).into() },
    ColumnOf { name: "state", kind: Text, about: "new (as found), filled, deleted, trimmed, idle", value: |r| r.state.into() },
    ColumnOf { name: "state_run", kind: Integer, about: "repetition within the state, from 1", value: |r| r.repeat.into() },
    ColumnOf { name: "filled_percent", kind: Real, about: "share of the filesystem in use", value: |r| r.filled_percent.into() },
    ColumnOf { name: "operation", kind: Text, about: "random_write, save, ...", value: |r| r.operation.into() },
    ColumnOf { name: "block_bytes", kind: Integer, about: "bytes for each operation", value: |r| r.block_bytes.into() },
    ColumnOf { name: "span_bytes", kind: Integer, about: "addresses were drawn from this many bytes", value: |r| r.span_bytes.into() },
    ColumnOf { name: "queue_depth", kind: Integer, about: "operations in flight, in each thread", value: |r| r.queue_depth.into() },
    ColumnOf { name: "threads", kind: Integer, about: "threads side by side", value: |r| r.threads.into() },
    ColumnOf { name: "durable", kind: Text, about: "how each operation was made durable", value: |r| r.durable.into() },
    ColumnOf { name: "closed_loop", kind: Boolean, about: "whether the next operation waits for the last", value: |r| r.closed_loop.into() },
    ColumnOf { name: "background", kind: Text, about: "the workload beside it", value: |r| r.background.as_ref().into() },
    ColumnOf { name: "ops", kind: Integer, about: "operations", value: |r| r.figures.n.into() },
    ColumnOf { name: "bytes", kind: Integer, about: "bytes moved", value: |r| r.bytes.into() },
    ColumnOf { name: "elapsed_ns", kind: Integer, about: "duration", value: |r| r.elapsed_ns.into() },
    ColumnOf { name: "ops_per_sec", kind: Real, about: "operations a second", value: |r| r.ops_per_sec.into() },
    ColumnOf { name: "bytes_per_sec", kind: Real, about: "bytes a second", value: |r| r.bytes_per_sec.into() },
    ColumnOf { name: "p50_ns", kind: Integer, about: "median latency, from the intended start where there was a schedule", value: |r| nanos(r.figures.p50) },
    ColumnOf { name: "p90_ns", kind: Integer, about: "90 % of latencies are at most this", value: |r| nanos(r.figures.p90) },
    ColumnOf { name: "p99_ns", kind: Integer, about: "99 %; absent where fewer than ten values lie beyond", value: |r| nanos(r.figures.p99) },
    ColumnOf { name: "p999_ns", kind: Integer, about: "99.9 %", value: |r| nanos(r.figures.p999) },
    ColumnOf { name: "max_ns", kind: Integer, about: "the longest", value: |r| nanos(r.figures.max) },
    ColumnOf { name: "mean_ns", kind: Integer, about: "the mean", value: |r| nanos(r.figures.mean) },
    ColumnOf { name: "over_60hz", kind: Integer, about: "operations longer than 16.67 ms", value: |r| r.figures.late.into() },
    ColumnOf { name: "overloaded", kind: Boolean, about: "whether the schedule could not be kept: then there are no latencies", value: |r| r.figures.overloaded.into() },
    ColumnOf { name: "stalls_seen", kind: Integer, about: "waits far beyond the usual one", value: |r| r.stalls.into() },
    ColumnOf { name: "block_device_bytes", kind: Integer, about: "bytes at the block device, from everyone", value: |r| r.block_device_bytes.into() },
    ColumnOf { name: "flushes", kind: Integer, about: "flushes at the block device", value: |r| r.flushes.into() },
    ColumnOf { name: "verdict", kind: Text, about: "smooth, hitches, lags, freezes, overloaded; absent where a failed check covers the test", value: |r| r.verdict.map(LagVerdict::name).into() },
    ColumnOf { name: "decides", kind: Boolean, about: "whether it decides the run's \
         verdict", value: |r| r.decides.into() },
    ColumnOf { name: "trusted", kind: Boolean, about: "whether no failed check covers it", value: |r| r.trusted.into() },
];
