//! Maps the system calls of a trace to the replay's own files.

use std::collections::BTreeMap;

use flashlag_schema::trace::{Trace, TraceAction, TraceEvent};
use flashlag_spec::TraceFileKind;
use flashlag_spec::replay::{ReplayCall, ReplayFile, ReplayOp, ReplayStream};
use flashlag_spec::scenario::Replay;
use flashlag_units::{Bytes, Nanos};

use super::model::{Events, MOST_OPERATIONS, MOST_THREADS, note};
use super::saves;

/// The state of a file so far in the trace.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// The index in the replay; `None` until the file's first operation.
    index: Option<u32>,
    /// The size now.
    size: u64,
    /// Whether the trace itself determines the file's content: it created, truncated or removed the
    /// file.
    is_known: bool,
    /// Where the last call without an offset ended.
    at: u64,
    /// The largest size so far.
    largest: u64,
}

/// Counts of what differs from the trace.
#[derive(Debug, Default)]
struct Changed {
    not_storage: u64,
    no_file: u64,
    folded: u64,
    shared: u64,
}

struct Calls {
    known: Vec<Known>,
    kinds: Vec<TraceFileKind>,
    span: u64,
    threads: BTreeMap<Option<u32>, u32>,
    stream: ReplayStream,
    changed: Changed,
}

pub(super) fn stream(trace: &Trace, events: &Events<'_>, asked: &Replay) -> ReplayStream {
    let mut calls = Calls {
        known: vec![Known::default(); trace.files.len()],
        kinds: trace.files.iter().map(|file| file.kind).collect(),
        span: asked.span.0.0,
        threads: BTreeMap::new(),
        stream: ReplayStream::default(),
        changed: Changed::default(),
    };
    for (at, event) in events.iter() {
        calls.add(at, &event);
    }
    let Calls { mut stream, threads, changed, known, .. } = calls;
    let sizes = known.iter().map(|file| file.largest);
    stream.room = Bytes(sizes.fold(0u64, u64::saturating_add));
    stream.threads = u32::try_from(threads.len()).unwrap_or(u32::MAX).clamp(1, MOST_THREADS);
    stream.saves = saves::saves(&stream);
    let notes = &mut stream.notes;
    note(notes, changed.not_storage, "calls on pipes, sockets and directories are left out");
    note(notes, changed.no_file, "calls name no file of the trace and are left out");
    let folded =
        format!("calls reach beyond {} of a file, into which they are folded", asked.span.0);
    note(notes, changed.folded, &folded);
    let shared = format!("threads beyond the first {MOST_THREADS} share a thread with another one");
    note(notes, changed.shared, &shared);
    stream
}

impl Calls {
    fn add(&mut self, at: Nanos, event: &TraceEvent) {
        let Some((call, file, offset, bytes)) = self.call_of(&event.action) else { return };
        let thread = self.thread(event.task);
        let mut op =
            ReplayOp { at, thread, call, file, offset, bytes, took: event.took_ns, depth: 1 };
        // A call that moves more than a file may hold passes over the file several times.
        while call.moves() && op.bytes > self.span && self.stream.ops.len() <= MOST_OPERATIONS {
            self.stream.ops.push(ReplayOp { bytes: self.span, ..op });
            op = ReplayOp { bytes: op.bytes - self.span, took: None, ..op };
        }
        self.stream.ops.push(op);
    }

    /// The number of a thread, in the order of the threads' first calls.
    fn thread(&mut self, task: Option<u32>) -> u32 {
        let next = u32::try_from(self.threads.len()).unwrap_or(u32::MAX);
        let thread = *self.threads.entry(task).or_insert_with(|| {
            self.changed.shared += u64::from(next >= MOST_THREADS);
            next
        });
        thread % MOST_THREADS
    }

