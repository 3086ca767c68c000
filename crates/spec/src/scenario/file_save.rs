//! Saves of an app that has no database: one small file, made durable by the calls of the library that
//! writes it.

use flashlag_units::{Bytes, Nanos, Text};
use serde::{Deserialize, Serialize};

use super::fault::ScenarioFault;
use super::pace::{Arrivals, SavePace, is_one, one};
use crate::words::Durability;

/// How an app keeps what it saves, where that is in no database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    /// Android's `SharedPreferences`.
    SharedPreferences,
    /// `androidx.datastore`.
    Datastore,
    /// `android.util.AtomicFile`.
    AtomicFile,
    /// A new file, synced, and renamed over the old one.
    Rename,
    /// Records appended to a log.
    AppendLog,
}

impl FileKind {
    /// Every kind.
    pub const ALL: [FileKind; 5] = [
        FileKind::SharedPreferences,
        FileKind::Datastore,
        FileKind::AtomicFile,
        FileKind::Rename,
        FileKind::AppendLog,
    ];

    /// The names of its files in the directory of a test, that of the file itself first. All names begin
    /// with `save-`, which identifies what a run left behind.
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            FileKind::SharedPreferences => &["save-0.xml", "save-0.xml.bak"],
            FileKind::AtomicFile => &["save-0.xml", "save-0.xml.bak", "save-0.xml.new"],
            FileKind::Datastore => &["save-0.preferences_pb", "save-0.preferences_pb.tmp"],
            FileKind::Rename => &["save-0.json", "save-0.json.tmp"],
            FileKind::AppendLog => &["save-0.log", "save-1.log"],
        }
    }

    /// The first Android that makes other calls than those before it, where there is one.
    pub fn changed_with(self) -> Option<u32> {
        match self {
            // "Only persist last Shared Preferences state", frameworks/base, commit e3462655.
            FileKind::SharedPreferences => Some(8),
            // `FileMoves.android.kt`: `Files.move` from API 26 on, `renameTo` before.
            FileKind::Datastore => Some(8),
            // `.new` is renamed over the file; before, the file was renamed to `.bak`.
            FileKind::AtomicFile => Some(11),
            FileKind::Rename | FileKind::AppendLog => None,
        }
    }

    /// The call by which a save is made durable.
    pub fn durability(self) -> Durability {
        match self {
            FileKind::AppendLog => Durability::Fdatasync,
            _ => Durability::Fsync,
        }
    }
}

/// The call by which an app saves `SharedPreferences`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PrefsCall {
    /// The caller waits until the file is durable.
    #[default]
    Commit,
    /// The caller goes on, and waits when its activity stops: a save is that wait
    /// (`QueuedWork.waitToFinish`), for what the calls before it have left to be written.
    Apply,
}

/// Saves of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSave {
    /// Its name in the run file: `prefs_commit`.
    pub name: String,
    /// What writes the file.
    pub kind: FileKind,
    /// The version of Android whose calls are made; the newest where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub android: Option<u32>,
    /// The call by which the app saves `SharedPreferences`.
    #[serde(default, skip_serializing_if = "PrefsCall::is_commit")]
    pub call: PrefsCall,
    /// Size of the file; of a log the size at which a new one begins.
    pub size: Text<Bytes>,
    /// Bytes that a change of the app changes; of a log those of a record.
    pub change: Text<Bytes>,
    /// Changes in a save, each with a call of its own.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub changes: u32,
    /// Whether a rename is made durable by a sync of the directory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sync_directory: bool,
    /// Ends after this many saves.
    #[serde(default)]
    pub saves: Option<u64>,
    /// Ends after this long (but see `min_saves`).
    #[serde(default)]
    pub time: Option<Text<Nanos>>,
    /// Where `time` is up but fewer saves were done, goes on, up to four times as long.
    #[serde(default)]
    pub min_saves: Option<u64>,
    /// When saves begin.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// How long the app does something else after each save.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<Text<Nanos>>,
    /// The name of an `[[io]]` that runs beside it.
    #[serde(default)]
    pub background: Option<String>,
}

impl PrefsCall {
    fn is_commit(&self) -> bool {
        *self == PrefsCall::Commit
    }
}

impl FileSave {
    /// When its saves begin and when they end.
    pub fn pace(&self) -> SavePace {
        SavePace {
            saves: self.saves,
            time: self.time.map(|time| time.0),
            min_saves: self.min_saves,
            think: self.think.map(|think| think.0).unwrap_or_default(),
            arrivals: self.arrivals,
        }
    }

    /// Whether the calls are those of the newest Android that changed them.
    pub fn is_new(&self) -> bool {
        let changed = self.kind.changed_with().unwrap_or_default();
        self.android.is_none_or(|android| android >= changed)
    }

    /// How often a save writes the file, or a record of a log. Since Android 8, all that `apply` has left to be
    /// written of one file is written once.
    pub fn writes(&self) -> u32 {
        match self.call {
            PrefsCall::Apply if self.is_new() => 1,
            _ => self.changes.max(1),
        }
    }

    /// Bytes that one write call or several write at once: the file anew, or a record.
    pub fn written_at_once(&self) -> Bytes {
        match self.kind {
            FileKind::AppendLog => self.change.0,
            _ => self.size.0,
        }
    }
}

/// The largest file that a save writes anew: it is held in memory.
const LARGEST: Bytes = Bytes::from_mb(64);
/// The newest Android whose source was read for the calls.
const NEWEST_ANDROID: u32 = 16;

/// Checks what is a file save's own.
pub(super) fn check_file(save: &FileSave) -> Result<(), ScenarioFault> {
    if save.size.0 == Bytes::ZERO || save.size.0 > LARGEST {
        return Err(range("size", save.size.0, format!("1 B to {LARGEST}")));
    }
    if save.change.0 == Bytes::ZERO || save.change.0 > save.size.0 {
        return Err(range("change", save.change.0, format!("1 B to size, {}", save.size.0)));
    }
    if !(1..=1000).contains(&save.changes) {
        return Err(range("changes", save.changes, "1 to 1000".to_owned()));
    }
    let belongs = |key, kinds| Err(ScenarioFault::OfKind { key, kinds });
    if save.android.is_some() && save.kind.changed_with().is_none() {
        return belongs("android", "\"shared-preferences\", \"datastore\" or \"atomic-file\"");
    }
    if let Some(android) = save.android
        && !(1..=NEWEST_ANDROID).contains(&android)
    {
        return Err(range("android", android, format!("1 to {NEWEST_ANDROID}")));
    }
    if save.sync_directory && save.kind != FileKind::Rename {
        return belongs("sync_directory", "\"rename\"");
    }
    Ok(())
}

fn range(key: &'static str, value: impl ToString, allowed: String) -> ScenarioFault {
    ScenarioFault::Range { key, value: value.to_string(), allowed }
}
