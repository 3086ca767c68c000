//! System calls of several threads on a stack's files, for the loop that replays traces.

use std::collections::VecDeque;

use flashlag_device::{
    Call, CallDevice, CallRequest, Completion, Device, DeviceError, VirtualClock,
};
use flashlag_stats::{Wait, Waited};
use flashlag_units::{Bytes, Nanos};

use crate::completing::Completing;
use crate::fs::{BLOCK, FileId};
use crate::host_queue::Pid;
use crate::plan::Plan;
use crate::request_waits::RequestWaits;
use crate::stack::{Inner, Stack};
use crate::stack_file::waking;

/// A call that moves more bytes than this is split, as a kernel copies into its page cache in
/// pieces.
const PIECE: u64 = 1 << 20;

/// Files of a stack, named by the caller, and threads that make calls on them.
#[derive(Debug)]
pub struct StackCalls<D> {
    stack: Stack<D>,
    names: Vec<String>,
    /// The call in flight of each thread.
    slots: Vec<Option<Pending>>,
    done: Vec<Completion>,
    /// What each thread's call in flight waits for, if the stack accounts for it.
    waits: Option<Vec<RequestWaits>>,
    /// What the last call of each thread waited for.
    waited: Vec<Waited>,
}

/// A call in flight.
#[derive(Debug)]
struct Pending {
    started: Nanos,
    pid: Pid,
    next: Next,
    /// Whether the call's thread has woken.
    is_awake: bool,
}

/// The next step of a call, after the process in flight has ended.
#[derive(Debug)]
enum Next {
    /// The thread goes on.
    Nothing,
    /// Continue a read.
    Read(FileId, u64, u64),
    /// Continue a write.
    Write(FileId, u64, u64),
    /// Sync further files, and last the directory.
    Sync(VecDeque<Option<FileId>>),
}

impl<D: Device<Clock = VirtualClock>> StackCalls<D> {
    /// Files with these names, of which some may exist, and `threads` threads.
    pub fn new(stack: &Stack<D>, names: Vec<String>, threads: u32) -> StackCalls<D> {
        let threads = threads.max(1) as usize;
        StackCalls {
            waits: stack.waited().map(|_| vec![RequestWaits::default(); threads]),
            waited: vec![Waited::default(); threads],
            stack: stack.clone(),
            names,
            slots: (0..threads).map(|_| None).collect(),
            done: Vec::new(),
        }
    }

    /// The file with a number; creates it if it does not exist.
    fn file(&self, inner: &mut Inner<D>, file: u32) -> Result<FileId, DeviceError> {
        let name = &self.names[file as usize];
        match inner.find(name) {
            Some(file) => Ok(file),
            None => inner.create(name),
        }
    }

    /// Begins a call. Returns the process to wait for and the next step, or `None` if the call is
    /// over.
    fn begin(
        &mut self,
        inner: &mut Inner<D>,
        CallRequest { slot, file, call }: CallRequest,
    ) -> Result<Option<(Pid, Next)>, DeviceError> {
        let thread = slot as usize;
        Ok(match call {
            Call::Open { truncate, .. } => {
                let there = inner.find(&self.names[file as usize]);
                match there {
                    None => {
                        inner.create(&self.names[file as usize])?;
                    }
                    Some(file) if truncate => inner.truncate(file, 0)?,
                    Some(_) => inner.compute(inner.call_time(0, false)),
                }
                None
            }
            Call::Close => None,
            Call::Truncate(size) => {
                let file = self.file(inner, file)?;
                inner.truncate(file, size.0)?;
                None
            }
            Call::Unlink => {
                let name = &self.names[file as usize];
                if inner.find(name).is_some() {
                    inner.delete(name)?;
                }
                None
            }
            Call::Rename { to } => {
                let (from, to) = (&self.names[file as usize], &self.names[to as usize]);
                if from != to && inner.find(from).is_some() {
                    inner.rename(from, to)?;
                }
                None
            }
            Call::Read { offset, length } => {
                let file = self.file(inner, file)?;
                let left = inner.size_of(file).saturating_sub(offset.0).min(length.0);
                Some(self.read_piece(inner, thread, file, offset.0, left))
            }
            Call::Write { offset, length } => {
                let file = self.file(inner, file)?;
                Some(self.write_piece(inner, thread, file, offset.0, length.0)?)
            }
            Call::Sync { data_only } => {
                let file = self.file(inner, file)?;
                Some((inner.begin_sync(Some(file), data_only)?, Next::Nothing))
            }
            Call::SyncDirectory => Some((inner.begin_sync(None, false)?, Next::Nothing)),
            Call::SyncAll => {
                let files = self.names.iter().filter_map(|name| inner.find(name));
                let mut all: VecDeque<Option<FileId>> = files.map(Some).chain([None]).collect();
                let first = all.pop_front().flatten();
                Some((inner.begin_sync(first, false)?, Next::Sync(all)))
            }
        })
    }

