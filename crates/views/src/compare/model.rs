//! A comparison as data.

use flashlag_explain::Figures;
use flashlag_schema::CheckStatus;
use flashlag_spec::{Operation, State};
use thiserror::Error;

use crate::overload::Overloads;
use crate::verdict::Judgement;
use crate::worst::GroupKind;

/// Options of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompareOptions {
    /// Compares runs of different scenarios too.
    pub force: bool,
    /// The seed of every resample.
    pub seed: u64,
    /// Which runs form a subject. If empty, those on the same device and target with the same
    /// set-up do.
    pub groups: Vec<Group>,
    /// The file name of each run, which distinguishes runs of one device; may be empty.
    pub files: Vec<String>,
    /// Names for the subjects, in order: one for each subject, or one for each run; may be empty.
    pub labels: Vec<String>,
}

impl Default for CompareOptions {
    fn default() -> Self {
        let (groups, files, labels) = (Vec::new(), Vec::new(), Vec::new());
        CompareOptions { force: false, seed: 1, groups, files, labels }
    }
}

/// Runs that the user grouped as repeats: those before a change, for example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Indices into the runs given.
    pub runs: Vec<usize>,
}

/// Why runs can't be compared.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CompareError {
    /// Fewer than two.
    #[error("a comparison needs two runs or more, not {given}")]
    TooFew {
        /// How many there were.
        given: usize,
    },
    /// Groups that leave nothing to compare.
    #[error("a comparison needs two groups of runs or more, and each run in one of them")]
    Groups,
    /// One run given twice, or a simulation that was made again with the same seed.
    #[error(
        "{first} and {second} are the same run, which counts once: give each run once, and repeat a \
         simulation with other seeds (run --runs 3)"
    )]
    SameRun {
        /// The one that comes first.
        first: String,
        /// The other.
        second: String,
    },
    /// Two sides that would share a name.
    #[error("two sides are called {label}: give each side a label of its own")]
    LabelTwice {
        /// The label.
        label: String,
    },
    /// Labels that fit neither subjects nor runs.
    #[error(
        "{} for {subjects} sides of {runs} runs: give one for each side, or one for each run",
        crate::format::plural(*given, "label", "labels")
    )]
    Labels {
        /// How many labels there were.
        given: usize,
        /// How many subjects.
        subjects: usize,
        /// How many runs.
        runs: usize,
    },
    /// The runs did not do the same.
    #[error(
        "these runs did different things: {differences} (compare runs of one scenario, or --force)"
    )]
    Scenario {
        /// Each run that differs from the first: both names and hashes, and the settings.
        differences: String,
    },
}

/// The comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Who is faster, by how much: `Moto Z's durable writes are 6.8× as fast as Nexus 5's (6.7 to
    /// 6.9)`. May be empty.
    pub faster: String,
    /// How each subject fares in the test that decides its run's headline.
    pub sentence: String,
    /// The row and figure with the largest difference that is sure; may be empty.
    pub largest: String,
    /// How long the slow operations of the deciding row took; may be empty.
    pub more: String,
    /// Whether it can be believed.
    pub believe: String,
    /// The subjects that are compared, in the order given. Runs of a group, or without groups those
    /// of the same device and target, are repeats of one subject.
    pub subjects: Vec<Subject>,
    /// One for each test in each stage that at least one subject has.
    pub rows: Vec<CompareRow>,
    /// What else differs between the subjects.
    pub differs: Vec<Difference>,
    /// Checks that do not pass on every subject.
    pub checks: Vec<CheckDifference>,
    /// Warnings: scenarios differ (forced), versions differ.
    pub warnings: Vec<String>,
}

/// One device, or one group, with its runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// A short name, unique in the comparison.
    pub name: String,
    /// `32 GB eMMC, f2fs`; may be empty.
    pub about: String,
    /// Indices into the runs given.
    pub runs: Vec<usize>,
}

