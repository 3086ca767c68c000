//! Writes a history.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flashlag_engine::{AlignedBuffer, free_space};
use flashlag_schema::history::{DAY_S, HISTORY, Incident, Span, Subject};
use flashlag_units::Bytes;
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, fdatasync, flock, fsync, openat};
use rustix::io::Errno;
use serde::Serialize;

use crate::book::error::BookError;
use crate::book::index::{Entry, Index, payload};
use crate::book::record::{Kind, Label, MOST_SECTORS, SECTOR, VERSION, encode, version_of};
use crate::book::room::Room;
use crate::span::{HOUR_S, add};

/// The file grows by this much.
const STEP: u64 = 64 << 10;
/// What is left free on the filesystem.
const LEFT: Bytes = Bytes(100_000_000);
/// When a file at its size has fewer free sectors, the oldest records are dropped.
const SCARCE: u64 = 2 * MOST_SECTORS as u64;
/// Hours older than this become days.
const HOURS_KEPT_S: u64 = 62 * DAY_S;
/// What a filesystem writes at least through its page cache.
const PAGE: u64 = 4096;

/// A history that is being written. One process at a time has it.
#[derive(Debug)]
pub struct Book {
    path: PathBuf,
    file: File,
    /// The same file without the page cache, where single sectors can be written.
    direct: Option<File>,
    buffer: AlignedBuffer,
    index: Index,
    room: Room,
    most: u64,
    left: Bytes,
    written: u64,
}

impl Drop for Book {
    /// Unlocks explicitly: a child process that is being started has a copy of the descriptor until it
    /// executes its own program, and would hold the lock until then.
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl Book {
    /// Opens or creates a history that grows to at most `size`.
    ///
    /// # Errors
    /// Another process writes to it, it is no history of this version, or the filesystem refuses.
    pub fn open(path: &Path, size: Bytes) -> Result<Book, BookError> {
        let opened = |flags: OFlags| {
            let flags = flags | OFlags::RDWR | OFlags::CLOEXEC;
            openat(CWD, path, flags, Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH)
        };
        let file = opened(OFlags::CREATE).map_err(|errno| BookError::os("open", path, errno))?;
        let file = File::from(file);
        // Another error is that of a filesystem without locks.
        if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Err(BookError::Busy { path: path.to_owned() });
        }
        let index = checked(&file, path)?;
        let direct = opened(OFlags::DIRECT).ok().map(File::from);
        let sectors = length_of(&file) / SECTOR as u64;
        let mut room = Room::of(sectors);
        index.entries.iter().for_each(|entry| room.mark(entry.sector, entry.sectors, true));
        let mut book = Book {
            path: path.to_owned(),
            file,
            direct,
            buffer: AlignedBuffer::new(MOST_SECTORS * SECTOR, PAGE as usize),
            index,
            room,
            most: size.0 / SECTOR as u64,
            left: LEFT,
            written: 0,
        };
        if book.index.of_kind(Kind::Header).next().is_none() {
            let begun = book.append(Kind::Header, 0, 0, &HISTORY);
            if begun.is_err() && sectors == 0 && length_of(&book.file) == 0 {
                // It was made a moment ago, and nothing is in it.
                let _ = std::fs::remove_file(path);
            }
            begun?;
        }
        Ok(book)
    }

    /// As [`Book::open`], leaving less free: for small filesystems in tests.
    #[doc(hidden)]
    pub fn leaving(mut self, left: Bytes) -> Book {
        self.left = left;
        self
    }

    /// Bytes written since it was opened, as far as this process knows what the filesystem writes.
    pub fn written(&self) -> Bytes {
        Bytes(self.written)
    }

    /// The least that a record costs: a sector, or a page where sectors can't be written alone.
    pub fn least(&self) -> Bytes {
        Bytes(if self.direct.is_some() { SECTOR as u64 } else { PAGE })
    }

    /// Records what is watched.
    pub fn subject(&mut self, subject: &Subject) -> Result<(), BookError> {
        self.append(Kind::Subject, 0, 0, subject)
    }

    /// Records a part of an hour.
    pub fn minutes(&mut self, span: &Span) -> Result<(), BookError> {
        self.append(Kind::Minutes, span.start_s, 0, span)
    }

