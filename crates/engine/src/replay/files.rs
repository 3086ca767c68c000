//! Replays system calls on flashlag's own files in its own directory.

use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use flashlag_device::{
    Call, CallDevice, CallRequest, Clock, Completion, DeviceError, MonotonicClock,
};
use flashlag_spec::replay::ReplayFile;
use flashlag_units::{Bytes, Nanos};
use flashlag_workload::Payload;
use rustix::fs::{Advice, AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::table::retry;

/// A longer call is done as several system calls of this many bytes.
const PIECE: u64 = 1 << 20;
/// At most this many files are open at once: on many systems a process may have 1024.
const MOST_OPEN: usize = 512;

/// The files of a replay in a directory, shared by its threads.
#[derive(Debug)]
pub struct ReplayFiles {
    directory: Arc<OwnedFd>,
    path: PathBuf,
    names: Vec<String>,
    before: Vec<Option<Bytes>>,
    open: Vec<RwLock<Option<Arc<OwnedFd>>>>,
    open_count: AtomicUsize,
    /// The index at which the search for a descriptor to close continues.
    next_closed: AtomicUsize,
}

impl ReplayFiles {
    /// `path` is the directory's path, for messages only.
    pub fn new(directory: Arc<OwnedFd>, path: PathBuf, files: &[ReplayFile]) -> ReplayFiles {
        ReplayFiles {
            directory,
            path,
            names: files.iter().enumerate().map(|(index, file)| file.name(index)).collect(),
            before: files.iter().map(|file| file.before).collect(),
            open: files.iter().map(|_| RwLock::default()).collect(),
            open_count: AtomicUsize::new(0),
            next_closed: AtomicUsize::new(0),
        }
    }

    /// Writes every file that existed before the trace at its size, every byte once, makes them
    /// durable and drops their data from the page cache. Returns the bytes written: fewer if `stop`
    /// was raised.
    pub fn lay_out(&self, payload: &Payload, stop: &AtomicBool) -> Result<Bytes, DeviceError> {
        let mut buffer = vec![0; PIECE as usize];
        let mut written = Bytes::ZERO;
        for (file, before) in (0u32..).zip(&self.before) {
            let Some(size) = before else { continue };
            let opened = self.opened(file, OFlags::CREATE | OFlags::TRUNC)?;
            let mut at = 0;
            while at < size.0 && !stop.load(Ordering::Relaxed) {
                let piece = PIECE.min(size.0 - at);
                let bytes = &mut buffer[..piece as usize];
                payload.fill(bytes, Bytes(at), file);
                self.write(&opened, file, at, bytes)?;
                at += piece;
            }
            written = written.plus(Bytes(at));
            retry(|| rustix::fs::fsync(&opened))
                .map_err(|errno| self.error("fsync", file, errno))?;
            // If this fails, reads come from memory; that is no error of the file.
            let _ = rustix::fs::fadvise(&opened, 0, None, Advice::DontNeed);
            self.close(file);
        }
        retry(|| rustix::fs::fsync(&self.directory)).map_err(|errno| {
            DeviceError::os("fsync", self.path.display().to_string(), None, errno)
        })?;
        Ok(written)
    }

    fn error(&self, operation: &'static str, file: u32, errno: Errno) -> DeviceError {
        let path = self.path.join(&self.names[file as usize]);
        DeviceError::os(operation, path.display().to_string(), None, errno)
    }

    /// Opens a file anew.
    fn opened(&self, file: u32, more: OFlags) -> Result<Arc<OwnedFd>, DeviceError> {
        if self.open_count.load(Ordering::Relaxed) >= MOST_OPEN {
            self.close_one();
        }
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | more;
        let name = self.names[file as usize].as_str();
        let mode = Mode::RUSR | Mode::WUSR;
        let opened = retry(|| rustix::fs::openat(&self.directory, name, flags, mode));
        let opened = Arc::new(opened.map_err(|errno| self.error("open", file, errno))?);
        self.put(file, Some(Arc::clone(&opened)));
        Ok(opened)
    }

    fn put(&self, file: u32, opened: Option<Arc<OwnedFd>>) {
        let is_open = opened.is_some();
        let mut place = self.open[file as usize].write().unwrap_or_else(PoisonError::into_inner);
        let was_open = std::mem::replace(&mut *place, opened).is_some();
        match (was_open, is_open) {
            (false, true) => self.open_count.fetch_add(1, Ordering::Relaxed),
            (true, false) => self.open_count.fetch_sub(1, Ordering::Relaxed),
            _ => 0,
        };
    }

    fn close(&self, file: u32) {
        self.put(file, None);
    }

    /// Closes some file that is open.
    fn close_one(&self) {
        for _ in 0..self.open.len() {
            let file = self.next_closed.fetch_add(1, Ordering::Relaxed) % self.open.len();
            let place = self.open[file].read().unwrap_or_else(PoisonError::into_inner);
            let is_open = place.is_some();
            drop(place);
            if is_open {
                return self.close(file as u32);
            }
        }
    }

    /// The file's descriptor; opens the file if it is not open, and creates it if it does not
    /// exist.
    fn get(&self, file: u32) -> Result<Arc<OwnedFd>, DeviceError> {
        let place = self.open[file as usize].read().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = &*place {
            return Ok(Arc::clone(opened));
        }
        drop(place);
        self.opened(file, OFlags::CREATE)
    }

    fn write(&self, opened: &OwnedFd, file: u32, at: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        let mut done = 0;
        while done < bytes.len() {
            match retry(|| rustix::io::pwrite(opened, &bytes[done..], at + done as u64)) {
                // Repeating a write that returns 0 without an error would never end.
                Ok(0) => return Err(self.error("write", file, Errno::IO)),
                Ok(moved) => done += moved,
                Err(errno) => return Err(self.error("write", file, errno)),
            }
        }
        Ok(())
    }
}

/// One thread's calls on the files of a replay: each is complete when [`CallDevice::submit`]
/// returns.
#[derive(Debug)]
pub struct FileCalls<'a> {
    files: &'a ReplayFiles,
    clock: MonotonicClock,
    payload: Payload,
    generation: u32,
    buffer: Vec<u8>,
    completed: Option<Completion>,
}

