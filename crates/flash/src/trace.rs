//! What commands wait for, over time.
//!
//! Work on a die is recorded with its reason. If an operation finds its die busy, the time until
//! the die is free is a *stop*, with the reason of the work that is in the way. The host also has
//! stops that involve no die: the wake-up, waiting for room in the write cache, a discard. Each
//! moment of a command counts under the cause that stopped the command then; under several at once,
//! the one that comes first in [`RANKS`] counts. The rest is the device's own work for the command.
//! So the parts always add up to the command's time, whatever the model does.
//!
//! A command that waits for others (in the queue, for room in the buffer, a flush for all previous
//! ones) is stopped by whatever stops the device at that time. The part of it spent behind other
//! commands is kept separately, so that a caller who knows whose commands these are can attribute
//! that time.

use std::collections::VecDeque;

use flashlag_stats::{Wait, Waited};
use flashlag_units::Nanos;

use crate::address::Die;

/// Stops that are remembered for commands that come later.
const REMEMBERED: usize = 512;

/// The priority of causes if several stop a command at the same moment: the flash's own before
/// their possible consequences.
const RANKS: [Wait; 8] = [
    Wait::WearLevelling,
    Wait::GarbageCollection,
    Wait::Throttling,
    Wait::DevicePeriod,
    Wait::Discard,
    Wait::WakeUp,
    Wait::WriteCacheFull,
    Wait::OtherIo,
];

/// Work on a die that has not ended, as far as is known.
#[derive(Clone, Copy, Debug)]
struct Work {
    from: Nanos,
    to: Nanos,
    reason: Wait,
    /// The command that it was reserved for.
    command: u64,
}

/// A time in which something could not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stop {
    from: Nanos,
    to: Nanos,
    cause: Wait,
}

impl Stop {
    fn within(self, from: Nanos, to: Nanos) -> Option<Stop> {
        let (from, to) = (self.from.max(from), self.to.min(to));
        (from < to).then_some(Stop { from, to, ..self })
    }

    /// Grows by a stop of the same cause that touches it; whether it did.
    fn takes_in(&mut self, other: Stop) -> bool {
        let touches = self.cause == other.cause && other.from <= self.to && self.from <= other.to;
        if touches {
            (self.from, self.to) = (self.from.min(other.from), self.to.max(other.to));
        }
        touches
    }
}

/// Adds a stop, as a part of the last one where it can be: a program that reads suspend is in the way in dozens of
/// pieces.
fn add(stops: &mut Vec<Stop>, stop: Stop) {
    if !stops.last_mut().is_some_and(|last| last.takes_in(stop)) {
        stops.push(stop);
    }
}

/// The time of one command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) came: Nanos,
    /// Up to here it waited for other commands only.
    pub(crate) others_until: Nanos,
    /// Up to here it counts what stops the device as a whole.
    pub(crate) shared_until: Nanos,
    pub(crate) ended: Nanos,
}

/// Keeps account of what commands wait for.
#[derive(Debug)]
pub(crate) struct Trace {
    dies: Vec<VecDeque<Work>>,
    /// Stops of all commands, the latest last, each with the last end of it and those before it.
    stops: VecDeque<(Stop, Nanos)>,
    /// Stops of the present command.
    own: Vec<Stop>,
    command: u64,
    now: Nanos,
    /// Why work is reserved at present; the host's own is [`Wait::Storage`].
    reason: Wait,
    /// Whether nobody waits for the times reserved now.
    aside: bool,
    /// The parts of the last command.
    last: Waited,
    /// What of them passed while it waited for commands before it.
    behind: Waited,
    /// Work space.
    found: Vec<Stop>,
    covered: Vec<(Nanos, Nanos)>,
}

impl Trace {
    pub(crate) fn new(dies: u32) -> Trace {
        Trace {
            dies: vec![VecDeque::new(); dies as usize],
            stops: VecDeque::with_capacity(REMEMBERED),
            own: Vec::new(),
            command: 0,
            now: Nanos::ZERO,
            reason: Wait::Storage,
            aside: false,
            last: Waited::default(),
            behind: Waited::default(),
            found: Vec::new(),
            covered: Vec::new(),
        }
    }

    /// Begins a command.
    pub(crate) fn begin(&mut self, at: Nanos) {
        self.now = at;
        self.command += 1;
        self.own.clear();
    }

