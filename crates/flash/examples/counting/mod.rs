//! The same page map as a bare counting loop, without dies, times, buffers or errors: what a simulation
//! with all of them is compared with.

use std::collections::VecDeque;
use std::hint::black_box;

/// Pages of a block.
const BLOCK: usize = 256;
const NONE: u32 = u32::MAX;
/// Free blocks below which collection begins.
const LOW_WATER: usize = 4;

/// A page map that collects greedily: which page lies where, and how many of each block are valid.
pub struct Counting {
    /// The place of each page.
    map: Vec<u32>,
    /// The page at each place, valid or not.
    owner: Vec<u32>,
    /// Whether a place is valid, a bit each.
    valid: Vec<u64>,
    free: VecDeque<u32>,
    closed: Buckets,
    /// The next place that is written.
    next: u32,
    /// Pages written, copies included.
    pub programmed: u64,
}

/// Closed blocks by their number of valid pages, as linked lists.
struct Buckets {
    count: Vec<u32>,
    is_closed: Vec<bool>,
    first: Vec<u32>,
    next: Vec<u32>,
    before: Vec<u32>,
    /// No list below this one has a block.
    least: usize,
}

impl Buckets {
    fn link(&mut self, block: u32) {
        let count = self.count[block as usize] as usize;
        let next = std::mem::replace(&mut self.first[count], block);
        self.next[block as usize] = next;
        self.before[block as usize] = NONE;
        if next != NONE {
            self.before[next as usize] = block;
        }
        self.least = self.least.min(count);
    }

    fn unlink(&mut self, block: u32) {
        let (next, before) = (self.next[block as usize], self.before[block as usize]);
        match before {
            NONE => self.first[self.count[block as usize] as usize] = next,
            before => self.next[before as usize] = next,
        }
        if next != NONE {
            self.before[next as usize] = before;
        }
    }

    fn lose_one(&mut self, block: u32) {
        let is_closed = self.is_closed[block as usize];
        if is_closed {
            self.unlink(block);
        }
        self.count[block as usize] -= 1;
        if is_closed {
            self.link(block);
        }
    }

    fn take_least(&mut self) -> u32 {
        while self.first[self.least] == NONE {
            self.least += 1;
        }
        let block = self.first[self.least];
        self.unlink(block);
        self.is_closed[block as usize] = false;
        block
    }
}

impl Counting {
    /// An empty map of that many pages and blocks.
    pub fn new(pages: usize, blocks: usize) -> Counting {
        Counting {
            map: vec![NONE; pages],
            owner: vec![NONE; blocks * BLOCK],
            valid: vec![0; blocks * BLOCK / 64],
            free: (1..blocks as u32).collect(),
            closed: Buckets {
                count: vec![0; blocks],
                is_closed: vec![false; blocks],
                first: vec![NONE; BLOCK + 1],
                next: vec![NONE; blocks],
                before: vec![NONE; blocks],
                least: BLOCK,
            },
            next: 0,
            programmed: 0,
        }
    }

    /// Number of pages.
    pub fn pages(&self) -> u64 {
        self.map.len() as u64
    }

    /// Reads the places of the next pages, so that the processor has them when they are written.
    pub fn expect(&self, pages: &[u32]) {
        black_box(pages.iter().fold(0, |sum, page| sum ^ self.map[*page as usize]));
    }

    /// Writes a page, and collects if too few blocks are free.
    pub fn write(&mut self, page: u32) {
        let old = self.map[page as usize];
        if old != NONE {
            self.valid[old as usize / 64] &= !(1 << (old % 64));
            self.closed.lose_one(old / BLOCK as u32);
        }
        self.place(page);
        while self.free.len() < LOW_WATER {
            self.collect();
        }
    }

    fn place(&mut self, page: u32) {
        let place = self.next;
        self.map[page as usize] = place;
        self.owner[place as usize] = page;
        self.valid[place as usize / 64] |= 1 << (place % 64);
        let block = place / BLOCK as u32;
        self.closed.count[block as usize] += 1;
        self.programmed += 1;
        self.next += 1;
        if (self.next as usize).is_multiple_of(BLOCK) {
            self.closed.is_closed[block as usize] = true;
            self.closed.link(block);
            self.next = self.free.pop_front().map_or(NONE, |free| free * BLOCK as u32);
        }
    }

    fn collect(&mut self) {
        let victim = self.closed.take_least();
        let first = victim as usize * BLOCK;
        for word in 0..BLOCK / 64 {
            let mut bits = std::mem::take(&mut self.valid[first / 64 + word]);
            while bits != 0 {
                let place = first + word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                self.place(self.owner[place]);
            }
        }
        self.closed.count[victim as usize] = 0;
        self.free.push_back(victim);
    }
}
