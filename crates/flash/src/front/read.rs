use flashlag_units::{Bytes, Nanos, never};
use serde::{Deserialize, Serialize};

use super::commands::Front;
use super::host::CommandKind;
use super::store::Store;
use super::units::Part;
use crate::address::Unit;
use crate::command::Timing;

impl Front {
    pub(super) fn read<S: Store + ?Sized>(
        &mut self,
        store: &mut S,
        at: Nanos,
        offset: Bytes,
        length: Bytes,
    ) -> Timing {
        let largest = self.host.largest();
        let joined = Front::split(largest, offset, length, |offset, length| {
            let (started, ready) = self.host.begin(at, CommandKind::Read);
            let mut ended = ready;
            let mut run = Run::default();
            for (unit, part, bytes) in self.units.of(offset, length) {
                let source = self.find(ready, unit, part);
                if source != run.source {
                    ended = ended.max(self.send(store, ready, &run));
                    run = Run { source, first: unit, count: 0, bytes: 0 };
                }
                run.count += 1;
                run.bytes += bytes;
            }
            ended = ended.max(self.send(store, ready, &run));
            let ended = self.host.complete(ended);
            Ok(Timing { started, ended })
        });
        joined.unwrap_or_else(|error| {
            never!("a read is refused: {error}");
            Timing { started: at, ended: at }
        })
    }

    /// Where to read a part of a unit.
    #[inline]
    fn find(&self, at: Nanos, unit: Unit, part: Part) -> Source {
        if self.buffer.as_ref().is_some_and(|buffer| buffer.held.holds(unit, part, at)) {
            return Source::Buffer;
        }
        match self.slc.as_ref().and_then(|slc| slc.page(unit)) {
            Some(page) => Source::Slc(page),
            None => Source::Map(u64::from(unit.0) / self.read),
        }
    }

    /// Reads a run and transfers it; returns the end.
    #[inline]
    fn send<S: Store + ?Sized>(&mut self, store: &mut S, at: Nanos, run: &Run) -> Nanos {
        if run.count == 0 {
            return at;
        }
        let there = match (run.source, &self.slc) {
            (Source::Map(_), _) if run.count == 1 => store.read_part(at, run.first, run.bytes),
            (Source::Map(_), _) => store.read(at, run.first, run.count),
            (Source::Slc(page), Some(slc)) => slc.read_page(store, at, page, run.count),
            _ => at,
        };
        self.host.send(there, run.bytes)
    }
}

/// Source of a read; consecutive units with one source are read together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Source {
    /// The write buffer.
    #[default]
    Buffer,
    /// A page of the write cache.
    Slc(u64),
    /// The map: a group of addresses as large as a page of all planes.
    Map(u64),
}

/// Consecutive units with one source.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Run {
    source: Source,
    first: Unit,
    count: u32,
    bytes: u64,
}
