//! The saves without SQLite of each thread and file.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use flashlag_schema::Lag;
use flashlag_schema::trace::{Trace, TraceSaveKind, TraceSaveWaits, TraceSaves};
use flashlag_units::{Bytes, InOrder, Nanos};

use super::frames::Janks;
use super::what::file_name;
use super::writers::summary;
use crate::saves::Save;

/// After this long without an answer Android says that an app isn't responding
/// (`InputDispatcher`, `DEFAULT_INPUT_DISPATCHING_TIMEOUT`).
const NOT_RESPONDING: Nanos = Nanos::from_secs(5);

/// Whose saves a row has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    task: Option<u32>,
    file: u32,
    kind: TraceSaveKind,
}

/// Every thread and file with a save, the most saves first.
pub(super) fn saves(trace: &Trace, janks: Option<&Janks>) -> Vec<TraceSaves> {
    let mut rows: BTreeMap<Key, Vec<Save>> = BTreeMap::new();
    for save in crate::saves::saves(trace) {
        let key = Key { task: save.task, file: save.file, kind: save.kind };
        rows.entry(key).or_default().push(save);
    }
    let rows = rows.iter().map(|(key, saves)| row(trace, *key, saves, janks));
    let mut rows: Vec<TraceSaves> = rows.collect();
    rows.order_by_key(|row| (Reverse(row.saves), Reverse(row.unsynced)));
    rows
}

fn row(trace: &Trace, key: Key, all: &[Save], janks: Option<&Janks>) -> TraceSaves {
    let Key { task, file, kind } = key;
    let task = task.and_then(|task| trace.tasks.get(task as usize));
    let saves: Vec<&Save> = all.iter().filter(|save| save.syncs > 0).collect();
    let followed = followed(kind, &saves);
    let seen = |save: &&&Save| {
        janks.is_some_and(|janks| janks.any(trace, save.task, save.begun, save.ended))
    };
    let janks = janks.map(|_| saves.iter().filter(seen).count() as u64);
    let total =
        |of: fn(&Save) -> u64| saves.iter().map(|save| of(save)).fold(0, u64::saturating_add);
    TraceSaves {
        process: task.and_then(|task| task.process.clone()),
        pid: task.and_then(|task| task.pid),
        thread: task.and_then(|task| task.thread.clone()),
        tid: task.and_then(|task| task.tid),
        main: task.and_then(|task| task.is_main()),
        file: file_name(trace, file),
        kind,
        saves: saves.len() as u64,
        unsynced: (all.len() - saves.len()) as u64,
        syncs: total(|save| save.syncs.into()),
        bytes: Bytes(total(|save| save.bytes)),
        waits: waits(&saves, &followed).map(|waits| TraceSaveWaits { janks, ..waits }),
        followed: followed.len() as u64,
    }
}

/// How long the thread waited; nothing if the source lacks the duration of any write or sync.
fn waits(saves: &[&Save], followed: &[&Save]) -> Option<TraceSaveWaits> {
    if !saves.iter().all(|save| save.timed) {
        return None;
    }
    let lengths: Vec<Nanos> = saves.iter().map(|save| save.waited).collect();
    let (Some(latency_ns), Some(histogram)) = summary(&lengths) else { return None };
    let over = |limit| lengths.iter().filter(|length| **length > limit).count() as u64;
    Some(TraceSaveWaits {
        waited_ns: lengths.iter().copied().fold(Nanos::ZERO, Nanos::plus),
        latency_ns,
        histogram,
        over_frame: over(Lag::FRAME_60HZ),
        janks: None,
        over_5s: over(NOT_RESPONDING),
        followed_ns: followed.iter().map(|save| save.waited).fold(Nanos::ZERO, Nanos::plus),
    })
}

/// The saves that write all of a file and that another one followed before the next frame was drawn: nobody can
/// have used what they saved. By time.
fn followed<'a>(kind: TraceSaveKind, saves: &[&'a Save]) -> Vec<&'a Save> {
    if matches!(kind, TraceSaveKind::AppendLog | TraceSaveKind::Unknown) {
        return Vec::new();
    }
    let pairs = saves.iter().zip(saves.iter().skip(1));
    let soon = |one: &Save, next: &Save| next.begun.saturating_since(one.ended) <= Lag::FRAME_60HZ;
    pairs.filter(|(one, next)| soon(one, next)).map(|(one, _)| *one).collect()
}