    /// CPU time of a thread's call, as the first group of a plan.
    fn call(inner: &mut Inner<D>, thread: usize, length: u64) -> Plan {
        let mut plan = Plan::new();
        let (now, call) = (inner.now(), inner.call_time(length, false));
        if inner.cpus.are_several() {
            let (_, until) = inner.cpus.reserve(thread, now, call);
            plan.then_compute(until.since(now));
        } else {
            inner.compute(call);
        }
        plan
    }

    fn read_piece(
        &self,
        inner: &mut Inner<D>,
        thread: usize,
        file: FileId,
        at: u64,
        left: u64,
    ) -> (Pid, Next) {
        let piece = left.min(PIECE);
        let mut plan = Self::call(inner, thread, piece);
        if piece > 0 {
            plan.then_plan(inner.read_plan(file, at, piece));
        }
        let next = match left - piece {
            0 => Next::Nothing,
            more => Next::Read(file, at + piece, more),
        };
        (inner.scheduler.spawn(plan, &[]), next)
    }

    fn write_piece(
        &self,
        inner: &mut Inner<D>,
        thread: usize,
        file: FileId,
        at: u64,
        left: u64,
    ) -> Result<(Pid, Next), DeviceError> {
        let piece = left.min(PIECE);
        let mut plan = Self::call(inner, thread, piece);
        if piece > 0 {
            plan.then_plan(inner.write_plan(file, at, piece, false)?);
        }
        let next = match left - piece {
            0 => Next::Nothing,
            more => Next::Write(file, at + piece, more),
        };
        Ok((inner.spawn(plan), next))
    }

    /// Begins the next step after a process has ended; `None` if there is none.
    fn follow(
        &mut self,
        inner: &mut Inner<D>,
        thread: usize,
        next: Next,
    ) -> Result<Option<(Pid, Next)>, DeviceError> {
        Ok(match next {
            Next::Nothing => None,
            Next::Read(file, at, left) => Some(self.read_piece(inner, thread, file, at, left)),
            Next::Write(file, at, left) => Some(self.write_piece(inner, thread, file, at, left)?),
            Next::Sync(mut files) => match files.pop_front() {
                Some(file) => Some((inner.begin_sync(file, false)?, Next::Sync(files))),
                None => None,
            },
        })
    }

    /// Accounts for a process that has ended.
    fn took(
        &mut self,
        inner: &Inner<D>,
        thread: usize,
        pending: &Pending,
        result: &Result<Nanos, DeviceError>,
    ) {
        let Some(waits) = &mut self.waits else { return };
        let ended = result.as_ref().ok().copied().unwrap_or_else(|| inner.now());
        let taken = inner.scheduler.taken().unwrap_or_default();
        let wakes = pending.is_awake;
        let taken = if wakes { Waited::all(Wait::Cpu, taken.total()) } else { taken };
        waits[thread].ended(taken, ended);
    }

    fn complete(
        &mut self,
        thread: usize,
        (started, ended): (Nanos, Nanos),
        result: Result<(), DeviceError>,
    ) {
        if let Some(waits) = &self.waits {
            self.waited[thread] = waits[thread].of(ended.saturating_since(started));
        }
        let slot = thread as u32;
        self.done.push(Completion { slot, started, flush_from: None, ended, result });
    }
}

