use std::rc::Rc;

use flashlag_spec::scenario::{FileKind, FileSave};
use flashlag_units::Bytes;

use super::calls::{FileCall, Named, calls_of};
use super::place::FilePlace;
use crate::content::Content;
use crate::error::SqliteError;
use crate::saver::Saver;

/// Makes the calls of each save.
#[derive(Debug)]
pub(crate) struct FileSaver<'a> {
    save: &'a FileSave,
    place: Rc<dyn FilePlace>,
    calls: Vec<FileCall>,
    /// The names of the file and of the files beside it; for a log, of the present one and the
    /// next.
    names: [&'static str; 2],
    content: Content,
    /// The present content, and how much of it the present save has written.
    bytes: Vec<u8>,
    written: usize,
    /// Bytes in the log.
    logged: u64,
    largest: u64,
}

impl<'a> FileSaver<'a> {
    pub(crate) fn new(save: &'a FileSave, place: Rc<dyn FilePlace>, seed: u64) -> FileSaver<'a> {
        FileSaver {
            save,
            place,
            calls: calls_of(save),
            names: [Named::Base, Named::Beside].map(|named| named.of(save)),
            content: Content::new(save.written_at_once(), seed),
            bytes: Vec::new(),
            written: 0,
            logged: 0,
            largest: 0,
        }
    }

    /// Makes the file as it is before the first save, durable. A log is empty, and stays open.
    pub(crate) fn make_file(&mut self) -> Result<(), SqliteError> {
        let [base, beside] = self.names;
        self.place.unlink(beside)?;
        self.place.open(base)?;
        if self.save.kind != FileKind::AppendLog {
            self.bytes = self.content.of(0, 0, 0).to_vec();
            self.place.write(&self.bytes)?;
        }
        self.place.sync(false)?;
        if self.save.kind != FileKind::AppendLog {
            self.place.close()?;
        }
        self.place.sync_directory()
    }

    /// Removes the files.
    pub(crate) fn remove(save: &FileSave, place: &dyn FilePlace) -> Result<(), SqliteError> {
        [Named::Base, Named::Beside].into_iter().try_for_each(|named| place.unlink(named.of(save)))
    }

    fn name(&self, named: Named) -> &'static str {
        match named {
            Named::Base => self.names[0],
            Named::Beside => self.names[1],
            Named::Former => named.of(self.save),
        }
    }

    fn make(&mut self, call: FileCall) -> Result<(), SqliteError> {
        match call {
            FileCall::Stat(named) => self.place.stat(self.name(named)).map(drop),
            FileCall::Open(named) => {
                self.written = 0;
                self.place.open(self.name(named))
            }
            FileCall::Write(length) => {
                let from = self.bytes.get(self.written..).unwrap_or_default();
                let from = from.get(..length).unwrap_or(from);
                self.written += from.len();
                self.place.write(from)
            }
            FileCall::Fsync => self.place.sync(false),
            FileCall::Fdatasync => self.place.sync(true),
            FileCall::Close => self.place.close(),
            FileCall::Chmod(named) => self.place.chmod(self.name(named)),
            FileCall::Rename(from, to) => self.place.rename(self.name(from), self.name(to)),
            FileCall::Unlink(named) => self.place.unlink(self.name(named)),
            FileCall::SyncDirectory => self.place.sync_directory(),
        }
    }

    /// Begins a new log if the next records would exceed the size: a new file, as LevelDB makes it
    /// (`DBImpl::MakeRoomForWrite`); the old one is removed.
    fn begin_log(&mut self) -> Result<(), SqliteError> {
        if self.save.kind != FileKind::AppendLog {
            return Ok(());
        }
        let more = self.save.change.0.0.saturating_mul(u64::from(self.save.writes()));
        if self.logged > 0 && self.logged.saturating_add(more) > self.save.size.0.0 {
            self.place.close()?;
            self.place.open(self.names[1])?;
            self.place.unlink(self.names[0])?;
            self.names.swap(0, 1);
            self.logged = 0;
        }
        self.logged = self.logged.saturating_add(more);
        Ok(())
    }
}

impl Saver for FileSaver<'_> {
    fn most_of_a_save(&self) -> Bytes {
        most_of_a_save(self.save)
    }

    fn content_of_a_save(&self) -> Bytes {
        Bytes(self.save.change.0.0.saturating_mul(u64::from(self.save.changes)))
    }

    fn make_ready(&mut self, number: u64) -> Result<(), SqliteError> {
        let generation = (number as u32).wrapping_add(1);
        let FileSaver { content, bytes, .. } = self;
        bytes.clear();
        bytes.extend_from_slice(content.of(0, 0, generation));
        Ok(())
    }

    fn save(&mut self, _: u64) -> Result<(), SqliteError> {
        self.begin_log()?;
        for index in 0..self.calls.len() {
            // Each record of a log is one write.
            if self.save.kind == FileKind::AppendLog {
                self.written = 0;
            }
            self.make(self.calls[index])?;
        }
        Ok(())
    }

    fn grew(&mut self) -> Result<bool, SqliteError> {
        let size = match self.save.kind {
            FileKind::AppendLog => self.logged,
            _ => self.save.size.0.0,
        };
        let grew = size > self.largest;
        self.largest = self.largest.max(size);
        Ok(grew)
    }

    fn size(&self) -> Bytes {
        Bytes(self.largest)
    }
}

/// Most bytes that one save writes.
pub(super) fn most_of_a_save(save: &FileSave) -> Bytes {
    Bytes(save.written_at_once().0.saturating_mul(u64::from(save.writes())))
}
