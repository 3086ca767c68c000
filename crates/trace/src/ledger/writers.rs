//! What each thread did to each file.

use std::cmp::Reverse;
use std::collections::HashMap;

use flashlag_schema::trace::{
    BlockOperation, FailedCall, Trace, TraceAction, TraceSyncs, TraceWriter, TraceWrites,
    TraceWrittenKind,
};
use flashlag_schema::{LatencySummary, StoredHistogram};
use flashlag_stats::Histogram;
use flashlag_units::{Bytes, InOrder, Nanos};

use super::what::{Seen, file_name, is_storage, kind_of_blocks, kind_of_file};

/// A writer, and what it writes.
type Key = (Option<u32>, Option<u32>, TraceWrittenKind);

#[derive(Debug, Default)]
struct Row {
    calls: TraceWrites,
    block: TraceWrites,
    syncs: u64,
    waits: Vec<Nanos>,
    changes: u64,
    counted: Option<TraceWrites>,
}

/// Every thread and file with a write or an fsync, the most bytes first.
pub(super) fn writers(trace: &Trace, seen: Seen) -> Vec<TraceWriter> {
    let mut rows: HashMap<Key, Row> = HashMap::new();
    for event in &trace.events {
        match &event.action {
            TraceAction::Write { file, bytes, .. } if is_storage(trace, *file) => {
                let key = (event.task, Some(*file), kind_of_file(trace, *file));
                add(&mut rows.entry(key).or_default().calls, *bytes);
            }
            TraceAction::Sync { file, .. } => {
                let key = (event.task, Some(*file), kind_of_file(trace, *file));
                let row = rows.entry(key).or_default();
                row.syncs += 1;
                row.waits.extend(event.took_ns);
            }
            // The thread waited for a failed fsync as well.
            TraceAction::Failed { call: FailedCall::Sync, file: Some(file), .. } => {
                let key = (event.task, Some(*file), kind_of_file(trace, *file));
                let row = rows.entry(key).or_default();
                row.syncs += 1;
                row.waits.extend(event.took_ns);
            }
            TraceAction::Change { file } => {
                let key = (event.task, Some(*file), kind_of_file(trace, *file));
                rows.entry(key).or_default().changes += 1;
            }
            TraceAction::Counted { writes, bytes } => {
                let row = rows.entry((event.task, None, TraceWrittenKind::All)).or_default();
                let sum = row.counted.get_or_insert_default();
                sum.count = sum.count.saturating_add(*writes);
                sum.bytes = sum.bytes.plus(*bytes);
            }
            TraceAction::Block { operation, bytes, flags, file, .. }
                if matches!(operation, BlockOperation::Write | BlockOperation::Discard) =>
            {
                let kind = kind_of_blocks(trace, *operation, *flags, event.task, *file);
                add(&mut rows.entry((event.task, *file, kind)).or_default().block, *bytes);
            }
            _ => {}
        }
    }
    let mut rows: Vec<(Key, Row)> = rows.into_iter().collect();
    rows.order_by_key(|(key, row)| {
        let counted = row.counted.unwrap_or_default().bytes;
        let bytes = row.block.bytes.max(row.calls.bytes).max(counted);
        (Reverse(bytes), Reverse(row.syncs), Reverse(row.changes), *key)
    });
    rows.into_iter().map(|(key, row)| row.shown(trace, key, seen)).collect()
}

/// Adds a write.
pub(super) fn add(writes: &mut TraceWrites, bytes: Bytes) {
    writes.count += 1;
    writes.bytes = writes.bytes.plus(bytes);
}

impl Row {
    fn shown(self, trace: &Trace, (task, file, kind): Key, seen: Seen) -> TraceWriter {
        let task = task.and_then(|task| trace.tasks.get(task as usize));
        let (latency_ns, histogram) = summary(&self.waits);
        let waited_ns = total(&self.waits);
        let syncs = TraceSyncs { count: self.syncs, waited_ns, latency_ns, histogram };
        TraceWriter {
            process: task.and_then(|task| task.process.clone()),
            pid: task.and_then(|task| task.pid),
            thread: task.and_then(|task| task.thread.clone()),
            tid: task.and_then(|task| task.tid),
            main: task.and_then(|task| task.is_main()),
            file: file.map(|file| file_name(trace, file)),
            kind,
            calls: seen.calls.then_some(self.calls),
            syncs: seen.calls.then_some(syncs),
            block: seen.block.then_some(self.block),
            changes: (self.changes > 0).then_some(self.changes),
            counted: self.counted,
        }
    }
}

/// Statistics and histogram of some durations; nothing if there are none.
pub(super) fn summary(lengths: &[Nanos]) -> (Option<LatencySummary>, Option<StoredHistogram>) {
    if lengths.is_empty() {
        return (None, None);
    }
    let mut histogram = Histogram::new();
    lengths.iter().for_each(|length| histogram.record(*length));
    (Some(LatencySummary::from(&histogram)), Some(StoredHistogram::from(&histogram)))
}

/// All lengths together.
fn total(lengths: &[Nanos]) -> Nanos {
    lengths.iter().fold(Nanos::ZERO, |sum, length| sum.plus(*length))
}
