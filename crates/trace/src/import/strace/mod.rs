//! Output of `strace -f -tt -T -y` and its variants.

mod beyond;
mod errors;
mod failed;
mod line;
mod mapped;
mod moves;
mod processes;
mod stamp;

use std::collections::HashMap;

use flashlag_schema::trace::{FailedCall, TraceAction, TraceLayer, TraceTask};
use flashlag_units::{Bytes, Nanos, count};

use super::making::{LineImporter, Making, Verdict};
use beyond::Beyond;
use line::{Call, Line, What, call, descriptor, parse, path_in, string};
use mapped::{Mapped, is_written};
use moves::Moved;
use processes::Processes;
use stamp::{Stamp, are_relative};

/// Half a day: a clock that goes back further has passed midnight.
const HALF_A_DAY: Nanos = Nanos::from_secs(12 * 3600);
const DAY: Nanos = Nanos::from_secs(24 * 3600);
/// Most calls that may wait for their end; a thread has one.
const MOST_UNFINISHED: usize = 1 << 16;

/// Imports text of strace.
#[derive(Debug, Default)]
pub(super) struct Strace {
    processes: Processes,
    mapped: Mapped,
    beyond: Beyond,
    /// The unfinished call of each thread: its time and its text.
    unfinished: HashMap<u32, (Nanos, String)>,
    /// Whether small times are relative to the previous line.
    is_relative: bool,
    days: Nanos,
    last: Nanos,
    untimed: u64,
    any_time: bool,
    any_small: bool,
    /// Whether times are from 1970.
    is_unix: bool,
    any_took: bool,
    /// Number of files opened so that each write is durable when it returns.
    synchronous: u64,
    /// Whether the table of calls, which ends the output, has begun.
    is_over: bool,
}

/// Whether a line is a call of this format.
pub(super) fn is_line(line: &str) -> bool {
    match parse(line).what {
        What::Call { text } => call(text).is_some(),
        What::Unfinished { .. } | What::Resumed { .. } => true,
        _ => false,
    }
}

impl LineImporter for Strace {
    fn line(&mut self, text: &str, making: &mut Making) -> Verdict {
        if text.trim().is_empty() {
            return Verdict::Ignored;
        }
        let line = parse(text);
        self.is_over |= line.what == What::Summary;
        if self.is_over {
            making.skip("table of calls");
            return Verdict::Ignored;
        }
        let t = self.time(line.t);
        let tid = line.tid.unwrap_or(0);
        let (text, begun) = match line.what {
            What::Damaged => return Verdict::Damaged,
            What::Caller => {
                making.skip("caller on the stack");
                return Verdict::Ignored;
            }
            What::Other | What::Summary => {
                making.skip("signal, exit or message");
                return Verdict::Ignored;
            }
            What::Unfinished { text } => {
                if self.unfinished.len() < MOST_UNFINISHED {
                    self.unfinished.insert(tid, (t, text.to_owned()));
                }
                making.skip("beginning of a call");
                return Verdict::Ignored;
            }
            What::Resumed { name, text } => match self.unfinished.remove(&tid) {
                Some((begun, head)) if head.starts_with(name) => (format!("{head}{text}"), begun),
                _ => {
                    making.unmatched_end();
                    making.skip("exit of a call whose entry was not recorded");
                    return Verdict::Ignored;
                }
            },
            What::Call { text } => (text.to_owned(), t),
        };
        let Some(call) = call(&text) else { return Verdict::Damaged };
        self.any_took |= call.took.is_some();
        let task = self.task(&line, tid, making);
        let events = self.events(tid, &call, making);
        if events.is_empty() {
            if !self.beyond.add(&call, making) {
                making.skip("call not of storage");
            }
            return Verdict::Ignored;
        }
        making.sees(TraceLayer::SystemCalls);
        for (action, took) in events {
            making.event(begun, took, Some(task), action);
        }
        Verdict::Taken
    }

