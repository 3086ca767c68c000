//! Whatever is in a run file, a view neither panics nor lets it reach the terminal as anything but
//! text, and no line is wider than asked for.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::LazyLock;

use flashlag_schema::Run;
use flashlag_term::Style;
use flashlag_views::{CompareOptions, compare, sample};
use proptest::prelude::*;
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

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

/// Strings that do harm where they are printed as they are.
fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,40}",
        "(\\PC|[\u{0}-\u{1f}\u{7f}-\u{9f}\u{202a}-\u{202e}\u{2066}-\u{2069}\u{200b}]){0,30}",
        Just("\u{1b}[2J\u{1b}]0;title\u{7}\r\n\t".to_owned()),
        Just("日本語のとても長い名前".repeat(8)),
        Just("/a/very/long/path/without/any/space".repeat(6)),
        Just("a\u{301}\u{301}\u{301}e\u{20dd}\u{fe0f}".to_owned()),
    ]
}

#[derive(Clone, Debug)]
enum Change {
    Text(String),
    Number(u64),
    Negative(i64),
    Float(f64),
    Null,
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

/// A sample with those of the changes made that leave it a run.
fn disturbed(which: usize, changes: &[(prop::sample::Index, Change)]) -> Run {
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

/// Takes our own colour sequences out and finds fault with the rest.
fn check_screen(text: &str, style: Style) -> Result<(), TestCaseError> {
    for line in text.lines() {
        let mut plain = String::new();
        for (index, part) in line.split("\u{1b}[").enumerate() {
            if index == 0 {
                plain.push_str(part);
                continue;
            }
            prop_assert!(style.color, "a colour sequence without colour: {line:?}");
            let (sgr, rest) = part.split_once('m').unwrap_or(("?", ""));
            prop_assert!(sgr.chars().all(|c| c.is_ascii_digit() || c == ';'), "{line:?}");
            plain.push_str(rest);
        }
        prop_assert!(plain.chars().all(|c| !c.is_control()), "a control character: {line:?}");
        let reorders = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        prop_assert!(!plain.chars().any(reorders), "reordered: {line:?}");
        prop_assert!(style.unicode || plain.is_ascii(), "not ASCII: {line:?}");
        let width = plain.width();
        let most = style.width.max(Style::NARROWEST);
        prop_assert!(width <= most, "{width} of {most} columns: {line:?}");
    }
    Ok(())
}

fn style() -> impl Strategy<Value = Style> {
    let width = prop_oneof![Just(60), Just(80), Just(120), 1..200usize];
    let style = (width, any::<bool>(), any::<bool>());
    style.prop_map(|(width, color, unicode)| Style { width, color, unicode })
}

fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, Change)>> {
    prop::collection::vec((any::<prop::sample::Index>(), change()), 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_run_breaks_a_screen(which in 0..4usize, changes in changes(), style in style()) {
        let run = disturbed(which, &changes);
        check_screen(&flashlag_term::summary(&run, style), style)?;
        check_screen(&flashlag_term::trust(&run, style), style)?;
    }

    #[test]
    fn no_run_breaks_an_export(which in 0..4usize, changes in changes()) {
        let run = disturbed(which, &changes);
        let table = flashlag_term::plain_table(&run);
        prop_assert!(table.is_ascii());
        let columns = |line: &str| line.split('\t').count();
        prop_assert!(table.lines().all(|line| columns(line) == 17), "{table}");
        let texts = [
            table,
            flashlag_term::markdown(&run),
            flashlag_term::csv_intervals(&run),
            flashlag_term::openmetrics(&run),
        ];
        for text in texts {
            let harmless = |c: char| c == '\n' || c == '\t' || !c.is_control();
            prop_assert!(text.chars().all(harmless), "{text:?}");
        }
    }

    #[test]
    fn no_comparison_breaks_a_screen(
        which in (0..4usize, 0..4usize),
        changes in (changes(), changes()),
        style in style(),
    ) {
        let runs = [disturbed(which.0, &changes.0), disturbed(which.1, &changes.1)];
        let options = CompareOptions { force: true, ..CompareOptions::default() };
        if let Ok(comparison) = compare(&runs, &options) {
            check_screen(&flashlag_term::comparison(&comparison, style), style)?;
        }
    }
}
