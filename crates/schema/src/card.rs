use flashlag_spec::Reading;
use flashlag_units::Bytes;
use serde::{Deserialize, Serialize};

/// What came of asking whether storage is what it says it is. Addresses are those of the test's data: bytes
/// from its start, in the order in which it was written to the free space.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct CardCheck {
    /// The test's name in the scenario.
    pub test: String,
    /// What the sectors say of themselves beside their address: it differs from run to run, so that data
    /// of an earlier run is known by it.
    pub generation: u32,
    /// Whether only places spread over the free space were written.
    pub quick: bool,
    /// What the device claims to hold; of the filesystem, where the device does not say.
    pub claimed_bytes: Bytes,
    /// What was in use before.
    pub used_bytes: Bytes,
    /// The free space that is covered.
    pub span_bytes: Bytes,
    /// The size of a file; its number and the offset in it give an address.
    pub file_bytes: Bytes,
    /// Of each file, this much is written from its start.
    pub each_bytes: Bytes,
    /// Whether everything was written that was to be.
    pub is_written: bool,
    /// Number of files that were written, and synced.
    pub files: u32,
    /// Number of files that were read back.
    pub files_read: u32,
    /// Bytes that were written, in files that were synced.
    pub written_bytes: Bytes,
    /// Bytes that were read back, or could not be.
    pub checked_bytes: Bytes,
    /// Bytes of them that were as written.
    pub proven_bytes: Bytes,
    /// Bytes checked before the first that held something else.
    pub proven_before_bytes: Bytes,
    /// The address of the first byte that held something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_lost: Option<Bytes>,
    /// What the others held.
    pub lost: CardLost,
    /// The distance after which addresses repeat, if data of later addresses was found at earlier ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats_after: Option<Bytes>,
    /// The first stretches that held something else; adjacent sectors of one kind are one stretch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stretches: Vec<CardStretch>,
    /// Number of all such stretches.
    pub stretches_seen: u64,
    /// The error after which nothing could be written any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Writes that failed, while later ones did not.
    pub failed_writes: u64,
    /// Places that were written once more, and read.
    pub rewritten: CardRewritten,
    /// Whether reads went past the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Whether it was taken out, or another process read it, between writing and reading.
    pub resumed: bool,
    /// Bytes that reads got from the page cache instead of the device, where that is known.
    pub cached_bytes: Reading<Bytes>,
    /// The physical addresses that the files lie at, from the start of the filesystem.
    pub reached: Reading<CardReach>,
    /// What it is.
    pub verdict: CardVerdict,
}

/// Where data lies on the filesystem's device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CardReach {
    /// The lowest address.
    pub from: Bytes,
    /// The end of the highest.
    pub to: Bytes,
}

/// Bytes that did not hold what was written, by what they held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct CardLost {
    /// Zeros, or ones (0xff).
    pub blank: Bytes,
    /// The data of another address.
    pub other_address: Bytes,
    /// The data of an earlier run or an earlier write.
    pub old: Bytes,
    /// What was written, with flipped bits.
    pub flipped: Bytes,
    /// Something else.
    pub foreign: Bytes,
    /// Nothing: the read failed.
    pub unreadable: Bytes,
}

impl CardLost {
    /// All of them.
    pub fn total(&self) -> Bytes {
        let CardLost { blank, other_address, old, flipped, foreign, unreadable } = *self;
        [blank, other_address, old, flipped, foreign, unreadable]
            .into_iter()
            .fold(Bytes::ZERO, Bytes::plus)
    }

    /// What was accepted and is not there at all.
    pub fn vanished(&self) -> Bytes {
        self.blank.plus(self.other_address).plus(self.old).plus(self.foreign)
    }
}

/// A stretch of addresses that held something else than was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CardStretch {
    /// The address of its first byte.
    pub offset: Bytes,
    /// Its length.
    pub length: Bytes,
    /// What it held.
    pub holds: CardHolds,
    /// The address whose data stands at its start, of `other_address`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Bytes>,
    /// Number of flipped bits, of `flipped`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits: Option<u64>,
}

/// What an address held instead of what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CardHolds {
    /// Zeros.
    Zeros,
    /// 0xff, which is erased flash.
    Ones,
    /// The data of another address.
    OtherAddress,
    /// The data of an earlier run or an earlier write.
    Old,
    /// What was written, with flipped bits.
    Flipped,
    /// Something else.
    Foreign,
    /// The read failed.
    Unreadable,
}

/// Places that had held what was written, and were then written once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct CardRewritten {
    /// Places that took the second write.
    pub places: u64,
    /// Places that still held the first.
    pub old: u64,
    /// Places that held neither, or could not be read.
    pub lost: u64,
}

/// What a card is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum CardVerdict {
    /// It was not read back yet.
    #[default]
    Unfinished,
    /// Everything that was written was read back from the device.
    Genuine,
    /// Every place was read back as written; what is between them is not known.
    NothingFound,
    /// It holds less than it claims.
    Fake {
        /// About what it holds.
        holds_bytes: Bytes,
    },
    /// It accepts writes, and still has what was there before.
    KeepsOld,
    /// It took no more writes after some.
    ReadOnly,
    /// Parts of it do not hold what was written.
    Damaged,
    /// What was read did not come from the device.
    Unproven,
}
