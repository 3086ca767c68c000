//! The open files of the process, and paths that the trace has lost.

use std::collections::HashMap;

use flashlag_schema::trace::TraceFile;
use flashlag_spec::TraceFileKind;

use super::super::making::Making;

/// Placeholders for a path. The second precedes the first use of a descriptor by a thread that has
/// not opened it, so that a replay has something to write to.
const LOST: [&str; 2] = ["data/data", "/data/data"];

/// The open files of the process by descriptor, and the paths that SQLite has checked.
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    open: HashMap<u32, Descriptor>,
    looked: HashMap<u32, Looked>,
    inferred: bool,
}

#[derive(Clone, Copy, Debug)]
struct Descriptor {
    file: u32,
    /// The offset of the next read or write that names none.
    position: Option<u64>,
    has_path: bool,
}

/// The paths that a thread last checked with stat or access.
#[derive(Debug, Default)]
struct Looked {
    /// The path of the last check.
    last: String,
    /// The last path with a rollback journal that was checked.
    database: String,
    /// The path of the last write-ahead log that does not exist, without its suffix.
    without_wal: String,
}

impl Descriptors {
    /// Records that a thread checked a path.
    pub(super) fn looked(&mut self, thread: u32, path: String, is_there: bool) {
        let looked = self.looked.entry(thread).or_default();
        if let Some(database) = path.strip_suffix("-journal") {
            database.clone_into(&mut looked.database);
        }
        if let Some(database) = path.strip_suffix("-wal").filter(|_| !is_there) {
            database.clone_into(&mut looked.without_wal);
        }
        looked.last = path;
    }

    /// Records that a file was opened; `None` if the placeholder is for a file that is already
    /// open.
    pub(super) fn open(
        &mut self,
        thread: u32,
        path: &str,
        flags: &str,
        fd: u32,
        making: &mut Making,
    ) -> Option<u32> {
        let is_lost = LOST.contains(&path);
        if is_lost && flags.contains("O_TRUNC") && flags.contains("O_WRONLY") {
            // The placeholder gives neither the file's path nor whether it was truncated.
            self.file(fd, making);
            return None;
        }
        let inferred = if is_lost { self.journal_to_be(thread) } else { None };
        let position = (!flags.contains("O_APPEND")).then_some(0);
        let file = match (&inferred, is_lost) {
            (Some(path), _) => making.file(path),
            (None, true) => unnamed(fd, making),
            (None, false) => making.file(path),
        };
        self.inferred |= inferred.is_some();
        if flags.contains("O_DIRECTORY") {
            making.kind(file, TraceFileKind::Directory);
        }
        let has_path = !is_lost || inferred.is_some();
        self.open.insert(fd, Descriptor { file, position, has_path });
        Some(file)
    }

    /// The rollback journal that SQLite opens next. Before it does, SQLite checks for a write-ahead
    /// log (`pagerOpenWalIfPresent`) and reads the mode of the database (`findCreateFileMode`).
    fn journal_to_be(&self, thread: u32) -> Option<String> {
        let looked = self.looked.get(&thread)?;
        let is_asked = !looked.last.is_empty() && looked.last == looked.without_wal;
        is_asked.then(|| format!("{}-journal", looked.last))
    }

    /// The database's file, if a read is SQLite's read of the change counter (16 bytes at offset 24
    /// of the header) after its check for the journal.
    pub(super) fn read_as_database(
        &mut self,
        thread: u32,
        fd: u32,
        read: (Option<u64>, u64),
        making: &mut Making,
    ) -> Option<u32> {
        let path = self.looked.get(&thread).map(|looked| looked.database.as_str())?;
        let descriptor = self.open.get_mut(&fd)?;
        if read != (Some(24), 16) || descriptor.has_path || path.is_empty() {
            return None;
        }
        let file = making.file(path);
        making.kind(file, TraceFileKind::Database);
        *descriptor = Descriptor { file, has_path: true, ..*descriptor };
        self.inferred = true;
        Some(file)
    }

    /// The file of a descriptor, and the offset of a read or write of this length.
    pub(super) fn moved(
        &mut self,
        _thread: u32,
        fd: u32,
        offset: Option<u64>,
        bytes: u64,
        making: &mut Making,
    ) -> (u32, Option<u64>) {
        let file = self.file(fd, making);
        if offset.is_some() {
            return (file, offset);
        }
        let Some(descriptor) = self.open.get_mut(&fd) else { return (file, None) };
        let at = descriptor.position;
        descriptor.position = at.and_then(|at| at.checked_add(bytes));
        (file, at)
    }

    /// The file of a descriptor; a new one without a path if the trace does not show it being
    /// opened.
    pub(super) fn file(&mut self, fd: u32, making: &mut Making) -> u32 {
        if let Some(descriptor) = self.open.get(&fd) {
            return descriptor.file;
        }
        let file = unnamed(fd, making);
        self.open.insert(fd, Descriptor { file, position: None, has_path: false });
        file
    }

    /// A number is free again.
    pub(super) fn close(&mut self, fd: u32) -> Option<u32> {
        self.open.remove(&fd).map(|descriptor| descriptor.file)
    }

    /// Whether any path was inferred.
    pub(super) fn has_inferred(&self) -> bool {
        self.inferred
    }
}

fn unnamed(fd: u32, making: &mut Making) -> u32 {
    let file = TraceFile { descriptor: Some(fd), ..TraceFile::default() };
    making.builder.another_file(file)
}
