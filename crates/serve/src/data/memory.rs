use std::sync::{OnceLock, PoisonError, RwLock};

/// Bytes of a chunk, each with a lock of its own.
const CHUNK: u64 = 64 << 10;
/// Number of chunks in a region. A region's table is made by the first write to it.
const REGION: u64 = 16 << 10;

type Chunk = RwLock<Option<Box<[u8]>>>;

/// Chunks of 64 KiB, each made by the first write to it and with a lock of its own, so that
/// requests to different chunks do not wait for each other.
#[derive(Debug)]
pub(crate) struct MemoryData {
    regions: Box<[OnceLock<Box<[Chunk]>>]>,
}

/// The part of a chunk that a range covers.
struct Piece {
    chunk: u64,
    from: usize,
    length: usize,
}

fn pieces(offset: u64, length: u64) -> impl Iterator<Item = Piece> {
    let end = offset + length;
    (offset / CHUNK..end.div_ceil(CHUNK)).map(move |chunk| {
        let start = chunk * CHUNK;
        let (from, until) = (offset.max(start) - start, end.min(start + CHUNK) - start);
        Piece { chunk, from: from as usize, length: (until - from) as usize }
    })
}

impl MemoryData {
    pub(crate) fn new(size: u64) -> MemoryData {
        let regions = size.div_ceil(CHUNK * REGION);
        MemoryData { regions: (0..regions).map(|_| OnceLock::new()).collect() }
    }

    fn existing(&self, chunk: u64) -> Option<&Chunk> {
        let region = self.regions.get((chunk / REGION) as usize)?.get()?;
        region.get((chunk % REGION) as usize)
    }

    fn made(&self, chunk: u64) -> Option<&Chunk> {
        let region = self.regions.get((chunk / REGION) as usize)?;
        let region = region.get_or_init(|| (0..REGION).map(|_| Chunk::default()).collect());
        region.get((chunk % REGION) as usize)
    }

    pub(crate) fn read(&self, offset: u64, into: &mut [u8]) {
        let mut left = into;
        for piece in pieces(offset, left.len() as u64) {
            let (part, rest) = left.split_at_mut(piece.length);
            left = rest;
            let chunk = self.existing(piece.chunk);
            let held = chunk.map(|chunk| chunk.read().unwrap_or_else(PoisonError::into_inner));
            match held.as_ref().and_then(|held| held.as_deref()) {
                Some(held) => part.copy_from_slice(&held[piece.from..piece.from + piece.length]),
                None => part.fill(0),
            }
        }
    }

    pub(crate) fn write(&self, offset: u64, from: &[u8]) {
        let mut left = from;
        for piece in pieces(offset, left.len() as u64) {
            let (part, rest) = left.split_at(piece.length);
            left = rest;
            let Some(chunk) = self.made(piece.chunk) else { continue };
            let mut held = chunk.write().unwrap_or_else(PoisonError::into_inner);
            let held = held.get_or_insert_with(|| vec![0; CHUNK as usize].into());
            held[piece.from..piece.from + piece.length].copy_from_slice(part);
        }
    }

    pub(crate) fn clear(&self, offset: u64, length: u64) {
        for piece in pieces(offset, length) {
            let Some(chunk) = self.existing(piece.chunk) else { continue };
            let mut held = chunk.write().unwrap_or_else(PoisonError::into_inner);
            if piece.length as u64 == CHUNK {
                *held = None;
            } else if let Some(held) = held.as_deref_mut() {
                held[piece.from..piece.from + piece.length].fill(0);
            }
        }
    }

    pub(crate) fn next_held(&self, offset: u64, end: u64) -> Option<(u64, u64)> {
        let mut chunk = offset / CHUNK;
        while chunk * CHUNK < end && offset < end {
            match self.regions.get((chunk / REGION) as usize)?.get() {
                // Nothing in the whole region.
                None => chunk = (chunk / REGION + 1) * REGION,
                Some(_) => {
                    let held = self.existing(chunk)?;
                    if held.read().unwrap_or_else(PoisonError::into_inner).is_some() {
                        let start = (chunk * CHUNK).max(offset);
                        return Some((start, ((chunk + 1) * CHUNK).min(end) - start));
                    }
                    chunk += 1;
                }
            }
        }
        None
    }
}
