//! `[[save]]` as it stands in a file: one table, of which lists of words make a test each.

use flashlag_units::{Bytes, Nanos, Text};
use serde::{Deserialize, Serialize};

use super::fault::{Combination, ScenarioFault};
use super::file_save::{FileKind, FileSave, PrefsCall};
use super::pace::{Arrivals, hundred_bytes, yes};
use super::types::{JournalMode, Save, Statement, SyncCall, Synchronous, Test};

/// One value or several: several make a matrix of tests.
#[derive(Clone, Deserialize, Serialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(
    untagged,
    expecting = "not a word that this key takes, or a list of them: see `flashlag scenarios --keys`"
)]
pub(crate) enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

/// What saves.
#[derive(Clone, Copy, Deserialize, Serialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SavedBy {
    /// Transactions of SQLite.
    Sqlite,
    /// Android's `SharedPreferences`: the file is renamed to `.bak`, written anew and synced, and `.bak` is
    /// removed.
    SharedPreferences,
    /// `androidx.datastore`: `.tmp` is written and synced, the file removed, and `.tmp` renamed.
    Datastore,
    /// `android.util.AtomicFile`: `.new` is written, synced and renamed over the file.
    AtomicFile,
    /// A new file is written, synced and renamed over the old one.
    Rename,
    /// A record is appended to a log and synced, as LevelDB and etcd do.
    AppendLog,
}

/// Saves of SQLite, or of a file that an app writes without a database. A list of words makes a test of each.
#[derive(Clone, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct SaveMatrix {
    /// Its name in the run file. `{kind}`, `{call}`, `{statement}`, `{journal}`, `{synchronous}` and
    /// `{sync_call}` in it are replaced.
    name: String,
    /// Whether the tests exist: `when = "$android"`, with a setting that is true or false.
    #[serde(default = "yes")]
    when: bool,
    /// The reverse of `when`: the tests are left out if this is true.
    #[serde(default)]
    unless: bool,
    /// What saves.
    #[serde(default = "sqlite")]
    kind: OneOrMany<SavedBy>,
    /// Of "shared-preferences": how the app saves. A list makes a test of each.
    #[serde(default)]
    #[cfg_attr(feature = "json-schema", schemars(extend("default" = "commit")))]
    call: Option<OneOrMany<PrefsCall>>,
    /// Of "shared-preferences", "datastore" and "atomic-file": the version of Android whose calls are made, 1 to
    /// 16. They changed with 8, 8 and 11. Not given: the newest.
    #[serde(default)]
    #[cfg_attr(feature = "json-schema", schemars(range(min = 1, max = 16)))]
    android: Option<u32>,
    /// Of all but "sqlite": the size of the file, which is written anew by each save, at most 64 MB. Of
    /// "append-log" the size at which a new log begins, 4 MiB where it is not given.
    #[serde(default)]
    #[cfg_attr(feature = "json-schema", schemars(extend("default" = "10 kB")))]
    size: Option<Text<Bytes>>,
    /// Of all but "sqlite": the bytes that the app changes. Of "append-log" those of a record.
    #[serde(default)]
    #[cfg_attr(feature = "json-schema", schemars(extend("default" = "100 B")))]
    change: Option<Text<Bytes>>,
    /// Of all but "sqlite": changes in a save, each with a call of its own.
    #[serde(default)]
    #[cfg_attr(
        feature = "json-schema",
        schemars(range(min = 1, max = 1000), extend("default" = 1))
    )]
    changes: Option<u32>,
    /// Of "rename": whether the directory is synced after the rename.
    #[serde(default)]
    #[cfg_attr(feature = "json-schema", schemars(extend("default" = false)))]
    sync_directory: Option<bool>,
    /// What each save does.
    #[serde(default)]
    #[cfg_attr(feature = "json-schema", schemars(extend("default" = "insert")))]
    statement: Option<OneOrMany<Statement>>,
    /// SQLite's journal mode. It must be given where the kind is "sqlite".
    #[serde(default)]
    journal: Option<OneOrMany<JournalMode>>,
    /// SQLite's `synchronous`.
    #[serde(default)]
    #[cfg_attr(feature = "json-schema", schemars(extend("default" = "full")))]
    synchronous: Option<OneOrMany<Synchronous>>,
    /// The system call by which SQLite makes a file durable. Phones and distributions build SQLite
    /// with fdatasync; fsync also commits the file's times.
    #[serde(default)]
    #[cfg_attr(feature = "json-schema", schemars(extend("default" = "fdatasync")))]
    sync_call: Option<OneOrMany<SyncCall>>,
    /// Whether SQLite commits by F2FS's batch atomic writes, without a rollback journal. `true`: if
    /// the target has none, the test is skipped with the reason. `false`: never. If absent: by the
    /// target's option `atomic`. Not with `journal = "wal"`, "memory" or "off".
    #[serde(default)]
    atomic: Option<bool>,
    /// With `journal = "wal"`: number of pages in the log at which a save does a checkpoint, 1 to
    /// 1000. SQLite's own default is 1000, Android's 100.
    #[serde(default)]
    #[cfg_attr(feature = "json-schema", schemars(range(min = 1, max = 1000)))]
    wal_autocheckpoint: Option<u32>,
    /// The size to which a remaining journal or log is truncated if it has grown larger (`PRAGMA
    /// journal_size_limit`). If absent: no limit, as in SQLite; Android's is 512 KiB.
    #[serde(default)]
    journal_size_limit: Option<Text<Bytes>>,
    /// Statements in one transaction, each on another row: a save is that transaction.
    #[serde(default)]
    #[cfg_attr(
        feature = "json-schema",
        schemars(range(min = 1, max = 10_000), extend("default" = 1))
    )]
    statements: Option<u32>,
    /// Bytes of content in a row, at most 1 MiB.
    #[serde(default)]
    #[cfg_attr(feature = "json-schema", schemars(extend("default" = "100 B")))]
    row: Option<Text<Bytes>>,
    /// Rows in each database before the first save.
    #[serde(default)]
    #[cfg_attr(feature = "json-schema", schemars(extend("default" = 0)))]
    rows: Option<u64>,
    /// Databases changed by one save, one transaction each.
    #[serde(default)]
    #[cfg_attr(
        feature = "json-schema",
        schemars(range(min = 1, max = 64), extend("default" = 1))
    )]
    databases: Option<u32>,
    /// Ends after this many saves.
    #[serde(default)]
    saves: Option<u64>,
    /// Ends after this long (but see `min_saves`).
    #[serde(default)]
    time: Option<Text<Nanos>>,
    /// If fewer saves were done within `time`, the test continues, up to four times as long.
    #[serde(default)]
    min_saves: Option<u64>,
    /// When saves begin.
    #[serde(default)]
    arrivals: Arrivals,
    /// Time that the app spends on something else after each save, before the next begins. In no
    /// latency, but in the elapsed time and in the rate. Not with `arrivals`.
    #[serde(default)]
    think: Option<Text<Nanos>>,
    /// The name of an `[[io]]` that runs in parallel.
    #[serde(default)]
    background: Option<String>,
}

