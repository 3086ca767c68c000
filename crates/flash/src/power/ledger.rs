use std::collections::{BTreeMap, VecDeque};

use flashlag_units::Nanos;

/// The number of a command that changed data, counted from 1; 0 is what was there before all.
pub(crate) type Sequence = u64;

/// One command's part in a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    sequence: Sequence,
    discard: bool,
}

/// A unit's content on its way to where it stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Program {
    end: Nanos,
    /// It holds the unit as the command with this number left it.
    sequence: Sequence,
}

/// Of one unit: what is not known to be durable.
#[derive(Clone, Debug)]
struct History {
    /// The commands after the one that the last durable content holds.
    versions: VecDeque<Version>,
    programs: Vec<Program>,
    /// Whether the durable content is nothing: never written, or discarded.
    empty: bool,
}

/// Which commands' data is where, for devices that keep data and must know what a power cut loses.
///
/// Content of a unit becomes durable when a program that holds it ends, or, in a buffer with a
/// battery, when it arrives there. After a cut at t a unit is as the latest of those left it that
/// ended by t; every later command's part in it is lost.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    sequence: Sequence,
    units: BTreeMap<u32, History>,
}

/// What a power cut took from a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LostUnit {
    pub(crate) unit: u32,
    /// The unit is as it was before the command with this number.
    pub(crate) lost_from: Sequence,
    /// That is: nothing was in it.
    pub(crate) empty: bool,
}

impl Ledger {
    /// The next command's number.
    pub(crate) fn next(&mut self) -> Sequence {
        self.sequence += 1;
        self.sequence
    }

    /// The last command's number.
    pub(crate) fn sequence(&self) -> Sequence {
        self.sequence
    }

    /// The present command changes a unit. `empty` says whether nothing was in it, and is asked
    /// only where nothing is pending of it.
    pub(crate) fn change(&mut self, unit: u32, discard: bool, empty: impl FnOnce() -> bool) {
        let new = || History { versions: VecDeque::new(), programs: Vec::new(), empty: empty() };
        let history = self.units.entry(unit).or_insert_with(new);
        let version = Version { sequence: self.sequence, discard };
        if history.versions.back() != Some(&version) {
            history.versions.push_back(version);
        }
    }

    /// A unit's present content will be durable at `end`.
    pub(crate) fn program(&mut self, unit: u32, end: Nanos) {
        let Some(history) = self.units.get_mut(&unit) else {
            return;
        };
        let Some(latest) = history.versions.back() else {
            return;
        };
        history.programs.push(Program { end, sequence: latest.sequence });
    }

    /// Forgets what ended by `now`: it can't be lost any more.
    pub(crate) fn settle(&mut self, now: Nanos) {
        self.units.retain(|_, history| {
            history.settle(now);
            !history.versions.is_empty()
        });
    }

    /// The power is gone at `at`: what was lost, by unit. Nothing is pending afterwards.
    pub(crate) fn cut(&mut self, at: Nanos) -> Vec<LostUnit> {
        self.settle(at);
        let lost = std::mem::take(&mut self.units).into_iter().filter_map(|(unit, history)| {
            let lost_from = history.versions.front()?.sequence;
            Some(LostUnit { unit, lost_from, empty: history.empty })
        });
        lost.collect()
    }
}

impl History {
    fn settle(&mut self, now: Nanos) {
        let ended = self.programs.iter().filter(|program| program.end <= now);
        let Some(latest) = ended.map(|program| program.sequence).max() else {
            return;
        };
        self.programs.retain(|program| program.end > now && program.sequence > latest);
        while let Some(version) = self.versions.pop_front_if(|next| next.sequence <= latest) {
            self.empty = version.discard;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(ledger: &mut Ledger, unit: u32) -> Sequence {
        let sequence = ledger.next();
        ledger.change(unit, false, || true);
        sequence
    }

    #[test]
    fn what_no_program_has_ended_for_is_lost() {
        let mut ledger = Ledger::default();
        write(&mut ledger, 7);
        ledger.program(7, Nanos(100));
        let second = write(&mut ledger, 7);
        write(&mut ledger, 7);
        ledger.program(7, Nanos(200));
        let lost = LostUnit { unit: 7, lost_from: second, empty: false };
        assert_eq!(ledger.cut(Nanos(199)), [lost]);
        assert_eq!(ledger.cut(Nanos(300)), []);
    }

    #[test]
    fn a_unit_that_was_never_programmed_is_empty() {
        let mut ledger = Ledger::default();
        let first = write(&mut ledger, 3);
        ledger.program(3, Nanos(10));
        assert_eq!(ledger.cut(Nanos(9)), [LostUnit { unit: 3, lost_from: first, empty: true }]);
    }

    #[test]
    fn a_later_program_that_ends_first_makes_the_earlier_one_needless() {
        let mut ledger = Ledger::default();
        write(&mut ledger, 3);
        ledger.program(3, Nanos(90));
        write(&mut ledger, 3);
        ledger.program(3, Nanos(50));
        assert_eq!(ledger.cut(Nanos(60)), []);
    }
}
