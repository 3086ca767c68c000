//! The stack: calls on files, in virtual time.

mod calls;
mod run;
mod samples;
mod sampling;
#[cfg(test)]
mod tests;
mod writeback;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use flashlag_device::{Clock, Device, DeviceError, Errno, VirtualClock, ZoneGeometry};
use flashlag_spec::profile::StackModel;
use flashlag_stats::Waited;
use flashlag_units::{Bytes, Nanos};

use crate::background::{BackgroundJob, BackgroundTotal, DueTimes, RunningJob};
use crate::cache::PageCache;
use crate::contents::Contents;
use crate::cpu::Cpus;
use crate::crypt::Encryption;
use crate::fs::{self, FileId, Filesystem, LayoutError};
use crate::host_queue::Pid;
use crate::ledger::Ledger;
use crate::scheduler::Scheduler;
use crate::spec::StackSpec;

/// A filesystem mounted on a device. Clones share one stack.
pub struct Stack<D>(pub(crate) Rc<RefCell<Inner<D>>>, VirtualClock);

impl<D> Clone for Stack<D> {
    fn clone(&self) -> Self {
        Stack(Rc::clone(&self.0), self.1.clone())
    }
}

impl<D> fmt::Debug for Stack<D> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Stack").field("clock", &self.1).finish_non_exhaustive()
    }
}

/// State of a stack.
pub(crate) struct Inner<D> {
    pub(crate) scheduler: Scheduler<D>,
    pub(crate) cpus: Cpus,
    fs: Box<dyn Filesystem>,
    spec: StackSpec,
    model: StackModel,
    names: BTreeMap<String, FileId>,
    /// Names of files, for messages.
    named: BTreeMap<FileId, String>,
    next_file: u32,
    cache: PageCache,
    contents: BTreeMap<FileId, Contents>,
    call_bytes: Bytes,
    /// The last commit or checkpoint, which the next sync waits for.
    commit: Option<Pid>,
    /// What the last atomic write left in flight; the next sync waits for it.
    unwaited: Option<Pid>,
    /// Work of the filesystem's own thread in flight.
    thread: Option<Pid>,
    /// End of the last work of the idle threads.
    rested: Nanos,
    background: Option<RunningJob>,
    next_writeback: Nanos,
    /// An error of a background write, which the next sync reports.
    late_error: Option<DeviceError>,
    /// What the caller has waited for in its calls, if waits are accounted.
    pub(crate) waited: Option<Waited>,
    /// Samples of the traffic, if it is sampled.
    sampling: Option<Box<samples::Sampling>>,
}

impl<D> Stack<D> {
    /// Reports that the last writer of a file has closed it.
    pub fn close(&self, file: FileId) {
        if let Ok(mut inner) = self.0.try_borrow_mut() {
            inner.fs.close(file);
        }
    }
}

impl<D: Device<Clock = VirtualClock>> Stack<D> {
    /// Makes a filesystem on a device and mounts it.
    pub fn mount(device: D, spec: StackSpec, model: &StackModel) -> Result<Stack<D>, DeviceError> {
        let clock = device.clock().clone();
        let fs = made(&spec, device.geometry().size, device.zones())?;
        let crypt = spec.encrypt.then(|| Encryption::new(&model.encryption));
        let inner = Inner {
            scheduler: Scheduler::new(device, crypt, model),
            cpus: Cpus::new(model),
            fs,
            spec,
            model: model.clone(),
            names: BTreeMap::new(),
            named: BTreeMap::new(),
            next_file: 0,
            cache: PageCache::default(),
            contents: BTreeMap::new(),
            call_bytes: Bytes::ZERO,
            commit: None,
            unwaited: None,
            thread: None,
            rested: Nanos::ZERO,
            background: None,
            next_writeback: Nanos::MAX,
            late_error: None,
            waited: None,
            sampling: None,
        };
        Ok(Stack(Rc::new(RefCell::new(inner)), clock))
    }