    fn finish(&mut self, making: &mut Making) {
        for (_, (_, text)) in std::mem::take(&mut self.unfinished) {
            let name = text.split_once('(').map_or("", |(name, _)| name);
            if failed::kind(name).is_some_and(|kind| kind != FailedCall::Open) {
                making.unmatched_begin();
            }
        }
        if !self.any_time {
            making.limit("The file has no times: record with `strace -f -tt -T -y`.");
        } else if self.any_small && !self.is_relative {
            making.limit(
                "Times are taken as counted from the beginning of the file: strace itself writes the time of \
                 day (`strace -tt`), or with spaces before it the time since the previous line \
                 (`strace -r`).",
            );
        }
        if self.is_relative {
            making.read_as(
                "Read strace's times as those since the previous line (`strace -r`), and added \
                 them up"
                    .to_owned(),
            );
        }
        if !self.any_took {
            making.limit("The file does not say how long calls take: record with `strace -T`.");
        }
        if self.processes.has_unknown() {
            making.limit("Files that were open before have no path: record with `strace -y`.");
        }
        if self.synchronous > 0 {
            making.limit(format!(
                "Files opened with O_SYNC or O_DSYNC: {}. Each write to them waits until it is durable, and is \
                 counted as a write only.",
                count(self.synchronous)
            ));
        }
        if self.mapped.written > 0 {
            making.limit(format!(
                "Files mapped writable: {}. Stores to them are not system calls, and not in the \
                 trace.",
                count(self.mapped.written)
            ));
        }
        self.beyond.finish(making);
        making.clocks.wall = self.is_unix.then_some(0);
    }
}

impl Strace {
    /// An importer for a file with this beginning.
    pub(super) fn of(head: &str) -> Strace {
        let small = head.lines().filter_map(|line| match parse(line).t {
            Some(Stamp::Small { t, is_padded }) => Some((t, is_padded)),
            _ => None,
        });
        Strace { is_relative: are_relative(small), ..Strace::default() }
    }

