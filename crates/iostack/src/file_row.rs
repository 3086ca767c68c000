use flashlag_units::Bytes;

use crate::fs::FileId;

/// Files of one size, addressed as one span of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRow {
    files: Vec<FileId>,
    /// Bytes of each file but the last.
    each: Bytes,
}

impl FileRow {
    /// The files in their order, at least one, each of `each` bytes but the last.
    pub fn new(files: Vec<FileId>, each: Bytes) -> FileRow {
        let files = if files.is_empty() { vec![FileId(u32::MAX)] } else { files };
        FileRow { files, each: each.max(Bytes(1)) }
    }

    /// The files, in their order.
    pub fn files(&self) -> &[FileId] {
        &self.files
    }

    /// Index of the file with an offset, and the offset within it. Offsets beyond the end belong to
    /// the last file.
    pub(crate) fn locate(&self, offset: Bytes) -> (usize, u64) {
        let index = ((offset.0 / self.each.0) as usize).min(self.files.len() - 1);
        (index, offset.0 - index as u64 * self.each.0)
    }
}

impl From<FileId> for FileRow {
    fn from(file: FileId) -> FileRow {
        FileRow { files: vec![file], each: Bytes(u64::MAX) }
    }
}
