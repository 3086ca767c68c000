//! Files of a stack as a device for the measuring loop.

use flashlag_device::{
    Clock, Completion, Device, DeviceError, Durability, Geometry, Op, Request, SyncCall,
    VirtualClock,
};
use flashlag_stats::{Wait, Waited};
use flashlag_units::{Bytes, Nanos};

use crate::completing::Completing;
use crate::file_row::FileRow;
use crate::host_queue::Pid;
use crate::plan::Plan;
use crate::request_waits::RequestWaits;
use crate::stack::{Inner, Stack};

/// One request in flight.
#[derive(Clone, Copy, Debug)]
struct Pending {
    started: Nanos,
    stage: Stage,
    durability: Durability,
    /// Whether the request's thread has woken.
    is_awake: bool,
    /// Index of the file; a flush goes through all of them.
    file: usize,
    op: Op,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The data is in flight.
    Data(Pid),
    /// The data is written, and waits for the next sync.
    Written,
    /// A sync that began at this time is in flight.
    Syncing(Nanos),
}

/// Files as a device with `depth` slots.
///
/// Requests that wait for a sync of their file when one begins share it, as writers of one file
/// share a commit.
#[derive(Debug)]
pub struct StackFile<D> {
    stack: Stack<D>,
    files: FileRow,
    span: Bytes,
    block: Bytes,
    direct: bool,
    sync: SyncCall,
    slots: Vec<Option<Pending>>,
    /// Slots of each thread.
    depth: usize,
    /// The sync in flight.
    syncing: Option<Pid>,
    /// Whether the sync has ended and the threads that waited for it are waking.
    is_waking: bool,
    done: Vec<Completion>,
    buffer: Vec<u8>,
    waits: Option<Waits>,
    /// Whether requests come from a kernel: without system calls, and without threads to wake.
    are_requests: bool,
}

/// What requests wait for.
#[derive(Debug)]
struct Waits {
    /// Accounts of each slot's request in flight.
    under_way: Vec<RequestWaits>,
    /// Accounts of each slot's last completed request.
    done: Vec<Waited>,
    /// What the last sync of the files waited for.
    sync: Waited,
}

impl<D> Drop for StackFile<D> {
    fn drop(&mut self) {
        for &file in self.files.files() {
            self.stack.close(file);
        }
    }
}

impl<D: Device<Clock = VirtualClock>> StackFile<D> {
    /// The first `span` bytes of laid-out files, with requests of at most `block` bytes and a queue
    /// depth of `depth`.
    pub fn new(
        stack: &Stack<D>,
        files: impl Into<FileRow>,
        span: Bytes,
        block: Bytes,
        depth: u32,
        direct: bool,
        sync: SyncCall,
    ) -> StackFile<D> {
        let slots = depth.max(1) as usize;
        let waits = stack.waited().map(|_| Waits {
            under_way: vec![RequestWaits::default(); slots],
            done: vec![Waited::default(); slots],
            sync: Waited::default(),
        });
        StackFile {
            waits,
            stack: stack.clone(),
            files: files.into(),
            span,
            block,
            direct,
            sync,
            slots: vec![None; slots],
            depth: slots,
            syncing: None,
            is_waking: false,
            done: Vec::new(),
            buffer: Vec::new(),
            are_requests: false,
        }
    }

    /// The same file as a device for `threads` threads, which share the slots equally. Each thread
    /// has a core of its own while there are enough cores.
    #[must_use]
    pub fn with_threads(mut self, threads: u32) -> StackFile<D> {
        self.depth = self.slots.len().div_ceil(threads.max(1) as usize);
        self
    }

    /// The same file for requests as a kernel sends them to a device: no system call and no CPU
    /// time precedes them.
    #[must_use]
    pub fn as_requests(mut self) -> StackFile<D> {
        self.are_requests = true;
        self
    }

    /// Begins a request; returns when its call began, and the stage it is in.
    fn begin(
        &mut self,
        inner: &mut Inner<D>,
        request: &Request,
    ) -> Result<(Nanos, Stage), DeviceError> {
        let Request { op, offset, length, slot, .. } = *request;
        let (index, at) = self.files.locate(offset);
        let file = self.files.files()[index];
        let now = inner.now();
        let (mut started, mut plan) = (now, Plan::new());
        if matches!(op, Op::Read | Op::Write) && !self.are_requests {
            let call = inner.call_time(length.0, self.direct);
            if inner.cpus.are_several() {
                let (from, until) = inner.cpus.reserve(slot as usize / self.depth, now, call);
                plan.then_compute(until.since(now));
                started = from;
            } else {
                inner.compute(call);
            }
        }
        let stage = match op {
            Op::Read => {
                plan.then_plan(if self.direct {
                    inner.direct_read_plan(file, at, length.0)
                } else {
                    inner.read_plan(file, at, length.0)
                });
                Stage::Data(inner.scheduler.spawn(plan, &[]))
            }
            Op::Write => {
                plan.then_plan(inner.write_plan(file, at, length.0, self.direct)?);
                Stage::Data(inner.spawn(plan))
            }
            Op::Flush => Stage::Written,
            // A discard of part of a file does not reach the device.
            Op::Discard => Stage::Data(inner.scheduler.spawn(plan, &[])),
        };
        Ok((started, stage))
    }

