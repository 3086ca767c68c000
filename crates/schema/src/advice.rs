//! What the set-up of a machine says about lag before anything is measured: the path to the storage,
//! mount options, the state of filesystem and device.

use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::finding::Findings;

/// What `flashlag explain --json` prints of a path or a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// The path or the run file, as typed.
    pub subject: String,
    /// What was seen.
    pub environment: Environment,
    /// What to change or know about the set-up, data in danger first.
    pub advice: Vec<Advice>,
    /// The causes of a run's waits; absent for a path, where nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<Findings>,
}

/// Something to change, or to know, about what a path lies on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Advice {
    /// What was found.
    pub id: AdviceId,
    /// How much it matters.
    pub severity: Severity,
    /// The fields that it rests on, with their values.
    pub evidence: Vec<Fact>,
    /// The published or measured ground of the rule.
    pub source: String,
}

/// A field and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// Path of the field in `environment`: `filesystem.options`.
    pub field: String,
    /// What matters of its value, as text: data, never markup.
    pub value: String,
}

/// How much something matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Data can be lost.
    Danger,
    /// It makes a device lag.
    Costly,
    /// It may.
    Minor,
    /// Figures measured here are not those of the flash.
    Misleading,
}

/// What can be found without measuring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum AdviceId {
    /// Syncs do not flush the device.
    NoBarrier,
    /// ext4 without a journal.
    NoJournal,
    /// The filesystem has noted errors.
    FilesystemErrors,
    /// The flash is nearly worn out.
    WornFlash,
    /// Data is written twice, into ext4's journal and in place.
    DataJournal,
    /// Each write is synchronous by a mount option.
    SyncMount,
    /// The filesystem is more than four fifths full.
    NearlyFull,
    /// F2FS has few free segments and must clean before it writes.
    FewFreeSegments,
    /// Each deletion is discarded at once.
    DiscardOnDelete,
    /// Nothing trims the filesystem.
    NeverTrimmed,
    /// A process serves the files.
    FuseOnPath,
    /// Encryption by a processor without instructions for it.
    SoftwareEncryption,
    /// The write cache of the eMMC is off.
    DeviceCacheOff,
    /// The WriteBooster buffer of the UFS is off or exhausted.
    WriteBoosterOff,
    /// An SD card without the app performance class.
    NoAppClass,
    /// A scheduler that orders requests costs time on a disk with many queues.
    Scheduler,
    /// Tasks wait for memory, and are written to the flash.
    Swapping,
    /// Reads change the files' nodes.
    AccessTimes,
    /// A loop device: a filesystem within a file of another one.
    LoopDevice,
    /// The disk is another machine's software.
    VirtualDisk,
    /// The files are in memory or on another machine.
    NotOnFlash,
    /// An overlay copies a file as a whole before its first change.
    Overlay,
}