impl<'a> FileCalls<'a> {
    /// Calls on these files; the payload follows from `seed`.
    pub fn new(files: &'a ReplayFiles, seed: u64) -> FileCalls<'a> {
        FileCalls {
            files,
            clock: MonotonicClock,
            payload: Payload::new(seed),
            generation: 0,
            buffer: Vec::new(),
            completed: None,
        }
    }

    /// Prepares what a call needs before its time counts: an open file and a payload.
    fn prepare(&mut self, file: u32, call: Call) -> Result<Option<Arc<OwnedFd>>, DeviceError> {
        let opened = match call {
            Call::Read { .. } | Call::Write { .. } | Call::Sync { .. } | Call::Truncate(_) => {
                Some(self.files.get(file)?)
            }
            _ => None,
        };
        if let Call::Read { offset, length } | Call::Write { offset, length } = call {
            let piece = length.0.min(PIECE) as usize;
            if self.buffer.len() < piece {
                self.buffer.resize(piece, 0);
            }
            if let Call::Write { .. } = call {
                self.generation = self.generation.wrapping_add(1);
                self.payload.fill(&mut self.buffer[..piece], offset, self.generation);
            }
        }
        Ok(opened)
    }

    fn perform(
        &mut self,
        file: u32,
        call: Call,
        opened: Option<&OwnedFd>,
    ) -> Result<(), DeviceError> {
        let files = self.files;
        let error = |operation, errno| files.error(operation, file, errno);
        match (call, opened) {
            (Call::Open { truncate, .. }, _) => {
                let cut = if truncate { OFlags::TRUNC } else { OFlags::empty() };
                files.opened(file, OFlags::CREATE | cut).map(drop)
            }
            (Call::Close, _) => {
                files.close(file);
                Ok(())
            }
            (Call::Read { offset, length }, Some(opened)) => {
                let mut done = 0;
                while done < length.0 {
                    let piece = (length.0 - done).min(self.buffer.len() as u64) as usize;
                    let into = &mut self.buffer[..piece];
                    let at = offset.0.saturating_add(done);
                    match retry(|| rustix::io::pread(opened, &mut *into, at)) {
                        // The end of the file.
                        Ok(0) => break,
                        Ok(moved) => done += moved as u64,
                        Err(errno) => return Err(error("read", errno)),
                    }
                }
                Ok(())
            }
            (Call::Write { offset, length }, Some(opened)) => {
                let mut done = 0;
                while done < length.0 {
                    let piece = (length.0 - done).min(PIECE);
                    let at = offset.0.saturating_add(done);
                    files.write(opened, file, at, &self.buffer[..piece as usize])?;
                    done += piece;
                }
                Ok(())
            }
            (Call::Sync { data_only: true }, Some(opened)) => {
                retry(|| rustix::fs::fdatasync(opened)).map_err(|errno| error("fdatasync", errno))
            }
            (Call::Sync { data_only: false }, Some(opened)) => {
                retry(|| rustix::fs::fsync(opened)).map_err(|errno| error("fsync", errno))
            }
            (Call::Truncate(size), Some(opened)) => retry(|| rustix::fs::ftruncate(opened, size.0))
                .map_err(|errno| error("truncate", errno)),
            (Call::SyncDirectory, _) => {
                retry(|| rustix::fs::fsync(&files.directory)).map_err(|errno| error("fsync", errno))
            }
            (Call::SyncAll, _) => retry(|| rustix::fs::syncfs(&files.directory))
                .map_err(|errno| error("syncfs", errno)),
            (Call::Unlink, _) => files.unlink(file),
            (Call::Rename { to }, _) => files.rename(file, to),
            // Prepared above.
            (_, None) => Err(error("open", Errno::BADF)),
        }
    }
}

impl ReplayFiles {
    fn unlink(&self, file: u32) -> Result<(), DeviceError> {
        let name = self.names[file as usize].as_str();
        let removed = rustix::fs::unlinkat(&self.directory, name, AtFlags::empty());
        self.close(file);
        match removed {
            // Another thread of the trace has unlinked it before, or it never existed.
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(self.error("remove", file, errno)),
        }
    }

