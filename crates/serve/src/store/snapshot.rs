//! A stored flash: a line of JSON that says whose it is, then the flash in postcard's form.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use flashlag_flash::Flash;
use flashlag_units::Nanos;

use super::header::{ADVICE, FORMAT, Header, sum};
use crate::error::ServeError;

/// What is in a file, of the device that is wanted; `None` where there is none.
pub(super) fn read(path: &Path, wanted: &Header) -> Result<Option<(Header, Flash)>, ServeError> {
    let refuse = |error: io::Error| ServeError::file("read", path, &error, ADVICE);
    let damaged = |reason: String| refuse(io::Error::other(reason));
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refuse(error)),
    };
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let (line, rest) = bytes.split_at(end.unwrap_or(0));
    let header: Header = serde_json::from_slice(line)
        .map_err(|error| damaged(format!("it is no stored flash: {error}")))?;
    if header.schema != FORMAT {
        return Err(damaged(format!("it is `{}`, this program reads `{FORMAT}`", header.schema)));
    }
    let body = &rest[1..];
    if sum(body) != header.state {
        return Err(damaged("it is damaged: its bytes do not come to what they were".to_owned()));
    }
    header.check(path, wanted)?;
    let flash =
        postcard::from_bytes(body).map_err(|error| damaged(format!("it is damaged: {error}")))?;
    Ok(Some((header, flash)))
}

/// Replaces a file at once: a reader finds the old state or the new one.
pub(super) fn write(
    path: &Path,
    header: &mut Header,
    flash: &Flash,
    now: Nanos,
) -> Result<(), ServeError> {
    let refuse = |error: io::Error| {
        ServeError::file("store the flash in", path, &error, "is there room on its disk?")
    };
    let body = postcard::to_allocvec(flash).map_err(|error| refuse(io::Error::other(error)))?;
    let next = Header { now, state: sum(&body), before: header.state.clone(), ..header.clone() };
    let mut line = serde_json::to_vec(&next).map_err(|error| refuse(error.into()))?;
    line.push(b'\n');
    let fresh = super::beside(path, ".new");
    let mut file = File::create(&fresh).map_err(refuse)?;
    file.write_all(&line).and_then(|()| file.write_all(&body)).map_err(refuse)?;
    file.sync_all().map_err(refuse)?;
    std::fs::rename(&fresh, path).map_err(refuse)?;
    *header = next;
    Ok(())
}
