//! An application's system calls, as in Mobibench's traces: `7 79699 pwrite 89 0 4616` is thread 7
//! at 79,699 µs. Lines are grouped by thread; the threads' clocks have the same start.

mod descriptors;
mod line;

use flashlag_schema::trace::{TraceAction, TraceLayer, TraceTask};
use flashlag_units::Bytes;

use super::making::{LineImporter, Making, Verdict};
use descriptors::Descriptors;
use line::{Call, Line, parse};

/// Imports a list of system calls.
#[derive(Debug, Default)]
pub(super) struct Calls {
    lines: Vec<Line>,
}

/// Whether a line is a call.
pub(super) fn is_line(line: &str) -> bool {
    parse(line).is_some()
}

impl LineImporter for Calls {
    fn line(&mut self, line: &str, making: &mut Making) -> Verdict {
        match parse(line) {
            Some(line) if self.lines.len() < making.most_events() => self.lines.push(line),
            Some(_) => making.leave_out(1),
            None if line.trim().is_empty() => return Verdict::Ignored,
            None => return Verdict::Damaged,
        }
        Verdict::Taken
    }

    fn finish(&mut self, making: &mut Making) {
        // Descriptors belong to the process, so its calls must be processed in order of time.
        self.lines.sort_by_key(|line| line.t);
        making.sees(TraceLayer::SystemCalls);
        making.limit("The file has the beginning of each call only: no latency is known.");
        let mut open = Descriptors::default();
        for line in self.lines.drain(..) {
            let task = TraceTask { tid: Some(line.thread), ..TraceTask::default() };
            let task = making.task(task);
            if let Some(action) = action(&mut open, line.thread, line.call, making) {
                making.event(line.t, None, Some(task), action);
            }
        }
        if open.has_inferred() {
            making.limit(
                "Paths that the file lacks were inferred from the calls that SQLite makes before it \
                 opens a file.",
            );
        }
    }
}

/// The event of a call.
fn action(
    open: &mut Descriptors,
    thread: u32,
    call: Call,
    making: &mut Making,
) -> Option<TraceAction> {
    Some(match call {
        Call::Open { path, flags, fd } => {
            let truncated = flags.contains("O_TRUNC");
            let created = flags.contains("O_CREAT");
            let file = open.open(thread, &path, &flags, fd, making)?;
            TraceAction::Open { file, truncated, created }
        }
        Call::Close { fd } => TraceAction::Close { file: open.close(fd)? },
        Call::Read { fd, offset, bytes } => {
            let (file, offset) = open.moved(thread, fd, offset, bytes, making);
            let file = open.read_as_database(thread, fd, (offset, bytes), making).unwrap_or(file);
            TraceAction::Read { file, offset, bytes: Bytes(bytes) }
        }
        Call::Write { fd, offset, bytes } => {
            let (file, offset) = open.moved(thread, fd, offset, bytes, making);
            TraceAction::Write { file, offset, bytes: Bytes(bytes) }
        }
        Call::Sync { fd, data_only } => {
            TraceAction::Sync { file: open.file(fd, making), data_only }
        }
        Call::SyncAll => TraceAction::SyncAll,
        Call::Unlink { path } => TraceAction::Unlink { file: making.file(&path) },
        Call::Rename { from, to } => {
            TraceAction::Rename { file: making.file(&from), to: making.file(&to) }
        }
        Call::Truncate { fd, bytes } => {
            TraceAction::Truncate { file: open.file(fd, making), bytes: Bytes(bytes) }
        }
        Call::Look { path, is_there } => {
            open.looked(thread, path, is_there);
            return None;
        }
        Call::Nothing => return None,
    })
}
