//! Text of `strace -f -tt -T -y` and its variants.

mod line;
mod processes;

use std::collections::HashMap;

use flashlag_schema::trace::{TraceAction, TraceLayer, TraceTask};
use flashlag_units::{Bytes, Nanos};

use super::LineImporter;
use super::making::{Making, Verdict};
use line::{Call, Line, What, call, descriptor, parse, path_in, string};
use processes::Processes;

/// Half a day: a clock that goes back further has passed midnight.
const HALF_A_DAY: Nanos = Nanos::from_secs(12 * 3600);
const DAY: Nanos = Nanos::from_secs(24 * 3600);
/// Calls that wait for their end at most; a thread has one.
const MOST_UNFINISHED: usize = 1 << 16;

/// Imports text of strace.
#[derive(Debug, Default)]
pub(super) struct Strace {
    processes: Processes,
    /// The begun call of each thread: its time and its text.
    unfinished: HashMap<u32, (Nanos, String)>,
    days: Nanos,
    last: Nanos,
    untimed: u64,
    any_time: bool,
    any_took: bool,
}

/// Whether a line is a call of this format.
pub(super) fn is_line(line: &str) -> bool {
    match parse(line).map(|line| line.what) {
        Some(What::Call { text }) => call(text).is_some(),
        Some(What::Unfinished { .. } | What::Resumed { .. }) => true,
        _ => false,
    }
}

impl LineImporter for Strace {
    fn line(&mut self, text: &str, making: &mut Making) -> Verdict {
        if text.trim().is_empty() {
            return Verdict::Ignored;
        }
        let Some(line) = parse(text) else { return Verdict::Damaged };
        let t = self.time(line.t);
        let tid = line.tid.unwrap_or(0);
        let (text, begun) = match line.what {
            What::Other => return Verdict::Ignored,
            What::Unfinished { text } => {
                if self.unfinished.len() < MOST_UNFINISHED {
                    self.unfinished.insert(tid, (t, text.to_owned()));
                }
                return Verdict::Ignored;
            }
            What::Resumed { name, text } => match self.unfinished.remove(&tid) {
                Some((begun, head)) if head.starts_with(name) => (format!("{head}{text}"), begun),
                _ => {
                    making.unmatched_end();
                    return Verdict::Ignored;
                }
            },
            What::Call { text } => (text.to_owned(), t),
        };
        let Some(call) = call(&text) else { return Verdict::Damaged };
        self.any_took |= call.took.is_some();
        let task = self.task(&line, tid, making);
        match self.action(tid, &call, making) {
            Some(action) => {
                making.sees(TraceLayer::SystemCalls);
                making.event(begun, call.took, Some(task), action);
                Verdict::Taken
            }
            None => Verdict::Ignored,
        }
    }

    fn finish(&mut self, making: &mut Making) {
        for (_, (_, text)) in std::mem::take(&mut self.unfinished) {
            if ["fsync(", "fdatasync(", "write(", "pwrite64("]
                .iter()
                .any(|call| text.starts_with(call))
            {
                making.unmatched_begin();
            }
        }
        if !self.any_time {
            making.limit("The file has no times: record with `strace -f -tt -T -y`.");
        }
        if !self.any_took {
            making.limit("The file does not say how long calls take: record with `strace -T`.");
        }
        if self.processes.has_unknown() {
            making.limit("Files that were open before have no path: record with `strace -y`.");
        }
    }
}

impl Strace {
    /// A time that only goes on: midnight is passed, and lines without one keep their order.
    fn time(&mut self, t: Option<Nanos>) -> Nanos {
        let Some(t) = t else {
            self.untimed += 1;
            return if self.any_time { self.last } else { Nanos(self.untimed) };
        };
        self.any_time = true;
        let mut t = t.plus(self.days);
        if self.last.0 > t.0 && self.last.0 - t.0 > HALF_A_DAY.0 && self.last.0 < (1 << 50) {
            self.days = self.days.plus(DAY);
            t = t.plus(DAY);
        }
        self.last = t;
        t
    }

    fn task(&mut self, line: &Line<'_>, tid: u32, making: &mut Making) -> u32 {
        let (pid, process) = self.processes.of(tid);
        making.task(TraceTask {
            tid: line.tid,
            pid: line.tid.and(pid),
            process,
            thread: line.name.map(str::to_owned),
        })
    }