    /// Sets why work is reserved from now on; returns the reason before.
    pub(crate) fn reason(&mut self, reason: Wait) -> Wait {
        std::mem::replace(&mut self.reason, reason)
    }

    /// Sets whether nobody waits for the times reserved from now on; returns the previous value.
    pub(crate) fn aside(&mut self, aside: bool) -> bool {
        std::mem::replace(&mut self.aside, aside)
    }

    /// Work on a die from one time to another.
    pub(crate) fn works(&mut self, die: Die, from: Nanos, to: Nanos) {
        let (now, reason, command) = (self.now, self.reason, self.command);
        let Some(works) = self.dies.get_mut(die.index()) else { return };
        while works.front().is_some_and(|work| work.to <= now) {
            works.pop_front();
        }
        match works.back_mut() {
            Some(last) if last.to == from && last.reason == reason && last.command == command => {
                last.to = to;
            }
            _ => works.push_back(Work { from, to, reason, command }),
        }
    }

    /// The work that a read held up goes on from one time to another.
    pub(crate) fn goes_on(&mut self, die: Die, from: Nanos, to: Nanos) {
        let Some(works) = self.dies.get_mut(die.index()) else { return };
        // The last is the read itself.
        let Some(held) = works.iter_mut().rev().nth(1).filter(|_| from < to) else { return };
        let rest = Work { from, to, ..*held };
        // The rest is remembered once: otherwise every read that suspends a program would add it again.
        if from <= held.to && held.to <= to {
            held.to = from.max(held.from);
        }
        works.push_back(rest);
    }

    /// An operation is requested of a die, and begins later.
    pub(crate) fn waits(&mut self, die: Die, asked: Nanos, turn: Nanos) {
        let collects = matches!(self.reason, Wait::GarbageCollection | Wait::WearLevelling);
        if asked >= turn || self.aside || collects {
            return;
        }
        let Some(works) = self.dies.get(die.index()) else { return };
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        for work in works {
            let cause = match work.reason {
                Wait::Storage if work.command == self.command => continue,
                Wait::Storage => Wait::OtherIo,
                reason => reason,
            };
            if let Some(stop) = (Stop { from: work.from, to: work.to, cause }).within(asked, turn) {
                add(&mut found, stop);
            }
        }
        for stop in found.drain(..) {
            self.stop(stop.cause, stop.from, stop.to);
        }
        self.found = found;
    }

    /// The present command could not go on for a time.
    pub(crate) fn stop(&mut self, cause: Wait, from: Nanos, to: Nanos) {
        if from >= to || self.aside {
            return;
        }
        add(&mut self.own, Stop { from, to, cause });
        self.stop_later(cause, from, to);
    }

    /// Commands that come later can't go on for a time.
    pub(crate) fn stop_later(&mut self, cause: Wait, from: Nanos, to: Nanos) {
        let before = self.stops.back().map_or(Nanos::ZERO, |(_, ended)| *ended);
        match self.stops.back_mut() {
            Some((last, ended)) if last.cause == cause && from >= last.from && from <= last.to => {
                last.to = last.to.max(to);
                *ended = before.max(to);
            }
            _ => {
                if self.stops.len() == REMEMBERED {
                    self.stops.pop_front();
                }
                self.stops.push_back((Stop { from, to, cause }, before.max(to)));
            }
        }
    }

    /// Adds the parts of all commands' stops between two times.
    fn find(&self, found: &mut Vec<Stop>, from: Nanos, until: Nanos) {
        let not_over = self.stops.iter().rev().take_while(|(_, ended)| *ended > from);
        found.extend(not_over.filter_map(|(stop, _)| stop.within(from, until)));
    }

    /// Ends the present command.
    pub(crate) fn end(&mut self, span: Span) {
        let Span { came, others_until, shared_until, ended } = span;
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        found.extend(self.own.iter().filter_map(|stop| stop.within(came, ended)));
        if came < shared_until {
            let until = shared_until.min(ended);
            self.find(&mut found, came, until);
        }
        let others = Stop { from: came, to: others_until, cause: Wait::OtherIo };
        found.extend(others.within(came, ended));
        self.last = self.divided(&mut found, came, ended);
        self.behind = self.last.since(&self.apart_from_others(&found));
        self.found = found;
    }

