//! The block layer's elevator: whether waiting reads or the other waiting requests get the next tag.
//!
//! Reads and the others (writes, flushes, discards) take turns. A turn ends when none of its kind
//! waits, or when it has used its quota while others wait. Within a kind the order is that of
//! arrival. So a reader at depth 1, which takes `r` alone and begins its next read at once, takes
//! beside `n` writes of `w` that are always there, with one tag:
//!
//! - `fifo`: `r + n · w`;
//! - `cfq`: `r + t`, a turn of the writes: `t = w` if one is there at a time, else `⌈100 ms / w⌉ · w`;
//! - `cfq_idle`: `r · (1 + t / 100 ms)`, for it waits for the next read;
//! - `deadline`: `r + w` if one write is there at a time, else `r + 16 w`;
//! - `row`: `r + w / 100` if the reads follow one another's addresses, or `w + r` is below 5 ms.
//!   Else it is `r + w`: a read that had to wait is too late to be of a train.

use flashlag_spec::profile::ElevatorKind;
use flashlag_units::Nanos;

/// Reads that come within this time of one another are a train (`ROW_READ_FREQ_MSEC`).
const TRAIN: Nanos = Nanos::from_millis(5);

/// The next thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Send the oldest waiting read.
    Read,
    /// Send the oldest waiting request that is no read.
    Other,
    /// Send nothing before this time: a read may come.
    Hold(Nanos),
}

/// How much of its kind a turn may send while the other kind waits.
#[derive(Clone, Copy, Debug)]
struct Quota {
    requests: u32,
    time: Nanos,
}

impl Quota {
    const fn requests(requests: u32) -> Quota {
        Quota { requests, time: Nanos::MAX }
    }
}

/// The turns of one elevator.
#[derive(Clone, Copy, Debug)]
struct Rules {
    reads: Quota,
    others: Quota,
    holds: Holds,
}

/// For how long others are held back for a next read.
#[derive(Clone, Copy, Debug)]
enum Holds {
    Never,
    /// Behind any read.
    Always(Nanos),
    /// Behind a read of a train.
    Trains(Nanos),
}

impl Rules {
    /// `None` where requests are sent in the order of their arrival.
    fn of(kind: ElevatorKind) -> Option<Rules> {
        let slice = Quota { requests: u32::MAX, time: Nanos::from_millis(100) };
        Some(match kind {
            ElevatorKind::Fifo => return None,
            ElevatorKind::Cfq => Rules { reads: slice, others: slice, holds: Holds::Never },
            ElevatorKind::CfqIdle => {
                Rules { reads: slice, others: slice, holds: Holds::Always(Nanos::from_millis(8)) }
            }
            ElevatorKind::Deadline => Rules {
                reads: Quota::requests(32),
                others: Quota::requests(16),
                holds: Holds::Never,
            },
            ElevatorKind::Row => Rules {
                reads: Quota::requests(100),
                others: Quota::requests(1),
                holds: Holds::Trains(Nanos::from_millis(5)),
            },
        })
    }
}

/// Whose turn it is.
#[derive(Clone, Copy, Debug)]
struct Turn {
    reads: bool,
    since: Nanos,
    sent: u32,
}

/// An elevator that lets some requests pass others.
#[derive(Debug)]
pub(crate) struct Elevator {
    rules: Rules,
    turn: Turn,
    /// When the last read came, and where it ended.
    last_read: Option<(Nanos, u64)>,
    /// Whether the last read belongs to a train of reads.
    is_train: bool,
    /// When the last read was done.
    read_done: Option<Nanos>,
}

impl Elevator {
    /// The elevator of this kind; `None` for `fifo`, which lets none pass.
    pub(crate) fn of(kind: ElevatorKind) -> Option<Elevator> {
        Some(Elevator {
            rules: Rules::of(kind)?,
            turn: Turn { reads: true, since: Nanos::ZERO, sent: 0 },
            last_read: None,
            is_train: false,
            read_done: None,
        })
    }

    /// Notes a read of a range that comes now.
    pub(crate) fn read_comes(&mut self, now: Nanos, offset: u64, end: u64) {
        self.is_train = self
            .last_read
            .is_some_and(|(came, ended)| now.saturating_since(came) < TRAIN || ended == offset);
        self.last_read = Some((now, end));
    }