    /// Records an incident; one that has the same start is replaced.
    pub fn incident(&mut self, incident: &Incident) -> Result<(), BookError> {
        self.append(Kind::Incident, incident.start_ms, 0, incident)
    }

    /// Joins the parts of hours that are over, and hours that are old. `now_s` is the time, in
    /// seconds since 1970.
    pub fn tidy(&mut self, now_s: u64) -> Result<(), BookError> {
        let over = |entry: &&Entry| entry.key.saturating_add(HOUR_S) <= now_s;
        for hour in keys(self.index.of_kind(Kind::Minutes).filter(over), 1) {
            self.join(hour, Kind::Minutes, Kind::Hour)?;
        }
        let old = |entry: &&Entry| entry.key.saturating_add(HOURS_KEPT_S) <= now_s;
        for day in keys(self.index.of_kind(Kind::Hour).filter(old), DAY_S) {
            self.join(day, Kind::Hour, Kind::Day)?;
        }
        Ok(())
    }

    /// Joins all parts of an hour, or all hours of a day, into one record.
    fn join(&mut self, key: u64, parts: Kind, whole: Kind) -> Result<(), BookError> {
        let length = if whole == Kind::Day { DAY_S } else { HOUR_S };
        let mut sum = Span { start_s: key, seconds: length as u32, ..Span::default() };
        let inside = |entry: &&Entry| {
            let is_part = entry.kind == parts && entry.key / length * length == key;
            is_part || entry.kind == whole && entry.key == key
        };
        for entry in self.index.entries.iter().filter(inside) {
            let read = payload(&self.file, entry);
            if let Some(part) = read.and_then(|bytes| postcard::from_bytes::<Span>(&bytes).ok()) {
                add(&mut sum, &part);
            }
        }
        self.append(whole, key, self.index.last, &sum)
    }

    fn append(
        &mut self,
        kind: Kind,
        key: u64,
        through: u64,
        value: &impl Serialize,
    ) -> Result<(), BookError> {
        self.make_room()?;
        self.write(kind, key, through, value)
    }

    fn write(
        &mut self,
        kind: Kind,
        key: u64,
        through: u64,
        value: &impl Serialize,
    ) -> Result<(), BookError> {
        let number = self.index.last + 1;
        let too_long = || BookError::TooLong { path: self.path.clone() };
        let payload = postcard::to_allocvec(value).map_err(|_| too_long())?;
        let bytes = encode(Label { kind, key, number, through }, &payload).ok_or_else(too_long)?;
        let sectors = (bytes.len() / SECTOR) as u64;
        let sector = self.place(sectors)?;
        self.store(sector, &bytes)?;
        fdatasync(&self.file).map_err(|errno| BookError::os("fdatasync", &self.path, errno))?;
        self.room.mark(sector, sectors, true);
        for gone in self.index.add(Entry { kind, key, number, through, sector, sectors }) {
            self.room.mark(gone.sector, gone.sectors, false);
        }
        Ok(())
    }

    /// Free sectors in a row; the file grows where there are none.
    fn place(&mut self, sectors: u64) -> Result<u64, BookError> {
        loop {
            if let Some(found) = self.room.find(sectors) {
                return Ok(found);
            }
            // At its size there may be room in pieces alone.
            if self.room.len() < self.most || !self.drop_oldest()? {
                self.grow()?;
            }
        }
    }

    /// Writes zeros behind the end, so that later writes change no metadata.
    fn grow(&mut self) -> Result<(), BookError> {
        let free = free_space(&self.path)?.available;
        if free.0 < self.left.0.saturating_add(STEP) {
            return Err(BookError::Full { path: self.path.clone(), free, left: self.left });
        }
        let end = self.room.len() * SECTOR as u64;
        self.put(&self.file, end, &vec![0; STEP as usize])?;
        fsync(&self.file).map_err(|errno| BookError::os("fsync", &self.path, errno))?;
        self.written += STEP;
        self.room.grow(STEP / SECTOR as u64);
        Ok(())
    }