    /// The call for an action, with its file, offset and bytes; `None` to leave it out.
    fn call_of(&mut self, action: &TraceAction) -> Option<(ReplayCall, u32, u64, u64)> {
        Some(match *action {
            TraceAction::SyncAll => (ReplayCall::SyncAll, 0, 0, 0),
            TraceAction::Sync { file, .. } if self.is_directory(file) => {
                (ReplayCall::SyncDirectory, 0, 0, 0)
            }
            TraceAction::Open { file, truncated, created } => {
                let call = match (truncated, created) {
                    (true, _) => ReplayCall::CreateEmpty,
                    (false, true) => ReplayCall::Create,
                    (false, false) => ReplayCall::Open,
                };
                let index = self.file(file, call == ReplayCall::Open)?;
                let known = &mut self.known[file as usize];
                known.at = 0;
                if truncated {
                    (known.size, known.is_known) = (0, true);
                }
                (call, index, 0, 0)
            }
            TraceAction::Close { file } => (ReplayCall::Close, self.file(file, true)?, 0, 0),
            TraceAction::Read { file, offset, bytes } => {
                let (index, offset) = self.moved(file, offset, bytes, false)?;
                (ReplayCall::Read, index, offset, bytes.0)
            }
            TraceAction::Write { file, offset, bytes } => {
                let (index, offset) = self.moved(file, offset, bytes, true)?;
                (ReplayCall::Write, index, offset, bytes.0)
            }
            TraceAction::Sync { file, data_only } => {
                let call = if data_only { ReplayCall::SyncData } else { ReplayCall::Sync };
                (call, self.file(file, true)?, 0, 0)
            }
            TraceAction::Truncate { file, bytes } => {
                let index = self.file(file, true)?;
                let size = self.within(bytes.0);
                let known = &mut self.known[file as usize];
                (known.size, known.is_known) = (size, true);
                known.largest = known.largest.max(size);
                (ReplayCall::Truncate, index, 0, size)
            }
            TraceAction::Unlink { file } => {
                let index = self.file(file, true)?;
                let known = &mut self.known[file as usize];
                (known.size, known.is_known) = (0, true);
                (ReplayCall::Unlink, index, 0, 0)
            }
            TraceAction::Rename { file, to } => {
                let (from, new) = (self.file(file, true)?, self.file(to, false)?);
                let moved = Known { index: Some(new), is_known: true, ..self.known[file as usize] };
                self.known[to as usize] = moved;
                let gone = &mut self.known[file as usize];
                (gone.size, gone.is_known) = (0, true);
                (ReplayCall::Rename, from, u64::from(new), 0)
            }
            TraceAction::Block { .. }
            | TraceAction::Failed { .. }
            | TraceAction::Commit { .. }
            | TraceAction::Change { .. }
            | TraceAction::Counted { .. }
            | TraceAction::Checkpoint { .. }
            | TraceAction::Clean { .. } => return None,
        })
    }

    fn is_directory(&self, file: u32) -> bool {
        self.kinds.get(file as usize) == Some(&TraceFileKind::Directory)
    }

    /// The replay's index of a file; `None` if it is not storage. `was_there`: the call would have
    /// failed on a file that does not exist.
    fn file(&mut self, file: u32, was_there: bool) -> Option<u32> {
        let kind = match self.kinds.get(file as usize) {
            None => {
                self.changed.no_file += 1;
                return None;
            }
            Some(TraceFileKind::NotStorage | TraceFileKind::Directory) => {
                self.changed.not_storage += 1;
                return None;
            }
            Some(kind) => *kind,
        };
        let known = &mut self.known[file as usize];
        if let Some(index) = known.index {
            return Some(index);
        }
        let index = u32::try_from(self.stream.files.len()).unwrap_or(u32::MAX);
        known.index = Some(index);
        let before = was_there.then_some(Bytes::ZERO);
        self.stream.files.push(ReplayFile { before, kind });
        Some(index)
    }

    /// A size, limited to the space of a file.
    fn within(&mut self, size: u64) -> u64 {
        self.changed.folded += u64::from(size > self.span);
        size.min(self.span)
    }

    /// The file and the offset of a read or a write. Data that is read, and data before a written
    /// range, existed before the trace, unless the trace created the file: SQLite leaves no holes.
    fn moved(
        &mut self,
        file: u32,
        offset: Option<u64>,
        bytes: Bytes,
        writes: bool,
    ) -> Option<(u32, u64)> {
        let index = self.file(file, true)?;
        let offset = offset.unwrap_or(self.known[file as usize].at);
        let end = offset.saturating_add(bytes.0);
        let at = if end <= self.span {
            offset
        } else {
            self.changed.folded += 1;
            (offset % self.span).min(self.span.saturating_sub(bytes.0))
        };
        let end = at + bytes.0.min(self.span);
        let known = &mut self.known[file as usize];
        let needed = if writes { at } else { end };
        if !known.is_known && needed > known.size {
            known.size = needed;
            if let Some(made) = self.stream.files.get_mut(index as usize) {
                made.before = Some(made.before.unwrap_or_default().max(Bytes(needed)));
            }
        }
        if writes {
            known.size = known.size.max(end);
        }
        known.largest = known.largest.max(known.size);
        known.at = offset.saturating_add(bytes.0);
        Some((index, at))
    }
}
