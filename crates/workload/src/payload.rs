use std::fmt;

use flashlag_units::{Bytes, always};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};
use thiserror::Error;

use crate::mix::mix;
use crate::stamp::{SECTOR_BYTES, STAMP_BYTES, Stamp};

/// Random bytes that every sector is made from. Few enough to stay in the first-level cache: since
/// each sector is XORed with a key of its own, no two have a byte string in common, and a larger
/// pool would make them no less compressible, only slower to make.
const POOL_BYTES: usize = 8 << 10;

/// What is written: bytes that neither compress nor deduplicate, and that can be proved when they
/// are read back. Content follows from seed, offset and generation alone.
///
/// A sector of 512 bytes is a 32-byte [`Stamp`], then 480 bytes of the pool, from a place that the
/// stamp's key chooses, XORed with that key repeated.
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

/// A block that does not hold what was written to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("byte {} of the data is wrong: expected generation {} of offset {}, found {found}",
    at.0, expected.generation, expected.offset)]
pub struct Mismatch {
    /// The first wrong byte, from the start of the span.
    pub at: Bytes,
    /// What should be there.
    pub expected: Stamp,
    /// What is there.
    pub found: Found,
}

/// What was found in place of the expected data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Only zeroes: never written, or lost.
    Zero,
    /// An older (or newer) writing of the whole block: a lost write.
    Stale(Stamp),
    /// Part of the block is right, part is another writing of it: a torn write.
    Torn(Stamp),
    /// Our data, but of another place: a misdirected write or read.
    Misplaced(Stamp),
    /// The right stamp over wrong bytes.
    Corrupt,
    /// Nothing that this payload wrote.
    Foreign,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Found::Zero => write!(f, "zeroes (never written, or lost)"),
            Found::Stale(stamp) => write!(f, "generation {} (a lost write)", stamp.generation),
            Found::Torn(stamp) => {
                write!(f, "generation {} in part of the block (a torn write)", stamp.generation)
            }
            Found::Misplaced(stamp) => write!(f, "the data of offset {}", stamp.offset),
            Found::Corrupt => write!(f, "changed bytes under the right stamp"),
            Found::Foreign => write!(f, "data that was not written here"),
        }
    }
}

impl Payload {
    /// The payload of a seed. Allocates some 8 KiB.
    pub fn new(seed: u64) -> Payload {
        let mut pool = vec![0; POOL_BYTES + SECTOR_BYTES].into_boxed_slice();
        Pcg64Mcg::seed_from_u64(mix(seed)).fill_bytes(&mut pool);
        Payload { seed, pool }
    }

    /// The seed it follows from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Writes the content of `offset` in its `generation`-th writing into `buffer`.
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

    /// Proves every byte of `buffer`, read from `offset` after its `generation`-th writing.
    ///
    /// # Errors
    /// The first byte that is wrong, and what is there instead.
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

    /// What a wrong `sector` of the block `buffer` at `offset` is.
    fn diagnose(&self, buffer: &[u8], offset: Bytes, sector: &[u8], expected: Stamp) -> Found {
        if sector.iter().all(|byte| *byte == 0) {
            return Found::Zero;
        }
        match Stamp::decode(self.seed, sector) {
            Some(stamp) if stamp == expected => Found::Corrupt,
            Some(stamp) if stamp.offset == expected.offset => {
                let whole = self.check_all(buffer, offset, stamp.generation);
                if whole { Found::Stale(stamp) } else { Found::Torn(stamp) }
            }
            Some(stamp) => Found::Misplaced(stamp),
            None => Found::Foreign,
        }
    }

    /// Whether every sector of the block is its `generation`-th writing.
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
        // By the key's upper bits, and a multiple of 64: a sector's source is whole cache lines.
        let from = ((key >> 32) as usize % POOL_BYTES) & !63;
        let source = &self.pool[from..from + SECTOR_BYTES];
        for (to, from) in sector.chunks_exact_mut(8).zip(source.chunks_exact(8)) {
            // Both are 8 bytes long; the loop becomes vector instructions.
            let from = from.try_into().map_or(0, u64::from_ne_bytes);
            to.copy_from_slice(&(from ^ u64::from_ne_bytes(key.to_le_bytes())).to_ne_bytes());
        }
        sector[..STAMP_BYTES].copy_from_slice(&stamp.encode(self.seed));
    }
}
