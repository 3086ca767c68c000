//! What the process that reads a table says of it, each message behind its length.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use super::cell::Cell;

/// Cells of one message.
pub const BATCH: usize = 1024;

/// The longest text of a cell that is compared.
pub const LONGEST_TEXT: usize = 16 << 10;

/// The longest message: a batch of the longest texts is shorter.
const LONGEST: usize = 2 * BATCH * LONGEST_TEXT;

/// A message.
#[derive(Debug, Serialize, Deserialize)]
pub enum Said<'a> {
    /// The next cells of the column.
    #[serde(borrow)]
    Cells(Vec<Cell<'a>>),
    /// The table is open, or the column was sent to its end.
    Done,
    /// There is no column of this name.
    NoColumn,
    /// Why the table or the column can't be read.
    Refused(&'a str),
}

/// Sends a message.
pub fn send(pipe: &mut dyn Write, said: &Said<'_>) -> io::Result<()> {
    let bytes = postcard::to_allocvec(said).map_err(io::Error::other)?;
    pipe.write_all(&(bytes.len() as u64).to_le_bytes())?;
    pipe.write_all(&bytes)
}

/// Receives the bytes of a message.
pub fn receive(pipe: &mut dyn Read, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut length = [0; 8];
    pipe.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    if length > LONGEST as u64 {
        return Err(io::Error::other("a message of more than 32 MiB"));
    }
    bytes.clear();
    let read = pipe.take(length).read_to_end(bytes)?;
    if read as u64 == length { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
