//! The protocol between host and guest: one message a line, as JSON.
//!
//! At each edge of a phase the guest sends [`Report::Sample`] and waits for [`Order::Sampled`], so that
//! the device's counters belong to that edge.

use flashlag_schema::remote::{Progress, RunOrder};
use flashlag_schema::{DeviceCount, Run};
use flashlag_spec::scenario::{FileKind, JournalMode, Synchronous};
use flashlag_spec::target::Cipher;
use serde::{Deserialize, Serialize};

use crate::layer::Layer;

/// The name of the port.
pub const PORT: &str = "flashlag";
/// The guest's file with its [`Setup`].
pub const SETUP: &str = "/flashlag.json";

/// The guest's setup, done before its first order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// Modules in the order in which they load: paths in the guest.
    pub modules: Vec<String>,
    /// Filesystems to mount.
    pub mounts: Vec<Mount>,
    /// Whether SQLite commits by F2FS's atomic writes.
    pub atomic: bool,
}

/// A filesystem to mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// The disk's serial number.
    pub serial: String,
    /// The kernel's name of the filesystem.
    pub filesystem: String,
    pub options: String,
    /// The mount point of the uppermost layer.
    pub at: String,
    /// Layers above the filesystem, lowest first.
    pub above: Vec<Layer>,
    /// The cipher below the filesystem.
    pub encrypt: Option<Cipher>,
    /// Serial number of the disk with the zones, if the filesystem is on zones.
    #[serde(default)]
    pub zones: Option<String>,
    /// The program that makes the filesystem, and its options, if the guest has to make it.
    pub make: Vec<String>,
}

/// Saves to be made one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaveOrder {
    pub journal: JournalMode,
    /// How a commit is made durable.
    pub synchronous: Synchronous,
    pub saves: u64,
    /// The seed of their contents.
    pub seed: u64,
    /// The directory of the database, or of the file.
    pub directory: String,
    /// The file that is saved in the place of a database.
    #[serde(default)]
    pub file: Option<FileOrder>,
}

/// A file that is saved without a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileOrder {
    /// The kind of library that writes it.
    pub kind: FileKind,
    /// The version of Android whose calls are made.
    pub android: Option<u32>,
    /// Whether the directory is synced after a rename.
    pub sync_directory: bool,
    /// The seed of its contents.
    pub seed: u64,
}

/// The state of the database after a power cut.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrashCheck {
    /// Why the filesystem could not be mounted; `None` if it could.
    pub unmountable: Option<String>,
    /// The damage of the database, or that the database is missing; `None` if it is whole.
    pub damage: Option<String>,
    /// Rows in the database; for a file, the saves that are in it.
    pub rows: Option<u64>,
    /// Whether a file is gone or empty.
    #[serde(default)]
    pub empty: bool,
    /// The newest save that is in a file which a repair made of what no name led to.
    #[serde(default)]
    pub salvaged: Option<u64>,
}

/// Messages from the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum Order {
    /// Run a scenario.
    Run(Box<RunOrder>),
    /// The device's counters, in answer to [`Report::Sample`].
    Sampled(DeviceCount),
    /// Make saves, and report each acknowledged save.
    Save(SaveOrder),
    /// Mount a crash image, check its database and unmount it again.
    Check {
        /// The image's filesystem.
        mount: Mount,
        /// Directory of the database, or of the file.
        directory: String,
        /// The file that was saved in the place of a database.
        file: Option<FileOrder>,
    },
    /// End the run under way.
    Stop,
    /// Unmount and switch off.
    PowerOff,
}

/// Messages from the guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum Report {
    /// The guest is set up.
    Ready {
        /// The guest's kernel, as `uname` reports it.
        kernel: String,
    },
    /// A sign of life.
    Alive,
    /// The guest waits for the device's counters.
    Sample {
        /// The types of the F2FS segments: a digit for each.
        segments: Option<String>,
    },
    /// Progress of the run under way.
    Progress(Progress),
    /// A run has ended, completely or not.
    Ran {
        #[serde(with = "flashlag_schema::remote::as_text")]
        run: Box<Run>,
    },
    /// Saves were acknowledged.
    Acknowledged { saves: u64 },
    /// All saves are done, and everything is unmounted.
    Saved,
    /// The state of the database after a power cut.
    Checked(CrashCheck),
    /// An order failed.
    Failed {
        /// What failed, why, and what to try.
        error: String,
    },
    /// Every filesystem is unmounted, and the machine powers off.
    Off,
}

impl Report {
    /// The word that the report is sent under: `ready`.
    pub fn name(&self) -> &'static str {
        match self {
            Report::Ready { .. } => "ready",
            Report::Alive => "alive",
            Report::Sample { .. } => "sample",
            Report::Progress(_) => "progress",
            Report::Ran { .. } => "ran",
            Report::Acknowledged { .. } => "acknowledged",
            Report::Saved => "saved",
            Report::Checked(_) => "checked",
            Report::Failed { .. } => "failed",
            Report::Off => "off",
        }
    }
}
