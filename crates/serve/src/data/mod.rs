//! A device's data: sparse, in memory or in a file.

mod file;
mod memory;

use std::io;

pub(crate) use file::FileData;
pub(crate) use memory::MemoryData;

/// The content of a device. What was never written, or was discarded, reads as zeros and takes no
/// memory. The caller has checked that ranges are within the device.
#[derive(Debug)]
pub(crate) enum Data {
    /// Gone with the process.
    Memory(MemoryData),
    /// A sparse file.
    File(FileData),
}

impl Data {
    pub(crate) fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        match self {
            Data::Memory(memory) => {
                memory.read(offset, into);
                Ok(())
            }
            Data::File(file) => file.read(offset, into),
        }
    }

    pub(crate) fn write(&self, offset: u64, from: &[u8]) -> io::Result<()> {
        match self {
            Data::Memory(memory) => {
                memory.write(offset, from);
                Ok(())
            }
            Data::File(file) => file.write(offset, from),
        }
    }

    /// Makes the range read as zeros.
    pub(crate) fn clear(&self, offset: u64, length: u64) -> io::Result<()> {
        match self {
            Data::Memory(memory) => {
                memory.clear(offset, length);
                Ok(())
            }
            Data::File(file) => file.clear(offset, length),
        }
    }

    /// Forces a file's data to disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        match self {
            Data::Memory(_) => Ok(()),
            Data::File(file) => file.sync(),
        }
    }

    /// The next range at or after `offset` that may hold data, up to `end`.
    pub(crate) fn next_held(&self, offset: u64, end: u64) -> io::Result<Option<(u64, u64)>> {
        match self {
            Data::Memory(memory) => Ok(memory.next_held(offset, end)),
            Data::File(file) => file.next_held(offset, end),
        }
    }
}

#[cfg(test)]
mod tests;
