//! The SQLite databases below a directory, and the number of extents of each.
//!
//! The search is bounded in entries, depth, databases and time, stays on one filesystem, follows no
//! link, and reads 16 bytes of each file whose name could be a database's.

use std::fs::{File, FileType, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flashlag_schema::internals::{DatabasePieces, Databases};
use flashlag_units::Bytes;

use super::extents::extents;
use crate::reason::Reason;

/// Most directory entries to examine.
const ENTRIES: u64 = 4_000;
/// Directories below the first.
const DEPTH: usize = 6;
/// Databases whose pieces are counted.
const DATABASES: u64 = 64;
/// The longest search.
const TIME: Duration = Duration::from_millis(500);
/// sqlite.org/fileformat.html: the first bytes of every database.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// A smaller database has too few pages to be badly fragmented.
const SMALLEST: u64 = 256 << 10;

/// The databases below a directory of this machine; if `named`, with the name of the most
/// fragmented one.
pub(super) fn databases(directory: &Path, named: bool) -> Result<Databases, Reason> {
    let metadata = directory.metadata().map_err(|error| Reason::unnamed("the directory", error))?;
    let (device, until) = (metadata.dev(), Instant::now() + TIME);
    let mut found = Databases { searched: 0, complete: true, databases: 0, worst: None };
    let mut waiting = vec![(directory.to_owned(), 0)];
    let mut reason = None;
    while let Some((directory, depth)) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(&directory) else { continue };
        for entry in entries.flatten() {
            let full = found.searched >= ENTRIES || found.databases >= DATABASES;
            if full || Instant::now() > until {
                found.complete = false;
                return Ok(found);
            }
            found.searched += 1;
            let Ok(kind) = entry.file_type() else { continue };
            match kind {
                kind if FileType::is_dir(&kind) && depth < DEPTH => {
                    waiting.push((entry.path(), depth + 1));
                }
                kind if kind.is_dir() => found.complete = false,
                kind if kind.is_file() && could_be(&entry.path()) => {
                    match pieces(&entry.path(), device, named) {
                        Ok(Some(one)) => add(&mut found, one),
                        Ok(None) => {}
                        Err(error) => reason = Some(error),
                    }
                }
                _ => {}
            }
        }
    }
    match (found.databases, reason) {
        (0, Some(reason)) => Err(reason),
        _ => Ok(found),
    }
}

fn could_be(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    ["db", "db3", "sqlite", "sqlite3", "sqlitedb"].contains(&ending)
}

fn add(found: &mut Databases, one: DatabasePieces) {
    found.databases += 1;
    let of = |one: &DatabasePieces| u128::from(one.pieces) << 64 | u128::from(one.bytes.0);
    if found.worst.as_ref().is_none_or(|worst| of(&one) > of(worst)) {
        found.worst = Some(one);
    }
}

/// `None` for a file that is no database, is small, or is on another filesystem.
fn pieces(path: &PathBuf, device: u64, named: bool) -> Result<Option<DatabasePieces>, Reason> {
    // Don't follow a link, and don't block on a pipe.
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits();
    let opened = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path);
    let Ok(mut file) = opened else { return Ok(None) };
    let Ok(metadata) = file.metadata() else { return Ok(None) };
    let fits = metadata.is_file() && metadata.dev() == device && metadata.len() >= SMALLEST;
    if !fits || !is_database(&mut file) {
        return Ok(None);
    }
    let pieces = u64::from(extents(&file)?);
    let name = path.file_name().filter(|_| named);
    Ok(Some(DatabasePieces {
        name: name.map(|name| name.to_string_lossy().into_owned()),
        bytes: Bytes(metadata.len()),
        pieces,
    }))
}

fn is_database(file: &mut File) -> bool {
    let mut first = [0u8; 16];
    file.read_exact(&mut first).is_ok() && first == *MAGIC
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom, Write};

    fn write(path: &Path, first: &[u8], bytes: u64) {
        let mut file = File::create(path).unwrap();
        file.write_all(first).unwrap();
        file.set_len(bytes).unwrap();
        file.sync_all().unwrap();
    }

    #[test]
    fn only_databases_of_some_size_are_counted_and_named_only_where_asked() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("databases")).unwrap();
        write(&at("databases/messages.db"), MAGIC, 1 << 20);
        write(&at("small.db"), MAGIC, 1 << 10);
        write(&at("other.db"), b"no database at all", 1 << 20);
        write(&at("picture.jpg"), MAGIC, 1 << 20);
        std::os::unix::fs::symlink(at("databases/messages.db"), at("link.db")).unwrap();
        let Ok(found) = databases(folder.path(), true) else {
            return flashlag_need::skip("no FIEMAP on this filesystem");
        };
        assert_eq!((found.databases, found.complete), (1, true));
        let worst = found.worst.unwrap();
        assert_eq!((worst.name.as_deref(), worst.bytes), (Some("messages.db"), Bytes(1 << 20)));
        assert_eq!(databases(folder.path(), false).unwrap().worst.unwrap().name, None);
    }

    #[test]
    fn the_pieces_of_a_file_with_holes_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("holes.db");
        write(&path, MAGIC, 4 << 20);
        let mut file = OpenOptions::new().write(true).open(&path).unwrap();
        for piece in 1..8u64 {
            file.seek(SeekFrom::Start(piece << 19)).unwrap();
            file.write_all(&[7; 4096]).unwrap();
        }
        file.sync_all().unwrap();
        let Ok(found) = databases(folder.path(), false) else {
            return flashlag_need::skip("no FIEMAP on this filesystem");
        };
        assert_eq!(found.worst.unwrap().pieces, 8);
    }

    #[test]
    fn a_search_ends_at_its_bound_of_entries() {
        let folder = tempfile::tempdir().unwrap();
        for index in 0..=ENTRIES {
            File::create(folder.path().join(format!("{index}"))).unwrap();
        }
        let found = databases(folder.path(), false).unwrap();
        assert!(!found.complete && found.searched <= ENTRIES, "{found:?}");
    }
}
