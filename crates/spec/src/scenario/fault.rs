use flashlag_units::{Bytes, did_you_mean};
use thiserror::Error;

/// A fault of a scenario, without its place in the file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScenarioFault {
    /// The text is no TOML, or a field is unknown, missing or of the wrong type.
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
        /// The scenario's settings.
        known: Vec<String>,
    },
    /// A value of `--set` that has not the type of the default.
    #[error("`{text}` is not {wanted}")]
    Type {
        /// The value.
        text: String,
        /// The type, with its article.
        wanted: &'static str,
    },
    /// A fault of one test.
    #[error("{test}: {fault}")]
    Test {
        /// The test's name.
        test: String,
        /// The fault.
        #[source]
        fault: Box<ScenarioFault>,
    },
    /// A name that no test can have.
    #[error("`{0}` is no test name: letters, digits and _, 64 at most")]
    Name(String),
    /// Two tests with one name.
    #[error("two tests are named `{0}`")]
    SameName(String),
    /// Two tests whose results have one name.
    #[error("`{phase}` of `{test}` is also a result of `{other}`")]
    SameResult {
        /// The name of the result.
        phase: String,
        /// The test that is refused.
        test: String,
        /// The test before it.
        other: String,
    },
    /// A reference to a test that does not exist.
    #[error(
        "no test is named `{name}`; there are {}{}",
        known.join(", "),
        did_you_mean(name, known.iter().map(String::as_str))
    )]
    NoTest {
        /// The name.
        name: String,
        /// The scenario's tests.
        known: Vec<String>,
    },
    /// A scenario without a step.
    #[error("no [[step]]: nothing would be done")]
    NoStep,
    /// A value out of its range.
    #[error("{key} = {value} must be {allowed}")]
    Range {
        /// The key.
        key: &'static str,
        /// The value as it is printed.
        value: String,
        /// The range.
        allowed: String,
    },
    /// A span below one block.
    #[error("span = {span} is less than one block of {block}")]
    Span {
        /// The span.
        span: Bytes,
        /// The block.
        block: Bytes,
    },
    /// A share of a thread below one block.
    #[error("each of {threads} threads has {each} of the span, less than one block of {block}")]
    ThreadSpan {
        /// The threads.
        threads: u32,
        /// The share of each.
        each: Bytes,
        /// The block.
        block: Bytes,
    },
    /// A test that another can't have beside it.
    #[error("background = \"{name}\" must {must}")]
    Background {
        /// The test's name.
        name: String,
        /// The rest of the sentence.
        must: &'static str,
    },
    /// A test that is no fill.
    #[error("fill = \"{name}\" must {must}")]
    Fill {
        /// The test's name.
        name: String,
        /// The rest of the sentence.
        must: &'static str,
    },
    /// A measured test that lacks a key.
    #[error("{test} needs {needs}")]
    Measured {
        /// The test's name.
        test: String,
        /// What is absent, and why it is needed.
        needs: &'static str,
    },
    /// Keys that exclude or need one another.
    #[error("{0}")]
    Combination(Combination),
}

/// Keys of one test or step that exclude or need one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Combination {
    /// `offset` without `span`.
    #[error("an offset needs a span: a fill takes what there is")]
    OffsetWithoutSpan,
    /// psync at a depth above 1.
    #[error("psync has one operation in flight: use engine = \"io_uring\"")]
    PsyncDepth,
    /// An engine that is not for `[[io]]`.
    #[error("engine must be auto, psync, io_uring or null")]
    Engine,
    /// A durable read.
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
    /// A mixed test until it is steady.
    #[error("until = \"steady\" is for reads or writes alone")]
    SteadyMixed,
    /// A mixed test with a background.
    #[error("a mixed test has no background: its halves run beside each other")]
    MixedBackground,
    /// Atomic writes of a journal that SQLite does not replace by them.
    #[error(
        "atomic = true replaces a rollback journal: journal must be delete, truncate or persist"
    )]
    AtomicJournal,
    /// A checkpoint of a mode that has no log.
    #[error("wal_autocheckpoint belongs to journal = \"wal\"")]
    CheckpointWithoutLog,
    /// Saves without an end.
    #[error("needs saves or time, else it would never end")]
    EndlessSaves,
    /// Thinking on a schedule.
    #[error(
        "think belongs to a closed loop: with arrivals the schedule says when operations begin"
    )]
    ThinkOnSchedule,
    /// More deletes in a transaction than may be gone of the rows.
    #[error(
        "statements of a delete must be at most half of rows, which are 1000 where none are given"
    )]
    DeletesAndRows,
    /// A step of no kind or of several.
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
    /// `delete = false` or `trim = false`.
    #[error("write delete = true or trim = true, or leave the step out")]
    StepFalse,
}

impl From<Combination> for ScenarioFault {
    fn from(combination: Combination) -> ScenarioFault {
        ScenarioFault::Combination(combination)
    }
}
