use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use flashlag_device::DeviceError;
use flashlag_units::Bytes;
use rustix::fs::{Advice, FallocateFlags, Mode, OFlags, fadvise, fallocate, fsync, openat};
use rustix::io::{Errno, pread, pwrite};

use super::CardMedium;
use crate::direct::alignment;

/// The files of a card's proof in a directory of flashlag's own: `card-00000.dat`, …
#[derive(Debug)]
pub struct CardFiles {
    directory: Arc<OwnedFd>,
    path: PathBuf,
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    file: OwnedFd,
    subject: String,
    direct: bool,
}

impl CardFiles {
    /// Files in `directory`, whose path is for messages.
    pub fn new(directory: Arc<OwnedFd>, path: PathBuf) -> CardFiles {
        CardFiles { directory, path, open: None }
    }

    /// A file's name.
    pub fn name(file: u32) -> String {
        format!("card-{file:05}.dat")
    }

    /// Opens a file, past the page cache where that can be.
    fn opened(&self, file: u32, flags: OFlags) -> Result<Open, DeviceError> {
        let name = CardFiles::name(file);
        let subject = self.path.join(&name).display().to_string();
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let mode = Mode::RUSR | Mode::WUSR;
        let direct = openat(&*self.directory, &*name, flags | OFlags::DIRECT, mode);
        if let Ok(file) = direct
            && alignment(&file).is_ok_and(|needs| 4096 % needs.offset.max(1) == 0)
        {
            return Ok(Open { file, subject, direct: true });
        }
        let file = openat(&*self.directory, &*name, flags, mode)
            .map_err(|errno| DeviceError::os("open", subject.clone(), None, errno))?;
        // What is read ahead would be in the page cache before it is asked for.
        let _ = fadvise(&file, 0, None, Advice::Random);
        Ok(Open { file, subject, direct: false })
    }

    fn current(&self) -> Result<&Open, DeviceError> {
        let subject = self.path.display().to_string();
        self.open.as_ref().ok_or_else(|| DeviceError::os("use", subject, None, Errno::BADF))
    }
}

impl CardMedium for CardFiles {
    fn create(&mut self, file: u32, reserve: Option<Bytes>) -> Result<(), DeviceError> {
        self.open = None;
        let open = self.opened(file, OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC)?;
        if let Some(reserve) = reserve {
            // Without a new size: FAT would write zeros up to it.
            fallocate(&open.file, FallocateFlags::KEEP_SIZE, 0, reserve.0).map_err(|errno| {
                let error = DeviceError::os("reserve", open.subject.clone(), None, errno);
                match errno {
                    Errno::OPNOTSUPP | Errno::NOSYS => DeviceError {
                        reason: "this filesystem gives files no room before they are written"
                            .to_owned(),
                        advice: "write all of it: --set quick=false".to_owned(),
                        ..error
                    },
                    _ => error,
                }
            })?;
        }
        self.open = Some(open);
        Ok(())
    }

    fn open(&mut self, file: u32) -> Result<(), DeviceError> {
        self.open = None;
        let read_only = Some(Errno::ROFS.raw_os_error());
        let opened = match self.opened(file, OFlags::RDWR) {
            // What takes no more writes can still be read.
            Err(error) if error.errno == read_only => self.opened(file, OFlags::RDONLY),
            other => other,
        };
        self.open = Some(opened?);
        Ok(())
    }

    fn write(&mut self, offset: Bytes, from: &[u8]) -> Result<(), DeviceError> {
        let open = self.current()?;
        let failed =
            |at: u64, errno| DeviceError::os("write", open.subject.clone(), Some(Bytes(at)), errno);
        let mut done = 0;
        while done < from.len() {
            let at = offset.0 + done as u64;
            match pwrite(&open.file, &from[done..], at) {
                Ok(0) => return Err(failed(at, Errno::IO)),
                Ok(wrote) => done += wrote,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(failed(at, errno)),
            }
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), DeviceError> {
        let open = self.current()?;
        fsync(&open.file)
            .map_err(|errno| DeviceError::os("fsync", open.subject.clone(), None, errno))?;
        if !open.direct {
            // Clean pages alone can be dropped, which they are after the sync.
            let _ = fadvise(&open.file, 0, None, Advice::DontNeed);
        }
        Ok(())
    }

    fn read(&mut self, offset: Bytes, into: &mut [u8]) -> Result<(), DeviceError> {
        let open = self.current()?;
        let failed =
            |at: u64, errno| DeviceError::os("read", open.subject.clone(), Some(Bytes(at)), errno);
        let mut done = 0;
        while done < into.len() {
            let at = offset.0 + done as u64;
            match pread(&open.file, &mut into[done..], at) {
                Ok(0) => {
                    let short = failed(at, Errno::IO);
                    return Err(DeviceError { reason: "the file ends here".to_owned(), ..short });
                }
                Ok(read) => done += read,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(failed(at, errno)),
            }
        }
        Ok(())
    }

    fn is_direct(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.direct)
    }
}
