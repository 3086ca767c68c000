//! Bytes and calls by layer, all of which a simulation knows.

use flashlag_schema::{Ledger, Reading};
use flashlag_units::Bytes;

use super::SimStack;
use crate::direction::Direction;

/// Counters of every layer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LayerCounters {
    calls: Bytes,
    read: Bytes,
    reads: u64,
    written: Bytes,
    writes: u64,
    flushes: u64,
    programmed: Option<Bytes>,
}

impl LayerCounters {
    /// The counters now.
    pub fn now(stack: &SimStack) -> LayerCounters {
        let above = stack.ledger();
        let flash = stack.with_device(|device| device.stats());
        LayerCounters {
            calls: above.call_bytes,
            read: above.read_bytes,
            reads: above.reads,
            written: above.written_bytes,
            writes: above.writes,
            flushes: above.flushes,
            programmed: flash.programmed(),
        }
    }

    /// The difference to earlier counters.
    pub fn since(&self, before: &LayerCounters) -> LayerCounters {
        LayerCounters {
            calls: self.calls.saturating_minus(before.calls),
            read: self.read.saturating_minus(before.read),
            reads: self.reads - before.reads,
            written: self.written.saturating_minus(before.written),
            writes: self.writes - before.writes,
            flushes: self.flushes - before.flushes,
            programmed: match (self.programmed, before.programmed) {
                (Some(now), Some(before)) => Some(now.saturating_minus(before)),
                _ => None,
            },
        }
    }

    /// The ledger of a run file. `app` is what the application asked for.
    pub fn ledger(&self, direction: Direction, app: Bytes) -> Ledger {
        let writes = direction == Direction::Write;
        Ledger {
            app_bytes: Reading::Value(app),
            syscall_bytes: Reading::Value(self.calls),
            storage_bytes: Reading::Value(if writes { self.written } else { self.read }),
            block_bytes: Reading::Value(if writes { self.written } else { self.read }),
            block_writes: Reading::Value(if writes { self.writes } else { self.reads }),
            flushes: Reading::Value(self.flushes),
            device_bytes: match self.programmed {
                Some(bytes) => Reading::Value(bytes),
                None => Reading::unavailable("this device's map does not count what it programs"),
            },
            kinds: None,
        }
    }
}
