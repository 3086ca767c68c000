use std::collections::BTreeMap;

use flashlag_device::{Op, Request};

use crate::flash::Flash;
use crate::power::{Lost, Undo};

/// Content of mapping units, for devices that keep data; units without content read as zeros.
#[derive(Debug)]
pub(crate) struct Content {
    unit: u64,
    units: BTreeMap<u64, Box<[u8]>>,
    undo: Undo,
    /// The number of the last change, as the flash counts them.
    changes: u64,
}

impl Content {
    /// An empty content of units of `unit` bytes.
    pub(crate) fn new(unit: u64) -> Content {
        Content { unit, units: BTreeMap::new(), undo: Undo::default(), changes: 0 }
    }

    /// Carries a request out that the flash has just accepted.
    pub(crate) fn apply(&mut self, flash: &Flash, request: &Request, buffer: &mut [u8]) {
        let (changes, oldest) = flash.changes();
        // A discard that the flash ignores gets no number, and changes nothing.
        let changed = std::mem::replace(&mut self.changes, changes) != changes;
        self.undo.forget_before(oldest);
        match request.op {
            Op::Read => self.read(request.offset.0, &mut buffer[..request.length.0 as usize]),
            Op::Write => self.write(request.offset.0, &buffer[..request.length.0 as usize]),
            Op::Discard if changed => self.discard(request.offset.0, request.length.0),
            Op::Discard | Op::Flush => {}
        }
    }

    fn read(&self, offset: u64, into: &mut [u8]) {
        let mut done = 0;
        while done < into.len() {
            let (unit, from, take) = self.piece(offset + done as u64, into.len() - done);
            let piece = &mut into[done..done + take];
            match self.units.get(&unit) {
                Some(held) => piece.copy_from_slice(&held[from..from + take]),
                None => piece.fill(0),
            }
            done += take;
        }
    }

    fn write(&mut self, offset: u64, data: &[u8]) {
        let mut done = 0;
        while done < data.len() {
            let (unit, from, take) = self.piece(offset + done as u64, data.len() - done);
            self.undo.note(self.changes, unit, self.units.get(&unit).cloned());
            let size = self.unit as usize;
            let held = self.units.entry(unit).or_insert_with(|| vec![0; size].into());
            held[from..from + take].copy_from_slice(&data[done..done + take]);
            done += take;
        }
    }

    /// Clears the units that are wholly within the range.
    fn discard(&mut self, offset: u64, length: u64) {
        let units = offset.div_ceil(self.unit)..(offset + length) / self.unit;
        let mut held: Vec<u64> = Vec::new();
        if units.start < units.end {
            held.extend(self.units.range(units).map(|(unit, _)| *unit));
        }
        for unit in held {
            self.undo.note(self.changes, unit, self.units.remove(&unit));
        }
    }

    /// The unit at an offset, the offset within it, and the bytes of at most `left` that lie in it.
    fn piece(&self, offset: u64, left: usize) -> (u64, usize, usize) {
        let (unit, from) = (offset / self.unit, offset % self.unit);
        (unit, from as usize, left.min((self.unit - from) as usize))
    }

    /// Restores the units that a power cut has reverted to an earlier content.
    pub(crate) fn revert(&mut self, lost: &[Lost]) {
        let lost = lost.iter().map(|lost| (lost.offset.0 / self.unit, lost.command));
        for (unit, content) in self.undo.revert(lost) {
            match content {
                Some(content) => self.units.insert(unit, content),
                None => self.units.remove(&unit),
            };
        }
    }
}
