//! `pread` and `pwrite`, one at a time.

use std::io::IoSlice;

use flashlag_device::{
    Clock, Completion, Device, DeviceError, Durability, Geometry, MonotonicClock, Op, Request,
};
use flashlag_units::{Bytes, Nanos};
use rustix::io::Errno;

use crate::aligned::AlignedBuffer;
use crate::table::{DurableWrite, FileTable, retry};

/// One request at a time, complete when [`Device::submit`] returns.
#[derive(Debug)]
pub struct PsyncDevice {
    clock: MonotonicClock,
    geometry: Geometry,
    table: FileTable,
    durable: DurableWrite,
    buffer: AlignedBuffer,
    completed: Option<Completion>,
}

impl PsyncDevice {
    pub(crate) fn new(
        table: FileTable,
        geometry: Geometry,
        memory_alignment: usize,
        durable: DurableWrite,
    ) -> PsyncDevice {
        let buffer = AlignedBuffer::new(geometry.buffer.0 as usize, memory_alignment);
        let clock = MonotonicClock;
        PsyncDevice { clock, geometry, table, durable, buffer, completed: None }
    }

    /// Does the request; returns when the flush began, if there was a separate one.
    #[inline]
    fn perform(&mut self, request: &Request) -> Result<Option<Nanos>, DeviceError> {
        match request.op {
            Op::Read => self.read(request.offset, request.length).map(|()| None),
            Op::Write => self.write(request),
            Op::Flush => self.table.sync_all().map(|()| None),
            Op::Discard => self.table.discard(request.offset, request.length).map(|()| None),
        }
    }

    #[inline]
    fn read(&mut self, offset: Bytes, length: Bytes) -> Result<(), DeviceError> {
        let mut done = 0;
        while done < length.0 {
            let at = offset.plus(Bytes(done));
            let step = self.table.within(at, length.0 - done);
            let (index, within) = self.table.locate(at);
            let buffer = &mut self.buffer.as_mut_slice()[done as usize..(done + step) as usize];
            let file = self.table.file(index);
            match retry(|| rustix::io::pread(file, &mut *buffer, within)) {
                Ok(0) => return Err(self.table.short(at)),
                Ok(moved) => done += moved as u64,
                Err(errno) => return Err(self.table.error("read", at, errno)),
            }
        }
        Ok(())
    }

    #[inline]
    fn write(&mut self, request: &Request) -> Result<Option<Nanos>, DeviceError> {
        let Request { offset, length, durability, .. } = *request;
        let mut done = 0;
        while done < length.0 {
            let at = offset.plus(Bytes(done));
            let step = self.table.within(at, length.0 - done);
            let buffer = &self.buffer.as_slice()[done as usize..(done + step) as usize];
            match self.write_call(at, buffer, durability) {
                // Repeating a write that returns 0 without an error would never end.
                Ok(0) => return Err(self.table.error("write", at, Errno::IO)),
                Ok(moved) => done += moved as u64,
                Err(errno) => return Err(self.table.error("write", at, errno)),
            }
        }
        let flushes = match durability {
            Durability::None => false,
            Durability::Flush => true,
            Durability::Write => self.durable == DurableWrite::Sync,
        };
        if !flushes {
            return Ok(None);
        }
        let flush_from = self.clock.now();
        self.table.sync_at(offset)?;
        let last = offset.plus(length).saturating_minus(Bytes(1));
        if self.table.locate(last).0 != self.table.locate(offset).0 {
            self.table.sync_at(last)?;
        }
        Ok(Some(flush_from))
    }

    #[inline]
    fn write_call(&self, at: Bytes, bytes: &[u8], durability: Durability) -> Result<usize, Errno> {
        let (index, within) = self.table.locate(at);
        let file = self.table.file(index);
        if durability == Durability::Write && self.durable == DurableWrite::RwfDsync {
            return retry(|| write_dsync(file, bytes, within));
        }
        retry(|| rustix::io::pwrite(file, bytes, within))
    }
}