/// One test in one stage, side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareRow {
    /// `filled 2: rand_write_4k`, as in the run file.
    pub label: String,
    /// `4K rand write, filled run 2`.
    pub title: String,
    /// The test.
    pub test: String,
    /// The stage.
    pub state: State,
    /// The repetition.
    pub run: u32,
    /// The operation of its test.
    pub operation: Operation,
    /// Whether it belongs in the picture and decides the verdict: durable 4 KiB writes and saves.
    pub in_strip: bool,
    /// Its kind in the verdict.
    pub kind: Option<GroupKind>,
    /// Whether something else runs at the same time.
    pub beside: bool,
    /// One for each subject; `None` if it has no such phase.
    pub sides: Vec<Option<CompareSide>>,
    /// For each figure, the ratios of the other subjects that have it to the first that has it.
    /// Subjects that a failed check covers or that could not keep their schedule are left out.
    pub ratios: Vec<Ratio>,
    /// The same for every pair without that first subject.
    pub other_pairs: Vec<Ratio>,
}

impl CompareRow {
    /// Every ratio that was made.
    pub fn all_ratios(&self) -> impl Iterator<Item = &Ratio> {
        self.ratios.iter().chain(&self.other_pairs)
    }
}

/// One subject's figures, all its repeats together.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareSide {
    /// Latency.
    pub figures: Figures,
    /// Operations a second, mean of the repeats.
    pub ops_per_sec: f64,
    /// Bytes a second, mean of the repeats.
    pub bytes_per_sec: f64,
    /// Standard deviation of operations a second between the repeats, as a share of their mean;
    /// `None` for a single run.
    pub rate_spread: Option<f64>,
    /// Its verdict, where a frame may wait for such operations ([`CompareRow::in_strip`]).
    pub judgement: Judgement,
    /// Set if one or more of its runs could not keep their schedule: waits then grow with the
    /// test's length, and no times are given, not even those of the runs that kept it.
    pub overload: Option<Overloads>,
    /// Repeats.
    pub runs: usize,
}

/// The figures that ratios are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RatioKind {
    /// Median latency.
    P50,
    /// 99 % latency.
    P99,
    /// Bytes a second.
    Throughput,
}

impl RatioKind {
    /// Its name beside a test: `median`, `p99`, `saves/s`, `MB/s`.
    pub fn name(self, operation: Operation) -> &'static str {
        match self {
            RatioKind::P50 => "median",
            RatioKind::P99 => "p99",
            RatioKind::Throughput if operation == Operation::Save => "saves/s",
            RatioKind::Throughput if !operation.moves_bytes() => "ops/s",
            RatioKind::Throughput => "MB/s",
        }
    }
}

/// How many times one subject's figure is another's.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    /// Which figure.
    pub kind: RatioKind,
    /// Index of the subject above the line.
    pub of: usize,
    /// Index of the subject below the line.
    pub against: usize,
    /// The ratio.
    pub ratio: f64,
    /// Its 95 % interval; `None` if the tests were too short, or their
    /// intervals too few, for one.
    pub interval: Option<(f64, f64)>,
    /// Whether a difference is shown: 1 is outside the interval, and the difference is larger than
    /// the 1.6 % resolution of a histogram.
    pub differs: bool,
    /// Whether the interval includes how runs differ from one another, on both sides.
    pub between_runs: bool,
    /// `on Tablet T, 13× as long as on Phone P (12 to 14)`, or `no difference shown: on Tablet T,
    /// 1.03× as long as on Phone P (0.90 to 1.18)`.
    pub words: String,
    /// The same where both are named elsewhere: `13× (12 to 14)`.
    pub brief: String,
}

impl Ratio {
    /// The reason why the ratio shows no difference, with a comma before it; empty if it shows one.
    pub fn doubt(&self) -> &'static str {
        match (self.interval, self.differs) {
            (None, _) => ", no interval",
            (Some(_), false) => ", no difference shown",
            (Some(_), true) => "",
        }
    }
}

/// A field of the environment that is not the same for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// `Filesystem`.
    pub field: String,
    /// One for each subject.
    pub values: Vec<String>,
}

/// A check that does not pass on every subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckDifference {
    /// What should be true.
    pub claim: String,
    /// For each subject its worst outcome with its evidence; `None` if the check was not made.
    pub outcomes: Vec<Option<(CheckStatus, String)>>,
}