    /// The parts of stops, in the order of [`RANKS`], outside of waits for other commands.
    fn apart_from_others(&mut self, stops: &[Stop]) -> Waited {
        let is_others = |stop: &&Stop| stop.cause == Wait::OtherIo;
        if !stops.iter().any(|stop| is_others(&stop)) {
            return self.last;
        }
        let mut apart = Waited::all(Wait::Storage, self.last.of(Wait::Storage));
        self.covered.clear();
        for stop in stops.iter().filter(is_others) {
            cover(&mut self.covered, stop.from, stop.to);
        }
        for stop in stops.iter().filter(|stop| !is_others(stop)) {
            apart.add(stop.cause, cover(&mut self.covered, stop.from, stop.to));
        }
        apart
    }

    /// What stopped the device between two times; the rest counts as other commands.
    pub(crate) fn between(&mut self, from: Nanos, until: Nanos) -> Waited {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        self.find(&mut found, from, until);
        let divided = self.divided(&mut found, from, until);
        self.found = found;
        divided.moved(Wait::Storage, Wait::OtherIo, Nanos::MAX)
    }

    /// The parts of the last command.
    pub(crate) fn last(&self) -> Waited {
        self.last
    }

    /// What of the parts of the last command passed while it waited for commands before it.
    pub(crate) fn behind(&self) -> Waited {
        self.behind
    }

    /// Forgets all work, after a power cut.
    pub(crate) fn clear(&mut self) {
        *self = Trace::new(self.dies.len() as u32);
    }

    /// Divides a time among stops within it.
    fn divided(&mut self, stops: &mut [Stop], from: Nanos, until: Nanos) -> Waited {
        let mut waited = Waited::default();
        let mut left = until.saturating_since(from);
        stops.sort_unstable_by_key(|stop| (rank(stop.cause), stop.from));
        self.covered.clear();
        for stop in stops {
            let new = cover(&mut self.covered, stop.from, stop.to);
            waited.add(stop.cause, new);
            left = left.saturating_since(new);
        }
        waited.add(Wait::Storage, left);
        waited
    }
}

fn rank(cause: Wait) -> usize {
    RANKS.iter().position(|ranked| *ranked == cause).unwrap_or(RANKS.len())
}

