//! Names and sentences of a trace.

use flashlag_schema::trace::{
    TraceDeviceUse, TraceLayer, TraceLedger, TraceSaves, TraceStalled, TraceWriter,
    TraceWrittenKind,
};
use flashlag_spec::TraceSourceKind;
use flashlag_spec::scenario::JournalMode;
use flashlag_units::count;

use crate::format::{list, plural};

/// The name of a kind of trace.
pub fn source_name(kind: TraceSourceKind) -> &'static str {
    match kind {
        TraceSourceKind::Ebpf => "eBPF on the kernel's tracepoints",
        TraceSourceKind::Tracefs => "the kernel's tracepoints",
        TraceSourceKind::Fanotify => "fanotify and counters of /proc",
        TraceSourceKind::Atrace => "atrace of a phone",
        TraceSourceKind::Blkparse => "text of blkparse",
        TraceSourceKind::Ftrace => "text of ftrace, atrace or perf",
        TraceSourceKind::Perfetto => "a Perfetto trace",
        TraceSourceKind::Strace => "text of strace",
        TraceSourceKind::SystemCalls => "a list of system calls",
        TraceSourceKind::BlockTable => "a table of block requests",
        TraceSourceKind::Unknown => "an unknown source",
    }
}

fn layer_name(layer: TraceLayer) -> String {
    match layer {
        TraceLayer::SystemCalls => "system calls",
        TraceLayer::Filesystem => "the filesystem's commits",
        TraceLayer::Block => "block requests",
    }
    .to_owned()
}

pub(super) fn origin(ledger: &TraceLedger) -> String {
    let source = &ledger.source;
    let layers: Vec<String> = source.layers.iter().map(|layer| layer_name(*layer)).collect();
    let seen = match layers.as_slice() {
        [] => String::new(),
        layers => format!("; it records {}", list(layers)),
    };
    let events = plural(usize::try_from(ledger.events).unwrap_or(usize::MAX), "event", "events");
    format!("From {}: {events} in {}{seen}", source_name(source.kind), source.lasted_ns)
}

/// What is not in the trace, and what was left out of it.
pub(super) fn notes(ledger: &TraceLedger) -> Vec<String> {
    let source = &ledger.source;
    let mut notes = Vec::new();
    match source.lost {
        Some(0) | None => {}
        Some(lost) => {
            notes.push(format!("{} events were lost: figures are too small.", count(lost)))
        }
    }
    let unmatched = source.unmatched;
    if !unmatched.is_none() {
        notes.push(format!(
            "Without a latency, because only one end is in the trace: {} that begin, {} that end.",
            count(unmatched.begins),
            count(unmatched.ends)
        ));
    }
    for database in ledger.databases.iter().filter(|database| database.unsynced_bytes.0 > 0) {
        notes.push(format!(
            "{} of the log of {} were not synced at a commit (synchronous=NORMAL, or the end of the \
             trace): such commits are not counted.",
            database.unsynced_bytes, database.file
        ));
    }
    if ledger.databases.iter().any(|database| database.mode_inferred) {
        notes.push(
            "A journal mode with ? is inferred: the journal is neither deleted nor overwritten."
                .to_owned(),
        );
    }
    notes.extend(stacked(&ledger.devices));
    notes.extend(source.limits.iter().cloned());
    notes
}

/// Which device passes requests on to which, and for which devices that is unknown.
fn stacked(devices: &[TraceDeviceUse]) -> Vec<String> {
    let passing = devices.iter().filter(|device| !device.counted).map(|device| {
        format!(
            "{} passes its requests on to {}: they count once, at the lowest device with requests.",
            device.name,
            list(device.below.as_deref().unwrap_or_default())
        )
    });
    let unknown: Vec<String> = devices
        .iter()
        .filter(|device| device.below.is_none())
        .map(|device| device.name.clone())
        .collect();
    let unknown = (devices.len() > 1 && !unknown.is_empty()).then(|| {
        let names = if unknown.len() > 5 {
            format!("{} of the devices", count(unknown.len() as u64))
        } else {
            list(&unknown)
        };
        format!(
            "Whether {names} pass requests on to another device is not in the trace: the layers' totals \
             count a byte at each device."
        )
    });
    passing.chain(unknown).collect()
}

/// The name of a kind of what is written.
pub(super) fn kind_name(kind: TraceWrittenKind) -> &'static str {
    match kind {
        TraceWrittenKind::Database => "database",
        TraceWrittenKind::Journal => "rollback journal",
        TraceWrittenKind::Wal => "write-ahead log",
        TraceWrittenKind::WalIndex => "log's index",
        TraceWrittenKind::Directory => "directory",
        TraceWrittenKind::Other => "other files",
        TraceWrittenKind::All => "all files",
        TraceWrittenKind::FilesystemJournal => "filesystem's journal",
        TraceWrittenKind::FilesystemMetadata => "filesystem's metadata",
        TraceWrittenKind::Discard => "discards",
        TraceWrittenKind::Blocks => "blocks",
    }
}

pub(super) fn mode_name(mode: JournalMode) -> &'static str {
    match mode {
        JournalMode::Delete => "DELETE",
        JournalMode::Truncate => "TRUNCATE",
        JournalMode::Persist => "PERSIST",
        JournalMode::Wal => "WAL",
        JournalMode::Memory => "MEMORY",
        JournalMode::Off => "OFF",
    }
}

pub(super) fn stalled(what: TraceStalled) -> &'static str {
    match what {
        TraceStalled::Sync => "an fsync",
        TraceStalled::Write => "a write",
        TraceStalled::Read => "a read",
        TraceStalled::FilesystemCommit => "a commit of the filesystem",
        TraceStalled::BlockRead => "a read request",
        TraceStalled::BlockWrite => "a write request",
        TraceStalled::Flush => "a flush of the device",
        TraceStalled::Discard => "a discard",
    }
}

/// The name of a process of which nothing is known.
pub(super) const NOT_KNOWN: &str = "(not known)";

/// A thread, as far as the source names it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Who<'a> {
    pub(super) process: Option<&'a str>,
    pub(super) pid: Option<u32>,
    pub(super) thread: Option<&'a str>,
    pub(super) tid: Option<u32>,
    pub(super) main: Option<bool>,
}

impl<'a> Who<'a> {
    pub(super) fn writes(writer: &'a TraceWriter) -> Who<'a> {
        Who {
            process: writer.process.as_deref(),
            pid: writer.pid,
            thread: writer.thread.as_deref(),
            tid: writer.tid,
            main: writer.main,
        }
    }

    pub(super) fn saves(row: &'a TraceSaves) -> Who<'a> {
        Who {
            process: row.process.as_deref(),
            pid: row.pid,
            thread: row.thread.as_deref(),
            tid: row.tid,
            main: row.main,
        }
    }

    /// The name of its process: the process's own, or its thread's, or a number.
    pub(super) fn process(self) -> String {
        let name = self.process.or(self.thread).filter(|name| !name.is_empty());
        match (name, self.pid, self.tid) {
            (Some(name), ..) => name.to_owned(),
            (None, Some(pid), _) => format!("Process {pid}"),
            (None, None, Some(tid)) => format!("Thread {tid}"),
            (None, None, None) => NOT_KNOWN.to_owned(),
        }
    }

    /// Its own name: with its process, and whether it is the main one.
    pub(super) fn thread(self) -> String {
        let process = self.process();
        match (self.main, self.thread) {
            (Some(true), _) => format!("{process} (main)"),
            (_, Some(thread)) if self.process.is_some() && thread != process => {
                format!("{process}: {thread}")
            }
            _ => process,
        }
    }
}
