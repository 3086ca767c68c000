//! Messages on a pipe, each behind its length and a checksum.

use std::io::{self, Read, Write};

use flashlag_units::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::chunk::Version;
use crate::row::Measured;
use crate::sealed;

/// The longest message: even a chunk of the most points is far shorter.
const LONGEST: u32 = 1 << 30;

/// A task for a worker.
#[derive(Debug, Serialize, Deserialize)]
pub struct Task {
    /// A chunk, in the bytes that a scheduler gets.
    pub chunk: Vec<u8>,
    /// How many of its points are already measured.
    pub skip: u64,
}

/// A message of a worker.
#[derive(Debug, Serialize, Deserialize)]
pub enum Said {
    /// The worker has started, and reports its version.
    Hello(Version),
    /// The worker begins the next point, whose fill leaves this much free.
    Begun(Option<Bytes>),
    /// The point is measured.
    Measured(Measured),
    /// It can't do the task.
    Refused(String),
}

/// Sends a message.
pub fn send<T: Serialize>(pipe: &mut impl Write, message: &T) -> io::Result<()> {
    let sealed = sealed::seal(message).map_err(io::Error::other)?;
    let length = u32::try_from(sealed.len()).map_err(io::Error::other)?;
    pipe.write_all(&length.to_le_bytes())?;
    pipe.write_all(&sealed)?;
    pipe.flush()
}

/// The next message; `None` if the other end is gone.
pub fn receive<T: DeserializeOwned>(pipe: &mut impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match pipe.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = u32::from_le_bytes(length);
    if length > LONGEST {
        return Err(io::Error::other("a message of more than 1 GiB"));
    }
    let mut sealed = Vec::new();
    pipe.take(u64::from(length)).read_to_end(&mut sealed)?;
    sealed::open(&sealed).map(Some).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_as_they_were_sent_and_half_of_one_is_an_error() {
        let mut pipe = Vec::new();
        send(&mut pipe, &Said::Begun(Some(Bytes(4096)))).unwrap();
        send(&mut pipe, &Said::Refused("no".to_owned())).unwrap();
        let mut from = pipe.as_slice();
        let said: Option<Said> = receive(&mut from).unwrap();
        assert!(matches!(said, Some(Said::Begun(Some(Bytes(4096))))), "{said:?}");
        let said: Option<Said> = receive(&mut from).unwrap();
        assert!(matches!(said, Some(Said::Refused(why)) if why == "no"));
        assert!(receive::<Said>(&mut from).unwrap().is_none());
        for length in 5..14 {
            assert!(receive::<Said>(&mut &pipe[..length]).is_err(), "{length}");
        }
    }
}
