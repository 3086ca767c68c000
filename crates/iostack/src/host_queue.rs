//! The host's queue of requests that wait for a tag of the device. It merges neighbours into one
//! command.
//!
//! As in Linux's block layer, a new request is appended to a waiting one of the same kind that ends
//! where the new one begins (a back merge: `elv_merge` in block/elevator.c), up to the largest
//! command. Flushes, discards and durable writes are never merged (`REQ_NOMERGE_FLAGS` in
//! include/linux/blk_types.h). The elevator chooses which of the waiting commands is next.

use std::collections::VecDeque;

use flashlag_device::{Op, ZoneGeometry};
use flashlag_spec::profile::ElevatorKind;
use flashlag_units::Nanos;

use crate::elevator::{Choice, Elevator};
use crate::plan::Run;

/// A process, running or ended: an index into the scheduler's table, and the generation of that
/// entry, which distinguishes the processes that use it one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pid {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

/// How long the oldest command in flight was the kernel's or another process's, summed since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Oldest {
    pub(crate) kernel: Nanos,
    pub(crate) other: Nanos,
}

impl Oldest {
    pub(crate) fn since(self, before: Oldest) -> Oldest {
        Oldest {
            kernel: self.kernel.saturating_since(before.kernel),
            other: self.other.saturating_since(before.other),
        }
    }
}

/// A time, with the sum of [`Oldest`] at that time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    pub(crate) at: Nanos,
    pub(crate) oldest: Oldest,
}

/// A request, or the part of a request that fits one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Piece {
    pub(crate) pid: Pid,
    pub(crate) op: Op,
    pub(crate) run: Run,
    /// Whether a write is durable when it ends.
    pub(crate) durable: bool,
    /// When the piece was ready for the driver.
    pub(crate) ready: Moment,
}

impl Piece {
    pub(crate) fn new(pid: Pid, op: Op, run: Run, durable: bool) -> Piece {
        Piece { pid, op, run, durable, ready: Moment::default() }
    }

    fn may_merge(&self) -> bool {
        matches!(self.op, Op::Read | Op::Write) && !self.durable
    }
}

/// A command for the device: one piece, or several neighbours.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) first: Piece,
    /// Pieces that were merged into the first one, in order.
    appended: Vec<Piece>,
    /// Bytes of all pieces.
    length: u64,
}

impl Command {
    pub(crate) fn of(piece: Piece) -> Command {
        Command { first: piece, appended: Vec::new(), length: piece.run.length }
    }

    /// The range of all pieces.
    pub(crate) fn run(&self) -> Run {
        Run { length: self.length, ..self.first.run }
    }

    /// Takes out the first piece and those that were merged into it.
    pub(crate) fn take_pieces(&mut self) -> (Piece, Vec<Piece>) {
        (self.first, std::mem::take(&mut self.appended))
    }

    /// Processes of its pieces.
    pub(crate) fn pids(&self) -> impl Iterator<Item = Pid> + '_ {
        std::iter::once(&self.first).chain(&self.appended).map(|piece| piece.pid)
    }

    fn append(&mut self, piece: Piece) {
        self.length += piece.run.length;
        self.appended.push(piece);
    }
}

/// Commands that wait for a tag, in the order of their first pieces.
#[derive(Debug)]
pub(crate) struct HostQueue {
    waiting: VecDeque<Command>,
    /// Most bytes of a command.
    largest: u64,
    /// What lets some commands pass others; `None` if they are sent in the order of their arrival.
    elevator: Option<Elevator>,
    /// The device's zones, if it has any: no command crosses a border.
    zones: Option<ZoneGeometry>,
}

/// What a queue has for a free tag.
#[derive(Debug)]
pub(crate) enum Next {
    Command(Command),
    /// Nothing before this time.
    Hold(Nanos),
    Nothing,
}

impl HostQueue {
    /// An empty queue of commands of at most `largest` bytes.
    pub(crate) fn new(largest: u64, elevator: ElevatorKind) -> HostQueue {
        HostQueue {
            waiting: VecDeque::new(),
            largest,
            elevator: Elevator::of(elevator),
            zones: None,
        }
    }

