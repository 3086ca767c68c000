//! What a running device is asked and told, over a socket of its own: a line of JSON each way.

mod client;
mod server;

use std::path::PathBuf;

use flashlag_schema::DeviceStats;
use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

pub use client::Control;
pub use server::ControlServer;

/// What a device is told: `{"do":"stat"}`, `{"do":"cut","moment":"now"}`, …
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Say how you are.
    Stat,
    /// Lose the power.
    Cut {
        /// When.
        #[serde(default)]
        moment: CutMoment,
        /// Whether it stays away until [`Command::On`]; it is back at once otherwise.
        #[serde(default)]
        stay_off: bool,
    },
    /// The power is back.
    On,
    /// Go wrong from now on.
    Fault(Fault),
    /// Go wrong no more.
    Repair,
    /// Record every request in a file from now on.
    Record {
        /// The file; one that is there is replaced.
        path: PathBuf,
        /// Whether with what is written.
        #[serde(default)]
        data: bool,
        /// The recording ends when the file is so large.
        #[serde(default = "gib")]
        limit: Bytes,
    },
    /// Record no more, and say when the file is complete.
    RecordStop,
    /// Live at another pace from now on.
    TimeScale {
        /// So many times faster than real time.
        times: f64,
    },
    /// Hold what an image file holds, from the beginning on, in no time.
    Load {
        /// The file.
        image: PathBuf,
    },
    /// End.
    Quit,
}

const fn gib() -> Bytes {
    Bytes::from_mib(1024)
}

/// When the power goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum CutMoment {
    /// At once.
    #[default]
    Now,
    /// When so many more commands have been handed over.
    AfterCommands(u64),
    /// When so much more of the device's time has passed.
    AfterNs(Nanos),
    /// Somewhere within one of the next commands.
    Drawn {
        /// What the choice follows from.
        seed: u64,
        /// Of so many commands.
        within_commands: u64,
    },
}

/// What goes wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub struct Fault {
    /// What.
    pub kind: FaultKind,
    /// Which requests.
    #[serde(default)]
    pub op: FaultOp,
    /// Where the range begins that goes wrong.
    #[serde(default)]
    pub offset: Bytes,
    /// How long it is; to the end where absent.
    #[serde(default)]
    pub length: Option<Bytes>,
    /// The share of the requests that goes wrong, drawn for each.
    #[serde(default = "all")]
    pub share: f64,
    /// What the draws follow from.
    #[serde(default)]
    pub seed: u64,
    /// How many requests go wrong at most.
    #[serde(default)]
    pub times: Option<u64>,
}

const fn all() -> f64 {
    1.0
}

impl Fault {
    /// Every request goes wrong in this way.
    pub fn of(kind: FaultKind) -> Fault {
        Fault {
            kind,
            op: FaultOp::Any,
            offset: Bytes::ZERO,
            length: None,
            share: all(),
            seed: 0,
            times: None,
        }
    }
}

/// How it goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The request fails with `EIO`, and nothing of it is done.
    Error,
    /// The device takes no request for so long, in its own time, from now on.
    StallNs(Nanos),
    /// The device only reads.
    ReadOnly,
}

/// Which requests go wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultOp {
    /// All.
    #[default]
    Any,
    /// Reads.
    Read,
    /// Writes, and requests to write zeros.
    Write,
    /// Flushes.
    Flush,
    /// Discards.
    Discard,
}

/// What a device says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// How it is.
    Stats(Box<DeviceStats>),
    /// What a power cut took.
    Cut(CutReport),
    /// It is done, or will be.
    Done,
    /// So many requests were recorded, and whether that is all there were.
    Recorded {
        /// How many.
        requests: u64,
        /// Whether the file had room for all.
        complete: bool,
    },
}

pub use flashlag_schema::CutReport;

/// A reply: a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    Ok(Answer),
    Error(String),
}
