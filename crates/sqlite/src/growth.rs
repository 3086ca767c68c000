use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::Path;

use flashlag_schema::scenario::JournalMode;
use flashlag_units::Bytes;
use rustix::fs::{AtFlags, Mode, OFlags, open, statat};
use rustix::io::Errno;

use crate::database::file_name;
use crate::error::SqliteError;

/// Sizes of the lasting files of all databases, and the largest that each ever was.
///
/// Lasting are the database; its write-ahead log; its journal in PERSIST mode, which is only
/// overwritten. Writing beyond their end allocates blocks and changes the file's size, which the
/// filesystem has to commit as well. A journal in DELETE or TRUNCATE mode is made and unmade with
/// every save, which is a filesystem commit in any case: it tells no two saves apart and is left
/// out.
///
/// Sizes are asked for by name (`fstatat`, about 1 µs a file) and never through a descriptor of our
/// own: closing one would drop SQLite's locks on the file, as POSIX has it.
#[derive(Debug)]
pub(crate) struct Sizes {
    directory: OwnedFd,
    files: Vec<Lasting>,
}

#[derive(Debug)]
struct Lasting {
    name: CString,
    largest: u64,
    /// The database itself, which can't be missing.
    is_database: bool,
}

impl Sizes {
    pub(crate) fn new(
        directory: &Path,
        databases: u32,
        journal: JournalMode,
    ) -> Result<Sizes, SqliteError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = open(directory, flags, Mode::empty());
        let opened = opened.map_err(|errno| SqliteError::os("open", directory, errno))?;
        let beside = match journal {
            JournalMode::Wal => Some("-wal"),
            JournalMode::Persist => Some("-journal"),
            _ => None,
        };
        let mut files = Vec::new();
        for index in 0..databases {
            for suffix in [Some(""), beside].into_iter().flatten() {
                let name = format!("{}{suffix}", file_name(index));
                let name = CString::new(name).unwrap_or_default();
                files.push(Lasting { name, largest: 0, is_database: suffix.is_empty() });
            }
        }
        Ok(Sizes { directory: opened, files })
    }

    /// Looks at all of them: whether one is larger than it ever was.
    ///
    /// # Errors
    /// Where a database is gone. SQLite itself may go on writing to a file that has no name.
    pub(crate) fn grew(&mut self) -> Result<bool, Errno> {
        let mut grew = false;
        for file in &mut self.files {
            match statat(&self.directory, file.name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => {
                    let size = u64::try_from(found.st_size).unwrap_or_default();
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
