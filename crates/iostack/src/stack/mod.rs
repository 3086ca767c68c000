//! Calls on files, in virtual time.

mod calls;
mod run;
#[cfg(test)]
mod tests;
mod writeback;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use flashlag_device::{Clock, Device, DeviceError, VirtualClock};
use flashlag_schema::profile::StackModel;
use flashlag_units::{Bytes, Nanos};
use rustix::io::Errno;

use crate::background::{BackgroundJob, BackgroundTotal, DueTimes, Running};
use crate::cache::PageCache;
use crate::contents::Contents;
use crate::fs::{self, FileId, Filesystem};
use crate::ledger::Ledger;
use crate::scheduler::{Crypt, Pid, Scheduler};
use crate::spec::StackSpec;

/// A filesystem mounted on a device. Clones are the same stack.
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

/// What a stack consists of.
#[derive(Debug)]
pub(crate) struct Inner<D> {
    pub(crate) scheduler: Scheduler<D>,
    fs: Box<dyn Filesystem>,
    spec: StackSpec,
    model: StackModel,
    names: BTreeMap<String, FileId>,
    /// Names by number, for messages.
    named: BTreeMap<FileId, String>,
    next_file: u32,
    cache: PageCache,
    contents: BTreeMap<FileId, Contents>,
    call_bytes: Bytes,
    /// The last commit or checkpoint that was begun: the next sync waits for it.
    commit: Option<Pid>,
    /// What the filesystem's own thread has under way.
    thread: Option<Pid>,
    background: Option<Running>,
    next_writeback: Nanos,
    /// An error of what was written in the background: the next sync tells it.
    late_error: Option<DeviceError>,
}

impl<D: Device<Clock = VirtualClock>> Stack<D> {
    /// Makes a filesystem on the device and mounts it.
    ///
    /// # Errors
    /// Where the device is too small for it.
    pub fn mount(device: D, spec: StackSpec, model: &StackModel) -> Result<Stack<D>, DeviceError> {
        let clock = device.clock().clone();
        let fs = fs::make(&spec, device.geometry().size).map_err(|reason| DeviceError {
            operation: "make",
            subject: format!("{} on the device", spec.kind),
            offset: None,
            errno: Some(Errno::NOSPC.raw_os_error()),
            reason,
            advice: "choose a larger profile, or raw".to_owned(),
        })?;
        let crypt = spec.encrypt.then(|| Crypt::new(&model.encryption));
        let inner = Inner {
            scheduler: Scheduler::new(device, crypt),
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
            thread: None,
            background: None,
            next_writeback: Nanos::MAX,
            late_error: None,
        };
        Ok(Stack(Rc::new(RefCell::new(inner)), clock))
    }

    /// The clock that everything here happens by.
    pub fn clock(&self) -> &VirtualClock {
        &self.1
    }

    /// Makes an empty file.
    ///
    /// # Errors
    /// Where one of that name is there, or no room is left.
    pub fn create(&self, name: &str) -> Result<FileId, DeviceError> {
        self.0.borrow_mut().create(name)
    }

    /// The file of this name.
    pub fn find(&self, name: &str) -> Option<FileId> {
        self.0.borrow().names.get(name).copied()
    }

    /// Removes a file.
    ///
    /// # Errors
    /// Where none of that name is there.
    pub fn delete(&self, name: &str) -> Result<(), DeviceError> {
        self.0.borrow_mut().delete(name)
    }

    /// The size of a file.
    pub fn size(&self, file: FileId) -> Bytes {
        Bytes(self.0.borrow().fs.size(file))
    }

    /// Makes a file this large: shorter, or longer with a hole.
    ///
    /// # Errors
    /// None that a caller could do anything about; of the device.
    pub fn truncate(&self, file: FileId, size: Bytes) -> Result<(), DeviceError> {
        self.0.borrow_mut().truncate(file, size.0)
    }

    /// Reads what there is of `into` through the page cache, and tells how much that was.
    ///
    /// # Errors
    /// Of the device.
    pub fn read(&self, file: FileId, at: Bytes, into: &mut [u8]) -> Result<usize, DeviceError> {
        self.0.borrow_mut().read_data(file, at.0, into)
    }

    /// Writes through the page cache.
    ///
    /// # Errors
    /// No room, or of the device.
    pub fn write(&self, file: FileId, at: Bytes, from: &[u8]) -> Result<(), DeviceError> {
        self.0.borrow_mut().write_data(file, at.0, from)
    }

    /// Writes a range of which nothing is kept but where it is.
    ///
    /// # Errors
    /// No room, or of the device.
    pub fn write_nothing(
        &self,
        file: FileId,
        at: Bytes,
        length: Bytes,
        direct: bool,
    ) -> Result<(), DeviceError> {
        self.0.borrow_mut().write_call(file, at.0, length.0, direct)
    }

    /// Makes a file durable: `data_only` is fdatasync.
    ///
    /// # Errors
    /// Of the device, and of what was written before and failed since.
    pub fn sync(&self, file: FileId, data_only: bool) -> Result<(), DeviceError> {
        self.0.borrow_mut().sync_call(Some(file), data_only)
    }

    /// Makes the names in the directory durable.
    ///
    /// # Errors
    /// As [`Stack::sync`].
    pub fn sync_directory(&self) -> Result<(), DeviceError> {
        self.0.borrow_mut().sync_call(None, false)
    }

    /// Tells the device what is free, as fstrim does, and how much that is.
    ///
    /// # Errors
    /// Of the device.
    pub fn trim(&self) -> Result<Bytes, DeviceError> {
        self.0.borrow_mut().trim()
    }

    /// What files can still take.
    pub fn free(&self) -> Bytes {
        self.0.borrow().fs.free()
    }

    /// What they can take on an empty filesystem.
    pub fn total(&self) -> Bytes {
        self.0.borrow().fs.total()
    }

    /// Lets time pass, in which the kernel's threads and background jobs go on.
    pub fn pass_until(&self, time: Nanos) {
        self.0.borrow_mut().pass_until(time);
    }

    /// Begins a job beside what is done from here on, in place of the one before it.
    ///
    /// # Errors
    /// No room, or of the device.
    pub fn start_background(&self, job: BackgroundJob) -> Result<(), DeviceError> {
        self.0.borrow_mut().start_background(job, None)
    }

    /// The same, with requests that begin on a schedule: at these times from now on, or as soon
    /// after them as one of the job's places is free. It ends with the schedule.
    ///
    /// # Errors
    /// No room, or of the device.
    pub fn start_background_paced(
        &self,
        job: BackgroundJob,
        due: impl Iterator<Item = Nanos> + 'static,
    ) -> Result<(), DeviceError> {
        self.0.borrow_mut().start_background(job, Some(DueTimes(Box::new(due))))
    }

    /// Ends it, waits for what it has under way, and tells what it came to.
    pub fn end_background(&self) -> Option<BackgroundTotal> {
        self.0.borrow_mut().end_background()
    }

    /// What went through so far.
    pub fn ledger(&self) -> Ledger {
        let inner = self.0.borrow();
        Ledger { call_bytes: inner.call_bytes, ..inner.scheduler.ledger }
    }

    /// Looks at the device.
    pub fn with_device<T>(&self, look: impl FnOnce(&D) -> T) -> T {
        look(&self.0.borrow().scheduler.device)
    }
}

impl<D: Device<Clock = VirtualClock>> Clock for Stack<D> {
    fn now(&self) -> Nanos {
        self.1.now()
    }

    fn pass_until(&self, time: Nanos) {
        Stack::pass_until(self, time);
    }
}
