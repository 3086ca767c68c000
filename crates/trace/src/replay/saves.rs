//! Finds SQLite transactions among the system calls of a replay.

use std::collections::BTreeMap;

use flashlag_spec::TraceFileKind;
use flashlag_spec::replay::{ReplayCall, ReplayKind, ReplaySave, ReplayStream};
use flashlag_units::InOrder;

/// What a thread has done since its last transaction.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    /// The first operation on a journal or a log.
    first: Option<u32>,
    /// Whether the database itself was written since.
    wrote_database: bool,
    /// Whether the log was written since.
    wrote_log: bool,
    /// A transaction through a log, which waits for proof that its sync was not a checkpoint's.
    synced: Option<ReplaySave>,
}

/// The transactions of each thread, by their first operations.
///
/// With a rollback journal, a transaction begins with the first operation on the journal and ends
/// with the sync of the database after its last write; the end of the journal follows. With a log,
/// it begins with the first write to the log and ends with its sync, unless a write to the database
/// follows: that is a checkpoint of transactions that were not synced. The ledger of a trace counts
/// by the same signs, but per database. Here it is per thread, since a thread's operations follow
/// one another; a thread that works on several databases at once is treated as if they were one.
pub(super) fn saves(stream: &ReplayStream) -> Vec<ReplaySave> {
    let mut open: BTreeMap<u32, Open> = BTreeMap::new();
    let mut saves = Vec::new();
    for (index, op) in (0u32..).zip(&stream.ops) {
        if !matches!(op.call.kind(), ReplayKind::Write | ReplayKind::Sync | ReplayKind::Names) {
            continue;
        }
        let Some(file) = stream.files.get(op.file as usize) else { continue };
        let of = open.entry(op.thread).or_default();
        let ends = match (file.kind, op.call) {
            (_, ReplayCall::SyncDirectory | ReplayCall::SyncAll | ReplayCall::Close) => false,
            (TraceFileKind::Journal, ReplayCall::Unlink | ReplayCall::Truncate) => {
                // The end of a transaction that is already over, or of one that was rolled back.
                *of = Open { synced: of.synced, ..Open::default() };
                false
            }
            (
                TraceFileKind::Journal,
                ReplayCall::Write | ReplayCall::Create | ReplayCall::CreateEmpty,
            ) => {
                of.first.get_or_insert(index);
                false
            }
            (TraceFileKind::Database, ReplayCall::Write) => {
                of.wrote_database = true;
                of.synced = None;
                false
            }
            (TraceFileKind::Database, ReplayCall::Sync | ReplayCall::SyncData) => {
                of.wrote_database && !of.wrote_log
            }
            (TraceFileKind::Wal, call) => {
                saves.extend(of.synced.take());
                if call == ReplayCall::Write {
                    of.first.get_or_insert(index);
                    of.wrote_log = true;
                }
                of.wrote_log && matches!(call, ReplayCall::Sync | ReplayCall::SyncData)
            }
            _ => false,
        };
        if ends {
            let log = of.wrote_log;
            let save = of.first.map(|first| ReplaySave { first, last: index, log });
            let synced = save.filter(|save| save.log);
            saves.extend(save.filter(|save| !save.log));
            *of = Open { synced, ..Open::default() };
        }
    }
    saves.extend(open.into_values().filter_map(|of| of.synced));
    saves.order_by_key(|save| save.first);
    saves
}