    /// The same stack; the variation of its CPU times is drawn from a seed (default 0).
    #[must_use]
    pub fn seeded(self, seed: u64) -> Stack<D> {
        let inner = &mut *self.0.borrow_mut();
        inner.cpus.seed(&inner.model, seed);
        inner.scheduler.driver.seed(&inner.model, seed);
        self.clone()
    }

    /// Accounts from now on for what calls wait for.
    pub fn keep_waits(&self) {
        let inner = &mut *self.0.borrow_mut();
        inner.scheduler.keep_accounts();
        inner.waited.get_or_insert_default();
    }

    /// What the caller's calls have waited for in all, its own work included, since
    /// [`Stack::keep_waits`]; `None` if that was never called. The difference around a call adds up
    /// to the call's time.
    pub fn waited(&self) -> Option<Waited> {
        self.0.borrow().waited
    }

    /// Lets the caller work on its CPU, for `work` at full speed.
    pub fn compute(&self, work: Nanos) {
        self.0.borrow_mut().compute(work);
    }

    /// The clock of the stack and its device.
    pub fn clock(&self) -> &VirtualClock {
        &self.1
    }

    /// Makes an empty file.
    ///
    /// # Errors
    /// If the name exists, or no space is left.
    pub fn create(&self, name: &str) -> Result<FileId, DeviceError> {
        self.0.borrow_mut().create(name)
    }

    /// The file with this name.
    pub fn find(&self, name: &str) -> Option<FileId> {
        self.0.borrow().names.get(name).copied()
    }

    /// Deletes a file.
    pub fn delete(&self, name: &str) -> Result<(), DeviceError> {
        self.0.borrow_mut().delete(name)
    }

    /// Gives a file another name; a file that has that name is removed.
    ///
    /// # Errors
    /// If no file has the name `from`.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), DeviceError> {
        self.0.borrow_mut().rename(from, to)
    }

    /// Changes the permissions of a file: its inode is written at the next commit.
    ///
    /// # Errors
    /// At present it never fails.
    pub fn change_mode(&self, file: FileId) -> Result<(), DeviceError> {
        self.0.borrow_mut().change_mode(file);
        Ok(())
    }

    /// Size of a file.
    pub fn size(&self, file: FileId) -> Bytes {
        Bytes(self.0.borrow().fs.size(file))
    }

    /// Sets the size of a file: truncates it, or extends it with a hole.
    pub fn truncate(&self, file: FileId, size: Bytes) -> Result<(), DeviceError> {
        self.0.borrow_mut().truncate(file, size.0)
    }

    /// Reads into a buffer through the page cache; returns the number of bytes read, fewer at the
    /// end of the file.
    pub fn read(&self, file: FileId, at: Bytes, into: &mut [u8]) -> Result<usize, DeviceError> {
        self.0.borrow_mut().read_data(file, at.0, into)
    }

    /// Writes through the page cache.
    pub fn write(&self, file: FileId, at: Bytes, from: &[u8]) -> Result<(), DeviceError> {
        self.0.borrow_mut().write_data(file, at.0, from)
    }

    /// Whether SQLite commits by atomic writes here (`atomic`).
    pub fn is_atomic(&self) -> bool {
        self.0.borrow().spec.atomic
    }

    /// Whether the filesystem supports atomic writes, used or not.
    pub fn can_be_atomic(&self) -> bool {
        self.0.borrow().spec.kind == crate::spec::FilesystemKind::F2fs
    }

    /// Writes ranges of a file (offset and content) as one atomic write that is durable when the
    /// call returns.
    pub fn write_atomically(
        &self,
        file: FileId,
        writes: &[(u64, &[u8])],
    ) -> Result<(), DeviceError> {
        self.0.borrow_mut().atomic_call(file, writes)
    }

    /// Writes a range without content: only its place is modelled.
    pub fn write_nothing(
        &self,
        file: FileId,
        at: Bytes,
        length: Bytes,
        direct: bool,
    ) -> Result<(), DeviceError> {
        self.0.borrow_mut().write_call(file, at.0, length.0, direct)
    }

    /// Makes a file durable; `data_only` is fdatasync.
    pub fn sync(&self, file: FileId, data_only: bool) -> Result<(), DeviceError> {
        self.0.borrow_mut().sync_call(Some(file), data_only)
    }

    /// Makes the directory durable.
    pub fn sync_directory(&self) -> Result<(), DeviceError> {
        self.0.borrow_mut().sync_call(None, false)
    }

    /// Discards all free space, as fstrim does; returns the number of bytes.
    pub fn trim(&self) -> Result<Bytes, DeviceError> {
        self.0.borrow_mut().trim()
    }

    /// Room that is left for files.
    pub fn free(&self) -> Bytes {
        self.0.borrow().fs.free()
    }

    /// Room for files on an empty filesystem.
    pub fn total(&self) -> Bytes {
        self.0.borrow().fs.total()
    }

    /// Advances time; the kernel's threads and background jobs keep running.
    pub fn pass_until(&self, time: Nanos) {
        self.0.borrow_mut().pass_until(time);
    }

    /// Starts a background job in place of the previous one.
    pub fn start_background(&self, job: BackgroundJob) -> Result<(), DeviceError> {
        self.0.borrow_mut().start_background(job, None)
    }

    /// Starts a background job with a schedule: its requests begin at the times `due` (from now
    /// on), or as soon after them as one of its `depth` slots is free. The job ends with the
    /// schedule.
    pub fn start_background_paced(
        &self,
        job: BackgroundJob,
        due: impl Iterator<Item = Nanos> + 'static,
    ) -> Result<(), DeviceError> {
        self.0.borrow_mut().start_background(job, Some(DueTimes(Box::new(due))))
    }

    /// Ends the background job, waits for its requests and returns its totals.
    pub fn end_background(&self) -> Option<BackgroundTotal> {
        self.0.borrow_mut().end_background()
    }

    /// Traffic of each layer so far.
    pub fn ledger(&self) -> Ledger {
        self.0.borrow().ledger()
    }

    /// Calls a function with the device.
    pub fn with_device<T>(&self, look: impl FnOnce(&D) -> T) -> T {
        look(&self.0.borrow().scheduler.device)
    }

    /// Calls a function that changes the device, for example its past.
    pub fn with_device_mut<T>(&self, change: impl FnOnce(&mut D) -> T) -> T {
        change(&mut self.0.borrow_mut().scheduler.device)
    }
}