impl<T: Copy> OneOrMany<T> {
    fn all(&self) -> Vec<T> {
        match self {
            OneOrMany::One(one) => vec![*one],
            OneOrMany::Many(many) => many.clone(),
        }
    }
}

/// The words of a key, or its default.
fn all_or<T: Copy>(given: Option<&OneOrMany<T>>, default: T) -> Vec<T> {
    given.map_or_else(|| vec![default], OneOrMany::all)
}

fn sqlite() -> OneOrMany<SavedBy> {
    OneOrMany::One(SavedBy::Sqlite)
}

impl SavedBy {
    /// The kind of a save that is none of SQLite.
    fn file(self) -> Option<FileKind> {
        Some(match self {
            SavedBy::Sqlite => return None,
            SavedBy::SharedPreferences => FileKind::SharedPreferences,
            SavedBy::Datastore => FileKind::Datastore,
            SavedBy::AtomicFile => FileKind::AtomicFile,
            SavedBy::Rename => FileKind::Rename,
            SavedBy::AppendLog => FileKind::AppendLog,
        })
    }
}

/// The modes of one test of SQLite.
#[derive(Clone, Copy)]
struct Modes {
    statement: Statement,
    journal: JournalMode,
    synchronous: Synchronous,
    sync_call: SyncCall,
}

impl SaveMatrix {
    /// Whether its tests are there.
    pub(super) fn is_there(&self) -> bool {
        self.when && !self.unless
    }

    /// The tests of the matrix.
    pub(super) fn expand(&self) -> Result<Vec<Test>, ScenarioFault> {
        let of_test = |fault: ScenarioFault| ScenarioFault::Test {
            test: self.name.clone(),
            fault: Box::new(fault),
        };
        let mut tests = Vec::new();
        for by in self.kind.all() {
            match by.file() {
                None => tests.extend(self.transactions().map_err(of_test)?),
                Some(kind) => tests.extend(self.files(kind).map_err(of_test)?),
            }
        }
        Ok(tests)
    }

    /// The tests of SQLite.
    fn transactions(&self) -> Result<Vec<Test>, ScenarioFault> {
        let of_files = [
            Given { key: "call", is_given: self.call.is_some(), kinds: OF_PREFS },
            Given {
                key: "android",
                is_given: self.android.is_some(),
                kinds: "\"shared-preferences\", \"datastore\" or \"atomic-file\"",
            },
            Given { key: "size", is_given: self.size.is_some(), kinds: OF_FILES },
            Given { key: "change", is_given: self.change.is_some(), kinds: OF_FILES },
            Given { key: "changes", is_given: self.changes.is_some(), kinds: OF_FILES },
            Given {
                key: "sync_directory",
                is_given: self.sync_directory.is_some(),
                kinds: "\"rename\"",
            },
        ];
        refuse(&of_files)?;
        let Some(journals) = &self.journal else { return Err(Combination::NoJournal.into()) };
        let mut saves = Vec::new();
        for statement in all_or(self.statement.as_ref(), Statement::Insert) {
            for journal in journals.all() {
                for synchronous in all_or(self.synchronous.as_ref(), Synchronous::Full) {
                    for sync_call in all_or(self.sync_call.as_ref(), SyncCall::Fdatasync) {
                        let modes = Modes { statement, journal, synchronous, sync_call };
                        saves.push(Test::Save(self.transaction(modes)));
                    }
                }
            }
        }
        Ok(saves)
    }

