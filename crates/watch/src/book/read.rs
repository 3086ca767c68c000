//! Reads a history, while it is written or not.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use flashlag_schema::history::{HISTORY, History, Incident, Span, Subject};
use flashlag_units::InOrder;
use rustix::io::Errno;
use serde::de::DeserializeOwned;

use crate::book::error::BookError;
use crate::book::file::checked;
use crate::book::index::{Entry, Index, payload};
use crate::book::record::{Kind, Label, encode};
use crate::book::source::Source;
use crate::span::{HOUR_S, add};

/// How often a history is read again if it was written to meanwhile.
const TRIES: usize = 5;

/// The history in a file.
///
/// # Errors
/// There is no such file, it can't be read, or it is no history of this version.
pub fn read(path: &Path) -> Result<History, BookError> {
    let file = File::open(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => BookError::Missing { path: path.to_owned() },
        _ => BookError::os("open", path, Errno::from_io_error(&error).unwrap_or(Errno::IO)),
    })?;
    for _ in 1..TRIES {
        let index = checked(&file, path)?;
        let history = assembled(&file, &index);
        // What lay there may have been replaced between both looks.
        if history.1 == 0 {
            return Ok(history.0);
        }
    }
    let index = checked(&file, path)?;
    Ok(assembled(&file, &index).0)
}

/// The history in bytes: what counts in them, whatever they are.
pub fn read_from(source: &impl Source) -> History {
    assembled(source, &Index::of(source)).0
}

/// The history, and how many records could not be read any more.
fn assembled(source: &impl Source, index: &Index) -> (History, u64) {
    let mut gone = 0;
    let mut hours: BTreeMap<(u64, u32), Span> = BTreeMap::new();
    for entry in &index.entries {
        if !entry.kind.is_span() {
            continue;
        }
        let Some(part) = value::<Span>(source, entry) else {
            gone += 1;
            continue;
        };
        let seconds = if entry.kind == Kind::Day { part.seconds } else { HOUR_S as u32 };
        let empty = || Span { start_s: entry.key, seconds, ..Span::default() };
        add(hours.entry((entry.key, seconds)).or_insert_with(empty), &part);
    }
    let mut all = |kind: Kind| -> Vec<Incident> {
        let read = index.of_kind(kind).map(|entry| value::<Incident>(source, entry));
        let read: Vec<Option<Incident>> = read.collect();
        gone += read.iter().filter(|incident| incident.is_none()).count() as u64;
        read.into_iter().flatten().collect()
    };
    let mut incidents = all(Kind::Incident);
    incidents.order_by_key(|incident| incident.start_ms);
    let subject = index.of_kind(Kind::Subject).last();
    let history = History {
        schema: HISTORY.to_owned(),
        subject: subject.and_then(|entry| value::<Subject>(source, entry)),
        spans: hours.into_values().collect(),
        incidents,
        damaged_pages: index.damaged + gone,
        dropped_before_s: index.dropped.spans_before_s,
        ..History::default()
    };
    (history, gone)
}

/// A history whose records hold these bytes, whatever they are: for fuzzing what reads them.
#[doc(hidden)]
pub fn holding(payload: &[u8]) -> Vec<u8> {
    let kinds =
        [Kind::Subject, Kind::Minutes, Kind::Hour, Kind::Day, Kind::Incident, Kind::Dropped];
    let records = kinds.iter().zip(1..).filter_map(|(kind, number)| {
        encode(Label { kind: *kind, key: number * 86_400, number, through: 0 }, payload)
    });
    records.flatten().collect()
}

fn value<T: DeserializeOwned>(source: &impl Source, entry: &Entry) -> Option<T> {
    postcard::from_bytes(&payload(source, entry)?).ok()
}
