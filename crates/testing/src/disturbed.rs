//! Sample runs with replaced values: views must cope with anything in a run file.

use std::sync::LazyLock;

use flashlag_schema::Run;
use proptest::prelude::*;
use serde_json::Value;

use crate::sample;

/// Samples with few intervals, as JSON.
static SAMPLES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let runs = [sample::quick(), sample::lifecycle(), sample::soak(), sample::memory()];
    let small = runs.into_iter().map(|mut run| {
        for phase in &mut run.phases {
            phase.intervals.truncate(2);
            phase.stalls.truncate(2);
            phase.waits.truncate(3);
        }
        serde_json::to_value(&run).unwrap()
    });
    small.collect()
});

/// Strings that act on a terminal, have no width, or are too long for a line.
pub fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,40}",
        "(\\PC|[\u{0}-\u{1f}\u{7f}-\u{9f}\u{202a}-\u{202e}\u{2066}-\u{2069}\u{200b}]){0,30}",
        Just("\u{1b}[2J\u{1b}]0;title\u{7}\r\n\t".to_owned()),
        Just("日本語のとても長い名前".repeat(8)),
        Just("/a/very/long/path/without/any/space".repeat(6)),
        Just("a\u{301}\u{301}\u{301}e\u{20dd}\u{fe0f}".to_owned()),
    ]
}

/// A new value for a leaf of a run file.
#[derive(Clone, Debug)]
pub enum Change {
    /// A string.
    Text(String),
    /// A number that is not negative.
    Number(u64),
    /// A whole number.
    Negative(i64),
    /// A number with a fraction.
    Float(f64),
    Null,
    /// An empty array.
    Empty,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => hostile().prop_map(Change::Text),
        2 => prop_oneof![Just(0), Just(u64::MAX), any::<u64>(), 0..100u64].prop_map(Change::Number),
        1 => any::<i64>().prop_map(Change::Negative),
        1 => prop_oneof![Just(0.0), Just(-1.0), Just(1e300), any::<f64>()].prop_map(Change::Float),
        1 => Just(Change::Null),
        1 => Just(Change::Empty),
    ]
}

/// JSON pointers to all leaves.
fn leaves(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                leaves(item, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(fields) if !fields.is_empty() => {
            for (key, field) in fields {
                leaves(
                    field,
                    &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")),
                    found,
                );
            }
        }
        _ => found.push(at.to_owned()),
    }
}

/// The sample number `which` (counted in a circle) after those of `changes` that leave it a run.
///
/// # Panics
/// A sample that is no run file.
pub fn disturbed(which: usize, changes: &[(prop::sample::Index, Change)]) -> Run {
    let mut value = SAMPLES[which % SAMPLES.len()].clone();
    let mut places = Vec::new();
    leaves(&value, "", &mut places);
    let mut run: Run = serde_json::from_value(value.clone()).unwrap();
    for (place, change) in changes {
        let Some(found) = value.pointer_mut(&places[place.index(places.len())]) else { continue };
        let new = match change {
            Change::Text(text) => Value::from(text.as_str()),
            Change::Number(number) => Value::from(*number),
            Change::Negative(number) => Value::from(*number),
            Change::Float(number) => Value::from(*number),
            Change::Null => Value::Null,
            Change::Empty => Value::Array(Vec::new()),
        };
        let before = std::mem::replace(found, new);
        match serde_json::from_value(value.clone()) {
            Ok(changed) => run = changed,
            Err(_) => {
                if let Some(found) = value.pointer_mut(&places[place.index(places.len())]) {
                    *found = before;
                }
            }
        }
    }
    run
}

/// Up to eleven changes, each with the leaf that it replaces.
pub fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, Change)>> {
    prop::collection::vec((any::<prop::sample::Index>(), change()), 0..12)
}
