use std::ops::Range;
use std::path::Path;
use std::process::Command;

use crate::error::LabError;
use crate::program::find_program;

/// Blocks of the filesystems that the lab makes.
pub(super) const BLOCK: usize = 4096;

/// The kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// Contents of a file.
    Data,
    /// The filesystem's log.
    Journal,
    Metadata,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Ext4 { journal: Vec<Range<u64>>, metadata: Vec<Range<u64>> },
    F2fs { main: u64, types: Vec<u8> },
    Btrfs { id: [u8; 16], node: usize },
    Xfs { log: Range<u64> },
}

/// The bytes of blocks `first` to `last`, both included.
pub(super) fn blocks(first: u64, last: u64) -> Range<u64> {
    let block = BLOCK as u64;
    first.saturating_mul(block)..last.saturating_add(1).saturating_mul(block)
}

/// The output of a program about an image.
pub(super) fn output_of(
    program: &str,
    package: &str,
    arguments: &[&str],
    image: &Path,
) -> Result<String, LabError> {
    let found = find_program(program, package)?;
    let output = Command::new(&found).args(arguments).arg(image).output();
    let output = output.map_err(LabError::file("start", &found))?;
    match output.status.code() {
        Some(0) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        _ => Err(LabError::Program {
            program: program.to_owned(),
            reason: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        }),
    }
}

/// A range of bytes of an image.
pub(super) fn bytes_at<const N: usize>(image: &Path, offset: u64) -> Result<[u8; N], LabError> {
    use std::os::unix::fs::FileExt;
    let mut bytes = [0; N];
    let read = std::fs::File::open(image).and_then(|file| file.read_exact_at(&mut bytes, offset));
    read.map_err(LabError::file("read", image))?;
    Ok(bytes)
}
