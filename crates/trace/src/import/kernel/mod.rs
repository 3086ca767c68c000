//! Events of the kernel's tracepoints, as ftrace, atrace and Perfetto have them, made a trace.

mod calls;
mod files;
mod look;
mod numbers;

use std::collections::{HashMap, HashSet};

use flashlag_schema::trace::{TraceAction, TraceLayer};
use flashlag_units::{Bytes, Nanos};

use super::making::Making;
use super::pair::{End, Requests};
use super::rwbs::rwbs;
use super::text::SECTOR;
use calls::{Calls, MaybeLook};
use files::Files;

pub(super) use calls::CallWords;
pub use look::{Descriptor, Look};
pub(super) use numbers::Machine;

/// When an event was, and whose.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) t: Nanos,
    pub(super) tid: u32,
    pub(super) task: Option<u32>,
}

/// A tracepoint of storage.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Point<'a> {
    /// `ext4_sync_file_enter`, `f2fs_sync_file_enter`
    SyncEnter { device: String, inode: u64, data_only: bool },
    /// `ext4_sync_file_exit`, `f2fs_sync_file_exit`
    SyncExit { device: String, inode: u64, data_only: bool },
    /// `ext4_da_write_begin`, `ext4_write_begin`, `f2fs_write_begin`: a page or less.
    Write { device: String, inode: u64, offset: u64, bytes: u64 },
    /// `android_fs_datawrite_start`, `f2fs_datawrite_start`: as above, with the file's path.
    NamedWrite { path: &'a str, inode: u64, offset: u64, bytes: u64 },
    /// `jbd2_start_commit`
    CommitBegin { device: String },
    /// `jbd2_end_commit`
    CommitEnd { device: String },
    /// `f2fs_write_checkpoint`, its first state
    CheckpointBegin { device: String },
    /// `f2fs_write_checkpoint`, its last state
    CheckpointEnd { device: String },
    /// `f2fs_gc_begin`
    CleanBegin { device: String },
    /// `f2fs_gc_end`
    CleanEnd { device: String },
    /// `block_*`
    Block { step: Step, device: String, rwbs: &'a str, sector: u64, sectors: u64 },
    /// `block_bio_remap`: the device above sends its requests on to another.
    Remap { above: String },
    /// `sys_enter`
    CallEnter { name: &'a str, words: CallWords },
    /// `sys_exit`
    CallExit { name: &'a str, returned: i64 },
    /// `sys_enter` of `raw_syscalls`: a number, which each kind of machine has its own of.
    NumberEnter { number: u64, words: CallWords },
    /// `sys_exit` of `raw_syscalls`
    NumberExit { number: u64, returned: i64 },
    /// `ext4_unlink_enter`
    Unlink { device: String, inode: u64 },
    /// `sched_process_fork`
    Forked { child: u32 },
    /// `sched_process_exit`
    Ended,
}

impl Point<'_> {
    /// Whether a process does it by a system call.
    pub(super) fn is_call(&self) -> bool {
        match self {
            Point::SyncEnter { .. }
            | Point::SyncExit { .. }
            | Point::Write { .. }
            | Point::NamedWrite { .. }
            | Point::Unlink { .. }
            | Point::CallEnter { .. }
            | Point::CallExit { .. }
            | Point::NumberEnter { .. }
            | Point::NumberExit { .. } => true,
            Point::CommitBegin { .. }
            | Point::CommitEnd { .. }
            | Point::CheckpointBegin { .. }
            | Point::CheckpointEnd { .. }
            | Point::CleanBegin { .. }
            | Point::CleanEnd { .. }
            | Point::Block { .. }
            | Point::Remap { .. }
            | Point::Forked { .. }
            | Point::Ended => false,
        }
    }
}

/// A step of a block request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// `block_bio_queue`
    Queue,
    /// `block_rq_issue`
    Issue,
    /// `block_rq_requeue`
    Requeue,
    /// `block_rq_complete`
    Complete,
    /// `block_bio_complete`, which a device without requests of its own has alone.
    CompleteOfBio,
}

/// What the filesystem does as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Work {
    Commit,
    Checkpoint,
    Clean,
}