    /// The event of a call; `None` for a call that failed, and for one that is not of storage.
    fn action(&mut self, tid: u32, call: &Call, making: &mut Making) -> Option<TraceAction> {
        let returned = u64::try_from(call.returned?).ok()?;
        if self.processes.changes(tid, call, making) {
            return None;
        }
        match call.name.as_str() {
            "open" | "openat" | "creat" => self.opened(tid, call, returned, making),
            "unlink" | "unlinkat" | "rename" | "renameat" | "renameat2" => renamed(call, making),
            "sync" | "syncfs" => Some(TraceAction::SyncAll),
            "close" | "read" | "readv" | "pread64" | "preadv" | "preadv2" | "write" | "writev"
            | "pwrite64" | "pwritev" | "pwritev2" | "fsync" | "fdatasync" | "ftruncate"
            | "ftruncate64" => self.of_file(tid, call, returned, making),
            _ => None,
        }
    }

    /// The event of a call on an open file.
    fn of_file(
        &mut self,
        tid: u32,
        call: &Call,
        returned: u64,
        making: &mut Making,
    ) -> Option<TraceAction> {
        let (fd, path) = descriptor(call.argument(0))?;
        let file = self.processes.file(tid, fd, path, making);
        let bytes = Bytes(returned);
        Some(match call.name.as_str() {
            "close" => {
                self.processes.close(tid, fd);
                TraceAction::Close { file }
            }
            "fsync" | "fdatasync" => {
                TraceAction::Sync { file, data_only: call.name == "fdatasync" }
            }
            "ftruncate" | "ftruncate64" => {
                TraceAction::Truncate { file, bytes: Bytes(call.argument(1).parse().ok()?) }
            }
            name => {
                let offset = self.processes.moved(tid, fd, offset(call), returned);
                match name.contains("read") {
                    true => TraceAction::Read { file, offset, bytes },
                    false => TraceAction::Write { file, offset, bytes },
                }
            }
        })
    }

    fn opened(
        &mut self,
        tid: u32,
        call: &Call,
        returned: u64,
        making: &mut Making,
    ) -> Option<TraceAction> {
        let is_at = call.name == "openat";
        let at = usize::from(is_at);
        let flags = match call.name.as_str() {
            "creat" => "O_WRONLY|O_CREAT|O_TRUNC",
            _ => call.argument(at + 1),
        };
        let path = path_in(&call.after).or_else(|| match is_at {
            true => at_path(call.argument(0), call.argument(1)),
            false => string(call.argument(0)),
        })?;
        let file = self.processes.open(tid, u32::try_from(returned).ok()?, &path, flags, making);
        let (truncated, created) = (flags.contains("O_TRUNC"), flags.contains("O_CREAT"));
        Some(TraceAction::Open { file, truncated, created })
    }
}

/// The event of a call that removes or changes a name.
fn renamed(call: &Call, making: &mut Making) -> Option<TraceAction> {
    let at = |at: usize| at_path(call.argument(at), call.argument(at + 1));
    Some(match call.name.as_str() {
        "unlink" => TraceAction::Unlink { file: making.file(&string(call.argument(0))?) },
        "unlinkat" if call.argument(2).contains("AT_REMOVEDIR") => return None,
        "unlinkat" => TraceAction::Unlink { file: making.file(&at(0)?) },
        "rename" => {
            let names = (string(call.argument(0))?, string(call.argument(1))?);
            TraceAction::Rename { file: making.file(&names.0), to: making.file(&names.1) }
        }
        _ => {
            let names = (at(0)?, at(2)?);
            TraceAction::Rename { file: making.file(&names.0), to: making.file(&names.1) }
        }
    })
}

/// The path of a directory's descriptor and a name: `AT_FDCWD</data>, "x"`.
fn at_path(directory: &str, name: &str) -> Option<String> {
    let name = string(name)?;
    let start = directory.find('<').filter(|_| !name.starts_with('/'));
    let directory = start.and_then(|start| path_in(&directory[start..]));
    Some(directory.map_or(name.clone(), |directory| format!("{directory}/{name}")))
}

/// The offset that a call was given.
fn offset(call: &Call) -> Option<u64> {
    let at = match call.name.as_str() {
        "pread64" | "pwrite64" | "preadv" | "pwritev" | "preadv2" | "pwritev2" => 3,
        _ => return None,
    };
    call.argument(at).parse().ok()
}