/// One `pwritev2` with `RWF_DSYNC`.
#[cfg(not(target_os = "android"))]
pub(crate) fn write_dsync(
    file: &rustix::fd::OwnedFd,
    bytes: &[u8],
    at: u64,
) -> Result<usize, Errno> {
    let flags = rustix::io::ReadWriteFlags::DSYNC;
    rustix::io::pwritev2(file, &[IoSlice::new(bytes)], at, flags)
}

/// Only the latest releases of Android's C library have it.
#[cfg(target_os = "android")]
pub(crate) fn write_dsync(_: &rustix::fd::OwnedFd, _: &[u8], _: u64) -> Result<usize, Errno> {
    Err(Errno::OPNOTSUPP)
}

impl Device for PsyncDevice {
    type Clock = MonotonicClock;

    #[inline]
    fn clock(&self) -> &MonotonicClock {
        &self.clock
    }

    #[inline]
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    #[inline]
    fn buffer(&mut self, _slot: u32) -> &mut [u8] {
        self.buffer.as_mut_slice()
    }

    #[inline]
    fn submit(&mut self, request: Request) -> Result<(), DeviceError> {
        self.geometry.check(&request)?;
        let started = self.clock.now();
        let result = self.perform(&request);
        let ended = self.clock.now();
        let (flush_from, result) = match result {
            Ok(flush_from) => (flush_from, Ok(())),
            Err(error) => (None, Err(error)),
        };
        let slot = request.slot;
        self.completed = Some(Completion { slot, started, flush_from, ended, result });
        Ok(())
    }

    #[inline]
    fn reap(&mut self, _at_least: u32, completed: &mut Vec<Completion>) -> Result<(), DeviceError> {
        if let Some(done) = self.completed.take() {
            completed.push(done);
        }
        Ok(())
    }

    fn wait_until(&mut self, time: Nanos) {
        self.clock.pass_until(time);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use flashlag_device::SyncCall;

    use super::*;
    use crate::files::FileSet;

    const BLOCK: Bytes = Bytes(8192);

    /// A device over two files. `/dev/null` accepts writes and returns EINVAL for a sync, so an
    /// error shows that a file was synced.
    fn device(directory: &std::path::Path, null: usize) -> PsyncDevice {
        let span = FileSet::FILE_BYTES.plus(BLOCK);
        let set = FileSet::new(directory, "test", span);
        let open = |index| {
            let path = if index == null { "/dev/null".into() } else { set.path(index) };
            File::options().create(true).truncate(false).write(true).open(path).unwrap().into()
        };
        let table = FileTable::new(set.clone(), vec![open(0), open(1)], SyncCall::Data);
        let (alignment, buffer) = (Bytes(4096), BLOCK);
        let geometry = Geometry { size: span, alignment, slots: 1, buffer, keeps_data: true };
        PsyncDevice::new(table, geometry, 4096, DurableWrite::Sync)
    }

    fn outcome(device: &mut PsyncDevice, offset: Bytes, durability: Durability) -> Option<String> {
        let write = Request { slot: 0, op: Op::Write, offset, length: BLOCK, durability };
        device.submit(write).unwrap();
        let mut completed = Vec::new();
        device.reap(1, &mut completed).unwrap();
        completed.remove(0).result.err().map(|error| error.subject)
    }

    #[test]
    fn a_durable_write_over_two_files_syncs_both_and_no_other_write_does() {
        let directory = tempfile::tempdir().unwrap();
        let border = FileSet::FILE_BYTES;
        let across = border.minus(Bytes(4096));
        for null in [0, 1] {
            let mut device = device(directory.path(), null);
            let name = format!("test-000{null}.dat");
            for durability in [Durability::Flush, Durability::Write] {
                let subject = outcome(&mut device, across, durability).expect("it is synced");
                assert!(subject.ends_with(&name), "{subject} is not {name}");
                let within = [Bytes::ZERO, border];
                let synced = within.map(|at| outcome(&mut device, at, durability).is_some());
                assert_eq!(synced, [null == 0, null == 1], "a write within one file");
            }
            assert_eq!(outcome(&mut device, across, Durability::None), None);
        }
    }
}
