//! The control socket of a running device: commands and answers, each a line of JSON.

mod client;
mod server;

use std::path::PathBuf;

use flashlag_schema::{DeviceStats, SlowRequest};
use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

pub use client::Control;
pub use server::ControlServer;

/// A command to a device: `{"do":"stat"}`, `{"do":"cut","moment":"now"}`, …
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Report statistics.
    Stat,
    /// Cut the power.
    Cut {
        #[serde(default)]
        moment: CutMoment,
        /// Whether the power stays off until [`Command::On`], instead of coming back at once.
        #[serde(default)]
        stay_off: bool,
    },
    /// Switch the power on.
    On,
    /// Set a fault.
    Fault(Fault),
    /// Clear all faults.
    Repair,
    /// Record every request in a file from now on.
    Record {
        /// The file to create; it must not exist.
        path: PathBuf,
        /// Whether written data is recorded too.
        #[serde(default)]
        data: bool,
        /// Size at which the recording ends.
        #[serde(default = "gib")]
        limit: Bytes,
    },
    /// Stop recording. The answer comes when the file is complete.
    RecordStop,
    /// Change the speed of the device's clock.
    TimeScale {
        /// The speed, as a multiple of real time.
        times: f64,
    },
    /// Load an image file at offset 0, in no device time.
    Load {
        /// The file.
        image: PathBuf,
    },
    /// From now on, keep a list of the requests that take longer than this in the device's time,
    /// with what they waited for.
    KeepSlow {
        /// The limit.
        over_ns: Nanos,
    },
    /// Return that list and start a new one.
    Slow,
    /// End the server.
    Quit,
}

const fn gib() -> Bytes {
    Bytes::from_mib(1024)
}

/// The moment of a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum CutMoment {
    /// At once.
    #[default]
    Now,
    /// After this many further commands.
    AfterCommands(u64),
    /// After this much of the device's time.
    AfterNs(Nanos),
    /// At a random time within one of the next commands.
    Drawn {
        /// The seed of the draw.
        seed: u64,
        /// How many commands to draw from.
        within_commands: u64,
    },
}

/// A fault to inject into a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub struct Fault {
    pub kind: FaultKind,
    /// The requests that it strikes.
    #[serde(default)]
    pub op: FaultOp,
    /// Start of the range in which it strikes.
    #[serde(default)]
    pub offset: Bytes,
    /// Length of that range; `None`: to the end of the device.
    #[serde(default)]
    pub length: Option<Bytes>,
    /// Share of the matching requests that it strikes, drawn for each.
    #[serde(default = "all")]
    pub share: f64,
    /// The seed of the draws.
    #[serde(default)]
    pub seed: u64,
    /// Most requests that it strikes; `None`: no limit.
    #[serde(default)]
    pub times: Option<u64>,
}

const fn all() -> f64 {
    1.0
}

impl Fault {
    /// A fault that strikes every request.
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

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The request fails with `EIO` and has no effect.
    Error,
    /// From now on, the device takes no request for this long in its own time.
    StallNs(Nanos),
    /// The device is read-only.
    ReadOnly,
    /// The device is read-only once as much more was written.
    ReadOnlyAfter(Bytes),
    /// The device holds as much as its offset says: a higher address is taken modulo that.
    Wrap,
    /// Writes within are accepted and lost.
    Lose(Loses),
    /// A bit of each sector within is flipped when it is read.
    Flip,
}

/// What reads give of addresses whose writes are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Loses {
    /// What was there before.
    Old,
    Zeros,
    /// 0xff, as erased flash.
    Ones,
    /// Something else.
    Noise,
}

/// The requests that a fault strikes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultOp {
    #[default]
    Any,
    /// Reads.
    Read,
    /// Writes, and requests to write zeros.
    Write,
    Flush,
    /// Discards.
    Discard,
}

/// A device's answer to a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Its statistics.
    Stats(Box<DeviceStats>),
    /// The loss at a power cut.
    Cut(CutReport),
    /// The command was carried out, or a later cut is planned.
    Done,
    /// Slow requests since the list began; only the newest if there were too many.
    Slow(Vec<SlowRequest>),
    /// A recording has ended.
    Recorded {
        /// The number of requests recorded.
        requests: u64,
        /// Whether everything fitted into the file.
        complete: bool,
    },
}

impl Answer {
    /// The word that the answer is sent under: `stats`.
    pub fn name(&self) -> &'static str {
        match self {
            Answer::Stats(_) => "stats",
            Answer::Cut(_) => "cut",
            Answer::Done => "done",
            Answer::Slow(_) => "slow",
            Answer::Recorded { .. } => "recorded",
        }
    }
}

pub use flashlag_schema::CutReport;

/// A reply: a line of JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply {
    Ok(Answer),
    Error(String),
}
