//! The requests since a flash was stored: a line that says which state they follow, then records.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::header::{ADVICE, Header};
use crate::error::ServeError;
use crate::record::Record;

#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Log {
    /// A log with nothing in it, after a state.
    pub(super) fn begin(path: &Path, header: &Header) -> Result<Log, ServeError> {
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| Log::refuse(path, &error))?;
        let mut log = Log { path: path.to_owned(), file, length: 0 };
        log.restart(header)?;
        Ok(log)
    }

    fn refuse(path: &Path, error: &io::Error) -> ServeError {
        ServeError::file("keep the log", path, error, ADVICE)
    }

    /// Begins again, after another state.
    pub(super) fn restart(&mut self, header: &Header) -> Result<(), ServeError> {
        let line = format!("{}\n", header.state);
        let begun = self.file.set_len(0).and_then(|()| self.file.rewind());
        begun
            .and_then(|()| self.file.write_all(line.as_bytes()))
            .map_err(|error| Log::refuse(&self.path, &error))?;
        self.length = 0;
        Ok(())
    }

    /// Reads what followed a state, and goes on after it. A record that was being written when the
    /// server was killed is no request that had completed, and is dropped.
    pub(super) fn reopen(
        path: &Path,
        header: &Header,
        replay: &mut impl FnMut(&Record),
    ) -> Result<Log, ServeError> {
        let refuse = |error: io::Error| Log::refuse(path, &error);
        let mut log = match File::options().read(true).write(true).open(path) {
            Ok(file) => Log { path: path.to_owned(), file, length: 0 },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Log::begin(path, header);
            }
            Err(error) => return Err(refuse(error)),
        };
        let mut reader = BufReader::with_capacity(1 << 20, &log.file);
        let mut line = String::new();
        reader.read_line(&mut line).map_err(refuse)?;
        let follows = line.trim_end();
        // Killed between storing a state and beginning its log, or before the log had a line.
        if follows.is_empty() || follows == header.before {
            drop(reader);
            log.restart(header)?;
            return Ok(log);
        }
        if follows != header.state {
            return Err(refuse(io::Error::other("it does not follow the stored flash")));
        }
        while let Some(record) = Record::read(&mut reader, header.size_bytes).map_err(refuse)? {
            replay(&record);
            log.length += Record::SIZE as u64;
        }
        drop(reader);
        let end = line.len() as u64 + log.length;
        log.file.set_len(end).and_then(|()| log.file.seek(SeekFrom::End(0))).map_err(refuse)?;
        Ok(log)
    }

    pub(super) fn append(&mut self, record: &Record) -> io::Result<()> {
        self.length += Record::SIZE as u64;
        self.file.write_all(&record.to_bytes())
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }
}
