//! Turns the kernel's records into events of a trace: gives files their paths and threads their
//! names.

use std::collections::{BTreeMap, HashMap};
use std::path::{Component, Path, PathBuf};

use flashlag_schema::trace::{BlockFlags, BlockOperation, TraceAction, TraceFile, TraceTask};
use flashlag_spec::TraceFileKind;
use flashlag_trace::Builder;
use flashlag_units::{Bytes, Nanos};

use super::record::{
    BlockRecord, Call, CallRecord, FileId, NameRecord, PathRecord, Record, Work, WorkRecord,
};
use crate::places::{Places, device_name};

/// Type bits of a file's mode.
const TYPE: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;
/// Flags of open: the same on all architectures that Linux supports today, except MIPS and Alpha.
const CREATE: u64 = 0o100;
const TRUNCATE: u64 = 0o1000;
/// The longest name of a thread, in bytes.
const LONGEST_NAME: usize = 15;

/// What could not become events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Files whose path is not known.
    pub without_path: u64,
    /// Calls on paths that could not be read.
    pub unread_paths: u64,
    /// Files mapped so that stores to memory change them.
    pub mapped: u64,
    /// Calls of sync_file_range.
    pub sync_ranges: u64,
    /// Block requests that neither read, write, flush nor discard.
    pub other_requests: u64,
    /// Records of no known form.
    pub unreadable: u64,
}

impl LeftOut {
    /// What was left out, as sentences.
    pub fn in_words(&self) -> Vec<String> {
        let counted = [
            (self.without_path, "files have no path: their names were lost or are too long"),
            (
                self.unread_paths,
                "removals and renames are not shown: their paths could not be read",
            ),
            (self.mapped, "files were mapped writable: stores to memory are not system calls"),
            (self.sync_ranges, "calls of sync_file_range are not shown: they make nothing durable"),
            (self.other_requests, "block requests are neither read, write, flush nor discard"),
            (self.unreadable, "records of the kernel could not be read"),
        ];
        let some = counted.into_iter().filter(|(count, _)| *count > 0);
        some.map(|(count, what)| format!("{count} {what}")).collect()
    }
}

/// Events of a trace from records.
#[derive(Debug)]
pub struct Assembly {
    /// The monotonic clock at the beginning of the trace, in nanoseconds.
    start: u64,
    /// The process that records.
    own: u32,
    /// Where filesystems are mounted.
    pub places: Places,
    components: HashMap<FileId, BTreeMap<u32, NameRecord>>,
    files: HashMap<FileId, u32>,
    tasks: HashMap<u32, u32>,
    devices: HashMap<u32, u32>,
    real_directories: HashMap<PathBuf, PathBuf>,
    journals: HashMap<String, bool>,
    /// What is left out so far.
    pub left_out: LeftOut,
}

impl Assembly {
    /// An assembly that knows no file and no thread yet.
    pub fn new(start: u64, own: u32, places: Places) -> Assembly {
        Assembly {
            start,
            own,
            places,
            components: HashMap::new(),
            files: HashMap::new(),
            tasks: HashMap::new(),
            devices: HashMap::new(),
            real_directories: HashMap::new(),
            journals: HashMap::new(),
            left_out: LeftOut::default(),
        }
    }

    /// The monotonic clock at the beginning of the trace, in nanoseconds.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Adds what one record says.
    pub fn add(&mut self, record: Option<Record>, to: &mut Builder) {
        match record {
            None => self.left_out.unreadable += 1,
            Some(Record::Name(name)) => self.name(name),
            Some(Record::Task { tid, pid, thread, process }) => {
                self.task(tid, pid, Some((thread, process)), to);
            }
            Some(Record::Call(call)) => self.call(&call, to),
            Some(Record::Path(path)) => self.path_call(&path, to),
            Some(Record::Block(block)) => self.block(&block, to),
            Some(Record::Work(work)) => self.work(&work, to),
            Some(Record::Journal { tid, began, took, thread }) => {
                self.commit(tid, (began, took), thread, to);
            }
        }
    }

    fn at(&self, time: u64) -> Nanos {
        Nanos(time.saturating_sub(self.start))
    }

    fn name(&mut self, name: NameRecord) {
        let known = self.components.entry(name.file).or_default();
        if name.depth == 0 {
            // A known file has a new name: the file with the old name stays as it was.
            known.clear();
            self.files.remove(&name.file);
        }
        known.insert(name.depth, name);
    }

