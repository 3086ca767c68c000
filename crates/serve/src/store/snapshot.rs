//! A stored flash: a line of JSON with its device, then the flash in postcard's form.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use flashlag_flash::Flash;
use flashlag_units::Nanos;

use super::fresh::NewFile;
use super::header::{ADVICE, FORMAT, Header, sum};
use crate::error::{ServeError, plain};

/// The longest first line.
const LONGEST_LINE: u64 = 64 << 10;
/// The largest stored flash: that of a device of 16 TiB is smaller.
const LARGEST: u64 = 64 << 30;

fn refuse(path: &Path, error: &io::Error) -> ServeError {
    ServeError::file("read", path, error, ADVICE)
}

fn damaged(path: &Path, reason: &str) -> ServeError {
    refuse(path, &io::Error::other(plain(reason)))
}

/// The header of a stored flash; `None` without a file.
pub(super) fn header(path: &Path) -> Result<Option<Header>, ServeError> {
    Ok(open(path)?.map(|(header, _)| header))
}

/// The header, and a reader of what follows it.
fn open(path: &Path) -> Result<Option<(Header, BufReader<File>)>, ServeError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refuse(path, &error)),
    };
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    let read = (&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut line);
    read.map_err(|error| refuse(path, &error))?;
    Ok(Some((parse(path, &line)?, reader)))
}

fn parse(path: &Path, line: &[u8]) -> Result<Header, ServeError> {
    let header: Header = serde_json::from_slice(line)
        .map_err(|error| damaged(path, &format!("it is no stored flash: {error}")))?;
    if header.schema != FORMAT {
        let reason = format!("it is `{}`, this program reads `{FORMAT}`", header.schema);
        return Err(damaged(path, &reason));
    }
    if !header.has_a_time() {
        let reason = format!("it is damaged: a device's time is not {} ns", header.now.0);
        return Err(damaged(path, &reason));
    }
    Ok(header)
}

/// The flash in a file, of this device; `None` without a file.
pub(super) fn read(path: &Path, wanted: &Header) -> Result<Option<(Header, Flash)>, ServeError> {
    let Some((header, mut reader)) = open(path)? else { return Ok(None) };
    let length = reader.get_ref().metadata().map_err(|error| refuse(path, &error))?.len();
    if length > LARGEST {
        return Err(damaged(path, "it is larger than any stored flash"));
    }
    header.check(path, &wanted.wanted())?;
    let mut body = Vec::new();
    reader.read_to_end(&mut body).map_err(|error| refuse(path, &error))?;
    if sum(&body) != header.state {
        return Err(damaged(path, "it is damaged: its checksum does not match"));
    }
    header.check_form(path, wanted)?;
    let flash = postcard::from_bytes(&body)
        .map_err(|error| damaged(path, &format!("it is damaged: {error}")))?;
    Ok(Some((header, flash)))
}

/// The stored form of a flash: the next state's header, and its bytes.
pub(super) fn next(
    path: &Path,
    header: &Header,
    flash: &Flash,
    now: Nanos,
) -> Result<(Header, Vec<u8>), ServeError> {
    let body =
        postcard::to_allocvec(flash).map_err(|error| full(path, &io::Error::other(error)))?;
    let next = Header { now, state: sum(&body), before: header.state.clone(), ..header.clone() };
    Ok((next, body))
}

/// Replaces the file atomically: a reader finds the old state or the new one.
pub(super) fn write(path: &Path, header: &Header, body: &[u8]) -> Result<(), ServeError> {
    let refuse = |error: io::Error| full(path, &error);
    let mut line = serde_json::to_vec(header).map_err(|error| refuse(error.into()))?;
    line.push(b'\n');
    let fresh = NewFile::create(path).map_err(refuse)?;
    let mut file = fresh.file().map_err(refuse)?;
    file.write_all(&line).and_then(|()| file.write_all(body)).map_err(refuse)?;
    file.sync_all().map_err(refuse)?;
    fresh.put().map_err(refuse).map(drop)
}

fn full(path: &Path, error: &io::Error) -> ServeError {
    ServeError::file("store the flash in", path, error, "is there room on its disk?")
}