    fn rename(&self, file: u32, to: u32) -> Result<(), DeviceError> {
        if file == to {
            return Ok(());
        }
        let (from, name) = (self.names[file as usize].as_str(), self.names[to as usize].as_str());
        match rustix::fs::renameat(&self.directory, from, &self.directory, name) {
            Ok(()) => {
                // The open file now has the new name; the old name is free.
                let place = &self.open[file as usize];
                let opened = place.read().unwrap_or_else(PoisonError::into_inner).clone();
                self.put(to, opened);
                self.close(file);
                Ok(())
            }
            Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(self.error("rename", file, errno)),
        }
    }
}

impl CallDevice for FileCalls<'_> {
    type Clock = MonotonicClock;

    fn clock(&self) -> &MonotonicClock {
        &self.clock
    }

    fn submit(&mut self, request: CallRequest) -> Result<(), DeviceError> {
        let CallRequest { slot, file, call } = request;
        let prepared = self.prepare(file, call);
        let started = self.clock.now();
        let result = prepared.and_then(|opened| self.perform(file, call, opened.as_deref()));
        let ended = self.clock.now();
        self.completed = Some(Completion { slot, started, flush_from: None, ended, result });
        Ok(())
    }

    fn reap(&mut self, _: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError> {
        completed.extend(self.completed.take());
        Ok(())
    }

    fn wait_until(&mut self, time: Nanos) {
        self.clock.pass_until(time);
    }
}
