//! Many commands at once, for a caller for whom each call is expensive.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroUsize;

use flashlag_units::{Bytes, Nanos};
use thiserror::Error;

use crate::command::{Command, FlashError};
use crate::flash::Flash;

/// Addresses that are prefetched together.
const AHEAD: usize = 32;

/// One command of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    pub command: Command,
    /// When it comes, of a schedule.
    pub at: Nanos,
}

/// When the commands of a batch are submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batch {
    /// This many are in flight: the next is submitted when one has ended.
    Closed(NonZeroUsize),
    /// Each at its own time, whether or not others have ended; a time before the last command's counts
    /// as that command's.
    Scheduled,
}

/// A command that failed, after which no other was submitted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("operation {index}: {source}")]
pub struct BatchError {
    pub index: usize,
    pub ended: Nanos,
    pub source: FlashError,
}

impl Flash {
    /// Submits commands one after another, from a time on, and adds the latency of each to a list:
    /// from its submission, or of a schedule from its own time, until its end. Returns the time at which
    /// all have ended.
    ///
    /// # Errors
    /// As [`Flash::submit`], with the index of the command; the list has the latencies of those before.
    pub fn submit_all(
        &mut self,
        from: Nanos,
        batch: Batch,
        operations: &[Operation],
        latencies: &mut Vec<Nanos>,
    ) -> Result<Nanos, BatchError> {
        let mut pace = Pace::new(from, batch);
        let first = latencies.len();
        let mut offsets = [Bytes::ZERO; AHEAD];
        latencies.reserve(operations.len());
        for block in operations.chunks(AHEAD) {
            for (offset, operation) in offsets.iter_mut().zip(block) {
                *offset = offset_of(&operation.command);
            }
            self.expect(&offsets[..block.len()]);
            for operation in block {
                let at = pace.next(operation.at);
                match self.submit(at, operation.command) {
                    Ok(timing) => {
                        pace.submitted(timing.ended);
                        latencies.push(timing.ended.saturating_since(at));
                    }
                    Err(source) => {
                        let index = latencies.len() - first;
                        return Err(BatchError { index, ended: pace.ended, source });
                    }
                }
            }
        }
        Ok(pace.ended)
    }
}

fn offset_of(command: &Command) -> Bytes {
    match command {
        Command::Read { offset, .. }
        | Command::Write { offset, .. }
        | Command::Discard { offset, .. } => *offset,
        Command::Flush => Bytes::ZERO,
    }
}

/// When the next command is submitted.
struct Pace {
    batch: Batch,
    /// The time of the last submission.
    now: Nanos,
    /// Ends of the commands in flight, where there may be several.
    in_flight: BinaryHeap<Reverse<Nanos>>,
    /// The latest end.
    ended: Nanos,
}

impl Pace {
    fn new(from: Nanos, batch: Batch) -> Pace {
        Pace { batch, now: from, in_flight: BinaryHeap::new(), ended: from }
    }

    fn next(&mut self, at: Nanos) -> Nanos {
        self.now = match self.batch {
            Batch::Scheduled => self.now.max(at),
            Batch::Closed(depth) if depth.get() == 1 => self.ended,
            Batch::Closed(depth) if self.in_flight.len() < depth.get() => self.now,
            Batch::Closed(_) => {
                let first = self.in_flight.pop().map_or(self.now, |Reverse(ended)| ended);
                self.now.max(first)
            }
        };
        self.now
    }

    fn submitted(&mut self, ended: Nanos) {
        self.ended = self.ended.max(ended);
        if let Batch::Closed(depth) = self.batch
            && depth.get() > 1
        {
            self.in_flight.push(Reverse(ended));
        }
    }
}
