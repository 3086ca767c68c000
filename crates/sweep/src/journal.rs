//! The journal beside an output: results of chunks as they arrive, in any order.
//!
//! ```text
//! "flashlag.sweep/1\n"                          17 bytes
//! frame: length, 4 bytes; checksum, 8; content  the head: version, grid, points, chunk
//! frame …                                       results of a chunk, as a worker returned them
//! ```
//!
//! Frames are only appended, and each is on the disk before its chunk counts as done. The next
//! start cuts a torn last frame off. A lock keeps a second process out.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::chunk::{Results, Version, results};
use crate::error::SweepError;
use crate::sealed::{CHECKSUM, checksum};

const MAGIC: &[u8] = b"flashlag.sweep/1\n";
/// Bytes before a frame's content.
const FRAME: usize = 4 + CHECKSUM;

/// The sweep that a journal belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    pub version: Version,
    /// The hash of the grid.
    pub grid: String,
    /// Points of the grid.
    pub points: u64,
    /// Points per chunk; the last chunk may have fewer.
    pub chunk: u64,
}

/// A file that is unlocked as soon as it is dropped. Closing it is not enough: a child process that
/// is being started has a copy of the descriptor until it executes its own program, and would hold
/// the lock until then.
#[derive(Debug)]
struct LockedFile(File);

impl Drop for LockedFile {
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

impl Deref for LockedFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl DerefMut for LockedFile {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.0
    }
}

/// An open journal.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: LockedFile,
    /// The end of the last whole frame.
    end: u64,
    /// Offset and length of the content of each chunk's frame; `None` until it is measured.
    frames: Vec<Option<(u64, u32)>>,
    done: u64,
}

impl Journal {
    /// Opens or creates the journal of a sweep. An existing journal keeps its chunk size. Returns
    /// the journal, its head and the length of a torn last frame.
    ///
    /// # Errors
    /// A file that is no journal, a journal of another grid or version, or one that another process
    /// writes.
    pub fn open(path: &Path, head: &Head, anew: bool) -> Result<(Journal, Head, u64), SweepError> {
        let failed = |operation| move |source| failure(operation, path, source);
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let file = options.open(path).map_err(failed("open"))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(SweepError::InUse { path: path.to_owned() }),
            Err(errno) => return Err(failure("lock", path, errno.into())),
        }
        let mut file = LockedFile(file);
        let length = file.metadata().map_err(failed("read"))?.len();
        let found = if anew { None } else { read_head(&mut file, path, length)? };
        let mut journal =
            Journal { path: path.to_owned(), file, end: 0, frames: Vec::new(), done: 0 };
        let (head, cut) = match found {
            Some((found, end)) => {
                found.version.check(path.display().to_string())?;
                if (&found.grid, found.points) != (&head.grid, head.points) {
                    let (had, has) = (found.points, head.points);
                    return Err(SweepError::OtherGrid { path: path.to_owned(), had, has });
                }
                journal.frames = vec![None; chunks(&found)];
                journal.end = end;
                let cut = journal.read_frames(length)?;
                (found, cut)
            }
            None => {
                journal.frames = vec![None; chunks(head)];
                journal.begin(head)?;
                (head.clone(), 0)
            }
        };
        Ok((journal, head, cut))
    }

    /// Writes the head of an empty journal.
    fn begin(&mut self, head: &Head) -> Result<(), SweepError> {
        let path = self.path.clone();
        let failed = |source| failure("write", &path, source);
        self.file.set_len(0).map_err(failed)?;
        self.file.seek(SeekFrom::Start(0)).map_err(failed)?;
        self.file.write_all(MAGIC).map_err(failed)?;
        self.end = MAGIC.len() as u64;
        let content = serde_json::to_vec(head).map_err(|error| failed(io::Error::other(error)))?;
        self.append(&content)?;
        // The name as well.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = File::open(folder.unwrap_or(Path::new(".")));
        folder.and_then(|folder| folder.sync_all()).map_err(failed)
    }

    /// Appends a frame and waits until it is on the disk. Returns the offset of its content.
    fn append(&mut self, content: &[u8]) -> Result<u64, SweepError> {
        let failed = |source| failure("write", &self.path, source);
        let length = u32::try_from(content.len());
        let length = length.map_err(|error| failed(io::Error::other(error)))?;
        let mut frame = length.to_le_bytes().to_vec();
        frame.extend(checksum(content));
        frame.extend(content);
        // Overwrite what a failed write left.
        self.file.seek(SeekFrom::Start(self.end)).map_err(failed)?;
        self.file.write_all(&frame).map_err(failed)?;
        self.file.sync_data().map_err(failed)?;
        let begin = self.end + FRAME as u64;
        self.end += frame.len() as u64;
        Ok(begin)
    }

    /// Indexes every whole frame, and cuts off what follows the last one. Returns how much that
    /// was.
    fn read_frames(&mut self, length: u64) -> Result<u64, SweepError> {
        let failed = |source| failure("read", &self.path, source);
        let mut from = self.end;
        while let Some(content) = frame_at(&mut self.file, from, length).map_err(failed)? {
            let begin = from + FRAME as u64;
            let frame = results(&content).ok();
            let place =
                frame.and_then(|found| self.frames.get_mut(usize::try_from(found.index).ok()?));
            if let Some(place) = place.filter(|place| place.is_none()) {
                *place = Some((begin, content.len() as u32));
                self.done += 1;
            }
            from = begin + content.len() as u64;
        }
        self.end = from;
        if length > from {
            self.file.set_len(from).map_err(|source| failure("write", &self.path, source))?;
        }
        Ok(length.saturating_sub(from))
    }

    /// Stores a chunk's results; `false` if they were already there.
    pub fn add(&mut self, index: u64, bytes: &[u8]) -> Result<bool, SweepError> {
        let count = self.frames.len() as u64;
        let place = usize::try_from(index).ok().filter(|place| *place < self.frames.len());
        let place = place.ok_or(SweepError::NoChunk { index, count })?;
        if self.frames.get(place).is_some_and(Option::is_some) {
            return Ok(false);
        }
        let begin = self.append(bytes)?;
        if let Some(frame) = self.frames.get_mut(place) {
            *frame = Some((begin, bytes.len() as u32));
            self.done += 1;
        }
        Ok(true)
    }

    /// Whether a chunk's results are stored.
    pub fn has(&self, index: u64) -> bool {
        usize::try_from(index).is_ok_and(|index| matches!(self.frames.get(index), Some(Some(_))))
    }

    /// Number of chunks whose results are stored.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// The results of a chunk; `None` until it is measured.
    pub fn results(&mut self, index: u64) -> Result<Option<Results>, SweepError> {
        let frame = usize::try_from(index).ok().and_then(|index| *self.frames.get(index)?);
        let Some((begin, length)) = frame else { return Ok(None) };
        let failed = |source| failure("read", &self.path, source);
        let mut content = vec![0; length as usize];
        self.file.seek(SeekFrom::Start(begin)).map_err(failed)?;
        self.file.read_exact(&mut content).map_err(failed)?;
        results(&content).map(Some)
    }

    /// Removes the journal when its sweep is finished.
    pub fn remove(self) -> Result<(), SweepError> {
        std::fs::remove_file(&self.path).map_err(|source| failure("remove", &self.path, source))
    }
}

