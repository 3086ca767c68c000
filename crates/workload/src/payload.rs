use std::fmt;

use flashlag_units::{Bytes, always};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use thiserror::Error;

use crate::mix::mix;
use crate::stamp::{SECTOR_BYTES, STAMP_BYTES, Stamp};

/// Random bytes from which every sector is made. They fit into the first-level cache; a larger pool
/// would be slower and make the data no less compressible, since each sector is XORed with a key of
/// its own and no two share a byte string.
const POOL_BYTES: usize = 8 << 10;

/// Data to write: bytes that neither compress nor deduplicate, and that can be verified when they
/// are read back. They follow from seed, offset and generation alone.
///
/// A sector of 512 bytes is a 32-byte [`Stamp`], then 480 bytes of the pool from a place that the
/// stamp's key selects, XORed with that key repeated.
#[derive(Clone)]
pub struct Payload {
    seed: u64,
    pool: Box<[u8]>,
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payload").field("seed", &self.seed).finish_non_exhaustive()
    }
}

/// The block holds other data than was written to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("byte {} of the data is wrong: expected generation {} of offset {}, found {found}",
    at.0, expected.generation, expected.offset)]
pub struct Mismatch {
    /// Position of the first wrong byte, from the start of the span.
    pub at: Bytes,
    pub expected: Stamp,
    pub found: Damage,
}

/// What was read in place of the expected data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Zeroes: never written, or lost.
    Zero,
    /// An older (or newer) version of the whole block: a lost write.
    Stale(Stamp),
    /// Another version in a part of the block: a torn write.
    Torn(Stamp),
    /// Data of this payload for another offset: a misdirected write or read.
    Misplaced(Stamp),
    /// The expected stamp over changed bytes.
    Corrupt,
    /// Data of another origin.
    Foreign,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Zero => write!(f, "zeroes (never written, or lost)"),
            Damage::Stale(stamp) => write!(f, "generation {} (a lost write)", stamp.generation),
            Damage::Torn(stamp) => {
                write!(f, "generation {} in part of the block (a torn write)", stamp.generation)
            }
            Damage::Misplaced(stamp) => write!(f, "the data of offset {}", stamp.offset),
            Damage::Corrupt => write!(f, "changed bytes under the right stamp"),
            Damage::Foreign => write!(f, "data that was not written here"),
        }
    }
}

impl Payload {
    /// The payload of a seed; allocates about 8 KiB.
    pub fn new(seed: u64) -> Payload {
        let mut pool = vec![0; POOL_BYTES + SECTOR_BYTES].into_boxed_slice();
        Pcg64Mcg::seed_from_u64(mix(seed)).fill_bytes(&mut pool);
        Payload { seed, pool }
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Fills `buffer` with the data of `offset` in its `generation`-th version.
    #[inline]
    pub fn fill(&self, buffer: &mut [u8], offset: Bytes, generation: u32) {
        let mut at = offset.0;
        let (sectors, tail) = buffer.as_chunks_mut::<SECTOR_BYTES>();
        for sector in sectors {
            self.fill_sector(sector, Stamp { offset: at, generation });
            at = at.wrapping_add(SECTOR_BYTES as u64);
        }
        if !tail.is_empty() {
            let whole = self.sector(Stamp { offset: at, generation });
            tail.copy_from_slice(&whole[..tail.len()]);
        }
    }

    /// Verifies every byte of `buffer`, which was read from `offset`, against its `generation`-th
    /// version.
    pub fn check(&self, buffer: &[u8], offset: Bytes, generation: u32) -> Result<(), Mismatch> {
        let mut at = offset.0;
        for sector in buffer.chunks(SECTOR_BYTES) {
            let expected = Stamp { offset: at, generation };
            let right = self.sector(expected);
            if sector != &right[..sector.len()] {
                let wrong = sector.iter().zip(&right).position(|(found, right)| found != right);
                always!(wrong.is_some(), "two sectors of one length differ in no byte");
                let at = Bytes(at.wrapping_add(wrong.unwrap_or(0) as u64));
                let found = self.diagnose(buffer, offset, sector, expected);
                return Err(Mismatch { at, expected, found });
            }
            at = at.wrapping_add(SECTOR_BYTES as u64);
        }
        Ok(())
    }

    /// What the wrong `sector` of the block `buffer` at `offset` holds.
    fn diagnose(&self, buffer: &[u8], offset: Bytes, sector: &[u8], expected: Stamp) -> Damage {
        if sector.iter().all(|byte| *byte == 0) {
            return Damage::Zero;
        }
        match Stamp::decode(self.seed, sector) {
            Some(stamp) if stamp == expected => Damage::Corrupt,
            Some(stamp) if stamp.offset == expected.offset => {
                let whole = self.check_all(buffer, offset, stamp.generation);
                if whole { Damage::Stale(stamp) } else { Damage::Torn(stamp) }
            }
            Some(stamp) => Damage::Misplaced(stamp),
            None => Damage::Foreign,
        }
    }

    /// Whether every sector of the block is its `generation`-th version.
    fn check_all(&self, buffer: &[u8], offset: Bytes, generation: u32) -> bool {
        let sectors = buffer.chunks(SECTOR_BYTES).enumerate();
        sectors.into_iter().all(|(index, sector)| {
            let offset = offset.0.wrapping_add((index * SECTOR_BYTES) as u64);
            sector == &self.sector(Stamp { offset, generation })[..sector.len()]
        })
    }

    #[inline]
    fn sector(&self, stamp: Stamp) -> [u8; SECTOR_BYTES] {
        let mut sector = [0; SECTOR_BYTES];
        self.fill_sector(&mut sector, stamp);
        sector
    }

    #[inline]
    fn fill_sector(&self, sector: &mut [u8; SECTOR_BYTES], stamp: Stamp) {
        let key = stamp.key(self.seed);
        // A multiple of 64, by the key's upper bits: a sector's source is whole cache lines.
        let from = ((key >> 32) as usize % POOL_BYTES) & !63;
        let source = &self.pool[from..from + SECTOR_BYTES];
        for (to, from) in sector.chunks_exact_mut(8).zip(source.chunks_exact(8)) {
            // Both chunks are 8 bytes long, so the loop becomes vector instructions.
            let from = from.try_into().map_or(0, u64::from_ne_bytes);
            to.copy_from_slice(&(from ^ u64::from_ne_bytes(key.to_le_bytes())).to_ne_bytes());
        }
        sector[..STAMP_BYTES].copy_from_slice(&stamp.encode(self.seed));
    }
}
