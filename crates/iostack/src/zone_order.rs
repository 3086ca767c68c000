//! The order of writes to zones: each zone is written from its start to its end, whatever the order
//! in which processes send their requests.
//!
//! A filesystem decides where data goes when a call begins, and the data of a later call may be
//! ready first. As in Linux (zone write plugging), a write waits here until all before it in its
//! zone were sent, and a reset until all of its zone were. What a process sends that began after a
//! reset was decided goes to the zone as it is after that reset. Unlike a plug, which lets one write
//! at a time pass, writes that were sent follow one another to the device, which takes them in order.

use std::collections::BTreeMap;

use flashlag_device::{Op, ZoneGeometry};

use crate::host_queue::Piece;

/// Writes and resets of zones that wait for their turn.
#[derive(Debug)]
pub(crate) struct ZoneOrder {
    first: u64,
    size: u64,
    /// Where the next write of each zone goes, in bytes from its start.
    next: Vec<u64>,
    waiting: BTreeMap<u32, Waiting>,
    /// Zones in which something was sent, so that what waits may follow.
    moved: Vec<u32>,
}

/// What waits in a zone.
#[derive(Debug, Default)]
struct Waiting {
    /// Writes, by where they begin in the zone.
    writes: BTreeMap<u64, Piece>,
    /// A reset, with the number of its process.
    reset: Option<(u64, Piece)>,
    /// What came after that reset was decided, with the number of its process.
    later: Vec<(u64, Piece)>,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.reset.is_none() && self.later.is_empty()
    }
}

impl ZoneOrder {
    pub(crate) fn new(zones: &ZoneGeometry) -> ZoneOrder {
        ZoneOrder {
            first: zones.first.0,
            size: zones.size.0.max(1),
            next: vec![0; zones.count as usize],
            waiting: BTreeMap::new(),
            moved: Vec::new(),
        }
    }

    /// Bytes from an offset to the next border of zones.
    pub(crate) fn to_border(&self, offset: u64) -> u64 {
        match offset.checked_sub(self.first) {
            Some(within) => self.size - within % self.size,
            None => self.first - offset,
        }
    }

    /// Whether anything waits.
    pub(crate) fn is_waited_for(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The piece, if it is its turn; otherwise it waits. `process` numbers processes in the order of
    /// their beginnings. What follows it comes from [`ZoneOrder::follower`].
    pub(crate) fn admit(&mut self, process: u64, piece: Piece) -> Option<Piece> {
        let within = piece.run.offset.checked_sub(self.first);
        let zone = within.map(|within| ((within / self.size) as u32, within % self.size));
        let Some((zone, from)) = zone.filter(|_| matches!(piece.op, Op::Write | Op::Discard))
        else {
            return Some(piece);
        };
        let Some(next) = self.next.get_mut(zone as usize) else { return Some(piece) };
        if let Some(waiting) = self.waiting.get_mut(&zone)
            && waiting.reset.is_some_and(|(reset, _)| process >= reset)
        {
            waiting.later.push((process, piece));
            return None;
        }
        if piece.op == Op::Discard {
            if *next == self.size {
                *next = 0;
                self.moved.push(zone);
                return Some(piece);
            }
            self.waiting.entry(zone).or_default().reset = Some((process, piece));
            return None;
        }
        if from == *next {
            *next += piece.run.length;
            self.moved.push(zone);
            return Some(piece);
        }
        self.waiting.entry(zone).or_default().writes.insert(from, piece);
        None
    }

    /// The next piece whose turn has come.
    pub(crate) fn follower(&mut self) -> Option<Piece> {
        while let Some(zone) = self.moved.last().copied() {
            if let Some(piece) = self.follower_in(zone) {
                return Some(piece);
            }
            self.moved.pop();
            if self.waiting.get(&zone).is_some_and(Waiting::is_empty) {
                self.waiting.remove(&zone);
            }
        }
        None
    }

    fn follower_in(&mut self, zone: u32) -> Option<Piece> {
        let waiting = self.waiting.get_mut(&zone)?;
        let next = self.next.get_mut(zone as usize)?;
        if let Some(piece) = waiting.writes.remove(next) {
            *next += piece.run.length;
            return Some(piece);
        }
        let (_, reset) = waiting.reset.filter(|_| *next == self.size)?;
        (*next, waiting.reset) = (0, None);
        for (process, piece) in std::mem::take(&mut waiting.later) {
            if waiting.reset.is_some_and(|(reset, _)| process >= reset) {
                waiting.later.push((process, piece));
            } else if piece.op == Op::Discard {
                waiting.reset = Some((process, piece));
            } else {
                let from = (piece.run.offset - self.first) % self.size;
                waiting.writes.insert(from, piece);
            }
        }
        Some(reset)
    }

    /// Takes everything that waits, since nothing will ever come before it.
    pub(crate) fn give_up(&mut self) -> Vec<Piece> {
        let all = std::mem::take(&mut self.waiting).into_values();
        let pieces = |one: Waiting| {
            let later = one.later.into_iter().chain(one.reset).map(|(_, piece)| piece);
            one.writes.into_values().chain(later).collect::<Vec<Piece>>()
        };
        all.flat_map(pieces).collect()
    }
}

#[cfg(test)]
mod tests {
    use flashlag_units::Bytes;

