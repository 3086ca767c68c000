//! Finds where one message of an NBD client ends and the next begins.

use thiserror::Error;

/// Length of the flags that a client sends first.
const FLAGS: usize = 4;
/// First bytes of an option in the handshake: `IHAVEOPT`.
const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
const OPTION_HEADER: usize = 16;
/// How a request begins.
const REQUEST_MAGIC: u32 = 0x2560_9513;
const REQUEST_HEADER: usize = 28;
const WRITE: u16 = 1;
/// The largest write whose data nbdkit reads: it serves up to half of that, and skips the rest.
const LARGEST_WRITE: usize = 128 << 20;

/// The client sent something that is not NBD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a client sends an invalid request")]
pub(super) struct NoMessage;

/// How many bytes form whole messages, and how many the next message needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Whole {
    /// Bytes of the complete messages.
    pub(super) bytes: usize,
    /// Least length of the message after them.
    pub(super) next: usize,
}

/// The phase of the protocol that a client is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Flags,
    /// Options, or the first request.
    Options,
    Requests,
}

/// The state of the client's side of a connection.
#[derive(Debug)]
pub(super) struct Framing {
    part: Part,
}

impl Framing {
    pub(super) fn new() -> Framing {
        Framing { part: Part::Flags }
    }

    /// Counts how many of the bytes that a client has sent form whole messages. The caller must
    /// pass those on; the next call starts after them.
    ///
    /// # Errors
    /// The next bytes are no valid message. Whole messages before them were reported by an earlier
    /// call.
    pub(super) fn whole(&mut self, sent: &[u8]) -> Result<Whole, NoMessage> {
        let mut bytes = 0;
        loop {
            let rest = sent.get(bytes..).unwrap_or_default();
            let next = match self.length(rest) {
                Ok(next) => next,
                // The valid messages before it are passed on first.
                Err(NoMessage) if bytes > 0 => return Ok(Whole { bytes, next: 1 }),
                Err(NoMessage) => return Err(NoMessage),
            };
            if rest.len() < next {
                return Ok(Whole { bytes, next });
            }
            bytes += next;
            self.part = match self.part {
                Part::Flags => Part::Options,
                Part::Options if number::<4>(rest, 0) == u64::from(REQUEST_MAGIC) => Part::Requests,
                part => part,
            };
        }
    }

    /// Length of the first message; if that is not known yet, more than has arrived.
    fn length(&self, rest: &[u8]) -> Result<usize, NoMessage> {
        if self.part == Part::Flags {
            return Ok(FLAGS);
        }
        if rest.len() < 8 {
            return Ok(8);
        }
        if self.part == Part::Options && number::<8>(rest, 0) == OPTION_MAGIC {
            if rest.len() < OPTION_HEADER {
                return Ok(OPTION_HEADER);
            }
            return bounded(OPTION_HEADER, number::<4>(rest, 12));
        }
        if number::<4>(rest, 0) != u64::from(REQUEST_MAGIC) {
            return Err(NoMessage);
        }
        if number::<2>(rest, 6) == u64::from(WRITE) && rest.len() >= REQUEST_HEADER {
            bounded(REQUEST_HEADER, number::<4>(rest, 24))
        } else {
            Ok(REQUEST_HEADER)
        }
    }
}

fn bounded(header: usize, data: u64) -> Result<usize, NoMessage> {
    let data = usize::try_from(data).ok().filter(|data| *data <= LARGEST_WRITE);
    data.map(|data| header + data).ok_or(NoMessage)
}

/// A big-endian number; 0 if its bytes have not arrived.
fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes.get(at..at + N).unwrap_or_default();
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn option(data: &[u8]) -> Vec<u8> {
        let mut bytes = b"IHAVEOPT\0\0\0\x07".to_vec();
        bytes.extend((data.len() as u32).to_be_bytes());
        bytes.extend(data);
        bytes
    }

    fn request(kind: u16, length: u32, data: &[u8]) -> Vec<u8> {
        let mut bytes = REQUEST_MAGIC.to_be_bytes().to_vec();
        bytes.extend([0, 0]);
        bytes.extend(kind.to_be_bytes());
        bytes.extend([7; 16]);
        bytes.extend(length.to_be_bytes());
        bytes.extend(data);
        bytes
    }

    /// Messages, each with its bytes.
    fn conversation() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let data = || prop::collection::vec(any::<u8>(), 0..100);
        let options = prop::collection::vec(data().prop_map(|data| option(&data)), 0..4);
        let write = data().prop_map(|data| request(WRITE, data.len() as u32, &data));
        // No other message carries data, whatever its length field says.
        let other = (0..9u16, any::<u32>()).prop_filter("a write", |(kind, _)| *kind != WRITE);
        let other = other.prop_map(|(kind, length)| request(kind, length, &[]));
        let requests = prop::collection::vec(prop_oneof![write, other], 0..8);
        (options, requests)
            .prop_map(|(options, requests)| [vec![vec![0, 0, 0, 3]], options, requests].concat())
    }

    proptest! {
        /// However the bytes arrive, and wherever they end, all whole messages are passed on and
        /// nothing else.
        #[test]
        fn only_whole_messages_are_whole(
            messages in conversation(),
            cut in any::<prop::sample::Index>(),
            step in 1usize..60,
        ) {
            let sent = messages.concat();
            let sent = &sent[..cut.index(sent.len() + 1)];
            let mut framing = Framing::new();
            let (mut passed, mut arrived) = (0, 0);
            while arrived < sent.len() {
                arrived = (arrived + step).min(sent.len());
                let whole = framing.whole(&sent[passed..arrived]).unwrap();
                passed += whole.bytes;
                prop_assert!(whole.next > arrived - passed);
            }
            let mut end = 0;
            for message in &messages {
                if end + message.len() <= sent.len() { end += message.len() } else { break }
            }
            prop_assert_eq!(passed, end);
        }

        #[test]
        fn garbage_behind_whole_messages_is_never_passed_on(
            messages in conversation(),
            garbage in prop::collection::vec(any::<u8>(), 8..50),
        ) {
            prop_assume!(garbage[0] != 0x25 && garbage[0] != b'I');
            let good = messages.concat();
            let mut framing = Framing::new();
            let sent = [good.clone(), garbage].concat();
            prop_assert_eq!(framing.whole(&sent).unwrap().bytes, good.len());
            prop_assert_eq!(framing.whole(&sent[good.len()..]), Err(NoMessage));
        }
    }

    #[test]
    fn an_option_among_requests_and_a_boundless_write_are_no_messages() {
        let mut framing = Framing::new();
        framing.whole(&[0, 0, 0, 3]).unwrap();
        assert_eq!(framing.whole(&option(b"x")).unwrap().bytes, 17);
        assert_eq!(framing.whole(&request(3, 0, &[])).unwrap().bytes, 28);
        assert_eq!(framing.whole(&option(b"x")), Err(NoMessage));
        // A write that is too large is read to its end: nbdkit then answers that it is too large.
        let large = framing.whole(&request(WRITE, 65 << 20, &[])).unwrap();
        assert_eq!(large, Whole { bytes: 0, next: 28 + (65 << 20) });
        assert_eq!(framing.whole(&request(WRITE, u32::MAX, &[])), Err(NoMessage));
    }
}