    fn store(&mut self, sector: u64, bytes: &[u8]) -> Result<(), BookError> {
        let offset = sector * SECTOR as u64;
        if let Some(direct) = &self.direct {
            self.buffer.as_mut_slice()[..bytes.len()].copy_from_slice(bytes);
            match direct.write_all_at(&self.buffer.as_slice()[..bytes.len()], offset) {
                Ok(()) => {
                    self.written += bytes.len() as u64;
                    return Ok(());
                }
                // This disk writes no single sectors.
                Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {}
                Err(error) => return Err(self.failed("write", &error)),
            }
            self.direct = None;
        }
        self.put(&self.file, offset, bytes)?;
        let pages = (offset + bytes.len() as u64).div_ceil(PAGE) - offset / PAGE;
        self.written += pages * PAGE;
        Ok(())
    }

    fn put(&self, file: &File, offset: u64, bytes: &[u8]) -> Result<(), BookError> {
        file.write_all_at(bytes, offset).map_err(|error| self.failed("write", &error))
    }

    fn failed(&self, operation: &'static str, error: &std::io::Error) -> BookError {
        let errno = Errno::from_io_error(error).unwrap_or(Errno::IO);
        BookError::os(operation, &self.path, errno)
    }

    /// Makes room in a file that has reached its size.
    fn make_room(&mut self) -> Result<(), BookError> {
        while self.room.len() >= self.most && self.room.free() < SCARCE {
            if !self.drop_oldest()? {
                break;
            }
        }
        Ok(())
    }

    /// Drops the oldest day, or the oldest incidents where these take more room; false if nothing
    /// but the newest day is left.
    fn drop_oldest(&mut self) -> Result<bool, BookError> {
        let size = |of: fn(&Entry) -> bool| -> u64 {
            self.index.entries.iter().filter(|entry| of(entry)).map(|entry| entry.sectors).sum()
        };
        let mut dropped = self.index.dropped;
        if size(|entry| entry.kind == Kind::Incident) > size(|entry| entry.kind.is_span()) {
            let mut starts: Vec<u64> =
                self.index.of_kind(Kind::Incident).map(|entry| entry.key).collect();
            starts.sort_unstable();
            // An eighth at a time.
            let keep = starts.get(starts.len().div_ceil(8)).copied();
            dropped.incidents_before_ms = keep.unwrap_or(u64::MAX);
        } else {
            let days = keys(self.index.entries.iter().filter(|entry| entry.kind.is_span()), DAY_S);
            let [oldest, _, ..] = days.as_slice() else { return Ok(false) };
            dropped.spans_before_s = oldest.saturating_add(DAY_S);
        }
        self.index.dropped = dropped;
        // Durable before the sectors of what is dropped are used again.
        self.write(Kind::Dropped, 0, 0, &dropped)?;
        Ok(true)
    }
}

/// The distinct keys of records, rounded down to a unit, in order.
fn keys<'a>(entries: impl Iterator<Item = &'a Entry>, unit: u64) -> Vec<u64> {
    let mut keys: Vec<u64> = entries.map(|entry| entry.key / unit * unit).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn length_of(file: &File) -> u64 {
    file.metadata().map_or(0, |metadata| metadata.len())
}

/// The index of a file that is empty or a history of this version.
pub(crate) fn checked(file: &File, path: &Path) -> Result<Index, BookError> {
    let mut first = [0u8; 4];
    let is_read = file.read_exact_at(&mut first, 0).is_ok();
    match version_of(&first).filter(|_| is_read) {
        Some(VERSION) => return Ok(Index::of(file)),
        Some(found) if found.is_ascii_alphanumeric() => {
            return Err(BookError::Version { path: path.to_owned(), found });
        }
        _ => {}
    }
    // Its first sector may be damaged; a file that was being made may hold zeros.
    let index = Index::of(file);
    if length_of(file) == 0 || !index.entries.is_empty() || is_zero(file) {
        Ok(index)
    } else {
        Err(BookError::NotOne { path: path.to_owned() })
    }
}

/// Whether a file is no longer than a step and holds zeros alone.
fn is_zero(file: &File) -> bool {
    let length = length_of(file);
    let mut bytes = vec![0u8; length.min(STEP) as usize];
    length <= STEP && file.read_exact_at(&mut bytes, 0).is_ok() && bytes.iter().all(|b| *b == 0)
}
