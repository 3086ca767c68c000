//! Where a history's bytes come from: a file, or memory.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Bytes at offsets.
pub trait Source {
    /// How many bytes there are.
    fn length(&self) -> u64;
    /// Fills the buffer from an offset on; false if there are fewer bytes, or they can't be read.
    fn fill(&self, offset: u64, buffer: &mut [u8]) -> bool;
}

impl Source for File {
    fn length(&self) -> u64 {
        self.metadata().map_or(0, |metadata| metadata.len())
    }

    fn fill(&self, offset: u64, buffer: &mut [u8]) -> bool {
        self.read_exact_at(buffer, offset).is_ok()
    }
}

impl Source for [u8] {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn fill(&self, offset: u64, buffer: &mut [u8]) -> bool {
        let found = usize::try_from(offset).ok().and_then(|offset| {
            let end = offset.checked_add(buffer.len())?;
            self.get(offset..end)
        });
        found.is_some_and(|found| {
            buffer.copy_from_slice(found);
            true
        })
    }
}

impl Source for Vec<u8> {
    fn length(&self) -> u64 {
        self.as_slice().length()
    }

    fn fill(&self, offset: u64, buffer: &mut [u8]) -> bool {
        self.as_slice().fill(offset, buffer)
    }
}
