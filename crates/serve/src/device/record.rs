//! Recording requests.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use flashlag_units::{Bytes, Nanos};

use super::Work;

/// Writes every request to a file, until that is as large as it may be.
#[derive(Debug)]
pub(crate) struct Recorder {
    file: BufWriter<File>,
    data: bool,
    left: u64,
    requests: u64,
    /// Why the recording ended early.
    ended: Option<String>,
}

/// Bytes of a record without its data.
const RECORD: u64 = 32;

impl Recorder {
    pub(crate) fn new(file: File, data: bool, limit: Bytes) -> Recorder {
        let file = BufWriter::with_capacity(1 << 20, file);
        Recorder { file, data, left: limit.0, requests: 0, ended: None }
    }

    pub(crate) fn requests(&self) -> u64 {
        self.requests
    }

    pub(crate) fn note(
        &mut self,
        at: Nanos,
        ended: Nanos,
        offset: u64,
        work: &Work<'_>,
        fua: bool,
    ) {
        let (op, payload) = match work {
            Work::Read(_) => (b'r', None),
            Work::Write(from) => (b'w', self.data.then_some(*from)),
            Work::Zeros(_) => (b'z', None),
            Work::Flush => (b'f', None),
            Work::Discard(_) => (b'd', None),
        };
        self.put(op, fua, (at, ended), (offset, work.length()), payload);
    }

    pub(crate) fn note_cut(&mut self, at: Nanos) {
        self.put(b'c', false, (at, at), (0, 0), None);
    }

    fn put(
        &mut self,
        op: u8,
        fua: bool,
        (at, ended): (Nanos, Nanos),
        (offset, length): (u64, u64),
        payload: Option<&[u8]>,
    ) {
        let size = RECORD + payload.map_or(0, |payload| payload.len() as u64);
        if self.ended.is_some() {
            return;
        }
        if size > self.left {
            self.ended = Some("its file is as large as it may be".to_owned());
            return;
        }
        let mut record = [0; RECORD as usize];
        record[0..8].copy_from_slice(&at.0.to_le_bytes());
        record[8..16].copy_from_slice(&ended.0.to_le_bytes());
        record[16..24].copy_from_slice(&offset.to_le_bytes());
        // A request is never longer than 4 GiB: NBD counts it in 32 bits.
        record[24..28].copy_from_slice(&(length as u32).to_le_bytes());
        record[28] = op;
        record[29] = u8::from(fua) | u8::from(payload.is_some()) << 1;
        let written = self
            .file
            .write_all(&record)
            .and_then(|()| payload.map_or(Ok(()), |payload| self.file.write_all(payload)));
        match written {
            Ok(()) => {
                self.left -= size;
                self.requests += 1;
            }
            Err(error) => self.ended = Some(error.to_string()),
        }
    }

    /// Completes the file; how many requests are in it, and whether that is all.
    pub(crate) fn finish(mut self) -> io::Result<(u64, bool)> {
        self.file.flush()?;
        Ok((self.requests, self.ended.is_none()))
    }
}