    fn begin_sync(&mut self, inner: &mut Inner<D>) {
        let is_written = |one: &&Pending| matches!(one.stage, Stage::Written);
        let first = self.slots.iter().flatten().find(is_written).map(|one| one.file);
        let Some(file) = first.filter(|_| self.syncing.is_none()) else { return };
        let written = |one: &Pending| is_written(&one) && one.file == file;
        let from = inner.now();
        for (slot, one) in self.slots.iter_mut().enumerate() {
            let Some(one) = one.as_mut().filter(|one| written(one)) else { continue };
            one.stage = Stage::Syncing(from);
            if let Some(waits) = &mut self.waits {
                waits.under_way[slot].followed(waits.sync, from);
            }
        }
        // A write that is durable itself needs no sync, only its data.
        let asked = |one: &Pending| one.durability == Durability::Flush;
        let all = self.sync == SyncCall::All && self.slots.iter().flatten().any(asked);
        match inner.begin_sync(Some(self.files.files()[file]), !all) {
            Ok(pid) => self.syncing = Some(pid),
            Err(error) => self.synced_at(inner.now(), &Err(error)),
        }
    }

    fn synced(&mut self, result: &Result<Nanos, DeviceError>) {
        let ended = result.as_ref().ok().copied();
        let now = ended.unwrap_or_else(|| self.stack.clock().now());
        self.synced_at(now, &result.clone().map(|_| ()));
    }

    fn synced_at(&mut self, ended: Nanos, result: &Result<(), DeviceError>) {
        for slot in 0..self.slots.len() {
            let Some(one) = self.slots[slot] else { continue };
            if let Pending { started, stage: Stage::Syncing(from), durability, .. } = one {
                if one.op == Op::Flush && result.is_ok() && one.file + 1 < self.files.files().len()
                {
                    let next = Pending { stage: Stage::Written, file: one.file + 1, ..one };
                    self.slots[slot] = Some(next);
                    continue;
                }
                let flush = (durability == Durability::Flush).then_some(from);
                self.complete(slot, (started, flush, ended), result.clone());
            }
        }
    }

    fn complete(
        &mut self,
        slot: usize,
        (started, flush_from, ended): (Nanos, Option<Nanos>, Nanos),
        result: Result<(), DeviceError>,
    ) {
        self.slots[slot] = None;
        if let Some(waits) = &mut self.waits {
            waits.done[slot] = waits.under_way[slot].of(ended.saturating_since(started));
        }
        self.done.push(Completion { slot: slot as u32, started, flush_from, ended, result });
    }

    /// Accounts for the beginning of a request: during its call the caller's account went from one
    /// sum to another.
    fn begun(&mut self, slot: usize, started: Nanos, sums: (Option<Waited>, Option<Waited>)) {
        if let (Some(waits), (Some(before), Some(after))) = (&mut self.waits, sums) {
            waits.under_way[slot] = RequestWaits::new(started, after.since(&before));
        }
    }

    /// Accounts for a process of a slot's request that has ended: its data, or the waking of its
    /// thread.
    fn data_took(
        &mut self,
        inner: &Inner<D>,
        slot: usize,
        wakes: bool,
        result: &Result<Nanos, DeviceError>,
    ) {
        let Some(waits) = &mut self.waits else { return };
        let ended = result.as_ref().ok().copied().unwrap_or_else(|| inner.now());
        let taken = inner.scheduler.taken().unwrap_or_default();
        let taken = if wakes { Waited::all(Wait::Cpu, taken.total()) } else { taken };
        waits.under_way[slot].ended(taken, ended);
    }

    /// Accounts for the end of the sync in flight, or of the waking after it.
    fn sync_took(&mut self, inner: &Inner<D>, result: &Result<Nanos, DeviceError>) {
        let Some(waits) = &mut self.waits else { return };
        let ended = result.as_ref().ok().copied().unwrap_or_else(|| inner.now());
        let mut taken = inner.scheduler.taken().unwrap_or_default();
        if self.is_waking {
            taken = Waited::all(Wait::Cpu, taken.total());
        } else {
            waits.sync = taken;
        }
        for (one, slot) in waits.under_way.iter_mut().zip(&self.slots) {
            if let Some(Pending { stage: Stage::Syncing(_), .. }) = slot {
                one.ended(taken, ended);
            }
        }
    }
}

