//! The state in which an app finds its file after a crash.

use std::path::Path;

use flashlag_spec::scenario::{FileKind, FileSave};
use flashlag_units::Bytes;
use flashlag_workload::{Damage, Payload};

use super::calls::Named;
use super::place::FilePlace;
use super::real::RealFiles;
use crate::error::SqliteError;

/// A file as the library that wrote it reads it after a crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Whole, with what this many saves wrote; 0 is the file before the first.
    Saves(u64),
    /// Gone, or empty: the app begins with its defaults. A log with nothing left counts as gone,
    /// too.
    Empty,
    /// Neither: a part of it, or other bytes.
    Damaged(String),
}

/// Reads the file of a test of saves with one change each, made with `seed`, by its library's rules for what
/// lies beside it.
///
/// # Errors
/// If the directory or a file in it can't be read.
pub fn examine_file(directory: &Path, save: &FileSave, seed: u64) -> Result<Found, SqliteError> {
    let place = RealFiles::open_directory(directory)?;
    let [base, beside] = [Named::Base, Named::Beside].map(|named| named.of(save));
    let is_backup = match save.kind {
        // `SharedPreferencesImpl.loadFromDisk`, and `AtomicFile.openRead` up to Android 10: a backup that is there
        // replaces the file.
        FileKind::SharedPreferences => true,
        FileKind::AtomicFile => !save.is_new(),
        // A file that was not renamed does not count yet.
        _ => false,
    };
    if is_backup && place.stat(beside)?.is_some() {
        place.rename(beside, base)?;
    }
    let payload = Payload::new(seed);
    if save.kind == FileKind::AppendLog {
        return records(&[base, beside], directory, save, &payload);
    }
    let Some(bytes) = read(directory, base)? else { return Ok(Found::Empty) };
    if bytes.is_empty() {
        return Ok(Found::Empty);
    }
    let whole = bytes.len() as u64 == save.size.0.0;
    Ok(match version(&payload, &bytes) {
        Ok(saves) if whole => Found::Saves(saves),
        Ok(_) => Found::Damaged(format!("{} of {} bytes", bytes.len(), save.size.0.0)),
        Err(damage) => Found::Damaged(damage.to_string()),
    })
}

/// The records at the beginning of the log that was begun last, up to the first that is not whole, as a store
/// replays them. What follows it was in no acknowledged save, or is lost.
fn records(
    names: &[&str; 2],
    directory: &Path,
    save: &FileSave,
    payload: &Payload,
) -> Result<Found, SqliteError> {
    let length = usize::try_from(save.change.0.0).unwrap_or(usize::MAX);
    let mut last = None;
    for name in names {
        let Some(bytes) = read(directory, name)? else { continue };
        let whole = bytes.chunks(length).filter(|record| record.len() == length);
        let found = whole.map_while(|record| version(payload, record).ok()).last();
        last = last.max(found);
    }
    Ok(last.map_or(Found::Empty, Found::Saves))
}

/// The number of the save that wrote all of these bytes.
pub(super) fn version(payload: &Payload, bytes: &[u8]) -> Result<u64, Damage> {
    // No save has this number, so that what is there is said of each.
    match payload.check(bytes, Bytes::ZERO, u32::MAX) {
        Err(mismatch) => match mismatch.found {
            Damage::Stale(stamp) => Ok(u64::from(stamp.generation)),
            damage => Err(damage),
        },
        Ok(()) => Err(Damage::Foreign),
    }
}

fn read(directory: &Path, name: &str) -> Result<Option<Vec<u8>>, SqliteError> {
    let path = directory.join(name);
    match std::fs::read(&path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let errno = rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO);
            Err(SqliteError::os("read", &path, errno))
        }
    }
}
