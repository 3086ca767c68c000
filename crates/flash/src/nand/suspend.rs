//! Limits of suspension: a program or erase makes progress however much is read.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

use flashlag_spec::profile::NandModel;
use flashlag_units::Nanos;

use crate::address::Die;

/// Limits of the suspension of programs and erases, with the operations that are to end.
///
/// A read that finds a program or erase in progress suspends it if it was suspended fewer than `most`
/// times, has done `progress` of its work since it went on last, and has `least` of it left. All
/// reads that wait at that moment are served within the suspension; later ones wait for the next,
/// or for the end. So with endless reads of r a program of P ends after `P + most · (s + r)`, s
/// being the cost of a suspension, and n readers make that `P + most · (s + n · r)`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Suspensions {
    most: u32,
    progress: Nanos,
    least: Nanos,
    program: Nanos,
    erase: Nanos,
    /// Programs and erases of each die that have not ended, in their order.
    under_way: Vec<VecDeque<Operation>>,
}

/// Operations of a die that are remembered: more than any queue or buffer has in progress.
const MOST_UNDER_WAY: usize = 1 << 12;

/// What keeps a die busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Busy {
    Programs(u32),
    Erase,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Operation {
    /// When it begins, or goes on after reads.
    resumes: Nanos,
    end: Nanos,
    /// Suspensions that are left.
    left: u32,
    /// Cost of a suspension.
    cost: Nanos,
    /// If reads have held it up: those that came by then go before it.
    stopped: Option<Nanos>,
}

/// The time slot of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) begin: Nanos,
    pub(super) suspends: bool,
    /// From when on the operation at `index`, and all after it, are held up.
    from: Nanos,
    index: usize,
}

impl Suspensions {
    /// The limits of a model on `dies` dies; `None` if it has none.
    pub(super) fn new(nand: &NandModel, dies: u32) -> Option<Suspensions> {
        let program = nand.suspend?.0;
        let limits = [nand.suspend_progress, nand.suspend_least, nand.suspend_erase];
        if nand.suspend_most.is_none() && limits.iter().all(Option::is_none) {
            return None;
        }
        let [progress, least, erase] = limits.map(|limit| limit.map(|limit| limit.0));
        Some(Suspensions {
            most: nand.suspend_most.unwrap_or(u32::MAX),
            progress: progress.unwrap_or_default(),
            least: least.unwrap_or_default(),
            program,
            erase: erase.unwrap_or(program),
            under_way: vec![VecDeque::new(); dies as usize],
        })
    }

    /// Adds an operation, which begins after all before it.
    #[cold]
    pub(super) fn add(&mut self, die: Die, resumes: Nanos, end: Nanos, busy: Busy) {
        let (left, cost) = match busy {
            Busy::Programs(count) => (self.most.saturating_mul(count.max(1)), self.program),
            Busy::Erase => (self.most, self.erase),
        };
        let queue = &mut self.under_way[die.index()];
        // Reads drop what has ended. Without any, the oldest of very many has ended long ago.
        if queue.len() == MOST_UNDER_WAY {
            queue.pop_front();
        }
        queue.push_back(Operation { resumes, end, left, cost, stopped: None });
    }

    /// The last operation of a die ends no earlier than `end`.
    pub(super) fn extend(&mut self, die: Die, end: Nanos) {
        if let Some(last) = self.under_way[die.index()].back_mut() {
            last.end = last.end.max(end);
        }
    }

    /// The time slot of a read that came at `at`, on a die whose reads have ended at `free`.
    /// [`Suspensions::serve`] must follow.
    pub(super) fn turn(&mut self, die: Die, at: Nanos, free: Nanos) -> Turn {
        let queue = &mut self.under_way[die.index()];
        while queue.front().is_some_and(|before| before.end <= free) {
            queue.pop_front();
        }
        let now = Turn { begin: free, suspends: false, from: free, index: 0 };
        let Some(first) = queue.front_mut() else {
            return now;
        };
        let mut earliest = free;
        match first.stopped {
            Some(until) if at <= until && free <= first.resumes => return now,
            Some(_) => earliest = free.max(first.resumes.plus(self.progress)),
            None if free < first.resumes => {
                first.stopped = Some(free);
                return now;
            }
            None => {}
        }
        let end = first.end;
        if first.left > 0 && earliest < end && end.since(earliest) >= self.least {
            first.left = first.left.saturating_sub(1);
            first.stopped = Some(earliest);
            let begin = earliest.plus(first.cost);
            return Turn { begin, suspends: true, from: earliest, index: 0 };
        }
        if let Some(next) = queue.get_mut(1) {
            next.stopped = Some(end);
        }
        Turn { begin: end, suspends: false, from: end, index: 1 }
    }

    /// Delays the operations of a die by a read that is served until `end`; returns the end of the
    /// last one.
    pub(super) fn serve(&mut self, die: Die, turn: Turn, end: Nanos) -> Nanos {
        let queue = &mut self.under_way[die.index()];
        let mut free = end;
        for (index, held) in queue.iter_mut().enumerate().skip(turn.index) {
            // A suspended operation still has all its remaining time to run.
            let rest = held.end.saturating_since(held.resumes.max(turn.from));
            let suspended = index == 0 && turn.suspends;
            if !suspended && held.resumes >= free {
                break;
            }
            let resumes = if suspended { end } else { held.resumes.max(free) };
            (held.resumes, held.end) = (resumes, resumes.plus(rest));
            free = held.end;
        }
        queue.back().map_or(end, |last| last.end.max(end))
    }

    /// End of the last operation of a die.
    #[cfg(test)]
    pub(super) fn last_end(&self, die: Die) -> Option<Nanos> {
        self.under_way[die.index()].back().map(|last| last.end)
    }

    /// Ends all operations, after a power cut.
    pub(super) fn clear(&mut self) {
        self.under_way.iter_mut().for_each(VecDeque::clear);
    }
}
