//! Bytes and calls by layer; a simulation knows all of them.

use flashlag_flash::FlashDevice;
use flashlag_iostack::Stack;
use flashlag_schema::{Ledger, Look, Looks, Surroundings};
use flashlag_spec::Reading;
use flashlag_units::{Bytes, Nanos};

use crate::work::Direction;

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

    /// The difference from earlier counters.
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

    /// The ledger of a run file. `app` is the number of bytes that the application requested.
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

/// The traffic at several moments as a program above a kernel would read it; `None` if none was
/// sampled.
pub(super) fn looks(samples: Vec<(Nanos, flashlag_iostack::Ledger)>) -> Option<Looks> {
    if samples.is_empty() {
        return None;
    }
    let mut looks = Looks::default();
    for (at, seen) in samples {
        let counted = seen.counted;
        let counts = Surroundings {
            own_bytes: Some(seen.call_bytes),
            disk_bytes: Some(seen.read_bytes.plus(seen.written_bytes)),
            disk_requests: Some(seen.reads + seen.writes),
            discards: Some(counted.discards),
            discard_ns: Some(counted.discard_time),
            flushes: Some(seen.flushes),
            flush_ns: Some(counted.flush_time),
            commits: Some(counted.commits),
            checkpoints: Some(counted.checkpoints),
            cleanings: Some(counted.cleanings),
            ..Surroundings::default()
        };
        looks.push(Look { at, counts });
    }
    Some(looks)
}

pub(super) type SimStack = Stack<FlashDevice>;

#[cfg(test)]
mod tests {
    use super::*;

    /// Counters that are all `factor` times those at the start.
    fn at(factor: u64, programmed: Option<u64>) -> LayerCounters {
        LayerCounters {
            calls: Bytes(factor * 100),
            read: Bytes(factor * 200),
            reads: factor * 3,
            written: Bytes(factor * 400),
            writes: factor * 5,
            flushes: factor * 7,
            programmed: programmed.map(Bytes),
        }
    }

    #[test]
    fn a_phase_has_what_each_layer_counted_between_its_edges_on_its_own_side() {
        let between = at(5, Some(9000)).since(&at(2, Some(1000)));
        let writes = between.ledger(Direction::Write, Bytes(77));
        let reads = between.ledger(Direction::Read, Bytes(77));
        assert_eq!(writes.app_bytes, Reading::Value(Bytes(77)));
        assert_eq!(writes.syscall_bytes, Reading::Value(Bytes(300)));
        assert_eq!(writes.storage_bytes, Reading::Value(Bytes(1200)));
        assert_eq!(writes.block_bytes, writes.storage_bytes);
        assert_eq!(reads.storage_bytes, Reading::Value(Bytes(600)));
        assert_eq!(reads.block_bytes, reads.storage_bytes);
        assert_eq!(
            (writes.block_writes, reads.block_writes),
            (Reading::Value(15), Reading::Value(9))
        );
        assert_eq!(writes.flushes, Reading::Value(21));
        assert_eq!(writes.device_bytes, Reading::Value(Bytes(8000)));
    }

    #[test]
    fn what_a_map_does_not_count_is_unavailable() {
        for (now, before) in [(None, None), (Some(5), None), (None, Some(5))] {
            let ledger = at(2, now).since(&at(1, before)).ledger(Direction::Write, Bytes(1));
            assert!(ledger.device_bytes.value().is_none(), "{ledger:?}");
        }
    }
}
