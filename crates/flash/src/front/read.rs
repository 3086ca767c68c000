use flashlag_units::{Bytes, Nanos};

use super::commands::Front;
use super::host::CommandKind;
use super::store::Store;
use super::units::Part;
use crate::command::Timing;

impl Front {
    pub(super) fn read<S: Store>(
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
                let found = self.find(store, ready, unit, part);
                if found.is_some() || !run.takes(unit, self.read) {
                    ended = ended.max(self.send(store, ready, &mut run));
                }
                match found {
                    Some(there) => ended = ended.max(self.host.send(there, bytes)),
                    None => run.add(unit, bytes),
                }
            }
            ended = ended.max(self.send(store, ready, &mut run));
            self.host.complete(ended);
            Ok(Timing { started, ended })
        });
        // Reading is never refused.
        joined.unwrap_or(Timing { started: at, ended: at })
    }

    /// When a unit's part is there, if buffer or write cache have it.
    #[inline]
    fn find<S: Store>(&mut self, store: &mut S, at: Nanos, unit: u32, part: Part) -> Option<Nanos> {
        if self.buffer.as_ref().is_some_and(|buffer| buffer.held.holds(unit, part, at)) {
            return Some(at);
        }
        self.slc.as_mut()?.read(store, at, unit)
    }

    #[inline]
    fn send<S: Store>(&mut self, store: &mut S, at: Nanos, run: &mut Run) -> Nanos {
        if run.count == 0 {
            return at;
        }
        let there = store.read(at, run.first, run.count);
        let end = self.host.send(there, run.bytes);
        *run = Run::default();
        end
    }
}

/// Units in a row that are read at once.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    first: u32,
    count: u32,
    bytes: u64,
}

impl Run {
    /// Whether it may go on with a unit, without crossing into another piece.
    #[inline]
    fn takes(&self, unit: u32, piece: u64) -> bool {
        self.count == 0
            || (self.first + self.count == unit && !u64::from(unit).is_multiple_of(piece))
    }

    #[inline]
    fn add(&mut self, unit: u32, bytes: u64) {
        if self.count == 0 {
            self.first = unit;
        }
        self.count += 1;
        self.bytes += bytes;
    }
}
