//! The first line: which side is faster, and the ratio.

use flashlag_spec::State;
use flashlag_units::InOrder;

use super::model::{CompareRow, Ratio, RatioKind, Subject};
use super::ratios::is_usable;
use super::words::main_row;
use crate::format::{self, decapitalized};
use crate::worst::GroupKind;

/// `Moto Z's durable writes are 6.8× as fast as Nexus 5's (6.7 to 6.9).` `None` if fewer than
/// two have the row that it is about. The ratios are those of the row.
pub fn line(subjects: &[Subject], rows: &[CompareRow]) -> Option<String> {
    let row = row(rows)?;
    let speed = |index: usize| row.sides[index].as_ref().map_or(0.0, |side| side.ops_per_sec);
    let mut order = usable(row);
    order.order_by(|a, b| speed(*b).total_cmp(&speed(*a)));
    let (&fastest, others) = order.split_first()?;
    let against = |other: &usize| {
        let name = subjects.get(*other)?.name.as_str();
        Some(Other { name, found: times_as_fast(row, fastest, *other)? })
    };
    let others: Vec<Other<'_>> = others.iter().filter_map(against).collect();
    let things = Things::of(row);
    let name = |index: &usize| subjects.get(*index).map(|subject| subject.name.clone());
    Some(match others.as_slice() {
        [] => return None,
        [one] => things.two(&subjects[fastest].name, one),
        others if !others.iter().any(|other| other.found.shown) && !any_rate_differs(row) => {
            let names: Vec<String> = order.iter().filter_map(name).collect();
            things.alike(&names)
        }
        [next, .., slowest] => things.several(&subjects[fastest].name, next, slowest),
    })
}

/// The durable write of the fullest stage; without one a save there, without either the first test
/// that two have.
fn row(rows: &[CompareRow]) -> Option<&CompareRow> {
    let compared = |row: &&CompareRow| usable(row).len() > 1;
    let of_state = |state| main_row(rows, state).filter(compared);
    let alone = |row: &&CompareRow| row.kind != Some(GroupKind::BusySave);
    of_state(State::Filled)
        .or_else(|| of_state(State::New))
        .or_else(|| rows.iter().filter(alone).find(compared))
}

fn usable(row: &CompareRow) -> Vec<usize> {
    (0..row.sides.len()).filter(|index| is_usable(&row.sides, *index)).collect()
}

struct Other<'a> {
    name: &'a str,
    found: Lead,
}

/// Whether two that are not the fastest differ.
fn any_rate_differs(row: &CompareRow) -> bool {
    row.all_ratios().any(|ratio| ratio.kind == RatioKind::Throughput && ratio.differs)
}

/// How many times as fast, and whether that is the ratio of the medians.
struct Lead {
    ratio: f64,
    interval: (f64, f64),
    shown: bool,
    of_median: bool,
}

impl Lead {
    /// `6.8×` and ` (6.7 to 6.9)`, or ` (6.7 to 6.9, at the median)`; empty where there is neither.
    fn words(&self) -> (String, String) {
        let (times, range) =
            format::ratio_with_interval(self.ratio, self.interval.0, self.interval.1);
        let of = self.of_median.then(|| "at the median".to_owned());
        let said: Vec<String> = [range, of].into_iter().flatten().collect();
        let said = said.join(", ");
        (times, if said.is_empty() { said } else { format!(" ({said})") })
    }
}

/// The ratio of operations a second; that of the medians if it is unknown how much the rates vary.
fn times_as_fast(row: &CompareRow, faster: usize, slower: usize) -> Option<Lead> {
    let of_kind = |kind| {
        let pair = |ratio: &&Ratio| {
            ratio.kind == kind
                && [ratio.of, ratio.against].iter().all(|s| [faster, slower].contains(s))
        };
        let ratio = row.all_ratios().find(pair)?;
        let (low, high) = ratio.interval?;
        // The faster has more operations a second, and the shorter median.
        let turned = (ratio.of == slower) == (kind == RatioKind::Throughput);
        let of_median = kind == RatioKind::P50;
        let (value, interval) = if turned {
            (1.0 / ratio.ratio, (1.0 / high, 1.0 / low))
        } else {
            (ratio.ratio, (low, high))
        };
        Some(Lead { ratio: value, interval, shown: ratio.differs, of_median })
    };
    of_kind(RatioKind::Throughput).or_else(|| of_kind(RatioKind::P50))
}

/// The name of what is fast.
struct Things {
    /// `Once full, `, or nothing.
    when: &'static str,
    what: String,
}

impl Things {
    fn of(row: &CompareRow) -> Things {
        let what = match row.kind {
            Some(GroupKind::DurableWrite) => "durable writes".to_owned(),
            Some(_) if row.title.ends_with(" save") => format!("{}s", decapitalized(&row.title)),
            Some(_) => format!("saves ({})", row.title),
            None => format!("operations ({})", row.title),
        };
        let durable = row.kind == Some(GroupKind::DurableWrite);
        let when = if durable && row.state == State::Filled { "Once full, " } else { "" };
        Things { when, what }
    }

    fn two(&self, fastest: &str, other: &Other<'_>) -> String {
        let (times, range) = other.found.words();
        let Things { when, what } = self;
        let name = other.name;
        if other.found.shown {
            format!("{when}{fastest}'s {what} are {times} as fast as {name}'s{range}.")
        } else {
            format!(
                "{when}{fastest}'s and {name}'s {what}: no difference shown, {times} as fast{range}."
            )
        }
    }

    fn alike(&self, names: &[String]) -> String {
        let Things { when, what } = self;
        let whose: Vec<String> = names.iter().map(|name| format!("{name}'s")).collect();
        format!("{when}{} {what}: no difference shown.", format::list(&whose))
    }

    fn several(&self, fastest: &str, next: &Other<'_>, slowest: &Other<'_>) -> String {
        let Things { when, what } = self;
        let clause = |other: &Other<'_>, which: &str| {
            let (times, range) = other.found.words();
            format!("{times} as fast as {}'s, {which}{range}", other.name)
        };
        let alike = |other: &Other<'_>, which: &str| {
            let range = other.found.words().1;
            format!("no difference is shown to {}'s, {which}{range}", other.name)
        };
        let (second, last) = ("the next", "the slowest");
        match (next.found.shown, slowest.found.shown) {
            (true, true) => {
                let (next, slowest) = (clause(next, second), clause(slowest, last));
                format!("{when}{fastest}'s {what} are the fastest: {next}, and {slowest}.")
            }
            (false, true) => {
                let (next, slowest) = (alike(next, second), clause(slowest, last));
                format!("{when}{fastest}'s {what} are {slowest}; {next}.")
            }
            (true, false) => {
                let (next, slowest) = (clause(next, second), alike(slowest, last));
                format!("{when}{fastest}'s {what} are {next}; {slowest}.")
            }
            (false, false) => {
                let (next, slowest) = (alike(next, second), alike(slowest, last));
                format!("{when}{fastest}'s {what}: {next}; {slowest}.")
            }
        }
    }
}