    /// The path of a file; absent where a component is missing.
    fn path_of(&self, id: FileId) -> Option<String> {
        let known = self.components.get(&id)?;
        let last = known.values().find(|name| name.last)?.depth;
        let mut components = Vec::new();
        for depth in (0..last).rev() {
            components.push(known.get(&depth)?.text.as_str());
        }
        self.places.path(id.device, &components)
    }

    fn file(&mut self, id: FileId, mode: u32, to: &mut Builder) -> u32 {
        if let Some(index) = self.files.get(&id) {
            return *index;
        }
        let path = self.path_of(id);
        self.left_out.without_path += u64::from(path.is_none());
        let device = Some(self.device(id.device, to));
        // Other kinds follow from the file's name and content in the whole trace.
        let kind = match mode & TYPE {
            DIRECTORY => TraceFileKind::Directory,
            _ => TraceFileKind::Other,
        };
        let file = TraceFile { path, inode: Some(id.inode), device, kind, ..TraceFile::default() };
        let index = to.file(file);
        self.files.insert(id, index);
        index
    }

    fn device(&mut self, device: u32, to: &mut Builder) -> u32 {
        *self.devices.entry(device).or_insert_with(|| to.device(&device_name(device)))
    }

    fn task(
        &mut self,
        tid: u32,
        pid: u32,
        names: Option<(String, String)>,
        to: &mut Builder,
    ) -> u32 {
        if let (Some(index), None) = (self.tasks.get(&tid), &names) {
            return *index;
        }
        let (thread, process) = names.unzip();
        let index = to.task(TraceTask { tid: Some(tid), pid: Some(pid), process, thread });
        self.tasks.insert(tid, index);
        index
    }

    fn call(&mut self, call: &CallRecord, to: &mut Builder) {
        let task = self.task(call.tid, call.pid, None, to);
        let whole_machine = matches!(call.call, Call::SyncAll | Call::MapSync);
        let file = if whole_machine { 0 } else { self.file(call.file, call.mode, to) };
        let (offset, bytes) = (call.offset, Bytes(call.result));
        let action = match call.call {
            Call::Open => TraceAction::Open {
                file,
                truncated: call.argument & TRUNCATE != 0,
                created: call.argument & CREATE != 0,
            },
            Call::Close => TraceAction::Close { file },
            Call::Read => TraceAction::Read { file, offset, bytes },
            Call::Write => TraceAction::Write { file, offset, bytes },
            Call::Fsync => TraceAction::Sync { file, data_only: false },
            Call::Fdatasync => TraceAction::Sync { file, data_only: true },
            Call::SyncAll => TraceAction::SyncAll,
            Call::Truncate => TraceAction::Truncate { file, bytes: Bytes(call.argument) },
            Call::SyncRange => {
                self.left_out.sync_ranges += 1;
                return;
            }
            Call::Map => {
                // The index of a write-ahead log is memory that processes share.
                let known = to.known_file(file).and_then(|known| known.path.as_deref());
                self.left_out.mapped +=
                    u64::from(!known.is_some_and(|path| path.ends_with("-shm")));
                return;
            }
            Call::MapSync | Call::Unlink | Call::Rename => return,
        };
        to.event(self.at(call.began), Some(Nanos(call.took)), Some(task), action);
    }

    fn path_call(&mut self, call: &PathRecord, to: &mut Builder) {
        let from = self.named(call.directory, call.path.as_deref(), to);
        let Some(file) = from else {
            return;
        };
        let action = match call.call {
            Call::Unlink => TraceAction::Unlink { file },
            Call::Truncate => TraceAction::Truncate { file, bytes: Bytes(call.argument) },
            Call::Rename => match self.named(call.to_directory, call.to.as_deref(), to) {
                Some(to) => TraceAction::Rename { file, to },
                None => return,
            },
            _ => return,
        };
        let task = self.task(call.tid, call.pid, None, to);
        to.event(self.at(call.began), Some(Nanos(call.took)), Some(task), action);
    }

    /// The file of a call's path, if the path is on watched storage.
    fn named(&mut self, directory: FileId, path: Option<&str>, to: &mut Builder) -> Option<u32> {
        let Some(path) = path else {
            self.left_out.unread_paths += 1;
            return None;
        };
        let whole = if path.starts_with('/') {
            PathBuf::from(path)
        } else {
            match self.path_of(directory) {
                Some(directory) => Path::new(&directory).join(path),
                None => {
                    self.left_out.unread_paths += 1;
                    return None;
                }
            }
        };
        let whole = self.resolved(&whole)?;
        let device = self.places.watched_device_of(&whole)?;
        let device = Some(self.device(device, to));
        let path = whole.to_string_lossy().into_owned();
        Some(to.file(TraceFile { path: Some(path), device, ..TraceFile::default() }))
    }

