use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flashlag_flash::Flash;
use flashlag_spec::profile::TrimKind;
use flashlag_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use super::Record;
use crate::error::ServeError;

/// The form of recordings.
pub(crate) const SCHEMA: &str = "flashlag.recording/1";
const ADVICE: &str = "give a recording that this version of flashlag made";
/// The longest first line.
const LONGEST: u64 = 1 << 20;

/// The first line of a recording, as JSON: which device was recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// `flashlag.recording/1`.
    pub schema: String,
    /// The device's profile.
    pub profile: String,
    pub size_bytes: Bytes,
    /// The device's seed.
    pub seed: u64,
    /// The device's time when the recording began.
    pub began: Nanos,
    /// Whether written data was recorded.
    pub data: bool,
    /// The effect of discards.
    pub(crate) trim: TrimKind,
    /// Length of the flash state that follows this line; 0 without a modelled flash.
    pub(crate) flash_bytes: u64,
}

/// A recording that is being read: its requests, in the order in which the device took them.
#[derive(Debug)]
pub struct Recording {
    /// The recorded device.
    pub head: Head,
    path: PathBuf,
    reader: BufReader<File>,
    flash: Vec<u8>,
}

impl Recording {
    /// Opens a recording.
    pub fn open(path: &Path) -> Result<Recording, ServeError> {
        let refuse = |error: io::Error| ServeError::file("read", path, &error, ADVICE);
        let file = File::open(path).map_err(refuse)?;
        let length = file.metadata().map_err(refuse)?.len();
        let mut reader = BufReader::with_capacity(1 << 20, file);
        let mut line = Vec::new();
        (&mut reader).take(LONGEST).read_until(b'\n', &mut line).map_err(refuse)?;
        let head: Head = serde_json::from_slice(&line)
            .map_err(|error| refuse(io::Error::other(format!("it is no recording: {error}"))))?;
        if head.schema != SCHEMA || head.flash_bytes > length {
            let reason = format!("it is `{}`, this program reads `{SCHEMA}`", head.schema);
            return Err(refuse(io::Error::other(reason)));
        }
        let mut flash = vec![0; head.flash_bytes as usize];
        reader.read_exact(&mut flash).map_err(refuse)?;
        Ok(Recording { head, path: path.to_owned(), reader, flash })
    }

    /// The flash as it was when the recording began, if one is modelled.
    pub(crate) fn flash(&self) -> Result<Option<Flash>, ServeError> {
        if self.flash.is_empty() {
            return Ok(None);
        }
        let flash = postcard::from_bytes(&self.flash).map_err(|error| {
            ServeError::file("read", &self.path, &io::Error::other(error), ADVICE)
        })?;
        Ok(Some(flash))
    }

    pub(crate) fn refuse(&self, reason: &str) -> ServeError {
        ServeError::file("use", &self.path, &io::Error::other(reason), ADVICE)
    }

    /// The next request with its data, if recorded; `None` at the end.
    pub fn next_request(&mut self) -> Result<Option<(Record, Vec<u8>)>, ServeError> {
        let refuse = |error: io::Error| ServeError::file("read", &self.path, &error, ADVICE);
        let size = self.head.size_bytes;
        let Some(record) = Record::read(&mut self.reader, size).map_err(refuse)? else {
            return Ok(None);
        };
        let length = if record.has_data { record.length.0 } else { 0 };
        let mut data = Vec::new();
        (&mut self.reader).take(length).read_to_end(&mut data).map_err(refuse)?;
        if (data.len() as u64) < length {
            // A torn record: the server was writing it when it ended.
            return Ok(None);
        }
        Ok(Some((record, data)))
    }
}
