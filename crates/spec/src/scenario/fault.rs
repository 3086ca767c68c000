use flashlag_units::{Bytes, did_you_mean};
use thiserror::Error;

/// A fault of a scenario, without its place in the file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScenarioFault {
    /// The text is no valid TOML, or a field is unknown, missing or of the wrong type.
    #[error("{0}")]
    Text(String),
    /// A reference to a setting that the scenario does not have.
    #[error(
        "`${name}` is no setting; [settings] has {}{}",
        known.join(", "),
        did_you_mean(name, known.iter().map(String::as_str))
    )]
    NoSetting {
        /// The name after the `$`.
        name: String,
        known: Vec<String>,
    },
    /// A value of `--set` whose type differs from that of the default.
    #[error("`{text}` is not {wanted}")]
    Type { text: String, wanted: &'static str },
    #[error("{test}: {fault}")]
    Test {
        test: String,
        #[source]
        fault: Box<ScenarioFault>,
    },
    #[error("`{0}` is no test name: letters, digits and _, 64 at most")]
    Name(String),
    #[error("two tests are named `{0}`")]
    SameName(String),
    #[error("`{phase}` of `{test}` is also a result of `{other}`")]
    SameResult { phase: String, test: String, other: String },
    /// A reference to a test that does not exist.
    #[error(
        "no test is named `{name}`; there are {}{}",
        known.join(", "),
        did_you_mean(name, known.iter().map(String::as_str))
    )]
    NoTest { name: String, known: Vec<String> },
    #[error("no [[step]]: nothing would be done")]
    NoStep,
    #[error("{key} = {value} must be {allowed}")]
    Range { key: &'static str, value: String, allowed: String },
    #[error("span = {span} is less than one block of {block}")]
    Span { span: Bytes, block: Bytes },
    #[error("each of {threads} threads has {each} of the span, less than one block of {block}")]
    ThreadSpan { threads: u32, each: Bytes, block: Bytes },
    #[error("background = \"{name}\" must {must}")]
    Background { name: String, must: &'static str },
    #[error("fill = \"{name}\" must {must}")]
    Fill { name: String, must: &'static str },
    #[error("{test} needs {needs}")]
    Measured { test: String, needs: &'static str },
    #[error("{key} belongs to kind = {kinds}")]
    OfKind { key: &'static str, kinds: &'static str },
    #[error("{0}")]
    Combination(Combination),
}

/// Keys of one test or step that exclude or require one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Combination {
    #[error("an offset needs a span: a fill takes what there is")]
    OffsetWithoutSpan,
    #[error("psync has one operation in flight: use engine = \"io_uring\"")]
    PsyncDepth,
    #[error("engine must be auto, psync, io_uring or null")]
    Engine,
    #[error("a read can't be durable")]
    DurableRead,
    /// `until = "steady"` in several threads.
    #[error("until = \"steady\" needs threads = 1: it is decided in one thread")]
    SteadyThreads,
    /// `read_percent` of a test that is not mixed.
    #[error("read_percent belongs to operation = \"mixed\"")]
    ReadPercent,
    /// A mixed test without `read_percent`.
    #[error("operation = \"mixed\" needs read_percent, 1 to 99")]
    MixedWithoutPercent,
    #[error("until = \"steady\" is for reads or writes alone")]
    SteadyMixed,
    #[error("a mixed test has no background: its halves run beside each other")]
    MixedBackground,
    /// Atomic writes with a journal that they can't replace.
    #[error(
        "atomic = true replaces a rollback journal: journal must be delete, truncate or persist"
    )]
    AtomicJournal,
    #[error("wal_autocheckpoint belongs to journal = \"wal\"")]
    CheckpointWithoutLog,
    #[error("kind = \"sqlite\", which is meant where no kind is given, needs a journal")]
    NoJournal,
    #[error("needs saves or time, else it would never end")]
    EndlessSaves,
    /// Thinking on a schedule.
    #[error(
        "think belongs to a closed loop: with arrivals the schedule says when operations begin"
    )]
    ThinkOnSchedule,
    /// More deletes in a transaction than rows that may be deleted.
    #[error(
        "statements of a delete must be at most half of rows, which are 1000 where none are given"
    )]
    DeletesAndRows,
    #[error("a step has exactly one of measure, fill, delete, trim, idle")]
    StepKind,
    /// A requirement without a limit, or with two.
    #[error("[[require]] has exactly one of at_most and at_least")]
    OneLimit,
    /// `state` or `repeat` of a step that does not measure.
    #[error("state and repeat belong to a measure step")]
    MeasureKeys,
    /// `directory` of a step that does not fill.
    #[error("directory belongs to a fill step")]
    FillDirectory,
    #[error("write delete = true or trim = true, or leave the step out")]
    StepFalse,
}

impl From<Combination> for ScenarioFault {
    fn from(combination: Combination) -> ScenarioFault {
        ScenarioFault::Combination(combination)
    }
}
