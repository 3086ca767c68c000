//! The messages of adb's transport: a header of 24 bytes, and a payload.

use std::io::{Error, ErrorKind, Read, Result};

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The first message from each side: version, largest payload, banner.
    Connect,
    /// A token to sign, a signature, or a public key.
    Auth,
    /// The client opens a service.
    Open,
    /// Ready for the next [`Kind::Write`] of a stream.
    Okay,
    /// Bytes of a stream.
    Write,
    /// The end of a stream.
    Close,
}

const KINDS: [(Kind, &[u8; 4]); 6] = [
    (Kind::Connect, b"CNXN"),
    (Kind::Auth, b"AUTH"),
    (Kind::Open, b"OPEN"),
    (Kind::Okay, b"OKAY"),
    (Kind::Write, b"WRTE"),
    (Kind::Close, b"CLSE"),
];

impl Kind {
    fn word(self) -> u32 {
        let found = KINDS.iter().find(|(kind, _)| *kind == self);
        u32::from_le_bytes(*found.expect("every kind is listed").1)
    }

    fn of(word: u32) -> Option<Kind> {
        let found = KINDS.iter().find(|(_, name)| u32::from_le_bytes(**name) == word);
        found.map(|(kind, _)| *kind)
    }
}

/// The first version whose payloads have no checksum.
pub const NO_CHECKSUM: u32 = 0x0100_0001;
/// The previous version, of Android 8 and older.
pub const CHECKSUM: u32 = 0x0100_0000;

/// The longest payload to accept; adb sends none that is larger.
const LONGEST: u32 = 1 << 20;

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub kind: Kind,
    pub arg0: u32,
    pub arg1: u32,
    pub payload: Vec<u8>,
}

impl Message {
    /// A message with its payload.
    pub fn new(kind: Kind, arg0: u32, arg1: u32, payload: &[u8]) -> Message {
        Message { kind, arg0, arg1, payload: payload.to_vec() }
    }

    /// Header and payload as sent. The `version` determines whether there is a checksum.
    pub fn encode(&self, version: u32) -> Vec<u8> {
        let word = self.kind.word();
        let unchecked = version >= NO_CHECKSUM && self.kind != Kind::Connect;
        let sum = if unchecked { 0 } else { checksum(&self.payload) };
        let length = u32::try_from(self.payload.len()).unwrap_or(u32::MAX);
        let fields = [word, self.arg0, self.arg1, length, sum, !word];
        let mut bytes: Vec<u8> = fields.iter().flat_map(|field| field.to_le_bytes()).collect();
        bytes.extend_from_slice(&self.payload);
        bytes
    }

    /// The next message. `version` is called only when the message has arrived, since both sides
    /// may have agreed on a version in the meantime.
    pub fn read(from: &mut impl Read, version: impl Fn() -> u32) -> Result<Message> {
        let mut header = [0; 24];
        from.read_exact(&mut header)?;
        let field = |index: usize| {
            let bytes = &header[index * 4..index * 4 + 4];
            u32::from_le_bytes(bytes.try_into().expect("four bytes"))
        };
        let bad = |what: &str| Error::new(ErrorKind::InvalidData, what.to_owned());
        let kind = Kind::of(field(0)).ok_or_else(|| bad("an unknown message"))?;
        if field(5) != !field(0) {
            return Err(bad("a wrong magic"));
        }
        if field(3) > LONGEST {
            return Err(bad("too long a payload"));
        }
        let mut payload = vec![0; field(3) as usize];
        from.read_exact(&mut payload)?;
        // The other side's first message may have a checksum or none, whatever its version.
        if version() < NO_CHECKSUM && kind != Kind::Connect && checksum(&payload) != field(4) {
            return Err(bad("a wrong checksum"));
        }
        Ok(Message { kind, arg0: field(1), arg1: field(2), payload })
    }
}

/// The sum of all bytes.
fn checksum(payload: &[u8]) -> u32 {
    payload.iter().fold(0, |sum: u32, byte| sum.wrapping_add(u32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_read_again_and_damage_is_noticed() {
        let message = Message::new(Kind::Write, 1, 2, b"abc");
        let bytes = message.encode(CHECKSUM);
        assert_eq!(Message::read(&mut bytes.as_slice(), || CHECKSUM).unwrap(), message);
        for at in [0, 20, 16, 24] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(Message::read(&mut damaged.as_slice(), || CHECKSUM).is_err(), "byte {at}");
        }
        assert!(Message::read(&mut &bytes[..26], || CHECKSUM).is_err());
        let unchecked = message.encode(NO_CHECKSUM);
        assert_eq!(unchecked[16..20], [0; 4]);
        assert_eq!(Message::read(&mut unchecked.as_slice(), || NO_CHECKSUM).unwrap(), message);
    }
}