/// A filesystem on a device of `capacity` bytes.
fn made(
    spec: &StackSpec,
    capacity: Bytes,
    zones: Option<ZoneGeometry>,
) -> Result<Box<dyn Filesystem>, DeviceError> {
    fs::make(spec, capacity, zones).map_err(|error| not_made(spec, &error))
}

fn not_made(spec: &StackSpec, error: &LayoutError) -> DeviceError {
    DeviceError {
        operation: "make",
        subject: format!("{} on the device", spec.kind),
        offset: None,
        errno: Some(Errno::NOSPC.raw_os_error()),
        reason: error.to_string(),
        advice: match error {
            LayoutError::NotOnZones => "use +f2fs, or a profile without zones",
            LayoutError::OldOnZones | LayoutError::NoReset => "leave the option out",
            LayoutError::FewOpen { .. } => "set zones.open to 6 or more in the profile",
            LayoutError::ZoneSize { .. } => "set another zones.size in the profile",
            LayoutError::FewConventional { .. } => "set a larger zones.conventional in the profile",
            LayoutError::TooSmall { .. } | LayoutError::TooLarge | LayoutError::NoJournal => {
                "choose a larger profile, or raw"
            }
        }
        .to_owned(),
    }
}

/// Room for files on an empty filesystem on a device of `capacity` bytes, with zones or without.
pub fn room(
    spec: &StackSpec,
    capacity: Bytes,
    zones: Option<ZoneGeometry>,
) -> Result<Bytes, DeviceError> {
    fs::room(spec, capacity, zones).map_err(|error| not_made(spec, &error))
}

impl<D: Device<Clock = VirtualClock>> Clock for Stack<D> {
    fn now(&self) -> Nanos {
        self.1.now()
    }

    fn pass_until(&self, time: Nanos) {
        Stack::pass_until(self, time);
    }
}
