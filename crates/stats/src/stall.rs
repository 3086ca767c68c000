use flashlag_units::Nanos;

use crate::wait::WaitSplit;

/// One wait that was longer than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// When it began, from the start of the phase.
    pub at: Nanos,
    /// How long it was.
    pub length: Nanos,
    /// How far the phase's clock was behind the machine's by then: pauses of the phase.
    pub behind: Nanos,
    /// Where the time went, where that could be read.
    pub split: Option<WaitSplit>,
}

/// The longest stalls of a phase, bounded, and how many there were in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StallList {
    kept: Vec<Stall>,
    seen: u64,
}

/// How many stalls are kept; the rest are counted.
const CAPACITY: usize = 1000;

impl Default for StallList {
    fn default() -> Self {
        StallList { kept: Vec::with_capacity(CAPACITY), seen: 0 }
    }
}

impl StallList {
    /// Adds a stall; where the list is full the shortest goes. Allocates nothing.
    pub fn push(&mut self, stall: Stall) {
        self.seen += 1;
        if self.kept.len() < CAPACITY {
            self.kept.push(stall);
        } else if let Some(shortest) = self.kept.iter_mut().min_by_key(|kept| kept.length)
            && stall.length > shortest.length
        {
            *shortest = stall;
        }
    }

    /// How many there were, kept or not.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The ones kept, in the order of time.
    pub fn in_order(&self) -> Vec<Stall> {
        let mut stalls = self.kept.clone();
        stalls.sort_by_key(|stall| stall.at);
        stalls
    }
}