fn failure(operation: &'static str, path: &Path, source: io::Error) -> SweepError {
    SweepError::File { operation, path: path.to_owned(), source }
}

fn chunks(head: &Head) -> usize {
    usize::try_from(head.points.div_ceil(head.chunk.max(1))).unwrap_or(usize::MAX)
}

/// The head and the end of its frame; `None` if the journal's process was killed before it wrote
/// one.
fn read_head(file: &mut File, path: &Path, length: u64) -> Result<Option<(Head, u64)>, SweepError> {
    let failed = |source| failure("read", path, source);
    let mut begin = Vec::new();
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    Read::by_ref(file).take(MAGIC.len() as u64).read_to_end(&mut begin).map_err(failed)?;
    let none = || SweepError::NoJournal { path: path.to_owned() };
    if !MAGIC.starts_with(&begin) {
        return Err(none());
    }
    let from = MAGIC.len() as u64;
    let Some(content) = frame_at(file, from, length).map_err(failed)? else {
        return Ok(None);
    };
    let head: Head = serde_json::from_slice(&content).map_err(|_| none())?;
    if head.chunk == 0 {
        return Err(none());
    }
    Ok(Some((head, from + FRAME as u64 + content.len() as u64)))
}

/// The content of the frame at that offset; `None` if it is torn.
fn frame_at(file: &mut File, from: u64, length: u64) -> io::Result<Option<Vec<u8>>> {
    let left = length.saturating_sub(from);
    if left < FRAME as u64 {
        return Ok(None);
    }
    file.seek(SeekFrom::Start(from))?;
    let mut size = [0; 4];
    let mut sum = [0; CHECKSUM];
    file.read_exact(&mut size)?;
    file.read_exact(&mut sum)?;
    let size = u32::from_le_bytes(size);
    if u64::from(size) > left - FRAME as u64 {
        return Ok(None);
    }
    let mut content = vec![0; size as usize];
    file.read_exact(&mut content)?;
    Ok((checksum(&content) == sum).then_some(content))
}
