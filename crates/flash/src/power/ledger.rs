use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

use flashlag_units::Nanos;

use crate::address::Unit;

/// Number of a command that changed data, counted from 1; 0 stands for the initial content.
pub(crate) type Sequence = u64;

/// The page of a word line that a program operation wrote, if the pages of a word line are
/// programmed separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum WordLine {
    /// The lower page of the word line with this number.
    Lower(u64),
    /// The upper page of the word line with this number, and the start of its program.
    Upper(u64, Nanos),
}

/// A command's change of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Version {
    sequence: Sequence,
    discard: bool,
}

/// A program that makes a unit's content durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Program {
    end: Nanos,
    /// The last command whose change the program includes.
    sequence: Sequence,
    /// The word line whose upper page, while being programmed, can still destroy this page.
    exposed: Option<u64>,
}

/// Changes of a unit that are not known to be durable.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct History {
    /// Commands later than the last durable content.
    versions: VecDeque<Version>,
    programs: Vec<Program>,
    /// Whether the durable content is empty: never written, or discarded.
    empty: bool,
}

/// A record of changes and programs, from which a power cut's losses follow. Kept only by devices
/// that keep data.
///
/// A unit's content becomes durable when a program that includes it ends or, in a buffer with a
/// battery, when it arrives there. A cut at t reverts each unit to the latest content that was
/// durable by t. A cut during the program of an upper page also destroys the lower page of that
/// word line, unless a flush ended before the upper program began, or the lower page was written
/// with force unit access: the firmware keeps a copy of such pages.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Ledger {
    sequence: Sequence,
    units: BTreeMap<Unit, History>,
    /// Start and end of upper page programs, by word line.
    uppers: BTreeMap<u64, (Nanos, Nanos)>,
    /// Ends of flushes that may be in progress.
    flushes: VecDeque<Nanos>,
    flushed: Nanos,
    oldest: Sequence,
    /// Changes since durable ones were last dropped.
    untidy: usize,
}

/// A unit that a power cut has reverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LostUnit {
    pub(crate) unit: Unit,
    /// The first command whose change is lost.
    pub(crate) lost_from: Sequence,
    /// Whether the unit is empty now.
    pub(crate) empty: bool,
}

impl Ledger {
    /// Starts the record of a command that changes data, at `now`.
    pub(crate) fn next(&mut self, now: Nanos) {
        self.sequence += 1;
        // Dropping costs as much as the changes since the last time, so no single command pays for
        // all.
        if self.untidy > self.units.len() {
            self.settle(now);
        }
    }

    /// Number of the last command.
    pub(crate) fn sequence(&self) -> Sequence {
        self.sequence
    }

    /// Number of the first command that may still be lost.
    pub(crate) fn oldest(&self) -> Sequence {
        self.oldest
    }

    /// Records that the present command changes a unit. `empty` returns whether the unit had no
    /// content, and is called only if no change of it is pending.
    pub(crate) fn change(&mut self, unit: Unit, discard: bool, empty: impl FnOnce() -> bool) {
        let new = || History { versions: VecDeque::new(), programs: Vec::new(), empty: empty() };
        let history = self.units.entry(unit).or_insert_with(new);
        let version = Version { sequence: self.sequence, discard };
        if history.versions.back() != Some(&version) {
            history.versions.push_back(version);
            self.untidy += 1;
        }
    }

    /// Whether the record can omit a discard of a unit: the unit is `empty`, and none of its
    /// changes can be lost.
    pub(crate) fn needs_no_record(&self, unit: Unit, empty: bool) -> bool {
        empty && !self.units.contains_key(&unit)
    }

    /// Records a program of a unit's present content that ends at `end`.
    pub(crate) fn program(&mut self, unit: Unit, end: Nanos, line: Option<WordLine>) {
        let mut exposed = None;
        match line {
            Some(WordLine::Lower(line)) => exposed = Some(line),
            Some(WordLine::Upper(line, begin)) => {
                self.uppers.insert(line, (begin, end));
            }
            None => {}
        }
        let Some(history) = self.units.get_mut(&unit) else {
            return;
        };
        if let Some(latest) = history.versions.back() {
            history.programs.push(Program { end, sequence: latest.sequence, exposed });
        }
    }

    /// Protects the present command's change of a unit from the program of an upper page: the
    /// firmware keeps a copy of a lower page written with force unit access.
    pub(crate) fn protect(&mut self, unit: Unit) {
        let programs = self.units.get_mut(&unit).map(|history| history.programs.iter_mut());
        let present = |program: &&mut Program| program.sequence == self.sequence;
        programs.into_iter().flatten().filter(present).for_each(|program| program.exposed = None);
    }

    /// Records a flush that ends at `end`.
    pub(crate) fn flush(&mut self, end: Nanos) {
        self.flushes.push_back(end);
    }

