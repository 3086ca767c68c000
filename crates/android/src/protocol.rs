//! The messages between this machine and flashlag on the phone: each is a line of JSON.

use flashlag_schema::Run;
use flashlag_schema::remote::{Progress, RunOrder};
use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Version of the messages' format. Raise it when a change makes them unreadable for another
/// version.
pub const FORMAT: u32 = 1;

/// The order of a run, stored on the phone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhoneOrder {
    /// Version and commit of the program that gave the order.
    pub program: String,
    /// The name of the scenario.
    pub name: String,
    /// The hash of the scenario with its settings.
    pub hash: String,
    /// The name of the socket of the run's process on the phone.
    pub token: String,
    /// Whether to continue the run file in the folder.
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

/// The order of a watch, stored on the phone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchOrder {
    /// Version and commit of the program that gave the order.
    pub program: String,
    /// The directory whose storage is watched.
    pub directory: String,
    /// The options of `flashlag watch`.
    pub options: Vec<String>,
}

/// What a phone says of its watch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    /// The process that watches; `None` if it has ended.
    pub watcher: Option<Watcher>,
    /// Whether the phone has restarted since the watch began.
    pub has_restarted: bool,
    /// What the watch printed last.
    pub said: String,
}

/// What the process that watches has cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watcher {
    /// Time since its start, suspends included.
    pub lasted_ns: Nanos,
    pub cpu_ns: Nanos,
    /// How often a thread of it waited and was woken.
    pub wakeups: u64,
}

/// An answer of the phone's end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// The program runs on this phone.
    Hello {
        /// Its version and commit.
        program: String,
        /// Its [`FORMAT`]; 0 from a program older than that number.
        #[serde(default)]
        format: u32,
    },
    /// A run can begin.
    Prepared(Box<Prepared>),
    /// The run has begun.
    Started,
    /// The state of the folder's run.
    State(RunState),
    /// The run was ordered to end.
    Stopping,
    /// The phone has its own settings back.
    Sleeps,
    /// The state of the folder's watch.
    Watched(Box<Watched>),
    /// The request could not be carried out.
    Failed {
        /// What failed, why, and what to try.
        error: String,
    },
}

impl Answer {
    /// The word that the answer is sent under: `prepared`.
    pub fn name(&self) -> &'static str {
        match self {
            Answer::Hello { .. } => "hello",
            Answer::Prepared(_) => "prepared",
            Answer::Started => "started",
            Answer::State(_) => "state",
            Answer::Stopping => "stopping",
            Answer::Sleeps => "sleeps",
            Answer::Watched(_) => "watched",
            Answer::Failed { .. } => "failed",
        }
    }
}

/// A run that is ready to start, and its cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prepared {
    /// Most bytes that the run writes.
    pub written: Bytes,
    /// Duration on storage of typical speed.
    pub time_ns: Nanos,
    /// Size of the storage, free bytes, and bytes that may be used.
    pub storage: [Bytes; 3],
    /// The allocation unit of the filesystem.
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
    /// No process makes the run, and it has not ended: it was not started, or was killed.
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
    /// A step of the run, which can be requested again by its number.
    Step {
        /// 1 for the first.
        number: u64,
        step: Progress,
    },
    /// Progress within a phase, which is not sent again.
    Tick {
        /// The reading.
        tick: Progress,
    },
    /// The run, which could not be stored on the phone; its outcome follows.
    Unstored {
        #[serde(with = "flashlag_schema::remote::as_text")]
        run: Box<Run>,
    },
    /// The run ended.
    Ended(Outcome),
}

/// A request to a run's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case")]
pub enum Ask {
    /// Send the run's steps after this number, and all further ones.
    Follow {
        /// The number of the last step that the follower has.
        after: u64,
    },
    /// The end of the run.
    Stop,
}

/// The hidden subcommand of the program on the phone.
pub const SUBCOMMAND: &str = "on-phone";