/// Which tracepoint says what is written; a kernel may have two for one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writes {
    Inodes,
    Names,
}

/// Makes a trace of tracepoints.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    files: Files,
    calls: Calls,
    requests: Requests,
    syncs: HashMap<u32, (Nanos, u32, bool)>,
    works: HashMap<(Work, String), (Nanos, Option<u32>)>,
    writes: Option<Writes>,
    /// What a thread is writing outside of a system call that is recorded: the file, where, and the end.
    writing: HashMap<u32, (u32, u64, u64)>,
    /// The kind of machine that numbers of system calls are of.
    machine: Option<Machine>,
    look: Option<Box<dyn Look>>,
    /// Devices that have requests of their own.
    real: HashSet<String>,
    above: HashSet<String>,
}

impl Kernel {
    /// For a running machine.
    pub(super) fn with_look(look: Box<dyn Look>, machine: Option<Machine>) -> Kernel {
        Kernel { look: Some(look), machine, ..Kernel::default() }
    }

    /// Names the machine that the numbers of system calls are of.
    pub(super) fn set_machine(&mut self, machine: Option<Machine>) {
        self.machine = machine;
    }

    /// What the running machine is looked at with.
    pub(super) fn look(&mut self) -> MaybeLook<'_> {
        self.look.as_deref_mut()
    }

    /// Takes the next event.
    pub(super) fn take(&mut self, at: At, point: Point<'_>, making: &mut Making) {
        match point {
            Point::SyncEnter { device, inode, data_only } => {
                if let Some(file) = self.file(device, inode, making) {
                    self.sync_enter(at, file, data_only, making);
                }
            }
            Point::SyncExit { device, inode, data_only } => {
                if let Some(file) = self.file(device, inode, making) {
                    self.sync_exit(at, file, data_only, making);
                }
            }
            Point::Write { device, inode, offset, bytes } => {
                if *self.writes.get_or_insert(Writes::Inodes) == Writes::Inodes
                    && let Some(file) = self.file(device, inode, making)
                {
                    self.write(at, file, (offset, bytes), making);
                }
            }
            Point::NamedWrite { path, inode, offset, bytes } => {
                let file = self.files.of_name(path, inode, making);
                if *self.writes.get_or_insert(Writes::Names) == Writes::Names {
                    self.write(at, file, (offset, bytes), making);
                }
            }
            Point::Unlink { device, inode } => self.unlink(at, device, inode, making),
            Point::CommitBegin { device } => self.begins(at, Work::Commit, device),
            Point::CheckpointBegin { device } => self.begins(at, Work::Checkpoint, device),
            Point::CleanBegin { device } => self.begins(at, Work::Clean, device),
            Point::CommitEnd { device } => self.ends(at, Work::Commit, device, making),
            Point::CheckpointEnd { device } => self.ends(at, Work::Checkpoint, device, making),
            Point::CleanEnd { device } => self.ends(at, Work::Clean, device, making),
            Point::Block { step, device, rwbs, sector, sectors } => {
                self.block(at, step, &device, (rwbs, sector, sectors), making);
            }
            Point::Remap { above } => {
                self.above.insert(above);
            }
            Point::CallEnter { name, words } => {
                self.calls.enter(at, name, words, self.look.as_deref_mut(), making);
            }
            Point::CallExit { name, returned } => {
                self.calls.exit(at, name, returned, self.look.as_deref_mut(), making);
            }
            Point::NumberEnter { .. } | Point::NumberExit { .. } => {
                self.numbered(at, point, making)
            }
            Point::Forked { .. } | Point::Ended => self.family(at, &point),
        }
    }

    /// A system call by its number.
    fn numbered(&mut self, at: At, point: Point<'_>, making: &mut Making) {
        let Some(machine) = self.machine else {
            return making.limit(
                "System calls have numbers only, and not enough of them to say which processor's: they are \
                 left out.",
            );
        };
        match point {
            Point::NumberEnter { number, words } => {
                if let Some((name, words)) = machine.call(number, words) {
                    self.calls.enter(at, name, words, self.look.as_deref_mut(), making);
                }
            }
            Point::NumberExit { number, returned } => {
                if let Some((name, _)) = machine.call(number, CallWords::default()) {
                    self.calls.exit(at, name, returned, self.look.as_deref_mut(), making);
                }
            }
            _ => {}
        }
    }

    fn family(&mut self, at: At, point: &Point<'_>) {
        let Some(look) = self.look.as_deref_mut() else { return };
        match point {
            Point::Forked { child } => look.forked(at.tid, *child),
            Point::Ended => look.ended(at.tid),
            _ => {}
        }
    }

    /// The file of an inode; absent where its filesystem is not recorded.
    fn file(&mut self, device: String, inode: u64, making: &mut Making) -> Option<u32> {
        match self.look.as_deref_mut() {
            Some(look) => {
                look.filesystem(&device)?;
                Some(self.files.looked_up((device, inode), look, making))
            }
            None => Some(self.files.of_inode(&device, inode, making)),
        }
    }

    fn unlink(&mut self, at: At, device: String, inode: u64, making: &mut Making) {
        let Some(file) = self.file(device.clone(), inode, making) else { return };
        self.files.forget(device, inode);
        making.event(at.t, None, at.task, TraceAction::Unlink { file });
    }

    fn sync_enter(&mut self, at: At, file: u32, data_only: bool, making: &mut Making) {
        if self.calls.is_sync_of(at.tid, file, data_only) {
            return;
        }
        let begun = self.syncs.insert(at.tid, (at.t, file, data_only));
        if let Some((t, file, data_only)) = begun {
            // The end was lost.
            making.unmatched_begin();
            making.event(t, None, at.task, TraceAction::Sync { file, data_only });
        }
    }

    fn sync_exit(&mut self, at: At, file: u32, data_only: bool, making: &mut Making) {
        if self.calls.is_in_sync(at.tid) {
            return;
        }
        making.sees(TraceLayer::SystemCalls);
        match self.syncs.remove(&at.tid) {
            Some((t, begun, begun_data_only)) if begun == file => {
                let took = at.t.0.checked_sub(t.0).map(Nanos);
                let data_only = data_only || begun_data_only;
                making.event(t, took, at.task, TraceAction::Sync { file, data_only });
            }
            other => {
                if let Some((t, file, data_only)) = other {
                    making.unmatched_begin();
                    making.event(t, None, at.task, TraceAction::Sync { file, data_only });
                }
                making.unmatched_end();
                making.event(at.t, None, at.task, TraceAction::Sync { file, data_only });
            }
        }
    }

    fn write(&mut self, at: At, file: u32, (offset, bytes): (u64, u64), making: &mut Making) {
        if offset.checked_add(bytes).is_none() || self.calls.is_write_of(at.tid, file, offset) {
            return;
        }
        // Kernels with large folios name all that is left of a write with each piece: one write.
        let end = offset.saturating_add(bytes);
        let before = self.writing.insert(at.tid, (file, offset, end));
        if before.is_some_and(|(of, from, to)| of == file && to == end && from < offset) {
            return;
        }
        making.sees(TraceLayer::SystemCalls);
        making.limit(
            "Buffered writes are counted page by page, as the filesystem takes them: a write by system \
             call of several pages counts several times. Direct writes are not in such a trace.",
        );
        let write = TraceAction::Write { file, offset: Some(offset), bytes: Bytes(bytes) };
        making.event(at.t, None, at.task, write);
    }

    fn begins(&mut self, at: At, work: Work, device: String) {
        self.works.insert((work, device), (at.t, at.task));
    }

    fn ends(&mut self, at: At, work: Work, device: String, making: &mut Making) {
        let name = match self.look.as_deref_mut() {
            Some(look) => look.filesystem(&device),
            None => Some(device.clone()),
        };
        let Some(name) = name else { return };
        making.sees(TraceLayer::Filesystem);
        let number = making.builder.device(&name);
        let begun = self.works.remove(&(work, device));
        if begun.is_none() {
            making.unmatched_end();
        }
        let (t, task) = begun.unwrap_or((at.t, at.task));
        let took = begun.and_then(|(t, _)| at.t.0.checked_sub(t.0)).map(Nanos);
        making.event(t, took, task, action_of(work, number));
    }

    fn block(
        &mut self,
        at: At,
        step: Step,
        device: &str,
        (letters, sector, sectors): (&str, u64, u64),
        making: &mut Making,
    ) {
        let Some((operation, flags)) = rwbs(letters) else { return };
        // A flush alone has no place.
        let sector = if sectors == 0 { 0 } else { sector };
        if sector.checked_add(sectors).and_then(|end| end.checked_mul(SECTOR)).is_none() {
            return;
        }
        let disk = match self.look.as_deref_mut() {
            Some(look) => look.disk(device),
            None => Some(device.to_owned()),
        };
        let Some(disk) = disk else { return };
        let device = disk.as_str();
        let is_requests = matches!(step, Step::Issue | Step::Complete | Step::Requeue);
        if is_requests && !self.real.contains(device) {
            self.real.insert(device.to_owned());
        }
        let (t, task, file) = (at.t, at.task, None);
        let device_number = making.builder.device(device);
        let end = End { t, device: device_number, operation, sector, sectors, flags, task, file };
        match step {
            Step::Queue => self.requests.queue(end),
            Step::Issue => self.requests.issue(end),
            Step::Requeue => self.requests.requeue(end),
            Step::Complete => self.requests.complete(end),
            Step::CompleteOfBio if !self.real.contains(device) => self.requests.complete(end),
            Step::CompleteOfBio => {}
        }
    }

    /// Adds the block requests that have ended.
    pub(super) fn add_ended(&mut self, making: &mut Making) {
        self.requests.add_ended(making);
    }

    /// Calls on descriptors of which nobody knows any more whether they were files.
    pub(super) fn unknown_calls(&self) -> u64 {
        self.calls.unknown()
    }

    /// Adds what waits for its end on a running machine: of block requests, those that were issued have
    /// not completed yet, and are no part of the trace.
    pub(super) fn end(&mut self, making: &mut Making) {
        self.finish_calls(making);
        self.add_ended(making);
    }

    /// Adds what waits for an end.
    pub(super) fn finish(&mut self, making: &mut Making) {
        self.finish_calls(making);
        // What a device above another is asked for is asked of that one, too: it counts once.
        let above: HashSet<u32> = match self.real.is_empty() {
            true => HashSet::new(),
            false => {
                self.above.difference(&self.real).map(|name| making.builder.device(name)).collect()
            }
        };
        self.requests.finish_without(&above, making);
    }

    fn finish_calls(&mut self, making: &mut Making) {
        for (_, (t, file, data_only)) in std::mem::take(&mut self.syncs) {
            making.unmatched_begin();
            making.sees(TraceLayer::SystemCalls);
            making.event(t, None, None, TraceAction::Sync { file, data_only });
        }
        for ((work, device), (t, task)) in std::mem::take(&mut self.works) {
            let name = match self.look.as_deref_mut() {
                Some(look) => look.filesystem(&device),
                None => Some(device),
            };
            let Some(name) = name else { continue };
            making.unmatched_begin();
            making.sees(TraceLayer::Filesystem);
            let number = making.builder.device(&name);
            making.event(t, None, task, action_of(work, number));
        }
        self.calls.finish(self.look.as_deref_mut(), making);
    }
}

fn action_of(work: Work, device: u32) -> TraceAction {
    match work {
        Work::Commit => TraceAction::Commit { device },
        Work::Checkpoint => TraceAction::Checkpoint { device },
        Work::Clean => TraceAction::Clean { device },
    }
}
