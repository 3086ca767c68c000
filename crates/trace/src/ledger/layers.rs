//! Writes at each layer.

use flashlag_schema::trace::{
    BlockOperation, FailedCall, Trace, TraceAction, TraceLayers, TraceWrites, TraceWrittenKind,
};
use flashlag_units::Bytes;

use super::stack::Stack;
use super::what::{Seen, is_storage, kind_of_blocks};
use super::writers::add;
use crate::sqlite::Database;

/// Sums the writes of a trace by layer. Block requests count at the lowest device seen.
pub(super) fn layers(
    trace: &Trace,
    databases: &[Database],
    seen: Seen,
    stack: &Stack,
) -> TraceLayers {
    let mut sum = Sum::default();
    for event in &trace.events {
        match &event.action {
            TraceAction::Write { file, bytes, .. } if is_storage(trace, *file) => {
                add(&mut sum.calls, *bytes);
            }
            TraceAction::Sync { .. }
            | TraceAction::SyncAll
            | TraceAction::Failed { call: FailedCall::Sync, .. } => sum.syncs += 1,
            TraceAction::Commit { .. } | TraceAction::Checkpoint { .. } => sum.commits += 1,
            TraceAction::Block { device, operation, bytes, flags, file, .. }
                if stack.counts(*device) =>
            {
                sum.flushes += u64::from(*operation == BlockOperation::Flush || flags.preflush);
                let kind = kind_of_blocks(trace, *operation, *flags, event.task, *file);
                match operation {
                    BlockOperation::Read => add(&mut sum.reads, *bytes),
                    BlockOperation::Discard => add(&mut sum.discards, *bytes),
                    BlockOperation::Flush => {}
                    BlockOperation::Write => {
                        add(&mut sum.block, *bytes);
                        if is_filesystems(kind) {
                            add(&mut sum.filesystem, *bytes);
                        }
                    }
                }
            }
            _ => {}
        }
    }
    let commits = || databases.iter().flat_map(|database| &database.commits);
    let is_known = seen.calls && commits().next().is_some();
    let sum_of = |of: fn(&crate::sqlite::Commit) -> (u64, u64)| {
        commits().map(of).fold(TraceWrites::default(), |sum, (count, bytes)| TraceWrites {
            count: sum.count.saturating_add(count),
            bytes: sum.bytes.plus(Bytes(bytes)),
        })
    };
    TraceLayers {
        pages: is_known.then(|| sum_of(|commit| (commit.pages, commit.page_bytes))),
        commits: is_known.then(|| sum_of(|commit| (commit.writes, commit.bytes))),
        calls: seen.calls.then_some(sum.calls),
        syncs: seen.calls.then_some(sum.syncs),
        filesystem_commits: seen.filesystem.then_some(sum.commits),
        block: seen.block.then_some(sum.block),
        filesystem: (seen.block && sum.filesystem.count > 0).then_some(sum.filesystem),
        block_reads: seen.block.then_some(sum.reads),
        discards: seen.block.then_some(sum.discards),
        flushes: seen.block.then_some(sum.flushes),
    }
}

#[derive(Debug, Default)]
struct Sum {
    calls: TraceWrites,
    syncs: u64,
    commits: u64,
    block: TraceWrites,
    filesystem: TraceWrites,
    reads: TraceWrites,
    discards: TraceWrites,
    flushes: u64,
}

/// Whether the filesystem writes it on its own behalf.
fn is_filesystems(kind: TraceWrittenKind) -> bool {
    matches!(kind, TraceWrittenKind::FilesystemJournal | TraceWrittenKind::FilesystemMetadata)
}
