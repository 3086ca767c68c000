//! The messages between this machine and the phone's end of flashlag: each a line of JSON.

use flashlag_schema::Run;
use flashlag_schema::remote::{Progress, RunOrder};
use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// The number of this form of the messages. A change after which another version can't read them raises
/// the number.
pub const FORMAT: u32 = 1;

/// The order of a run, stored on the phone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhoneOrder {
    /// Version and commit of the program that ordered.
    pub program: String,
    /// The name of the scenario.
    pub name: String,
    /// The hash of the scenario with its settings.
    pub hash: String,
    /// The name by which the run's process is reached on the phone.
    pub token: String,
    /// Whether the run file in the folder is continued.
    pub resume: bool,
    /// The user's name for the phone.
    pub label: Option<String>,
    pub run: RunOrder,
}

impl PhoneOrder {
    /// Whether another order is for the same measurement.
    pub fn is_of_the_run_of(&self, other: &PhoneOrder) -> bool {
        (&self.hash, self.run.seed, &self.run.at) == (&other.hash, other.run.seed, &other.run.at)
    }
}

/// An answer of the phone's end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// The program runs on this phone.
    Hello {
        /// Its version and commit.
        program: String,
        /// Its [`FORMAT`]; 0 of a program from before there was a number.
        #[serde(default)]
        format: u32,
    },
    /// A run can begin.
    Prepared(Box<Prepared>),
    /// The run has begun.
    Started,
    /// The state of the folder's run.
    State(RunState),
    /// The run was asked to end.
    Stopping,
    /// The phone has its own settings again.
    Sleeps,
    /// The question could not be answered.
    Failed {
        /// What failed, why, and what to try.
        error: String,
    },
}

/// A run that can begin, and its cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prepared {
    /// Bytes that are written at most.
    pub written: Bytes,
    /// Duration on storage of ordinary speed.
    pub time_ns: Nanos,
    /// Size of the storage, free bytes, and those that may be used.
    pub storage: [Bytes; 3],
    /// The unit in which space is given out.
    pub block: Bytes,
    /// Free space that a fill leaves.
    pub leave: Bytes,
    /// Why this much.
    pub leave_reason: String,
    /// Messages for the user.
    pub notes: Vec<String>,
    /// The run without phases.
    #[serde(with = "flashlag_schema::remote::as_text")]
    pub run: Box<Run>,
}

/// The state of the run in a phone's folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// No process makes the run, and the run did not end: it has not begun or was killed.
    Dead,
    /// A process makes the run.
    UnderWay,
    Ended(Outcome),
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Why there is no run file; `None` if there is one, complete or not.
    pub error: Option<String>,
}

/// A line of the stream that follows a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    /// A step of the run, which can be asked for again by its number.
    Step {
        /// 1 for the first.
        number: u64,
        step: Progress,
    },
    /// Progress within a phase, which no one asks for again.
    Tick {
        /// The reading.
        tick: Progress,
    },
    /// The run, which could not be stored on the phone; its end follows.
    Unstored {
        #[serde(with = "flashlag_schema::remote::as_text")]
        run: Box<Run>,
    },
    /// The run ended.
    Ended(Outcome),
}

/// What is asked of a run's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Ask {
    /// The run's steps after this number, and all that follow.
    Follow {
        /// The number of the last step that is known.
        after: u64,
    },
    /// The end of the run.
    Stop,
}

/// The hidden subcommand of the program at the phone's end.
pub const SUBCOMMAND: &str = "on-phone";