    /// A monotonic time: adds a day after midnight, and lines without a time keep their order.
    fn time(&mut self, t: Option<Stamp>) -> Nanos {
        let Some(stamp) = t else {
            self.untimed += 1;
            return if self.any_time { self.last } else { Nanos(self.untimed) };
        };
        self.any_time = true;
        self.any_small |= matches!(stamp, Stamp::Small { .. });
        self.is_unix |= matches!(stamp, Stamp::Unix(_));
        if self.is_relative && matches!(stamp, Stamp::Small { .. }) {
            self.last = self.last.plus(stamp.time());
            return self.last;
        }
        let mut t = stamp.time().plus(self.days);
        let is_clock = matches!(stamp, Stamp::Clock(_));
        if is_clock && self.last.0 > t.0 && self.last.0 - t.0 > HALF_A_DAY.0 {
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

    /// The events of a call with their durations; none if the call is not about storage, or can't
    /// become an event.
    fn events(&mut self, tid: u32, call: &Call, making: &mut Making) -> Vec<Moved> {
        // The call was interrupted and restarts later, or the process ended during it.
        let Some(returned) = call.returned else { return Vec::new() };
        let Ok(returned) = u64::try_from(returned) else {
            // Addresses in the upper half are not errors.
            if call.name != "mmap" {
                let failed = failed::event(&mut self.processes, tid, call, making);
                return failed.map(|action| (action, call.took)).into_iter().collect();
            }
            return Vec::new();
        };
        self.processes.works_in(tid, call);
        if self.processes.changes(tid, call, making) {
            return Vec::new();
        }
        let one = |action: Option<TraceAction>| action.map(|action| (action, call.took));
        match call.name.as_str() {
            "open" | "openat" | "openat2" | "creat" => {
                one(self.opened(tid, call, returned, making)).into_iter().collect()
            }
            "unlink" | "unlinkat" | "rename" | "renameat" | "renameat2" => {
                one(self.renamed(tid, call, making)).into_iter().collect()
            }
            "truncate" | "truncate64" => {
                one(self.truncated(tid, call, making)).into_iter().collect()
            }
            "sync" | "syncfs" => vec![(TraceAction::SyncAll, call.took)],
            "close" | "read" | "readv" | "pread64" | "preadv" | "preadv2" | "write" | "writev"
            | "pwrite64" | "pwritev" | "pwritev2" | "fsync" | "fdatasync" | "ftruncate"
            | "ftruncate64" => one(self.of_file(tid, call, returned, making)).into_iter().collect(),
            "mmap" | "mmap2" if is_written(call) => {
                if let Some((fd, path)) = descriptor(call.argument(4)) {
                    let file = self.processes.file(tid, fd, path, making);
                    self.mapped.map(self.processes.process(tid), call, file, making);
                }
                Vec::new()
            }
            "msync" if call.argument(2).contains("MS_SYNC") => {
                let file = self.mapped.file_at(self.processes.process(tid), call.argument(0));
                one(file.map(|file| TraceAction::Sync { file, data_only: false }))
                    .into_iter()
                    .collect()
            }
            "io_submit" => {
                let requests = moves::submitted(&mut self.processes, tid, call, returned, making);
                requests.unwrap_or_default()
            }
            _ => moves::copied(&mut self.processes, (tid, call), returned, making)
                .map_or_else(Vec::new, Vec::from),
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
                if name.contains("read") {
                    TraceAction::Read { file, offset, bytes }
                } else {
                    TraceAction::Write { file, offset, bytes }
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
        let is_at = call.name.starts_with("openat");
        let at = usize::from(is_at);
        let flags = match call.name.as_str() {
            "creat" => "O_WRONLY|O_CREAT|O_TRUNC",
            _ => call.argument(at + 1),
        };
        let path = path_in(&call.after).or_else(|| {
            if is_at {
                at_path(call.argument(0), call.argument(1))
            } else {
                string(call.argument(0))
            }
            .map(|path| self.processes.path(tid, path))
        })?;
        let file = self.processes.open(tid, u32::try_from(returned).ok()?, &path, flags, making);
        self.synchronous += u64::from(flags.contains("O_SYNC") || flags.contains("O_DSYNC"));
        let (truncated, created) = (flags.contains("O_TRUNC"), flags.contains("O_CREAT"));
        Some(TraceAction::Open { file, truncated, created })
    }

    /// The event of a call that removes or changes a name.
    fn renamed(&self, tid: u32, call: &Call, making: &mut Making) -> Option<TraceAction> {
        let named = |at: usize| Some(self.processes.path(tid, string(call.argument(at))?));
        let at = |at: usize| {
            at_path(call.argument(at), call.argument(at + 1))
                .map(|path| self.processes.path(tid, path))
        };
        Some(match call.name.as_str() {
            "unlink" => TraceAction::Unlink { file: making.file(&named(0)?) },
            "unlinkat" if call.argument(2).contains("AT_REMOVEDIR") => return None,
            "unlinkat" => TraceAction::Unlink { file: making.file(&at(0)?) },
            name => {
                let names =
                    if name == "rename" { (named(0)?, named(1)?) } else { (at(0)?, at(2)?) };
                TraceAction::Rename { file: making.file(&names.0), to: making.file(&names.1) }
            }
        })
    }

    /// The event of a call that sets a file's size by path.
    fn truncated(&self, tid: u32, call: &Call, making: &mut Making) -> Option<TraceAction> {
        let bytes = Bytes(call.argument(1).parse().ok()?);
        let path = self.processes.path(tid, string(call.argument(0))?);
        Some(TraceAction::Truncate { file: making.file(&path), bytes })
    }
}

/// A directory descriptor's path joined with a name: `AT_FDCWD</data>, "x"`.
fn at_path(directory: &str, name: &str) -> Option<String> {
    let name = string(name)?;
    let start = directory.find('<').filter(|_| !name.starts_with('/'));
    let directory = start.and_then(|start| path_in(&directory[start..]));
    Some(directory.map_or(name.clone(), |directory| format!("{directory}/{name}")))
}

/// The offset among a call's arguments.
fn offset(call: &Call) -> Option<u64> {
    let at = match call.name.as_str() {
        "pread64" | "pwrite64" | "preadv" | "pwritev" | "preadv2" | "pwritev2" => 3,
        _ => return None,
    };
    call.argument(at).parse().ok()
}