impl<D: Device<Clock = VirtualClock>> Completing<D> for StackCalls<D> {
    fn stack(&self) -> &Stack<D> {
        &self.stack
    }

    /// Continues every thread whose process has ended.
    fn collect(&mut self, inner: &mut Inner<D>) {
        for thread in 0..self.slots.len() {
            let Some(pending) = self.slots[thread].take() else { continue };
            let Some(result) = inner.scheduler.take(pending.pid) else {
                self.slots[thread] = Some(pending);
                continue;
            };
            self.took(inner, thread, &pending, &result);
            let Pending { started, next, is_awake, .. } = pending;
            let next = result.and_then(|ended| {
                let followed = self.follow(inner, thread, next)?;
                Ok((ended, followed))
            });
            match next {
                Err(error) => self.complete(thread, (started, inner.now()), Err(error)),
                Ok((_, Some((pid, next)))) => {
                    self.slots[thread] = Some(Pending { started, pid, next, is_awake: false });
                }
                Ok((ended, None)) => match waking(inner, thread, !is_awake) {
                    Some(pid) => {
                        let (next, is_awake) = (Next::Nothing, true);
                        self.slots[thread] = Some(Pending { started, pid, next, is_awake });
                    }
                    None => self.complete(thread, (started, ended), Ok(())),
                },
            }
        }
    }

    fn done(&mut self) -> &mut Vec<Completion> {
        &mut self.done
    }

    fn is_busy(&self) -> bool {
        self.slots.iter().any(Option::is_some)
    }
}

impl<D: Device<Clock = VirtualClock>> CallDevice for StackCalls<D> {
    type Clock = VirtualClock;

    fn clock(&self) -> &VirtualClock {
        self.stack.clock()
    }

    fn submit(&mut self, request: CallRequest) -> Result<(), DeviceError> {
        let thread = request.slot as usize;
        if self.slots.get(thread).is_none_or(Option::is_some) {
            return Err(DeviceError::busy("make a call", "the thread", request.slot));
        }
        let stack = self.stack.clone();
        let mut inner = stack.0.borrow_mut();
        let (started, before) = (inner.now(), inner.waited);
        let begun = self.begin(&mut inner, request);
        if let (Some(waits), Some(before), Some(after)) = (&mut self.waits, before, inner.waited) {
            waits[thread] = RequestWaits::new(started, after.since(&before));
        }
        match begun {
            Ok(Some((pid, next))) => {
                self.slots[thread] = Some(Pending { started, pid, next, is_awake: false });
            }
            Ok(None) => self.complete(thread, (started, inner.now()), Ok(())),
            Err(error) => self.complete(thread, (started, inner.now()), Err(error)),
        }
        Ok(())
    }

    fn reap(&mut self, at_least: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError> {
        self.take_completed(at_least, completed)
    }

    fn wait_until(&mut self, time: Nanos) {
        self.pass(time);
    }

    fn waited(&mut self, slot: u32) -> Option<Waited> {
        self.waits.as_ref()?;
        self.waited.get(slot as usize).copied()
    }
}

impl<D: Device<Clock = VirtualClock>> StackCalls<D> {
    /// Creates a file of a size with direct writes, every byte written once and durable.
    pub fn lay_out(&self, file: u32, size: Bytes) -> Result<(), DeviceError> {
        let name = &self.names[file as usize];
        if self.stack.find(name).is_some() {
            self.stack.delete(name)?;
        }
        let id = self.stack.create(name)?;
        let mut at = Bytes::ZERO;
        while at < size {
            // Direct writes need whole blocks; the file is then truncated to its size.
            let left = size.saturating_minus(at).0.next_multiple_of(BLOCK);
            let step = Bytes(left.min(PIECE));
            self.stack.write_nothing(id, at, step, true)?;
            at = at.plus(step);
        }
        self.stack.truncate(id, size)?;
        self.stack.sync(id, false)
    }

    /// Removes those of the files that exist.
    pub fn remove(&self) -> Result<(), DeviceError> {
        let there = self.names.iter().filter(|name| self.stack.find(name).is_some());
        there.into_iter().try_for_each(|name| self.stack.delete(name))
    }
}
