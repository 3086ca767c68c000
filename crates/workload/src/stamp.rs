use crate::mix::mix;

/// Bytes of a sector, the smallest unit that storage writes as a whole. Every sector carries a
/// stamp.
pub const SECTOR_BYTES: usize = 512;
/// Bytes of a stamp, at the start of a sector.
pub const STAMP_BYTES: usize = 32;

/// Identity of a sector.
///
/// Stored as four little-endian words: a key, which is a hash of seed, offset and generation; then
/// the offset, the generation and a tag of the seed, each XORed with a multiple of the key, so that
/// a stamp looks random and does not compress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Offset of the sector, in bytes from the start of the span.
    pub offset: u64,
    /// Version of the sector: how often it was written.
    pub generation: u32,
}

impl Stamp {
    /// Key of this stamp, from which the sector's content follows.
    #[inline]
    pub(crate) fn key(&self, seed: u64) -> u64 {
        mix(mix(seed ^ self.offset) ^ u64::from(self.generation))
    }

    #[inline]
    pub(crate) fn encode(&self, seed: u64) -> [u8; STAMP_BYTES] {
        let key = self.key(seed);
        let [offset, generation, tag] = masks(key);
        let words =
            [key, self.offset ^ offset, u64::from(self.generation) ^ generation, mix(seed) ^ tag];
        let mut bytes = [0; STAMP_BYTES];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The stamp at the start of `sector`, if it is one of this seed's.
    pub(crate) fn decode(seed: u64, sector: &[u8]) -> Option<Stamp> {
        let word = |index: usize| {
            let bytes = sector.get(index * 8..index * 8 + 8)?;
            bytes.try_into().ok().map(u64::from_le_bytes)
        };
        let key = word(0)?;
        let masks = masks(key);
        let offset = word(1)? ^ masks[0];
        let generation = u32::try_from(word(2)? ^ masks[1]).ok()?;
        let stamp = Stamp { offset, generation };
        let ours = word(3)? ^ masks[2] == mix(seed) && stamp.key(seed) == key;
        ours.then_some(stamp)
    }
}

/// Masks of a stamp's words: odd multiples of its key (by the fractional bits of the square roots
/// of 2, 3 and 5), so that they differ from one another and from the key.
#[inline]
const fn masks(key: u64) -> [u64; 3] {
    [
        key.wrapping_mul(0x6a09_e667_f3bc_c909),
        key.wrapping_mul(0xbb67_ae85_84ca_a73b),
        key.wrapping_mul(0x3c6e_f372_fe94_f82b),
    ]
}
