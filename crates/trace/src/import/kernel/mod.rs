//! Turns the kernel's tracepoint events, from ftrace, atrace or Perfetto, into a trace.

mod calls;
mod files;
mod look;
mod numbers;
mod point;
mod writes;

use std::collections::{HashMap, HashSet};

use flashlag_schema::trace::{TraceAction, TraceLayer};
use flashlag_units::Nanos;

use super::making::Making;
use super::pair::{End, Requests};
use super::rwbs::rwbs;
use super::text::SECTOR;
use calls::{Calls, MaybeLook};
use files::Files;

pub use look::{Descriptor, Look};
pub(super) use numbers::Machine;
pub(super) use point::{At, CallWords, Point, Step};
use writes::{PageWrites, WrittenBy};

/// Count of events on storage that is not recorded.
const ELSEWHERE: &str = "event of storage that is not recorded";

/// Work of the filesystem as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Work {
    Commit,
    Checkpoint,
    Clean,
}

/// Makes a trace of tracepoints.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    files: Files,
    calls: Calls,
    requests: Requests,
    syncs: HashMap<u32, (At, u32, bool)>,
    works: HashMap<(Work, String), (Nanos, Option<u32>)>,
    writes: PageWrites,
    /// The architecture whose system call numbers the trace has.
    machine: Option<Machine>,
    look: Option<Box<dyn Look>>,
    /// Devices that have a request queue of their own.
    real: HashSet<String>,
    above: HashSet<String>,
}

impl Kernel {
    /// For a running machine.
    pub(super) fn with_look(look: Box<dyn Look>, machine: Option<Machine>) -> Kernel {
        Kernel { look: Some(look), machine, ..Kernel::default() }
    }

    /// Sets the architecture whose system call numbers the trace has.
    pub(super) fn set_machine(&mut self, machine: Option<Machine>) {
        self.machine = machine;
    }

