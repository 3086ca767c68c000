//! Recorded requests.

mod reader;
mod writer;

use std::io::{self, Read};

use flashlag_flash::{Command, Flash, SECTOR};
use flashlag_units::{Bytes, Nanos};

pub(crate) use reader::SCHEMA;
pub use reader::{Head, Recording};
pub(crate) use writer::Recorder;

/// The kind of a recorded event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    Read,
    Write,
    /// A write of zeros.
    Zeros,
    Flush,
    Discard,
    /// A power cut.
    Cut,
}

/// One recorded request, 32 bytes in a file, little-endian: time of submission and of completion (8
/// bytes each), offset (8), length (4), a letter for its kind, and a byte of flags (1: force unit
/// access, 2: data follows); then two zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Submission, in the device's time.
    pub at: Nanos,
    /// Completion, in the device's time.
    pub ended: Nanos,
    pub offset: Bytes,
    pub length: Bytes,
    pub kind: RecordKind,
    /// Force unit access.
    pub fua: bool,
    /// Whether its data follows the record.
    pub has_data: bool,
}

const KINDS: [(RecordKind, u8); 6] = [
    (RecordKind::Read, b'r'),
    (RecordKind::Write, b'w'),
    (RecordKind::Zeros, b'z'),
    (RecordKind::Flush, b'f'),
    (RecordKind::Discard, b'd'),
    (RecordKind::Cut, b'c'),
];

/// The latest device time that can be stored: 292 years.
pub(crate) const LATEST: Nanos = Nanos(u64::MAX / 2);

impl Record {
    pub(crate) const SIZE: usize = 32;

    pub(crate) fn to_bytes(self) -> [u8; Record::SIZE] {
        let mut bytes = [0; Record::SIZE];
        bytes[0..8].copy_from_slice(&self.at.0.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.ended.0.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.offset.0.to_le_bytes());
        // A request is shorter than 4 GiB: NBD counts it in 32 bits.
        bytes[24..28].copy_from_slice(&(self.length.0 as u32).to_le_bytes());
        let letter = KINDS.iter().find(|(kind, _)| *kind == self.kind);
        bytes[28] = letter.map_or(0, |(_, letter)| *letter);
        bytes[29] = u8::from(self.fua) | u8::from(self.has_data) << 1;
        bytes
    }

    /// Reads the next record of a file; `None` at the end, a torn record included.
    pub(crate) fn read(from: &mut impl Read, size: Bytes) -> io::Result<Option<Record>> {
        let mut bytes = [0; Record::SIZE];
        match from.read_exact(&mut bytes) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        let damaged = || io::Error::other("a record of it is damaged");
        let kind = KINDS.iter().find(|(_, letter)| *letter == bytes[28]);
        let record = Record {
            at: Nanos(word(0)),
            ended: Nanos(word(8)),
            offset: Bytes(word(16)),
            length: Bytes(word(24) & u64::from(u32::MAX)),
            kind: kind.map(|(kind, _)| *kind).ok_or_else(damaged)?,
            fua: bytes[29] & 1 != 0,
            has_data: bytes[29] & 2 != 0,
        };
        let within = record.offset.plus(record.length) <= size;
        let in_time = record.at <= record.ended && record.ended <= LATEST;
        let known = bytes[29] & !3 == 0 && bytes[30..] == [0, 0];
        if within && in_time && known { Ok(Some(record)) } else { Err(damaged()) }
    }

    /// The command for the flash, extended to whole sectors; `None` for a power cut.
    pub(crate) fn command(&self) -> Option<Command> {
        let offset = self.offset.round_down(SECTOR);
        let end = (self.offset.0 + self.length.0).next_multiple_of(SECTOR.0);
        let length = Bytes(end - offset.0);
        match self.kind {
            RecordKind::Read => Some(Command::Read { offset, length }),
            RecordKind::Write | RecordKind::Zeros => {
                Some(Command::Write { offset, length, fua: self.fua })
            }
            RecordKind::Flush => Some(Command::Flush),
            RecordKind::Discard => Some(Command::Discard { offset, length }),
            RecordKind::Cut => None,
        }
    }

    /// Repeats the request on a flash.
    pub(crate) fn replay(&self, flash: &mut Flash) {
        // A request that failed fails again; only successful ones were recorded.
        match self.command() {
            Some(command) => drop(flash.submit(self.at, command)),
            None => drop(flash.power_cut(self.at)),
        }
    }
}