    /// The same queue for a device with zones.
    pub(crate) fn with_zones(self, zones: Option<ZoneGeometry>) -> HostQueue {
        HostQueue { zones, ..self }
    }

    /// Whether a zone begins at an offset.
    fn is_border(&self, offset: u64) -> bool {
        self.zones.is_some_and(|zones| {
            let within = offset.checked_sub(zones.first.0);
            within.is_some_and(|within| within.is_multiple_of(zones.size.0.max(1)))
        })
    }

    /// Notes a piece that comes now; whether it must pass through the queue although a tag is free.
    pub(crate) fn comes(&mut self, now: Nanos, piece: &Piece) -> bool {
        let Some(elevator) = &mut self.elevator else { return false };
        if piece.op == Op::Read {
            elevator.read_comes(now, piece.run.offset, piece.run.end());
        }
        true
    }

    /// Notes that a read command has left the device.
    pub(crate) fn read_ends(&mut self, now: Nanos) {
        if let Some(elevator) = &mut self.elevator {
            elevator.read_ends(now);
        }
    }

    /// Queues a piece; returns whether it was merged into a waiting command.
    pub(crate) fn push(&mut self, piece: Piece) -> bool {
        let place = self.neighbour(&piece);
        match place.and_then(|index| self.waiting.get_mut(index)) {
            Some(command) => command.append(piece),
            None => self.waiting.push_back(Command::of(piece)),
        }
        place.is_some()
    }

    /// The command to send to the device next.
    pub(crate) fn pop(&mut self, now: Nanos) -> Next {
        if self.waiting.is_empty() {
            return Next::Nothing;
        }
        let first = |reads: bool| {
            self.waiting.iter().position(|command| (command.first.op == Op::Read) == reads)
        };
        let taken = match &mut self.elevator {
            None => Some(0),
            Some(elevator) => {
                let (read, other) = (first(true), first(false));
                match elevator.choose(now, read.is_some(), other.is_some()) {
                    Choice::Read => read,
                    Choice::Other => other,
                    Choice::Hold(until) => return Next::Hold(until),
                }
            }
        };
        taken.and_then(|index| self.waiting.remove(index)).map_or(Next::Nothing, Next::Command)
    }

    /// The last waiting command that ends where a piece begins and can be merged with it. A caller
    /// with two requests for the same bytes in flight leaves their order to chance, as on a real
    /// kernel.
    fn neighbour(&self, piece: &Piece) -> Option<usize> {
        if !piece.may_merge() || self.is_border(piece.run.offset) {
            return None;
        }
        self.waiting.iter().rposition(|command| {
            command.run().end() == piece.run.offset
                && command.first.op == piece.op
                && command.first.may_merge()
                && command.length + piece.run.length <= self.largest
        })
    }
}

#[cfg(test)]
mod tests {
    use flashlag_units::Bytes;

    use super::*;

    const LARGEST: u64 = 64 << 10;

    fn piece(process: u32, op: Op, offset: u64, length: u64) -> Piece {
        Piece::new(Pid { index: process, generation: 0 }, op, Run { offset, length }, false)
    }

    fn popped(queue: &mut HostQueue) -> Option<Command> {
        match queue.pop(Nanos::ZERO) {
            Next::Command(command) => Some(command),
            Next::Hold(_) | Next::Nothing => None,
        }
    }

    /// The commands that result from pieces: kind, offset, length and number of processes.
    fn commands(pieces: &[Piece]) -> Vec<(Op, u64, u64, usize)> {
        let mut queue = HostQueue::new(LARGEST, ElevatorKind::Fifo);
        let merged = pieces.iter().filter(|piece| queue.push(**piece)).count();
        let left: Vec<_> = std::iter::from_fn(|| popped(&mut queue))
            .map(|command| {
                let Run { offset, length } = command.run();
                (command.first.op, offset, length, command.pids().count())
            })
            .collect();
        assert_eq!(left.len() + merged, pieces.len(), "each piece is a command or a part of one");
        assert_eq!(left.iter().map(|one| one.3).sum::<usize>(), pieces.len());
        left
    }