    fn transaction(&self, modes: Modes) -> Save {
        let Modes { statement, journal, synchronous, sync_call } = modes;
        let name = self
            .name
            .replace("{kind}", &word(&SavedBy::Sqlite))
            .replace("{statement}", &word(&statement))
            .replace("{journal}", &word(&journal))
            .replace("{synchronous}", &word(&synchronous))
            .replace("{sync_call}", &word(&sync_call));
        Save {
            name,
            statement,
            journal,
            synchronous,
            sync_call,
            atomic: self.atomic,
            wal_autocheckpoint: self.wal_autocheckpoint,
            journal_size_limit: self.journal_size_limit,
            statements: self.statements.unwrap_or(1),
            row: self.row.unwrap_or_else(hundred_bytes),
            rows: self.rows.unwrap_or_default(),
            databases: self.databases.unwrap_or(1),
            saves: self.saves,
            time: self.time,
            min_saves: self.min_saves,
            arrivals: self.arrivals,
            think: self.think,
            background: self.background.clone(),
        }
    }

    /// The tests of a file of this kind.
    fn files(&self, kind: FileKind) -> Result<Vec<Test>, ScenarioFault> {
        let of_sqlite = [
            Given { key: "statement", is_given: self.statement.is_some(), kinds: OF_SQLITE },
            Given { key: "journal", is_given: self.journal.is_some(), kinds: OF_SQLITE },
            Given { key: "synchronous", is_given: self.synchronous.is_some(), kinds: OF_SQLITE },
            Given { key: "sync_call", is_given: self.sync_call.is_some(), kinds: OF_SQLITE },
            Given { key: "atomic", is_given: self.atomic.is_some(), kinds: OF_SQLITE },
            Given {
                key: "wal_autocheckpoint",
                is_given: self.wal_autocheckpoint.is_some(),
                kinds: OF_SQLITE,
            },
            Given {
                key: "journal_size_limit",
                is_given: self.journal_size_limit.is_some(),
                kinds: OF_SQLITE,
            },
            Given { key: "statements", is_given: self.statements.is_some(), kinds: OF_SQLITE },
            Given { key: "row", is_given: self.row.is_some(), kinds: OF_SQLITE },
            Given { key: "rows", is_given: self.rows.is_some(), kinds: OF_SQLITE },
            Given { key: "databases", is_given: self.databases.is_some(), kinds: OF_SQLITE },
        ];
        refuse(&of_sqlite)?;
        if kind != FileKind::SharedPreferences {
            refuse(&[Given { key: "call", is_given: self.call.is_some(), kinds: OF_PREFS }])?;
        }
        let calls = all_or(self.call.as_ref(), PrefsCall::Commit);
        Ok(calls.into_iter().map(|call| Test::FileSave(self.file(kind, call))).collect())
    }

    fn file(&self, kind: FileKind, call: PrefsCall) -> FileSave {
        let size = match kind {
            FileKind::AppendLog => Bytes::from_mib(4),
            _ => Bytes(10_000),
        };
        let name = self
            .name
            .replace("{kind}", &word(&kind).replace('-', "_"))
            .replace("{call}", &word(&call));
        FileSave {
            name,
            kind,
            android: self.android,
            call,
            size: self.size.unwrap_or(Text(size)),
            change: self.change.unwrap_or_else(hundred_bytes),
            changes: self.changes.unwrap_or(1),
            sync_directory: self.sync_directory.unwrap_or_default(),
            saves: self.saves,
            time: self.time,
            min_saves: self.min_saves,
            arrivals: self.arrivals,
            think: self.think,
            background: self.background.clone(),
        }
    }
}

const OF_SQLITE: &str = "\"sqlite\"";
const OF_FILES: &str =
    "\"shared-preferences\", \"datastore\", \"atomic-file\", \"rename\" or \"append-log\"";

const OF_PREFS: &str = "\"shared-preferences\"";

/// A key, whether a table has it, and the kinds that it belongs to.
struct Given {
    key: &'static str,
    is_given: bool,
    kinds: &'static str,
}

/// Refuses the first key that is given, where all belong to other kinds.
fn refuse(keys: &[Given]) -> Result<(), ScenarioFault> {
    match keys.iter().find(|key| key.is_given) {
        Some(Given { key, kinds, .. }) => Err(ScenarioFault::OfKind { key, kinds }),
        None => Ok(()),
    }
}

/// The word of a unit variant in files.
fn word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