/// Adds a time to ascending, disjoint ones; returns how much of it was not covered.
fn cover(covered: &mut Vec<(Nanos, Nanos)>, from: Nanos, to: Nanos) -> Nanos {
    let first = covered.partition_point(|(_, end)| *end < from);
    let end = first + covered[first..].partition_point(|(start, _)| *start <= to);
    let before = |(start, end): &(Nanos, Nanos)| end.min(&to).saturating_since(*start.max(&from));
    let known = covered[first..end].iter().map(before).fold(Nanos::ZERO, Nanos::plus);
    let joined = covered[first..end]
        .iter()
        .fold((from, to), |(from, to), (start, end)| (from.min(*start), to.max(*end)));
    covered.splice(first..end, [joined]);
    to.since(from).since(known)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GC: Wait = Wait::GarbageCollection;

    fn span(came: u64, ended: u64) -> Span {
        let [came, ended] = [came, ended].map(Nanos);
        Span { came, others_until: came, shared_until: came, ended }
    }

    #[test]
    fn an_operation_waits_for_what_its_die_does_and_for_no_other_die() {
        let mut trace = Trace::new(2);
        trace.begin(Nanos(0));
        trace.reason(GC);
        trace.works(Die(0), Nanos(0), Nanos(60));
        trace.works(Die(1), Nanos(0), Nanos(500));
        trace.reason(Wait::Storage);
        trace.works(Die(0), Nanos(60), Nanos(90));
        trace.begin(Nanos(10));
        trace.waits(Die(0), Nanos(20), Nanos(90));
        trace.end(span(10, 100));
        let parts: Vec<_> = trace.last().parts().collect();
        let expected = [(Wait::Storage, 20), (Wait::OtherIo, 30), (GC, 40)];
        assert_eq!(parts, expected.map(|(cause, part)| (cause, Nanos(part))));
    }

    #[test]
    fn a_command_does_not_wait_for_itself() {
        let mut trace = Trace::new(1);
        trace.begin(Nanos(0));
        trace.works(Die(0), Nanos(0), Nanos(60));
        trace.waits(Die(0), Nanos(0), Nanos(60));
        trace.end(span(0, 100));
        assert_eq!(trace.last(), Waited::all(Wait::Storage, Nanos(100)));
    }

    #[test]
    fn a_command_in_the_queue_counts_what_stops_the_one_before_it() {
        let mut trace = Trace::new(1);
        trace.begin(Nanos(0));
        trace.stop(GC, Nanos(10), Nanos(40));
        trace.end(span(0, 50));
        trace.begin(Nanos(20));
        let queued = Nanos(50);
        trace.end(Span { others_until: queued, shared_until: queued, ..span(20, 60) });
        let parts: Vec<_> = trace.last().parts().collect();
        let expected = [(Wait::Storage, 10), (Wait::OtherIo, 10), (GC, 20)];
        assert_eq!(parts, expected.map(|(cause, part)| (cause, Nanos(part))));
        assert_eq!(trace.between(Nanos(0), Nanos(20)).of(GC), Nanos(10));
        assert_eq!(trace.between(Nanos(0), Nanos(20)).of(Wait::OtherIo), Nanos(10));
    }

    #[test]
    fn of_two_causes_at_one_moment_the_flashs_own_counts() {
        let mut trace = Trace::new(1);
        trace.begin(Nanos(0));
        trace.stop(Wait::WriteCacheFull, Nanos(0), Nanos(100));
        trace.stop(GC, Nanos(30), Nanos(40));
        trace.stop(GC, Nanos(20), Nanos(35));
        trace.end(span(0, 100));
        let parts: Vec<_> = trace.last().parts().collect();
        let expected = [(GC, 20), (Wait::WriteCacheFull, 80)];
        assert_eq!(parts, expected.map(|(cause, part)| (cause, Nanos(part))));
    }

    #[test]
    fn a_program_that_reads_suspend_again_and_again_is_one_stop() {
        let mut trace = Trace::new(1);
        trace.begin(Nanos(0));
        trace.works(Die(0), Nanos(0), Nanos(10));
        for at in (10..1000).step_by(20) {
            trace.begin(Nanos(1));
            trace.works(Die(0), Nanos(at), Nanos(at + 10));
            trace.goes_on(Die(0), Nanos(at + 10), Nanos(at + 20));
        }
        trace.begin(Nanos(2));
        trace.waits(Die(0), Nanos(5), Nanos(1005));
        assert_eq!(trace.own, [Stop { from: Nanos(5), to: Nanos(1005), cause: Wait::OtherIo }]);
        trace.end(span(2, 1005));
        assert_eq!(trace.last().of(Wait::OtherIo), Nanos(1000));
    }

    #[test]
    fn of_a_long_program_that_reads_suspend_few_pieces_are_remembered_and_all_of_its_time() {
        let mut trace = Trace::new(1);
        trace.begin(Nanos(0));
        trace.works(Die(0), Nanos(0), Nanos(10_000));
        for read in 0..100 {
            let at = 50 + 100 * read;
            trace.begin(Nanos(at));
            trace.works(Die(0), Nanos(at), Nanos(at + 10));
            trace.goes_on(Die(0), Nanos(at + 10), Nanos(10_010 + 10 * read));
            assert!(trace.dies[0].len() < 5, "{:?}", trace.dies);
        }
        trace.begin(Nanos(9_955));
        trace.waits(Die(0), Nanos(9_955), Nanos(11_000));
        let all = Stop { from: Nanos(9_955), to: Nanos(11_000), cause: Wait::OtherIo };
        assert_eq!(trace.own, [all]);
    }

    proptest! {
        #[test]
        fn each_moment_counts_once_and_for_the_first_cause(
            stops in prop::collection::vec((0u64..200, 0u64..60, 0usize..RANKS.len()), 0..40),
            came in 0u64..100,
            length in 0u64..150,
        ) {
            let mut trace = Trace::new(1);
            trace.begin(Nanos(came));
            for (from, time, cause) in &stops {
                trace.stop(RANKS[*cause], Nanos(*from), Nanos(from + time));
            }
            trace.end(span(came, came + length));
            let (mut expected, mut behind) = (Waited::default(), Waited::default());
            for moment in came..came + length {
                let at = |(from, time, _): &&(u64, u64, usize)| (*from..from + time).contains(&moment);
                let first = stops.iter().filter(at).map(|(_, _, cause)| *cause).min();
                let cause = first.map_or(Wait::Storage, |cause| RANKS[cause]);
                expected.add(cause, Nanos(1));
                if stops.iter().filter(at).any(|(_, _, cause)| RANKS[*cause] == Wait::OtherIo) {
                    behind.add(cause, Nanos(1));
                }
            }
            prop_assert_eq!(trace.last(), expected);
            prop_assert_eq!(trace.behind(), behind);
        }
    }
}