    #[test]
    fn neighbours_that_wait_become_one_command_up_to_the_largest() {
        let run =
            |from: u64, to: u64| (from..to).map(|at| piece(at as u32, Op::Read, at << 12, 4096));
        let all: Vec<Piece> = run(0, 20).collect();
        assert_eq!(
            commands(&all),
            [(Op::Read, 0, LARGEST, 16), (Op::Read, LARGEST, 4 << 12, 4)],
            "sixteen of 4 KiB are the largest command"
        );
        let apart: Vec<Piece> = [5, 3, 9, 1].map(|at| piece(at, Op::Read, at.into(), 1)).into();
        assert_eq!(commands(&apart).len(), 4, "neither front merges nor gaps");
    }

    #[test]
    fn a_neighbour_is_found_behind_others_and_the_latest_is_taken() {
        let first = piece(1, Op::Write, 0, 4096);
        let elsewhere = piece(2, Op::Write, 1 << 20, 4096);
        let next = piece(3, Op::Write, 4096, 4096);
        let merged = [(Op::Write, 0, 8192, 2), (Op::Write, 1 << 20, 4096, 1)];
        assert_eq!(commands(&[first, elsewhere, next]), merged);
        // Two jobs read the same bytes: the second job's next block is merged with the first job's
        // last one.
        let again = piece(4, Op::Write, 0, 4096);
        let pair = [(Op::Write, 0, 4096, 1), (Op::Write, 0, 8192, 2)];
        assert_eq!(commands(&[first, again, next]), pair);
        let full = piece(5, Op::Write, 0, LARGEST);
        let after = piece(6, Op::Write, LARGEST, 4096);
        assert_eq!(commands(&[full, after]).len(), 2, "the largest command is full");
    }

    #[test]
    fn other_kinds_flushes_discards_and_durable_writes_stay_alone() {
        let durable = |at| Piece { durable: true, ..piece(1, Op::Write, at, 4096) };
        for [first, second] in [
            [piece(1, Op::Read, 0, 4096), piece(2, Op::Write, 4096, 4096)],
            [piece(1, Op::Discard, 0, 4096), piece(2, Op::Discard, 4096, 4096)],
            [piece(1, Op::Flush, 0, 0), piece(2, Op::Flush, 0, 0)],
            [durable(0), durable(4096)],
            [piece(1, Op::Write, 0, 4096), durable(4096)],
            [durable(0), piece(1, Op::Write, 4096, 4096)],
        ] {
            assert_eq!(commands(&[first, second]).len(), 2, "{first:?}, {second:?}");
        }
    }

    #[test]
    fn no_command_crosses_the_border_of_zones() {
        let (first, size) = (Bytes(4096), Bytes(8192));
        let zones = ZoneGeometry { first, size, count: 4, open: 6 };
        let mut queue = HostQueue::new(LARGEST, ElevatorKind::Fifo).with_zones(Some(zones));
        let pieces = (0..5).map(|at| piece(at, Op::Write, u64::from(at) << 12, 4096));
        let merged: Vec<bool> = pieces.map(|piece| queue.push(piece)).collect();
        assert_eq!(merged, [false, false, true, false, true]);
    }

    #[test]
    fn a_command_gives_each_of_its_pieces_back_once() {
        let mut queue = HostQueue::new(LARGEST, ElevatorKind::Fifo);
        for at in 0..3 {
            queue.push(piece(at, Op::Read, u64::from(at) << 12, 4096));
        }
        let mut command = popped(&mut queue).unwrap();
        let (first, others) = command.take_pieces();
        let offsets: Vec<u64> = others.iter().map(|piece| piece.run.offset).collect();
        assert_eq!((first.run, offsets), (Run { offset: 0, length: 4096 }, vec![4096, 8192]));
        let mut alone = Command::of(first);
        assert_eq!(alone.take_pieces(), (first, Vec::new()));
    }

    #[test]
    fn others_are_the_oldest_for_as_long_as_between_two_moments() {
        let oldest = |kernel, other| Oldest { kernel: Nanos(kernel), other: Nanos(other) };
        assert_eq!(oldest(50, 700).since(oldest(20, 300)), oldest(30, 400));
        assert_eq!(oldest(50, 700).since(oldest(50, 700)), Oldest::default());
    }
}