    use super::*;
    use crate::host_queue::Pid;
    use crate::plan::Run;

    const FIRST: u64 = 1 << 20;
    const SIZE: u64 = 64 << 10;

    fn order() -> ZoneOrder {
        let (first, size) = (Bytes(FIRST), Bytes(SIZE));
        ZoneOrder::new(&ZoneGeometry { first, size, count: 4, open: 6 })
    }

    fn piece(op: Op, offset: u64, length: u64) -> Piece {
        let pid = Pid { index: 0, generation: 0 };
        Piece::new(pid, op, Run { offset: FIRST + offset, length }, false)
    }

    /// What leaves when a piece comes: kind and offset.
    fn sent(order: &mut ZoneOrder, process: u64, one: Piece) -> Vec<(Op, u64)> {
        let mut all = Vec::new();
        let mut next = order.admit(process, one);
        while let Some(piece) = next {
            all.push((piece.op, piece.run.offset - FIRST));
            next = order.follower();
        }
        all
    }

    #[test]
    fn a_write_waits_for_those_before_it_in_its_zone_and_for_no_others() {
        let mut order = order();
        assert_eq!(sent(&mut order, 1, piece(Op::Write, 8192, 4096)), []);
        assert_eq!(sent(&mut order, 2, piece(Op::Write, SIZE, 4096)), [(Op::Write, SIZE)]);
        assert_eq!(sent(&mut order, 3, piece(Op::Write, 4096, 4096)), []);
        let all = sent(&mut order, 4, piece(Op::Write, 0, 4096));
        assert_eq!(all, [(Op::Write, 0), (Op::Write, 4096), (Op::Write, 8192)]);
        assert!(!order.is_waited_for());
        // What is before the zones has no order.
        let mut any = piece(Op::Write, 0, 4096);
        any.run.offset = 4096;
        assert!(order.admit(5, any).is_some() && order.follower().is_none());
    }

    #[test]
    fn a_reset_waits_for_the_zones_end_and_what_is_later_waits_for_the_reset() {
        let mut order = order();
        assert_eq!(sent(&mut order, 1, piece(Op::Write, 0, SIZE - 4096)).len(), 1);
        // Process 2 has the last block, but is slow; 3 found the zone empty and resets it.
        assert_eq!(sent(&mut order, 3, piece(Op::Discard, 0, SIZE)), []);
        assert_eq!(sent(&mut order, 4, piece(Op::Write, 0, 4096)), []);
        assert_eq!(sent(&mut order, 5, piece(Op::Write, 4096, 4096)), []);
        let all = sent(&mut order, 2, piece(Op::Write, SIZE - 4096, 4096));
        let writes = [SIZE - 4096, 0, 4096].map(|at| (Op::Write, at));
        assert_eq!(all, [writes[0], (Op::Discard, 0), writes[1], writes[2]]);
        assert!(!order.is_waited_for());
    }

    #[test]
    fn what_nothing_will_come_before_is_given_up() {
        let mut order = order();
        assert_eq!(sent(&mut order, 1, piece(Op::Write, 4096, 4096)), []);
        assert_eq!(sent(&mut order, 2, piece(Op::Discard, 0, SIZE)), []);
        assert_eq!(sent(&mut order, 1, piece(Op::Write, SIZE + 4096, 4096)), []);
        assert_eq!(order.give_up().len(), 3);
        assert!(!order.is_waited_for());
    }

    #[test]
    fn no_piece_crosses_a_border() {
        let order = order();
        assert_eq!(order.to_border(0), FIRST);
        assert_eq!(order.to_border(FIRST), SIZE);
        assert_eq!(order.to_border(FIRST + SIZE + 4096), SIZE - 4096);
    }
}
