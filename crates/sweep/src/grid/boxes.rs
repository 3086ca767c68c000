//! A list of points: all combinations of the values of each key.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::axes::SeedRange;
use crate::point::{FILLED, Point};

/// The texts of scenarios and profiles, by their names in the grid: a worker on another machine
/// does not have the user's files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Texts {
    pub scenarios: BTreeMap<String, String>,
    pub profiles: BTreeMap<String, String>,
}

/// Checked values of each key; none is empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Box {
    pub scenario: Vec<String>,
    /// Which scenarios have a setting that fills the storage before the tests.
    pub fills: Vec<bool>,
    pub profile: Vec<String>,
    pub filesystem: Vec<String>,
    pub options: Vec<String>,
    pub size: Vec<String>,
    pub age: Vec<String>,
    /// Millionths.
    pub full: Vec<u32>,
    pub set: Vec<(String, Vec<String>)>,
    pub parameters: Vec<(String, Vec<String>)>,
    pub seed: SeedList,
}

/// Seeds; a range takes no memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum SeedList {
    Some(Vec<u64>),
    Range { from: u64, count: u64 },
}

impl From<&SeedRange> for SeedList {
    fn from(range: &SeedRange) -> SeedList {
        SeedList::Range { from: range.from, count: range.count }
    }
}

impl SeedList {
    pub fn count(&self) -> u64 {
        match self {
            SeedList::Some(seeds) => seeds.len() as u64,
            SeedList::Range { count, .. } => *count,
        }
    }

    fn at(&self, index: u64) -> u64 {
        match self {
            SeedList::Some(seeds) => seeds.get(index as usize).copied().unwrap_or_default(),
            SeedList::Range { from, .. } => from.saturating_add(index),
        }
    }

    pub fn meets(&self, other: &SeedList) -> bool {
        match (self, other) {
            (SeedList::Some(seeds), _) => seeds.iter().any(|seed| other.has(*seed)),
            (_, SeedList::Some(_)) => other.meets(self),
            (SeedList::Range { from: a, count: n }, SeedList::Range { from: b, count: m }) => {
                a.saturating_add(*n) > *b && b.saturating_add(*m) > *a
            }
        }
    }

    fn has(&self, seed: u64) -> bool {
        match self {
            SeedList::Some(seeds) => seeds.contains(&seed),
            SeedList::Range { from, count } => {
                seed.checked_sub(*from).is_some_and(|after| after < *count)
            }
        }
    }
}

impl Box {
    /// Number of combinations; `None` if it overflows.
    pub fn points(&self) -> Option<u64> {
        let texts =
            [&self.scenario, &self.profile, &self.filesystem, &self.options, &self.size, &self.age];
        let pairs = self.set.iter().chain(&self.parameters).map(|(_, values)| values.len());
        let lengths = texts.into_iter().map(Vec::len).chain([self.full.len()]).chain(pairs);
        lengths.map(|length| length as u64).try_fold(self.seed.count(), u64::checked_mul)
    }

    /// The combination with that index; the seed changes fastest.
    pub fn point(&self, index: u64) -> Point {
        let mut left = Digits(index);
        let seed = self.seed.at(left.next(self.seed.count()));
        let parameters = left.pairs(&self.parameters);
        let mut set = left.pairs(&self.set);
        let full = self.full.get(left.next(self.full.len() as u64) as usize).copied();
        let age = left.text(&self.age);
        let size = left.text(&self.size);
        let options = left.text(&self.options);
        let filesystem = left.text(&self.filesystem);
        let profile = left.text(&self.profile);
        let scenario = left.next(self.scenario.len() as u64) as usize;
        let full = full.unwrap_or_default();
        let fills = self.fills.get(scenario).is_some_and(|fills| *fills);
        if full > 0 && fills && !set.iter().any(|(key, _)| key == FILLED) {
            set.push((FILLED.to_owned(), "true".to_owned()));
        }
        let scenario = self.scenario.get(scenario).cloned().unwrap_or_default();
        Point { scenario, profile, filesystem, options, size, age, full, set, parameters, seed }
    }
}

/// An index that is split into digits, each with a base of its own.
struct Digits(u64);

impl Digits {
    fn next(&mut self, base: u64) -> u64 {
        let digit = self.0 % base.max(1);
        self.0 /= base.max(1);
        digit
    }

    fn text(&mut self, values: &[String]) -> String {
        values.get(self.next(values.len() as u64) as usize).cloned().unwrap_or_default()
    }

    fn pairs(&mut self, all: &[(String, Vec<String>)]) -> Vec<(String, String)> {
        // The last key changes fastest.
        let each = all.iter().rev().map(|(key, values)| (key.clone(), self.text(values)));
        let mut pairs: Vec<_> = each.collect();
        pairs.reverse();
        pairs
    }
}
