use std::fs::File;
use std::io::{self, BufWriter, Write};

use flashlag_units::Bytes;

use super::Record;
use super::reader::Head;

/// A recording in progress: writes every request to a file, up to a maximum size.
#[derive(Debug)]
pub(crate) struct Recorder {
    file: BufWriter<File>,
    with_data: bool,
    left: u64,
    requests: u64,
    /// The recording ended early: the file was full, or could not be written.
    ended: bool,
}

impl Recorder {
    /// Begins a file with everything that a replay needs: the device, and its flash state.
    pub(crate) fn new(
        file: File,
        head: &Head,
        flash: &[u8],
        with_data: bool,
        limit: Bytes,
    ) -> io::Result<Recorder> {
        let mut file = BufWriter::with_capacity(1 << 20, file);
        serde_json::to_writer(&mut file, head)?;
        file.write_all(b"\n")?;
        file.write_all(flash)?;
        let left = limit.0.saturating_sub(flash.len() as u64);
        Ok(Recorder { file, with_data, left, requests: 0, ended: false })
    }

    pub(crate) fn requests(&self) -> u64 {
        self.requests
    }

    /// Records a request that the device has taken; `data` is what it writes.
    pub(crate) fn note(&mut self, record: &Record, data: Option<&[u8]>) {
        let data = data.filter(|_| self.with_data);
        let size = Record::SIZE as u64 + data.map_or(0, |data| data.len() as u64);
        if self.ended || size > self.left {
            self.ended = true;
            return;
        }
        let bytes = Record { has_data: data.is_some(), ..*record }.to_bytes();
        let written = self.file.write_all(&bytes);
        let written = written.and_then(|()| self.file.write_all(data.unwrap_or_default()));
        self.ended = written.is_err();
        self.left -= size;
        self.requests += u64::from(!self.ended);
    }

    /// Completes the file; returns the number of requests in it, and whether none is missing.
    pub(crate) fn finish(mut self) -> io::Result<(u64, bool)> {
        self.file.flush()?;
        Ok((self.requests, !self.ended))
    }
}
