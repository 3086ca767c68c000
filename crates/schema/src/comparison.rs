//! Writes a comparison of runs for other programs: `flashlag compare -o FILE.json`.

use flashlag_spec::State;
use flashlag_units::Nanos;
use serde::Serialize;

use crate::trust::CheckStatus;

/// The version of a comparison.
pub const COMPARISON_SCHEMA: &str = "flashlag.comparison/1";

/// Two or more runs side by side: the sentences, the sides, and for each test the figures of each side.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ComparisonRecord {
    /// `flashlag.comparison/1`.
    #[cfg_attr(feature = "json-schema", schemars(extend("const" = COMPARISON_SCHEMA)))]
    pub schema: &'static str,
    /// Which side is faster, and by how much; may be empty.
    pub faster: String,
    /// A sentence about each side, from the test that decides its headline.
    pub sentence: String,
    /// The largest certain difference; may be empty.
    pub largest: String,
    /// How long the slow operations of the deciding test took; may be empty.
    pub more: String,
    /// Whether the comparison can be believed.
    pub believe: String,
    /// Warnings: different scenarios or versions, runs that ended early.
    pub warnings: Vec<String>,
    /// The sides, in the order given.
    pub sides: Vec<ComparedSubject>,
    /// One for each test in each state that at least one side has.
    pub tests: Vec<ComparedTest>,
    /// What else differs between the sides.
    pub differs: Vec<ComparedField>,
    /// Checks that some side does not pass.
    pub checks: Vec<ComparedCheck>,
}

/// One side: a device, or a group of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ComparedSubject {
    /// A short name, which no other side has.
    pub name: String,
    /// `32 GB eMMC, f2fs`; may be empty.
    pub about: String,
    /// Indices of its runs, in the order given, from 0.
    pub runs: Vec<usize>,
}

/// One test in one state, side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ComparedTest {
    /// The test.
    pub test: String,
    /// `4K rand write, filled run 2`.
    pub title: String,
    /// Where the device was in its life.
    pub state: State,
    /// Which repetition within that state.
    pub run: u32,
    /// The figures of each side; null where a side has no such test.
    pub sides: Vec<Option<ComparedFigures>>,
    /// Each figure of each side, divided by that of the first side that has it.
    pub ratios: Vec<ComparedRatio>,
}

/// One side's figures of a test, over all its repeats. An unknown one is absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ComparedFigures {
    /// Number of runs.
    pub runs: usize,
    /// Number of operations.
    pub n: u64,
    /// Median latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<Nanos>,
    /// 90 % of the latencies are at most this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90_ns: Option<Nanos>,
    /// 99 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<Nanos>,
    /// 99.9 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p999_ns: Option<Nanos>,
    /// The longest latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<Nanos>,
    /// Number of latencies longer than a frame of 60 Hz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<u64>,
    /// Operations a second, mean of the repeats.
    pub ops_per_sec: f64,
    /// Bytes a second, mean of the repeats.
    pub bytes_per_sec: f64,
    /// Standard deviation of operations a second between the repeats, as a share of their mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_spread: Option<f64>,
    /// The verdict, if a frame may wait for such operations; `not judged`, `no data`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<&'static str>,
    /// Claims of the failed checks that rule out a verdict.
    pub failed_checks: Vec<String>,
    /// Present if a run could not keep its schedule: then there are no times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overload: Option<ComparedOverload>,
}

/// A schedule that could not be kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ComparedOverload {
    /// Operations done a second, mean of the overloaded runs.
    pub done_per_sec: f64,
    /// Operations that the schedule asks for a second.
    pub due_per_sec: f64,
    /// Number of overloaded runs.
    pub runs: usize,
}

/// The figures that are compared by ratios.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ComparedFigure {
    /// Median latency.
    P50,
    /// 99 % latency.
    P99,
    /// Bytes a second.
    Rate,
}

/// How many times one side's figure is another's.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ComparedRatio {
    /// Which figure.
    pub figure: ComparedFigure,
    /// Index of the side in the numerator.
    pub of: usize,
    /// Index of the side in the denominator.
    pub against: usize,
    /// The ratio.
    pub ratio: f64,
    /// The ends of its 95 % interval; null if the tests were too short for one.
    pub interval: Option<(f64, f64)>,
    /// Whether a difference is shown: 1 is outside the interval, and the difference is larger than what a
    /// histogram resolves.
    pub differs: bool,
    /// Whether the interval includes the differences between runs, on both sides.
    pub between_runs: bool,
}

/// A field of the environment that differs between the sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ComparedField {
    /// `Filesystem`.
    pub field: String,
    /// One for each side.
    pub values: Vec<String>,
}

/// A check that some side does not pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ComparedCheck {
    /// What should be true.
    pub claim: String,
    /// For each side its worst outcome; null if the check was not made.
    pub sides: Vec<Option<CheckOutcome>>,
}

/// The outcome of a check on one side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CheckOutcome {
    /// The outcome.
    pub status: CheckStatus,
    /// The evidence, with numbers.
    pub detail: String,
}