    /// Drops everything that can't be lost any more at `now`.
    fn settle(&mut self, now: Nanos) {
        while let Some(end) = self.flushes.pop_front_if(|end| *end <= now) {
            self.flushed = self.flushed.max(end);
        }
        let (flushed, uppers) = (self.flushed, &self.uppers);
        let is_safe = |program: &Program| {
            let closed = |line| uppers.get(line).is_some_and(|(_, end)| *end <= now);
            let hidden = program.end <= flushed || program.exposed.as_ref().is_none_or(closed);
            program.end <= now && hidden
        };
        self.units.retain(|_, history| {
            history.keep(is_safe);
            !history.versions.is_empty()
        });
        self.uppers.retain(|_, (_, end)| *end > now);
        let pending = self.units.values().filter_map(|history| history.versions.front());
        let oldest = pending.map(|version| version.sequence).min();
        self.oldest = oldest.unwrap_or(self.sequence + 1);
        self.untidy = 0;
    }

    /// Cuts the power at `at` and returns the reverted units. Nothing is pending afterwards.
    pub(crate) fn cut(&mut self, at: Nanos) -> Vec<LostUnit> {
        self.settle(at);
        let uppers = std::mem::take(&mut self.uppers);
        let survived = |program: &Program| {
            let cut = |line| uppers.get(line).is_some_and(|(begin, end)| *begin <= at && *end > at);
            program.end <= at && !program.exposed.as_ref().is_some_and(cut)
        };
        self.flushes.clear();
        self.oldest = self.sequence + 1;
        let lost = std::mem::take(&mut self.units).into_iter().filter_map(|(unit, mut history)| {
            history.keep(survived);
            let lost_from = history.versions.front()?.sequence;
            Some(LostUnit { unit, lost_from, empty: history.empty })
        });
        lost.collect()
    }
}

impl History {
    /// Drops the changes up to the latest durable program, which makes all earlier programs
    /// irrelevant.
    fn keep(&mut self, is_durable: impl Fn(&Program) -> bool) {
        let durable = self.programs.iter().filter(|program| is_durable(program));
        let Some(latest) = durable.map(|program| program.sequence).max() else {
            return;
        };
        self.programs.retain(|program| program.sequence > latest);
        while let Some(version) = self.versions.pop_front_if(|next| next.sequence <= latest) {
            self.empty = version.discard;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(ledger: &mut Ledger, unit: u32) -> Sequence {
        ledger.next(Nanos::ZERO);
        ledger.change(Unit(unit), false, || true);
        ledger.sequence()
    }

    #[test]
    fn what_no_program_has_ended_for_is_lost() {
        let mut ledger = Ledger::default();
        write(&mut ledger, 7);
        ledger.program(Unit(7), Nanos(100), None);
        let second = write(&mut ledger, 7);
        write(&mut ledger, 7);
        ledger.program(Unit(7), Nanos(200), None);
        let lost = LostUnit { unit: Unit(7), lost_from: second, empty: false };
        assert_eq!(ledger.cut(Nanos(199)), [lost]);
        assert!(ledger.cut(Nanos(300)).is_empty());
    }

    #[test]
    fn a_unit_that_was_never_programmed_is_empty() {
        let mut ledger = Ledger::default();
        let first = write(&mut ledger, 3);
        ledger.program(Unit(3), Nanos(10), None);
        assert_eq!(
            ledger.cut(Nanos(9)),
            [LostUnit { unit: Unit(3), lost_from: first, empty: true }]
        );
    }

    #[test]
    fn a_later_program_that_ends_first_makes_the_earlier_one_needless() {
        let mut ledger = Ledger::default();
        write(&mut ledger, 3);
        ledger.program(Unit(3), Nanos(90), None);
        write(&mut ledger, 3);
        ledger.program(Unit(3), Nanos(50), None);
        assert!(ledger.cut(Nanos(60)).is_empty());
    }

    /// A lower page at 100, a flush or none, the upper page from 500 to 700, the cut.
    fn word_line(flush: Option<Nanos>, cut: u64) -> Vec<u32> {
        let mut ledger = Ledger::default();
        write(&mut ledger, 1);
        ledger.program(Unit(1), Nanos(100), Some(WordLine::Lower(4)));
        flush.into_iter().for_each(|end| ledger.flush(end));
        write(&mut ledger, 2);
        ledger.program(Unit(2), Nanos(700), Some(WordLine::Upper(4, Nanos(500))));
        ledger.next(Nanos(300));
        ledger.cut(Nanos(cut)).iter().map(|lost| lost.unit.0).collect()
    }

    #[test]
    fn a_lower_page_that_was_written_with_force_unit_access_stays() {
        let mut ledger = Ledger::default();
        write(&mut ledger, 1);
        ledger.program(Unit(1), Nanos(100), Some(WordLine::Lower(4)));
        ledger.protect(Unit(1));
        write(&mut ledger, 2);
        ledger.program(Unit(2), Nanos(700), Some(WordLine::Upper(4, Nanos(500))));
        ledger.protect(Unit(2));
        let lost: Vec<u32> = ledger.cut(Nanos(600)).iter().map(|lost| lost.unit.0).collect();
        assert_eq!(lost, [2]);
    }

    #[test]
    fn an_upper_page_that_is_cut_takes_its_lower_page_along_unless_it_was_flushed() {
        assert_eq!(word_line(None, 499), [2]);
        assert_eq!(word_line(None, 500), [1, 2]);
        assert_eq!(word_line(None, 699), [1, 2]);
        assert!(word_line(None, 700).is_empty());
        assert_eq!(word_line(Some(Nanos(150)), 600), [2]);
        assert_eq!(word_line(Some(Nanos(650)), 600), [1, 2]);
    }
}
