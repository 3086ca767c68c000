use std::rc::Rc;

use flashlag_spec::scenario::JournalMode;
use flashlag_units::Bytes;
use rustix::io::Errno;

use crate::database::file_name;
use crate::storage::Storage;

/// Sizes of the lasting files of all databases, and the largest that each has had.
///
/// Lasting files are the database, its write-ahead log, and its journal in PERSIST mode, which is
/// only overwritten. Writing beyond their end allocates blocks and changes the size, which the
/// filesystem has to commit. A journal in DELETE or TRUNCATE mode is created and removed by every
/// save, which is always a filesystem commit, so it distinguishes no saves and is left out.
#[derive(Debug)]
pub(crate) struct Sizes {
    storage: Rc<dyn Storage>,
    files: Vec<LastingFile>,
}

#[derive(Debug)]
struct LastingFile {
    name: String,
    largest: u64,
    /// Whether the file is the database itself, which must exist.
    is_database: bool,
}

impl Sizes {
    pub(crate) fn new(storage: Rc<dyn Storage>, databases: u32, journal: JournalMode) -> Sizes {
        let beside = match journal {
            JournalMode::Wal => Some("-wal"),
            JournalMode::Persist => Some("-journal"),
            _ => None,
        };
        let mut files = Vec::new();
        for index in 0..databases {
            for suffix in [Some(""), beside].into_iter().flatten() {
                let name = format!("{}{suffix}", file_name(index));
                files.push(LastingFile { name, largest: 0, is_database: suffix.is_empty() });
            }
        }
        Sizes { storage, files }
    }

    /// Reads all sizes; returns whether a file is larger than it ever was.
    ///
    /// # Errors
    /// If a database no longer exists. SQLite may go on writing to a file without a name.
    pub(crate) fn grew(&mut self) -> Result<bool, Errno> {
        let mut grew = false;
        for file in &mut self.files {
            match self.storage.size(&file.name) {
                Ok(size) => {
                    grew |= size > file.largest;
                    file.largest = file.largest.max(size);
                }
                Err(errno) if file.is_database => return Err(errno),
                // A log or journal that does not exist yet has size 0.
                Err(_) => {}
            }
        }
        Ok(grew)
    }

    /// Sum of the largest sizes.
    pub(crate) fn total(&self) -> Bytes {
        Bytes(self.files.iter().fold(0, |sum, file| sum.saturating_add(file.largest)))
    }
}
