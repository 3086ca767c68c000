//! Which records of a history count: the newest of each hour, day and incident, and the parts of an
//! hour that are in no whole hour yet.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use flashlag_schema::history::DAY_S;
use flashlag_units::InOrder;

use crate::book::record::{Head, Kind, SECTOR, Seen, look};
use crate::book::source::Source;
use crate::span::HOUR_S;

/// A record that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub kind: Kind,
    pub key: u64,
    pub number: u64,
    pub through: u64,
    /// Its first sector.
    pub sector: u64,
    pub sectors: u64,
}

/// What was dropped because the file was full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    /// Hours and days that end before this second.
    pub spans_before_s: u64,
    /// Incidents that began before this millisecond.
    pub incidents_before_ms: u64,
}

/// The records of a history that count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// In the order of their numbers.
    pub entries: Vec<Entry>,
    pub dropped: Dropped,
    /// The largest number that was ever seen.
    pub last: u64,
    /// Records that are not whole and that no later one lies on.
    pub damaged: u64,
}

impl Index {
    /// Reads the heads of all records.
    pub fn of(source: &impl Source) -> Index {
        let sectors = source.length() / SECTOR as u64;
        let (mut found, mut broken) = (Vec::new(), Vec::new());
        let mut dropped = (0, Dropped::default());
        let mut at = 0;
        while at < sectors {
            match look(source, at) {
                Seen::Record(head, payload) => {
                    if head.kind == Kind::Dropped && head.number >= dropped.0 {
                        let read = postcard::from_bytes(&payload).unwrap_or_default();
                        dropped = (head.number, read);
                    }
                    found.push(entry(&head, at));
                    at += head.sectors() as u64;
                }
                Seen::Broken(head) => {
                    broken.push(at..at + head.sectors() as u64);
                    at += 1;
                }
                Seen::Nothing => at += 1,
            }
        }
        let covered = |range: &std::ops::Range<u64>| {
            let over = |entry: &Entry| {
                entry.sector < range.end && range.start < entry.sector + entry.sectors
            };
            found.iter().any(over)
        };
        let damaged = broken.iter().filter(|range| !covered(range)).count() as u64;
        let last = found.iter().map(|entry| entry.number).max().unwrap_or(0);
        let mut index = Index { entries: found, dropped: dropped.1, last, damaged };
        index.entries.order_by_key(|entry| entry.number);
        index.settle();
        index
    }

    /// Adds a record that is durable now, and returns those that do not count any more.
    pub fn add(&mut self, new: Entry) -> Vec<Entry> {
        self.last = self.last.max(new.number);
        self.entries.push(new);
        if new.kind == Kind::Dropped {
            return self.settle();
        }
        let length = if new.kind == Kind::Day { DAY_S } else { HOUR_S };
        let inside = |entry: &Entry| {
            let is_part = match new.kind {
                Kind::Day => matches!(entry.kind, Kind::Hour | Kind::Minutes),
                Kind::Hour => entry.kind == Kind::Minutes,
                _ => false,
            };
            is_part && entry.key / length * length == new.key && entry.number <= new.through
        };
        let is_older = |entry: &Entry| {
            let is_same = entry.kind == new.kind && entry.key == new.key;
            is_same && entry.kind != Kind::Minutes && entry.number < new.number
        };
        let (gone, kept) = self.entries.iter().partition(|it| inside(it) || is_older(it));
        self.entries = kept;
        gone
    }

    /// Removes what does not count any more, and returns it.
    pub fn settle(&mut self) -> Vec<Entry> {
        let mut newest: BTreeMap<(Kind, u64), Entry> = BTreeMap::new();
        for entry in self.entries.iter().filter(|entry| entry.kind != Kind::Minutes) {
            newest.insert((entry.kind, entry.key), *entry);
        }
        let through = |kind: Kind, key: u64| newest.get(&(kind, key)).map_or(0, |it| it.through);
        let dropped = self.dropped;
        let counts = |entry: &Entry| {
            let day = through(Kind::Day, entry.key / DAY_S * DAY_S);
            let hour = through(Kind::Hour, entry.key);
            let is_newest = newest.get(&(entry.kind, entry.key)) == Some(entry);
            let length = if entry.kind == Kind::Day { DAY_S } else { HOUR_S };
            let is_kept = entry.key.saturating_add(length) > dropped.spans_before_s;
            match entry.kind {
                Kind::Header | Kind::Subject | Kind::Dropped => is_newest,
                Kind::Incident => is_newest && entry.key >= dropped.incidents_before_ms,
                Kind::Day => is_newest && is_kept,
                Kind::Hour => is_newest && is_kept && entry.number > day,
                Kind::Minutes => is_kept && entry.number > day && entry.number > hour,
            }
        };
        let (kept, gone) = self.entries.iter().partition(|entry| counts(entry));
        self.entries = kept;
        gone
    }

    /// The records of a kind.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.kind == kind)
    }
}

fn entry(head: &Head, sector: u64) -> Entry {
    Entry {
        kind: head.kind,
        key: head.key,
        number: head.number,
        through: head.through,
        sector,
        sectors: head.sectors() as u64,
    }
}

/// The payload of a record that is still there.
pub fn payload(source: &impl Source, entry: &Entry) -> Option<Vec<u8>> {
    match look(source, entry.sector) {
        Seen::Record(head, payload) if head.number == entry.number => Some(payload),
        _ => None,
    }
}
