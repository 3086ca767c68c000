//! Kinds of files, by name, or if names are missing by what is done to the files.

use std::collections::{HashMap, HashSet};

use flashlag_schema::trace::{Trace, TraceAction};
use flashlag_spec::TraceFileKind;
use flashlag_units::Bytes;

use super::names::{database_of, kind_of};

/// Sets the kinds of a trace's files: SQLite's files, directories, and what is not storage. Known
/// kinds stay.
pub fn recognize(trace: &mut Trace) {
    by_name(trace);
    by_content(trace);
    by_order(trace);
}

/// Consider a file without a name that a thread writes pages to right after it has synced a
/// journal: that is the journal's database. One that is synced in between and never written is the
/// directory.
fn by_order(trace: &mut Trace) {
    let mut after_journal: HashSet<Option<u32>> = HashSet::new();
    let mut written: HashSet<u32> = HashSet::new();
    let mut databases: HashSet<u32> = HashSet::new();
    let mut synced: HashSet<u32> = HashSet::new();
    for event in &trace.events {
        let is = |file: u32, kind: TraceFileKind| {
            trace.files.get(file as usize).is_some_and(|file| file.kind == kind)
        };
        match event.action {
            TraceAction::Write { file, .. } if is(file, TraceFileKind::Journal) => {
                after_journal.remove(&event.task);
            }
            TraceAction::Write { file, offset, bytes } => {
                written.insert(file);
                let is_page = bytes.0.is_power_of_two() && PAGES.contains(&bytes.0);
                let is_aligned = offset.is_none_or(|offset| offset.is_multiple_of(bytes.0.max(1)));
                if is_page && is_aligned && after_journal.contains(&event.task) {
                    databases.insert(file);
                }
            }
            TraceAction::Sync { file, .. } if is(file, TraceFileKind::Journal) => {
                after_journal.insert(event.task);
            }
            TraceAction::Sync { file, .. } if after_journal.contains(&event.task) => {
                if written.contains(&file) {
                    after_journal.remove(&event.task);
                } else {
                    synced.insert(file);
                }
            }
            _ => {}
        }
    }
    for (file, index) in trace.files.iter_mut().zip(0..) {
        if file.kind != TraceFileKind::Other || file.path.is_some() {
            continue;
        }
        if databases.contains(&index) {
            file.kind = TraceFileKind::Database;
        } else if synced.contains(&index) && !written.contains(&index) {
            file.kind = TraceFileKind::Directory;
        }
    }
}

fn by_name(trace: &mut Trace) {
    // A file with a journal or a log next to it is a database, whatever its name.
    let mut databases: HashSet<String> = HashSet::new();
    let mut parents: HashSet<String> = HashSet::new();
    for path in trace.files.iter().filter_map(|file| file.path.as_deref()) {
        if let Some((database, _)) = database_of(path) {
            databases.insert(database.to_owned());
        }
        if let Some((parent, _)) = path.trim_end_matches('/').rsplit_once('/') {
            parents.insert(parent.to_owned());
        }
    }
    for file in &mut trace.files {
        let Some(path) = file.path.as_deref().filter(|_| file.kind == TraceFileKind::Other) else {
            continue;
        };
        file.kind = match kind_of(path) {
            Some(kind) => kind,
            None if databases.contains(path) => TraceFileKind::Database,
            None if parents.contains(path.trim_end_matches('/')) => TraceFileKind::Directory,
            None => TraceFileKind::Other,
        };
    }
}

/// The known facts about the last writes to a file without a name.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// The end and the length of the last write, and the length of the previous one, if they are
    /// adjacent.
    end: u64,
    last: u64,
    before: u64,
}

/// The smallest and the largest page of a database.
const PAGES: std::ops::RangeInclusive<u64> = 512..=65_536;

fn by_content(trace: &mut Trace) {
    let mut seen: HashMap<u32, Seen> = HashMap::new();
    let mut found: HashMap<u32, TraceFileKind> = HashMap::new();
    for event in &trace.events {
        let (file, kind) = match &event.action {
            // This is how SQLite reads a database's change counter, with the 12 bytes after it.
            TraceAction::Read { file, offset: Some(24), bytes: Bytes(16) } => {
                (*file, Some(TraceFileKind::Database))
            }
            TraceAction::Write { file, offset: Some(offset), bytes } => {
                let seen = seen.entry(*file).or_default();
                (*file, wrote(seen, *offset, bytes.0))
            }
            _ => continue,
        };
        if let Some(kind) = kind {
            found.entry(file).or_insert(kind);
        }
    }
    for (file, kind) in found {
        if let Some(file) = trace.files.get_mut(file as usize)
            && file.kind == TraceFileKind::Other
            && file.path.is_none()
        {
            file.kind = kind;
        }
    }
}

/// The kind that a write indicates. A record of a rollback journal is the page's number (4 bytes),
/// the page and a checksum (4 bytes). A log begins with 32 bytes, and a frame is 24 bytes and the
/// page.
fn wrote(seen: &mut Seen, offset: u64, bytes: u64) -> Option<TraceFileKind> {
    let is_page = |bytes: u64| bytes.is_power_of_two() && PAGES.contains(&bytes);
    let touches = seen.end == offset && seen.last > 0;
    let (before, last) = if touches { (seen.before, seen.last) } else { (0, 0) };
    *seen = Seen { end: offset.saturating_add(bytes), last: bytes, before: last };
    let is_record = bytes == 4 && is_page(last) && before == 4;
    // A header of one sector, written together with the first record.
    let is_head = offset == 0 && bytes.checked_sub(512 + 8).is_some_and(is_page);
    let is_frame =
        is_page(bytes) && last == 24 && (offset == 32 + 24 || before == bytes || before == 32);
    match () {
        () if is_record || is_head => Some(TraceFileKind::Journal),
        () if is_frame => Some(TraceFileKind::Wal),
        () => None,
    }
}