/// A process for the waking of a thread, if the thread takes time to wake.
pub(crate) fn waking<D: Device<Clock = VirtualClock>>(
    inner: &mut Inner<D>,
    thread: usize,
    wakes: bool,
) -> Option<Pid> {
    let time = if wakes { inner.cpus.wake(thread, inner.now()) } else { Nanos::ZERO };
    let mut plan = Plan::new();
    plan.then_compute(time);
    (!plan.is_empty()).then(|| inner.scheduler.spawn(plan, &[]))
}

impl<D: Device<Clock = VirtualClock>> Completing<D> for StackFile<D> {
    fn stack(&self) -> &Stack<D> {
        &self.stack
    }

    /// Completes what has ended, and begins a sync if writes wait for one.
    fn collect(&mut self, inner: &mut Inner<D>) {
        if let Some(pid) = self.syncing
            && let Some(result) = inner.scheduler.take(pid)
        {
            self.sync_took(inner, &result);
            self.syncing = None;
            match waking(inner, 0, !self.is_waking && !self.are_requests && result.is_ok()) {
                Some(pid) => {
                    self.syncing = Some(pid);
                    self.is_waking = true;
                }
                None => {
                    self.is_waking = false;
                    self.synced(&result);
                }
            }
        }
        for slot in 0..self.slots.len() {
            let Some(pending) = self.slots[slot] else { continue };
            let Pending { started, stage: Stage::Data(pid), durability, is_awake, .. } = pending
            else {
                continue;
            };
            let Some(result) = inner.scheduler.take(pid) else { continue };
            self.data_took(inner, slot, is_awake, &result);
            let wakes = !is_awake && durability == Durability::None && result.is_ok();
            let wakes = wakes && !self.are_requests;
            if let Some(pid) = waking(inner, slot / self.depth, wakes) {
                let stage = Stage::Data(pid);
                self.slots[slot] = Some(Pending { stage, is_awake: true, ..pending });
                continue;
            }
            match result {
                Ok(ended) if durability == Durability::None => {
                    self.complete(slot, (started, None, ended), Ok(()));
                }
                Ok(_) => {
                    self.slots[slot] = Some(Pending { stage: Stage::Written, ..pending });
                }
                Err(error) => self.complete(slot, (started, None, inner.now()), Err(error)),
            }
        }
        self.begin_sync(inner);
    }

    fn done(&mut self) -> &mut Vec<Completion> {
        &mut self.done
    }

    fn is_busy(&self) -> bool {
        self.slots.iter().any(Option::is_some)
    }
}

impl<D: Device<Clock = VirtualClock>> Device for StackFile<D> {
    type Clock = VirtualClock;

    fn clock(&self) -> &VirtualClock {
        self.stack.clock()
    }

    fn geometry(&self) -> Geometry {
        Geometry {
            size: self.span,
            alignment: Bytes(if self.direct { 512 } else { 1 }),
            slots: self.slots.len() as u32,
            buffer: self.block,
            keeps_data: false,
        }
    }

    /// All slots share one buffer, since no data is kept.
    fn buffer(&mut self, _: u32) -> &mut [u8] {
        self.buffer.resize(self.block.0 as usize, 0);
        &mut self.buffer
    }

    fn submit(&mut self, request: Request) -> Result<(), DeviceError> {
        self.geometry().check(&request)?;
        let slot = request.slot as usize;
        if self.slots[slot].is_some() {
            return Err(DeviceError::busy(request.op.name(), "the file", request.slot));
        }
        let stack = self.stack.clone();
        let mut inner = stack.0.borrow_mut();
        let started = inner.now();
        let before = inner.waited;
        let durability = match request.op {
            Op::Write => request.durability,
            Op::Flush => Durability::Write,
            Op::Read | Op::Discard => Durability::None,
        };
        match self.begin(&mut inner, &request) {
            Ok((started, stage)) => {
                let file = match request.op {
                    Op::Flush => 0,
                    _ => self.files.locate(request.offset).0,
                };
                let (op, is_awake) = (request.op, false);
                self.begun(slot, started, (before, inner.waited));
                let pending = Pending { started, stage, durability, is_awake, file, op };
                self.slots[slot] = Some(pending);
            }
            Err(error) => {
                let now = inner.now();
                self.begun(slot, started, (before, inner.waited));
                self.complete(slot, (started, None, now), Err(error));
            }
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
        self.waits.as_ref()?.done.get(slot as usize).copied()
    }
}