    /// Notes that a read is done.
    pub(crate) fn read_ends(&mut self, now: Nanos) {
        self.read_done = Some(now);
    }

    /// Chooses among waiting requests: whether there are reads, and whether there are others. One
    /// of the two must be true.
    pub(crate) fn choose(&mut self, now: Nanos, reads: bool, others: bool) -> Choice {
        let rules = self.rules;
        let (own, other, quota) = if self.turn.reads {
            (reads, others, rules.reads)
        } else {
            (others, reads, rules.others)
        };
        let is_used =
            self.turn.sent >= quota.requests || now.saturating_since(self.turn.since) >= quota.time;
        let holds = match rules.holds {
            Holds::Always(time) => Some(time),
            Holds::Trains(time) if self.is_train => Some(time),
            Holds::Never | Holds::Trains(_) => None,
        };
        let holds = holds.filter(|_| self.turn.reads && !own && !is_used);
        if let (Some(time), Some(done)) = (holds, self.read_done)
            && now < done.plus(time)
        {
            return Choice::Hold(done.plus(time));
        }
        if !own || (other && is_used) {
            self.turn = Turn { reads: !self.turn.reads, since: now, sent: 0 };
        }
        self.turn.sent = self.turn.sent.saturating_add(1);
        if self.turn.reads { Choice::Read } else { Choice::Other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is chosen while both kinds always wait, each choice taking `each`.
    fn turns(kind: ElevatorKind, each: Nanos, count: u64) -> Vec<bool> {
        let mut elevator = Elevator::of(kind).unwrap();
        (0..count)
            .map(|number| elevator.choose(Nanos(each.0 * number), true, true) == Choice::Read)
            .collect()
    }

    #[test]
    fn each_kind_has_its_quota_while_the_other_waits() {
        let ms = Nanos::from_millis(1);
        for (kind, reads, others) in [
            (ElevatorKind::Cfq, 100, 100),
            (ElevatorKind::CfqIdle, 100, 100),
            (ElevatorKind::Deadline, 32, 16),
            (ElevatorKind::Row, 100, 1),
        ] {
            let chosen = turns(kind, ms, 3 * (reads + others));
            let runs: Vec<usize> = chosen.chunk_by(|a, b| a == b).map(<[bool]>::len).collect();
            assert_eq!(runs, [reads, others, reads, others, reads, others].map(|run| run as usize));
            assert!(chosen[0], "{kind:?}: reads begin");
        }
        assert!(Elevator::of(ElevatorKind::Fifo).is_none(), "the oldest, whatever it is");
    }

    #[test]
    fn row_holds_others_back_behind_a_train_of_reads_only() {
        let at = Nanos::from_millis;
        let mut row = Elevator::of(ElevatorKind::Row).unwrap();
        row.read_comes(at(0), 0, 4096);
        assert_eq!(row.choose(at(0), true, false), Choice::Read);
        row.read_ends(at(1));
        // A first read is no train.
        assert_eq!(row.choose(at(1), false, true), Choice::Other);
        row.read_comes(at(2), 1 << 20, (1 << 20) + 4096);
        assert_eq!(row.choose(at(2), true, true), Choice::Read);
        row.read_ends(at(3));
        assert_eq!(row.choose(at(3), false, true), Choice::Hold(at(8)));
        assert_eq!(row.choose(at(7), false, true), Choice::Hold(at(8)));
        assert_eq!(row.choose(at(8), false, true), Choice::Other, "no read came");
        // A read after a longer time is no train, unless it goes on where the last one ended.
        row.read_comes(at(20), 0, 4096);
        assert_eq!(row.choose(at(20), true, true), Choice::Read);
        row.read_ends(at(21));
        assert_eq!(row.choose(at(21), false, true), Choice::Other);
        row.read_comes(at(40), 4096, 8192);
        assert_eq!(row.choose(at(40), true, true), Choice::Read);
        row.read_ends(at(41));
        assert_eq!(row.choose(at(41), false, true), Choice::Hold(at(46)));
        assert_eq!(row.choose(at(90), false, true), Choice::Other, "long after the read");
    }
}
