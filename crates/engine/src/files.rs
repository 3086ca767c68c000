//! A span of bytes over several files of limited size.

#[cfg(not(target_family = "wasm"))]
mod on_disk;

use std::path::{Path, PathBuf};

use flashlag_units::Bytes;

/// The bits of an offset within one file: files are at most 2 GiB, which every filesystem accepts
/// (FAT's limit is 4 GiB − 1).
pub(crate) const FILE_BITS: u32 = 31;

/// Bytes `0..span` over the files `STEM-0000.dat`, `STEM-0001.dat`, … of a directory, each of 2 GiB
/// except the last. It only names the files: it holds none of them open, at most their directory.
#[derive(Clone, Debug)]
pub struct FileSet {
    directory: PathBuf,
    /// The directory, open: files are created and removed in it even if its path changes.
    #[cfg(not(target_family = "wasm"))]
    opened: Option<std::sync::Arc<rustix::fd::OwnedFd>>,
    stem: String,
    span: Bytes,
}

impl FileSet {
    /// The largest file.
    pub const FILE_BYTES: Bytes = Bytes(1 << FILE_BITS);
    /// Spans are rounded down to a multiple of this (at least one), so that their end can be
    /// written with `O_DIRECT`.
    pub const GRAIN: Bytes = Bytes(4096);

    /// The files that hold (or will hold) `span` bytes.
    pub fn new(directory: &Path, stem: &str, span: Bytes) -> FileSet {
        let span = span.round_down(FileSet::GRAIN).max(FileSet::GRAIN);
        FileSet {
            directory: directory.to_owned(),
            #[cfg(not(target_family = "wasm"))]
            opened: None,
            stem: stem.to_owned(),
            span,
        }
    }

    /// Bytes in all files.
    pub fn span(&self) -> Bytes {
        self.span
    }

    /// The directory of the files.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The number of files; at least one.
    pub fn count(&self) -> usize {
        self.span.0.div_ceil(FileSet::FILE_BYTES.0) as usize
    }

    /// The path of a file.
    pub fn path(&self, index: usize) -> PathBuf {
        self.directory.join(self.name(index))
    }

    /// The name of a file in its directory.
    pub fn name(&self, index: usize) -> String {
        format!("{}-{index:04}.dat", self.stem)
    }

    /// All paths, in order.
    pub fn paths(&self) -> impl Iterator<Item = PathBuf> + '_ {
        (0..self.count()).map(|index| self.path(index))
    }

    /// The length of a file.
    pub fn length(&self, index: usize) -> Bytes {
        let before = (index as u64).saturating_mul(FileSet::FILE_BYTES.0);
        self.span.saturating_minus(Bytes(before)).min(FileSet::FILE_BYTES)
    }
}