    /// The path with the symbolic links in its directory resolved. The file itself may be gone by
    /// now.
    fn resolved(&mut self, path: &Path) -> Option<PathBuf> {
        let (directory, name) = (path.parent()?, path.file_name()?);
        if let Some(real) = self.real_directories.get(directory) {
            return Some(real.join(name));
        }
        let real = directory.canonicalize().unwrap_or_else(|_| without_dots(directory));
        self.real_directories.insert(directory.to_owned(), real.clone());
        Some(real.join(name))
    }

    fn block(&mut self, block: &BlockRecord, to: &mut Builder) {
        // Numbers of `enum req_op`, include/linux/blk_types.h. Like the kernel's own statistics,
        // this counts writes of zeroes and zone appends as writes.
        let operation = match block.operation {
            0 => BlockOperation::Read,
            1 | 7 | 9 => BlockOperation::Write,
            2 => BlockOperation::Flush,
            3 | 5 => BlockOperation::Discard,
            _ => {
                self.left_out.other_requests += 1;
                return;
            }
        };
        let device = self.device(block.device, to);
        let task = self.kernel_task(block.tid, block.pid, &block.thread, to);
        let set = |bit: u32| block.flags & bit != 0;
        let flags = BlockFlags {
            sync: set(1),
            meta: set(2),
            journal: block.thread.starts_with("jbd2/"),
            fua: set(4),
            preflush: set(8),
            ahead: set(16),
        };
        let action = TraceAction::Block {
            device,
            operation,
            offset: if block.sector == u64::MAX { 0 } else { block.sector.saturating_mul(512) },
            bytes: Bytes(block.bytes.into()),
            flags,
            queued_ns: block.queued.map(Nanos),
            file: None,
        };
        to.event(self.at(block.issued), Some(Nanos(block.took)), task, action);
    }

    /// The thread of a block request: often a kernel thread, which makes no system calls.
    fn kernel_task(&mut self, tid: u32, pid: u32, name: &str, to: &mut Builder) -> Option<u32> {
        // This process's own I/O does not count, but while it runs it may issue other processes'
        // requests.
        if pid == self.own {
            return None;
        }
        let names = (!self.tasks.contains_key(&tid)).then(|| (name.to_owned(), name.to_owned()));
        Some(self.task(tid, pid, names, to))
    }

    fn work(&mut self, work: &WorkRecord, to: &mut Builder) {
        let device = self.device(work.device, to);
        let task = self.kernel_task(work.tid, work.pid, &work.thread, to);
        let action = match work.work {
            Work::Checkpoint => TraceAction::Checkpoint { device },
            Work::Cleaning => TraceAction::Clean { device },
        };
        to.event(self.at(work.began), Some(Nanos(work.took)), task, action);
    }

    fn commit(&mut self, tid: u32, times: (u64, u64), thread: String, to: &mut Builder) {
        let Some(name) = journal_device(&thread).map(str::to_owned) else { return };
        let watched = match self.journals.get(&name) {
            Some(watched) => *watched,
            None => {
                let mut devices = self.places.filesystems().into_iter();
                let is_cut = thread.len() == LONGEST_NAME;
                let watched = devices.any(|device| {
                    let device = device_name(device);
                    device == name || (is_cut && device.starts_with(&name))
                });
                *self.journals.entry(name.clone()).or_insert(watched)
            }
        };
        if watched {
            let device = to.device(&name);
            let task = self.kernel_task(tid, tid, &thread, to);
            let commit = TraceAction::Commit { device };
            to.event(self.at(times.0), Some(Nanos(times.1)), task, commit);
        }
    }
}

/// The device in the name of a journal's thread: `jbd2/sda1-8`. Names end after 15 bytes.
fn journal_device(thread: &str) -> Option<&str> {
    let rest = thread.strip_prefix("jbd2/")?;
    let name = match rest.rsplit_once('-') {
        Some((name, inode)) if inode.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => rest,
    };
    Some(name)
}

/// The path without `.` and `..`, as far as that can be done without resolving links.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}
