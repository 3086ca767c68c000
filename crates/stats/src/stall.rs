use flashlag_units::{InOrder, Nanos};

use crate::wait::WaitSplit;
use crate::waited::Waited;

/// A wait that was longer than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Start, from the start of the phase.
    pub at: Nanos,
    /// Length of the wait.
    pub length: Nanos,
    /// How far the phase's clock was then behind the machine's: the pauses so far.
    pub behind: Nanos,
    /// Where the time went, if known.
    pub split: Option<WaitSplit>,
    /// What it waited for, if a model knows.
    pub waited: Option<Waited>,
}

/// The stalls of a phase, once its median is known: waits far beyond it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stalls {
    /// Waits longer than this are stalls.
    pub over: Nanos,
    pub seen: u64,
    /// The longest, in order of time.
    pub listed: Vec<Stall>,
}

impl Stalls {
    /// A stall is longer than this.
    pub const LEAST: Nanos = Nanos::from_millis(100);
    /// A stall is longer than this many times the median of its phase.
    pub const TIMES: u64 = 10;
}

/// The longest of the waits over a limit, and the number of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StallList {
    kept: Vec<Stall>,
    seen: u64,
}

/// Number of stalls kept; the rest are only counted.
const CAPACITY: usize = 1000;

impl Default for StallList {
    fn default() -> Self {
        StallList { kept: Vec::with_capacity(CAPACITY), seen: 0 }
    }
}

impl StallList {
    /// Adds a stall; a full list drops the shortest. Allocates nothing.
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

    /// Number of all stalls, kept or not.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// The stalls kept, in order of time.
    pub fn in_order(&self) -> Vec<Stall> {
        let mut stalls = self.kept.clone();
        stalls.order_by_key(|stall| stall.at);
        stalls
    }
}
