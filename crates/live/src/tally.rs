use std::collections::HashMap;

use flashlag_schema::trace::{BlockOperation, Trace, TraceAction};
use flashlag_units::{Bytes, InOrder, Nanos};

/// Totals so far, for the table that is drawn while the recording runs.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// By thread and file, both as indices of the trace; without a file, for all files of the
    /// process.
    pub writers: HashMap<(u32, Option<u32>), Writer>,
    pub all: Writer,
    /// Commits of a filesystem's journal, and checkpoints.
    pub commits: u64,
    /// Writes of block devices.
    pub block_writes: u64,
    /// Bytes of those.
    pub block_bytes: Bytes,
    /// Flushes of block devices' caches.
    pub flushes: u64,
}

/// Writes and syncs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Writer {
    /// Calls that write.
    pub writes: u64,
    /// Bytes of those.
    pub bytes: Bytes,
    /// Calls that make durable.
    pub syncs: u64,
    /// Time in those, all together.
    pub waited: Nanos,
    /// The longest of those.
    pub longest: Nanos,
}

impl Writer {
    fn wrote(&mut self, bytes: Bytes) {
        self.writes += 1;
        self.bytes = Bytes(self.bytes.0.saturating_add(bytes.0));
    }

    fn synced(&mut self, took: Nanos) {
        self.syncs += 1;
        self.waited = Nanos(self.waited.0.saturating_add(took.0));
        self.longest = self.longest.max(took);
    }
}

impl Tally {
    /// Adds the events of a trace from an index on.
    pub fn add(&mut self, trace: &Trace, from: usize) {
        for event in trace.events.iter().skip(from) {
            match event.action {
                TraceAction::Write { file, bytes, .. } => {
                    self.all.wrote(bytes);
                    if let Some(task) = event.task {
                        self.writers.entry((task, Some(file))).or_default().wrote(bytes);
                    }
                }
                // A source that reports modifications does not see writes, and counts bytes by
                // process.
                TraceAction::Change { file } => {
                    if let Some(task) = event.task {
                        self.writers.entry((task, Some(file))).or_default().writes += 1;
                    }
                }
                TraceAction::Counted { writes, bytes } => {
                    self.all.writes += writes;
                    self.all.bytes = self.all.bytes.plus(bytes);
                    if let Some(task) = event.task {
                        let writer = self.writers.entry((task, None)).or_default();
                        writer.writes += writes;
                        writer.bytes = writer.bytes.plus(bytes);
                    }
                }
                TraceAction::Sync { file, .. } => {
                    let took = event.took_ns.unwrap_or_default();
                    self.all.synced(took);
                    if let Some(task) = event.task {
                        self.writers.entry((task, Some(file))).or_default().synced(took);
                    }
                }
                TraceAction::Commit { .. } | TraceAction::Checkpoint { .. } => self.commits += 1,
                TraceAction::Block { operation: BlockOperation::Write, bytes, .. } => {
                    self.block_writes += 1;
                    self.block_bytes = Bytes(self.block_bytes.0.saturating_add(bytes.0));
                }
                TraceAction::Block { operation: BlockOperation::Flush, .. } => self.flushes += 1,
                _ => {}
            }
        }
    }

    /// The writers with most bytes, at most `count`.
    pub fn largest(&self, count: usize) -> Vec<((u32, Option<u32>), Writer)> {
        let mut all: Vec<_> = self.writers.iter().map(|(key, writer)| (*key, *writer)).collect();
        all.order_by_key(|(key, writer)| (std::cmp::Reverse((writer.bytes, writer.syncs)), *key));
        all.truncate(count);
        all
    }
}
