//! The first line: who is faster, by how much.

use flashlag_schema::{Run, State};
use flashlag_stats::Percentile;
use flashlag_stats::bootstrap::{self, Compared, Figure, Sample};

use super::ratios::{is_finite, is_usable, samples};
use super::rows::repeats;
use super::words::main_row;
use super::{CompareRow, Subject};
use crate::format;
use crate::strip::GroupKind;

/// `Moto Z's durable writes are 6.8× as fast as Nexus 5's (6.7 to 6.9).` `None` where fewer than
/// two have the row that it is about.
pub fn line(runs: &[Run], subjects: &[Subject], rows: &[CompareRow], seed: u64) -> Option<String> {
    let row = row(rows)?;
    let speed = |index: usize| row.sides[index].as_ref().map_or(0.0, |side| side.ops_per_sec);
    let mut order = usable(row);
    order.sort_by(|a, b| speed(*b).total_cmp(&speed(*a)));
    let (&fastest, others) = order.split_first()?;
    let repeats = repeats(runs, subjects, &row.label);
    let first = samples(&repeats[fastest])?;
    let against = |other: &usize| {
        let second = samples(&repeats[*other])?;
        let name = subjects.get(*other)?.name.as_str();
        let found = times_as_fast(&second, &first, seed)?;
        Some(Other { name, found })
    };
    let others: Vec<Other<'_>> = others.iter().filter_map(against).collect();
    let things = Things::of(row);
    Some(match others.as_slice() {
        [] => return None,
        [one] => things.two(&subjects[fastest].name, one),
        [next, .., slowest] => things.several(&subjects[fastest].name, next, slowest),
    })
}

/// The durable write of the fullest stage, else a save there, else the first test that two have.
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
    found: Found,
}

/// How many times as fast, and whether that is of the median.
struct Found {
    compared: Compared,
    of_median: bool,
}

impl Found {
    /// `6.8×` and `(6.7 to 6.9)`, or `(6.7 to 6.9, at the median)`.
    fn words(&self) -> (String, String) {
        let Compared { ratio, low, high, .. } = self.compared;
        let (times, range) = format::ratio_with_interval(ratio, low, high);
        let of = if self.of_median { ", at the median" } else { "" };
        (times, format!("({range}{of})"))
    }
}

/// By operations a second; by the median where nothing says how much those vary.
fn times_as_fast(slower: &[Sample], faster: &[Sample], seed: u64) -> Option<Found> {
    let rate = bootstrap::compare(slower, faster, Figure::Throughput, seed).filter(is_finite);
    if let Some(compared) = rate {
        return Some(Found { compared, of_median: false });
    }
    let median = Figure::Percentile(Percentile::P50);
    let compared = bootstrap::compare(faster, slower, median, seed).filter(is_finite)?;
    Some(Found { compared, of_median: true })
}

/// What is fast: how it is called.
struct Things {
    /// `Once full, `, or nothing.
    when: &'static str,
    what: String,
}

impl Things {
    fn of(row: &CompareRow) -> Things {
        let what = match row.kind {
            Some(GroupKind::DurableWrite) => "durable writes".to_owned(),
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
        match other.found.compared.shown {
            true => format!("{when}{fastest}'s {what} are {times} as fast as {name}'s {range}."),
            false => format!(
                "{when}{fastest}'s and {name}'s {what}: no difference shown, {times} as fast {range}."
            ),
        }
    }

    fn several(&self, fastest: &str, next: &Other<'_>, slowest: &Other<'_>) -> String {
        let Things { when, what } = self;
        let clause = |other: &Other<'_>, which: &str| {
            let (times, range) = other.found.words();
            let name = other.name;
            match other.found.compared.shown {
                true => format!("{times} as fast as {name}'s, {which} {range}"),
                false => format!("no difference shown to {name}'s, {which} {range}"),
            }
        };
        let (next, slowest) = (clause(next, "the next"), clause(slowest, "the slowest"));
        format!("{when}{fastest}'s {what} are the fastest: {next}, and {slowest}.")
    }
}
