//! Files in memory that take time, have a limit and log their calls.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use flashlag_device::{Clock, DeviceError, VirtualClock};
use flashlag_spec::scenario::SyncCall;
use flashlag_units::Nanos;
use rustix::io::Errno;

use super::Files;

const WRITE: Nanos = Nanos::from_micros(10);
const SYNC: Nanos = Nanos::from_millis(1);

/// Clones share the files.
#[derive(Clone, Debug)]
pub(crate) struct Fake(Rc<Inside>);

#[derive(Debug)]
struct Inside {
    clock: VirtualClock,
    names: RefCell<BTreeMap<String, u64>>,
    contents: RefCell<BTreeMap<u64, Vec<u8>>>,
    next: Cell<u64>,
    limit: Cell<u64>,
    atomic: Cell<bool>,
    calls: RefCell<Vec<String>>,
}

impl Fake {
    /// Files of at most `limit` bytes together.
    pub(crate) fn new(limit: u64) -> Fake {
        Fake(Rc::new(Inside {
            clock: VirtualClock::default(),
            names: RefCell::default(),
            contents: RefCell::default(),
            next: Cell::new(0),
            limit: Cell::new(limit),
            atomic: Cell::new(false),
            calls: RefCell::default(),
        }))
    }

    /// An independent copy of the files.
    pub(crate) fn copy(&self) -> Fake {
        let copy = Fake::new(self.0.limit.get());
        copy.0.atomic.set(self.0.atomic.get());
        copy.0.names.replace(self.0.names.borrow().clone());
        copy.0.contents.replace(self.0.contents.borrow().clone());
        copy.0.next.set(self.0.next.get());
        copy
    }

    /// The same files, with support for atomic writes.
    pub(crate) fn atomic(self) -> Fake {
        self.0.atomic.set(true);
        self
    }

    /// Changes how many bytes the files may have together.
    pub(crate) fn limit(&self, limit: u64) {
        self.0.limit.set(limit);
    }

    /// Takes the log of calls.
    pub(crate) fn take_calls(&self) -> Vec<String> {
        self.0.calls.take()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.0.names.borrow().keys().cloned().collect()
    }

    fn note(&self, call: &str, file: u64, range: (u64, usize)) {
        let names = self.0.names.borrow();
        let name = names.iter().find(|(_, found)| **found == file).map(|(name, _)| name.as_str());
        let name = name.unwrap_or("?");
        self.0.calls.borrow_mut().push(format!("{call} {name} {}+{}", range.0, range.1));
    }

    fn content<T>(
        &self,
        file: u64,
        work: impl FnOnce(&mut Vec<u8>) -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        let mut contents = self.0.contents.borrow_mut();
        let missing = || DeviceError::os("use", "a file", None, Errno::BADF);
        work(contents.get_mut(&file).ok_or_else(missing)?)
    }
}

impl Files for Fake {
    fn find(&self, name: &str) -> Option<u64> {
        self.0.names.borrow().get(name).copied()
    }

    fn create(&self, name: &str) -> Result<u64, DeviceError> {
        let file = self.0.next.replace(self.0.next.get() + 1);
        self.0.names.borrow_mut().insert(name.to_owned(), file);
        self.0.contents.borrow_mut().insert(file, Vec::new());
        self.note("create", file, (0, 0));
        Ok(file)
    }

    fn read(&self, file: u64, offset: u64, into: &mut [u8]) -> Result<usize, DeviceError> {
        self.note("read", file, (offset, into.len()));
        self.content(file, |content| {
            let from = content.get(offset as usize..).unwrap_or_default();
            let count = from.len().min(into.len());
            into[..count].copy_from_slice(&from[..count]);
            Ok(count)
        })
    }

    fn write(&self, file: u64, offset: u64, from: &[u8]) -> Result<(), DeviceError> {
        self.note("write", file, (offset, from.len()));
        let total: u64 =
            self.0.contents.borrow().values().map(|content| content.len() as u64).sum();
        let end = offset + from.len() as u64;
        if total - self.size(file)? + end.max(self.size(file)?) > self.0.limit.get() {
            return Err(DeviceError::os("write", "the fake", None, Errno::NOSPC));
        }
        self.0.clock.advance_to(self.0.clock.now().plus(WRITE));
        self.content(file, |content| {
            content.resize(content.len().max(end as usize), 0);
            content[offset as usize..end as usize].copy_from_slice(from);
            Ok(())
        })
    }

    fn is_atomic(&self) -> bool {
        self.0.atomic.get()
    }

    fn write_atomically(&self, file: u64, writes: &[(u64, &[u8])]) -> Result<(), DeviceError> {
        let end = writes.iter().map(|(offset, from)| offset + from.len() as u64).max();
        if end.unwrap_or_default() > self.0.limit.get() {
            return Err(DeviceError::os("write", "the fake", None, Errno::NOSPC));
        }
        writes.iter().try_for_each(|(offset, from)| self.write(file, *offset, from))?;
        self.note("commit", file, (0, writes.len()));
        Ok(())
    }

    fn truncate(&self, file: u64, size: u64) -> Result<(), DeviceError> {
        self.note("truncate", file, (size, 0));
        self.content(file, |content| {
            content.resize(size as usize, 0);
            Ok(())
        })
    }

    fn sync(&self, file: u64, call: SyncCall) -> Result<(), DeviceError> {
        let name = match call {
            SyncCall::Fdatasync => "sync",
            SyncCall::Fsync => "fsync",
        };
        self.note(name, file, (0, 0));
        self.0.clock.advance_to(self.0.clock.now().plus(SYNC));
        self.content(file, |_| Ok(()))
    }

    fn sync_directory(&self) -> Result<(), DeviceError> {
        self.0.calls.borrow_mut().push("sync the directory".to_owned());
        self.0.clock.advance_to(self.0.clock.now().plus(SYNC));
        Ok(())
    }

    fn delete(&self, name: &str) -> Result<(), DeviceError> {
        let file = self.find(name);
        let file = file.ok_or_else(|| DeviceError::os("delete", name, None, Errno::NOENT))?;
        self.note("delete", file, (0, 0));
        self.0.names.borrow_mut().remove(name);
        self.0.contents.borrow_mut().remove(&file);
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), DeviceError> {
        let file = self.find(from);
        let file = file.ok_or_else(|| DeviceError::os("rename", from, None, Errno::NOENT))?;
        self.0.calls.borrow_mut().push(format!("rename {from} {to}"));
        let mut names = self.0.names.borrow_mut();
        names.remove(from);
        if let Some(replaced) = names.insert(to.to_owned(), file) {
            self.0.contents.borrow_mut().remove(&replaced);
        }
        Ok(())
    }

    fn change_mode(&self, file: u64) -> Result<(), DeviceError> {
        self.note("chmod", file, (0, 0));
        Ok(())
    }

    fn close(&self, file: u64) {
        self.note("close", file, (0, 0));
    }

    fn size(&self, file: u64) -> Result<u64, DeviceError> {
        self.content(file, |content| Ok(content.len() as u64))
    }

    fn clock(&self) -> &dyn Clock {
        &self.0.clock
    }
}
