//! A request and its refusal.

use std::io;

use rustix::io::Errno;

use crate::data::Data;

/// The refusal of a request: an error number for the host, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Refusal {
    pub errno: i32,
    pub reason: String,
}

impl Refusal {
    pub(crate) fn new(errno: Errno, reason: impl Into<String>) -> Refusal {
        Refusal { errno: errno.raw_os_error(), reason: reason.into() }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        let errno = error.raw_os_error().unwrap_or(Errno::IO.raw_os_error());
        Refusal { errno, reason: format!("its store: {error}") }
    }
}

/// An operation of a request, with its data.
#[derive(Debug)]
pub(crate) enum Work<'a> {
    Read(&'a mut [u8]),
    Write(&'a [u8]),
    /// Zeros that are written as any other data.
    Zeros(u64),
    Flush,
    Discard(u64),
}

impl Work<'_> {
    pub(crate) fn length(&self) -> u64 {
        match self {
            Work::Read(into) => into.len() as u64,
            Work::Write(from) => from.len() as u64,
            Work::Zeros(length) | Work::Discard(length) => *length,
            Work::Flush => 0,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Work::Read(_) => "read",
            Work::Write(_) | Work::Zeros(_) => "write",
            Work::Flush => "flush",
            Work::Discard(_) => "discard",
        }
    }

    /// Moves the data.
    pub(crate) fn apply(&mut self, data: &Data, offset: u64) -> io::Result<()> {
        match self {
            Work::Read(into) => data.read(offset, into),
            Work::Write(from) => data.write(offset, from),
            Work::Zeros(length) | Work::Discard(length) => data.clear(offset, *length),
            Work::Flush => Ok(()),
        }
    }
}