    /// The lookups on the running machine.
    pub(super) fn look(&mut self) -> MaybeLook<'_> {
        self.look.as_deref_mut()
    }

    /// Takes the next event; returns whether it is an event of the trace or a part of one. Others
    /// are counted by their kind.
    pub(super) fn take(&mut self, at: At, point: Point<'_>, making: &mut Making) -> bool {
        match point {
            Point::SyncEnter { device, inode, data_only } => {
                let Some(file) = self.file(device, inode, making) else { return false };
                self.sync_enter(at, file, data_only, making);
            }
            Point::SyncExit { device, inode, data_only } => {
                let Some(file) = self.file(device, inode, making) else { return false };
                self.sync_exit(at, file, data_only, making);
            }
            Point::Write { .. } | Point::WriteEnd { .. } | Point::NamedWrite { .. } => {
                return self.write(at, point, making);
            }
            Point::Unlink { device, inode } => return self.unlink(at, device, inode, making),
            Point::CommitBegin { device } => self.begins(at, Work::Commit, device, making),
            Point::CheckpointBegin { device } => self.begins(at, Work::Checkpoint, device, making),
            Point::CleanBegin { device } => self.begins(at, Work::Clean, device, making),
            Point::CommitEnd { device } => self.ends(at, Work::Commit, device, making),
            Point::CheckpointEnd { device } => self.ends(at, Work::Checkpoint, device, making),
            Point::CleanEnd { device } => self.ends(at, Work::Clean, device, making),
            Point::Block { step, device, rwbs, sector, sectors } => {
                return self.block(at, step, &device, rwbs, sector, sectors, making);
            }
            Point::Remap { above } => {
                self.above.insert(above);
                making.skip("block_bio_remap");
                return false;
            }
            Point::CallEnter { name, words } => {
                return self.calls.enter(at, name, words, self.look.as_deref_mut(), making);
            }
            Point::CallExit { name, returned } => {
                return self.calls.exit(at, name, returned, self.look.as_deref_mut(), making);
            }
            Point::NumberEnter { .. } | Point::NumberExit { .. } => {
                return self.numbered(at, point, making);
            }
            Point::Forked { .. } | Point::Ended => {
                self.family(at, &point);
                making.skip("beginning or end of a thread");
                return false;
            }
        }
        true
    }

    /// A system call given by its number.
    fn numbered(&mut self, at: At, point: Point<'_>, making: &mut Making) -> bool {
        let Some(machine) = self.machine else {
            making.limit(
                "System calls have numbers only, and not enough of them to say which processor's: they are \
                 left out.",
            );
            making.skip("system call by number");
            making.lacks(1);
            return false;
        };
        let look = self.look.as_deref_mut();
        match point {
            Point::NumberEnter { number, words } => {
                if let Some((name, words)) = machine.call(number, words) {
                    return self.calls.enter(at, name, words, look, making);
                }
            }
            Point::NumberExit { number, returned } => {
                if let Some((name, _)) = machine.call(number, CallWords::default()) {
                    return self.calls.exit(at, name, returned, look, making);
                }
            }
            _ => {}
        }
        making.skip("system call not of storage");
        false
    }

    fn family(&mut self, at: At, point: &Point<'_>) {
        let Some(look) = self.look.as_deref_mut() else { return };
        match point {
            Point::Forked { child } => look.forked(at.tid, *child),
            Point::Ended => look.ended(at.tid),
            _ => {}
        }
    }

    /// The file of an inode; absent if its filesystem is not recorded.
    fn file(&mut self, device: String, inode: u64, making: &mut Making) -> Option<u32> {
        match self.look.as_deref_mut() {
            Some(look) => {
                if look.filesystem(&device).is_none() {
                    making.skip(ELSEWHERE);
                    return None;
                }
                Some(self.files.looked_up(device, inode, look, making))
            }
            None => Some(self.files.of_inode(&device, inode, making)),
        }
    }

    fn unlink(&mut self, at: At, device: String, inode: u64, making: &mut Making) -> bool {
        let Some(file) = self.file(device.clone(), inode, making) else { return false };
        self.files.forget(device, inode);
        making.event(at.t, None, at.task, TraceAction::Unlink { file });
        true
    }

    fn sync_enter(&mut self, at: At, file: u32, data_only: bool, making: &mut Making) {
        if self.calls.is_sync_of(at.tid, file, data_only) {
            return;
        }
        if let Some(lost) = self.syncs.insert(at.tid, (at, file, data_only)) {
            sync_without_end(lost, making);
        }
    }

    fn sync_exit(&mut self, at: At, file: u32, data_only: bool, making: &mut Making) {
        if self.calls.is_in_sync(at.tid) {
            return;
        }
        match self.syncs.remove(&at.tid) {
            Some((begun, of, begun_data_only)) if of == file => {
                making.sees(TraceLayer::SystemCalls);
                let took = at.t.0.checked_sub(begun.t.0).map(Nanos);
                let data_only = data_only || begun_data_only;
                making.event(begun.t, took, at.task, TraceAction::Sync { file, data_only });
            }
            other => {
                if let Some(lost) = other {
                    sync_without_end(lost, making);
                }
                making.unmatched_end();
                making.sees(TraceLayer::SystemCalls);
                making.event(at.t, None, at.task, TraceAction::Sync { file, data_only });
            }
        }
    }

    /// Begins or ends the write of a page. Within a system call that writes, it is a part of that
    /// call.
    fn write(&mut self, at: At, point: Point<'_>, making: &mut Making) -> bool {
        let (by, is_end, place) = match point {
            Point::Write { offset, bytes, .. } => (WrittenBy::Inodes, false, (offset, bytes)),
            Point::WriteEnd { offset, bytes, .. } => (WrittenBy::Inodes, true, (offset, bytes)),
            Point::NamedWrite { offset, bytes, .. } => (WrittenBy::Names, false, (offset, bytes)),
            _ => return false,
        };
        let file = match point {
            Point::Write { device, inode, .. } | Point::WriteEnd { device, inode, .. } => {
                self.file(device, inode, making)
            }
            Point::NamedWrite { path, inode, .. } => Some(self.files.of_name(path, inode, making)),
            _ => None,
        };
        let Some(file) = file else { return false };
        if !self.writes.counts(by) {
            making.skip("page write that another tracepoint has");
            return false;
        }
        if place.0.checked_add(place.1).is_none() {
            making.damaged();
            return false;
        }
        match is_end {
            _ if self.calls.is_write_of(at.tid, file, place.0) => {}
            true => self.writes.end(at, file, place, making),
            false => self.writes.begin(at, file, place.0, place.1, making),
        }
        true
    }

    fn begins(&mut self, at: At, work: Work, device: String, making: &mut Making) {
        let begun = self.works.insert((work, device.clone()), (at.t, at.task));
        if let Some(lost) = begun {
            self.unended(work, device, lost, making);
        }
    }

    /// Adds what began and did not end.
    fn unended(
        &mut self,
        work: Work,
        device: String,
        (t, task): (Nanos, Option<u32>),
        making: &mut Making,
    ) {
        let name = match self.look.as_deref_mut() {
            Some(look) => look.filesystem(&device),
            None => Some(device),
        };
        let Some(name) = name else { return };
        making.unmatched_begin();
        making.sees(TraceLayer::Filesystem);
        let number = making.builder.device(&name);
        making.event(t, None, task, action_of(work, number));
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
        letters: &str,
        sector: u64,
        sectors: u64,
        making: &mut Making,
    ) -> bool {
        let Some((operation, flags)) = rwbs(letters) else {
            making.skip("block request that moves nothing");
            return false;
        };
        // A bare flush has no sector.
        let sector = if sectors == 0 { 0 } else { sector };
        if sector.checked_add(sectors).and_then(|end| end.checked_mul(SECTOR)).is_none() {
            making.damaged();
            return false;
        }
        let disk = match self.look.as_deref_mut() {
            Some(look) => look.disk(device),
            None => Some(device.to_owned()),
        };
        let Some(disk) = disk else {
            making.skip(ELSEWHERE);
            return false;
        };
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
            Step::CompleteOfBio => {
                making.skip("block_bio_complete beside block_rq_complete");
                return false;
            }
        }
        true
    }

    /// Adds the block requests that have completed.
    pub(super) fn add_ended(&mut self, making: &mut Making) {
        self.requests.add_ended(making);
    }

    /// Number of calls on descriptors that were closed before it could be found out whether they
    /// were files.
    pub(super) fn unknown_calls(&self) -> u64 {
        self.calls.unknown()
    }

    /// Adds what waits for its end on a running machine. Block requests that were issued and have
    /// not completed are not part of the trace.
    pub(super) fn end(&mut self, making: &mut Making) {
        self.finish_calls(making);
        self.add_ended(making);
    }

    /// Adds what waits for its end.
    pub(super) fn finish(&mut self, making: &mut Making) {
        self.finish_calls(making);
        // A request to an upper device is repeated to the one below: count it once.
        let above: HashSet<u32> = if self.real.is_empty() {
            HashSet::new()
        } else {
            self.above.difference(&self.real).map(|name| making.builder.device(name)).collect()
        };
        self.requests.finish_without(&above, making);
    }

    fn finish_calls(&mut self, making: &mut Making) {
        for (_, lost) in std::mem::take(&mut self.syncs) {
            sync_without_end(lost, making);
        }
        for ((work, device), begun) in std::mem::take(&mut self.works) {
            self.unended(work, device, begun, making);
        }
        self.writes.finish(making);
        self.calls.finish(self.look.as_deref_mut(), making);
    }
}

/// Adds a sync whose end the source does not record.
fn sync_without_end((at, file, data_only): (At, u32, bool), making: &mut Making) {
    making.unmatched_begin();
    making.sees(TraceLayer::SystemCalls);
    making.event(at.t, None, at.task, TraceAction::Sync { file, data_only });
}

fn action_of(work: Work, device: u32) -> TraceAction {
    match work {
        Work::Commit => TraceAction::Commit { device },
        Work::Checkpoint => TraceAction::Checkpoint { device },
        Work::Clean => TraceAction::Clean { device },
    }
}
