//! Saves without SQLite: what people call them.

use flashlag_explain::Plan;
use flashlag_schema::{Phase, Run};
use flashlag_spec::Operation;
use flashlag_spec::scenario::{EngineKind, FileKind, FileSave, PrefsCall};

/// The file that a phase saved, if it was not a database of SQLite.
pub(crate) fn file_save(run: &Run, phase: &Phase) -> Option<FileSave> {
    // Views ask for each phase many times, and reading the scenario again costs more than the rest.
    let may_be = phase.operation == Operation::Save && phase.engine == EngineKind::Psync;
    may_be.then(|| Plan::of(run).file_save(phase).cloned()).flatten()
}

/// A save of a file as a row's name: `SharedPreferences commit, 10 kB`, `SharedPreferences apply × 5, 10 kB,
/// Android 7`, `Write and rename, 10 kB, directory synced`, `Log append, 100 B`.
pub fn file_save_label(save: &FileSave) -> String {
    let mut label = match (save.kind, save.call) {
        (FileKind::SharedPreferences, PrefsCall::Commit) => "SharedPreferences commit",
        (FileKind::SharedPreferences, PrefsCall::Apply) => "SharedPreferences apply",
        (FileKind::Datastore, _) => "DataStore edit",
        (FileKind::AtomicFile, _) => "AtomicFile write",
        (FileKind::Rename, _) => "Write and rename",
        (FileKind::AppendLog, _) => "Log append",
    }
    .to_owned();
    if save.changes > 1 {
        label += &format!(" × {}", save.changes);
    }
    label += &format!(", {}", save.written_at_once());
    if let Some(android) = save.android.filter(|_| !save.is_new()) {
        label += &format!(", Android {android}");
    }
    if save.sync_directory {
        label += ", directory synced";
    }
    label
}

/// The name of such saves, for one and for many: `SharedPreferences commits`. Several changes with
/// a `commit` each, or with a stop after `apply`, are one save together.
pub(crate) fn file_saves(save: &FileSave) -> [String; 2] {
    let one = match (save.kind, save.call, save.changes) {
        (FileKind::SharedPreferences, PrefsCall::Commit, 1) => "SharedPreferences commit",
        (FileKind::SharedPreferences, PrefsCall::Apply, _) => "stop after SharedPreferences apply",
        (FileKind::SharedPreferences, ..) => "SharedPreferences save",
        (FileKind::Datastore, ..) => "DataStore edit",
        (FileKind::AtomicFile, ..) => "AtomicFile write",
        (FileKind::Rename, ..) => "write with a rename",
        (FileKind::AppendLog, ..) => "log append",
    };
    let many = match save.kind {
        FileKind::Rename => "writes with a rename".to_owned(),
        _ if save.call == PrefsCall::Apply => "stops after SharedPreferences apply".to_owned(),
        _ => format!("{one}s"),
    };
    [one.to_owned(), many]
}

#[cfg(test)]
mod tests {
    use flashlag_units::{Bytes, Text};

    use super::*;

    fn save(kind: FileKind) -> FileSave {
        FileSave {
            name: "t".to_owned(),
            kind,
            android: None,
            call: PrefsCall::Commit,
            size: Text(Bytes(10_000)),
            change: Text(Bytes(100)),
            changes: 1,
            sync_directory: false,
            saves: Some(1),
            time: None,
            min_saves: None,
            arrivals: Default::default(),
            think: None,
            background: None,
        }
    }

    #[test]
    fn a_save_is_called_by_what_makes_it_how_much_it_writes_and_what_is_unusual() {
        let prefs = save(FileKind::SharedPreferences);
        assert_eq!(file_save_label(&prefs), "SharedPreferences commit, 10 kB");
        let apply = FileSave { call: PrefsCall::Apply, changes: 5, ..prefs.clone() };
        assert_eq!(file_save_label(&apply), "SharedPreferences apply × 5, 10 kB");
        let old = FileSave { android: Some(7), ..apply };
        assert_eq!(file_save_label(&old), "SharedPreferences apply × 5, 10 kB, Android 7");
        assert_eq!(file_save_label(&FileSave { android: Some(8), ..old.clone() }), {
            "SharedPreferences apply × 5, 10 kB"
        });
        assert_eq!(file_saves(&old)[1], "stops after SharedPreferences apply");
        let synced = FileSave { sync_directory: true, ..save(FileKind::Rename) };
        assert_eq!(file_save_label(&synced), "Write and rename, 10 kB, directory synced");
        assert_eq!(file_saves(&synced)[1], "writes with a rename");
        let log = save(FileKind::AppendLog);
        assert_eq!(file_save_label(&log), "Log append, 100 B");
        assert_eq!(file_saves(&log), ["log append", "log appends"]);
        assert_eq!(file_saves(&prefs), ["SharedPreferences commit", "SharedPreferences commits"]);
    }
}
