use std::rc::Rc;

use flashlag_schema::scenario::JournalMode;
use flashlag_units::Bytes;
use rustix::io::Errno;

use crate::database::file_name;
use crate::place::Place;

/// Sizes of the lasting files of all databases, and the largest that each ever was.
///
/// Lasting are the database; its write-ahead log; its journal in PERSIST mode, which is only
/// overwritten. Writing beyond their end allocates blocks and changes the file's size, which the
/// filesystem has to commit as well. A journal in DELETE or TRUNCATE mode is made and unmade with
/// every save, which is a filesystem commit in any case: it tells no two saves apart and is left
/// out.
#[derive(Debug)]
pub(crate) struct Sizes {
    place: Rc<dyn Place>,
    files: Vec<Lasting>,
}

#[derive(Debug)]
struct Lasting {
    name: String,
    largest: u64,
    /// The database itself, which can't be missing.
    is_database: bool,
}

impl Sizes {
    pub(crate) fn new(place: Rc<dyn Place>, databases: u32, journal: JournalMode) -> Sizes {
        let beside = match journal {
            JournalMode::Wal => Some("-wal"),
            JournalMode::Persist => Some("-journal"),
            _ => None,
        };
        let mut files = Vec::new();
        for index in 0..databases {
            for suffix in [Some(""), beside].into_iter().flatten() {
                let name = format!("{}{suffix}", file_name(index));
                files.push(Lasting { name, largest: 0, is_database: suffix.is_empty() });
            }
        }
        Sizes { place, files }
    }

    /// Looks at all of them: whether one is larger than it ever was.
    ///
    /// # Errors
    /// Where a database is gone. SQLite itself may go on writing to a file that has no name.
    pub(crate) fn grew(&mut self) -> Result<bool, Errno> {
        let mut grew = false;
        for file in &mut self.files {
            match self.place.size(&file.name) {
                Ok(size) => {
                    grew |= size > file.largest;
                    file.largest = file.largest.max(size);
                }
                Err(errno) if file.is_database => return Err(errno),
                // A log or journal that is not there yet has no size.
                Err(_) => {}
            }
        }
        Ok(grew)
    }

    /// The largest sizes, summed.
    pub(crate) fn total(&self) -> Bytes {
        Bytes(self.files.iter().fold(0, |sum, file| sum.saturating_add(file.largest)))
    }
}
