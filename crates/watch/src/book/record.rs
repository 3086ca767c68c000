//! A record in whole sectors, which says itself what it is and whether it is intact.

use crate::book::source::Source;

/// What a write moves at least. A disk keeps or loses a sector as a whole.
pub const SECTOR: usize = 512;
/// The beginning of each record; the last letter is the version of the file.
const MAGIC: [u8; 4] = *b"FLH1";
const HEAD: usize = 40;
/// Most sectors of a record: 64 KiB.
pub const MOST_SECTORS: usize = 128;
/// Most bytes that a record can say.
pub const MOST_BYTES: usize = MOST_SECTORS * SECTOR - HEAD;

/// What a record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The file's own, at its beginning.
    Header,
    /// What is watched.
    Subject,
    /// A part of an hour.
    Minutes,
    Hour,
    Day,
    Incident,
    /// What was dropped.
    Dropped,
}

impl Kind {
    /// Whether a record is of waits over a time.
    pub fn is_span(self) -> bool {
        matches!(self, Kind::Day | Kind::Hour | Kind::Minutes)
    }
}

const KINDS: [Kind; 7] = [
    Kind::Header,
    Kind::Subject,
    Kind::Minutes,
    Kind::Hour,
    Kind::Day,
    Kind::Incident,
    Kind::Dropped,
];

/// The head of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub kind: Kind,
    /// What it is about: the start of an hour, a day or an incident.
    pub key: u64,
    /// Its number: a later record has a larger one.
    pub number: u64,
    /// It contains what was recorded for smaller units of its time up to this number.
    pub through: u64,
    /// Bytes that follow.
    pub length: usize,
    checksum: u32,
}

impl Head {
    /// How many sectors the record takes.
    pub fn sectors(&self) -> usize {
        (HEAD + self.length).div_ceil(SECTOR)
    }

    fn read(bytes: &[u8]) -> Option<Head> {
        let word = |at: usize| -> Option<u64> {
            Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
        };
        let short = |at: usize| -> Option<u32> {
            Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
        };
        if bytes.get(..4)? != MAGIC {
            return None;
        }
        let length = usize::try_from(short(8)?).ok().filter(|length| *length <= MOST_BYTES)?;
        Some(Head {
            kind: *KINDS.get(usize::from(*bytes.get(4)?))?,
            key: word(16)?,
            number: word(24)?,
            through: word(32)?,
            length,
            checksum: short(12)?,
        })
    }
}

/// What a record says about itself, before it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label {
    pub kind: Kind,
    pub key: u64,
    pub number: u64,
    pub through: u64,
}

/// The sectors of a record; `None` if it is too long.
pub fn encode(label: Label, payload: &[u8]) -> Option<Vec<u8>> {
    if payload.len() > MOST_BYTES {
        return None;
    }
    let mut bytes = Vec::with_capacity((HEAD + payload.len()).next_multiple_of(SECTOR));
    bytes.extend(MAGIC);
    bytes.extend([KINDS.iter().position(|kind| *kind == label.kind)? as u8, 0, 0, 0]);
    bytes.extend((payload.len() as u32).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(label.key.to_le_bytes());
    bytes.extend(label.number.to_le_bytes());
    bytes.extend(label.through.to_le_bytes());
    bytes.extend(payload);
    let checksum = crc32fast::hash(&bytes).to_le_bytes();
    bytes[12..16].copy_from_slice(&checksum);
    bytes.resize(bytes.len().next_multiple_of(SECTOR), 0);
    Some(bytes)
}

/// What lies at a sector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A whole record.
    Record(Head, Vec<u8>),
    /// A record's head, and a record that is not whole: damaged, or overwritten in part.
    Broken(Head),
    /// No record of this version begins here.
    Nothing,
}

/// Reads what begins at a sector.
pub fn look(source: &impl Source, sector: u64) -> Seen {
    let offset = sector.saturating_mul(SECTOR as u64);
    let mut first = [0u8; SECTOR];
    if !source.fill(offset, &mut first) {
        return Seen::Nothing;
    }
    let Some(head) = Head::read(&first) else { return Seen::Nothing };
    let mut bytes = vec![0u8; HEAD + head.length];
    if !source.fill(offset, &mut bytes) {
        return Seen::Broken(head);
    }
    let payload = bytes.split_off(HEAD);
    bytes[12..16].copy_from_slice(&[0; 4]);
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes);
    hasher.update(&payload);
    if hasher.finalize() == head.checksum {
        Seen::Record(head, payload)
    } else {
        Seen::Broken(head)
    }
}

/// The version letter of a history's first sector; `None` if the file begins like none.
pub fn version_of(first: &[u8]) -> Option<char> {
    (first.get(..3)? == &MAGIC[..3]).then(|| char::from(first.get(3).copied().unwrap_or(b'?')))
}

/// The version letter that is read and written here.
pub const VERSION: char = MAGIC[3] as char;
