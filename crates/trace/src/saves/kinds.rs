//! The kind of a save, by its files' names and places.

use std::collections::HashMap;

use flashlag_schema::trace::{Trace, TraceSaveKind};
use flashlag_spec::TraceSourceKind;

use super::save::Save;

/// Where Android's apps and system services keep files.
const ANDROID: [&str; 5] =
    ["/data/data/", "/data/user/", "/data/user_de/", "/data/system", "/data/misc"];

/// The kind of a save that renamed `from` over `to`.
pub(super) fn replaced(from: &str, to: &str) -> TraceSaveKind {
    match from.strip_prefix(to) {
        Some(".new") => TraceSaveKind::AtomicFile,
        Some(".tmp") if to.ends_with(".preferences_pb") || to.contains("/datastore/") => {
            TraceSaveKind::Datastore
        }
        _ => TraceSaveKind::Rename,
    }
}

/// The kind of a save that kept the old `file` as `backup` until the new one was durable.
pub(super) fn kept(file: &str, backup: &str) -> TraceSaveKind {
    match backup.strip_prefix(file) {
        Some(".bak") if file.contains("/shared_prefs/") => TraceSaveKind::SharedPreferences,
        Some(".bak") if ANDROID.iter().any(|start| file.starts_with(start)) => {
            TraceSaveKind::AtomicFile
        }
        _ => TraceSaveKind::Backup,
    }
}

/// Whether a source has renames: without them, a new file that takes the old one's place looks like one that is
/// written over.
pub(super) fn has_renames(kind: TraceSourceKind) -> bool {
    use TraceSourceKind::{Ebpf, Strace, SystemCalls, Unknown};
    matches!(kind, Ebpf | Strace | SystemCalls | Unknown)
}

/// Tells appended logs from files that are written over, among the saves in place of a trace; `saves` are by time.
///
/// Where the first write of a save is not known to continue the one before it, as that of a file's first save,
/// the file's next save tells.
pub(super) fn tell_logs(trace: &Trace, saves: &mut [Save]) {
    let has_renames = has_renames(trace.source.kind);
    let mut next_is_log: HashMap<u32, bool> = HashMap::new();
    for save in saves.iter_mut().rev().filter(|save| save.kind == TraceSaveKind::InPlace) {
        let is_log = save.continues.or_else(|| next_is_log.get(&save.file).copied());
        let is_named = trace.files.get(save.file as usize).is_some_and(|file| file.path.is_some());
        save.kind = match is_log {
            Some(true) => TraceSaveKind::AppendLog,
            Some(false) if has_renames => TraceSaveKind::InPlace,
            None if has_renames && is_named => TraceSaveKind::InPlace,
            _ => TraceSaveKind::Unknown,
        };
        if save.kind != TraceSaveKind::Unknown {
            next_is_log.insert(save.file, save.kind == TraceSaveKind::AppendLog);
        }
    }
}
