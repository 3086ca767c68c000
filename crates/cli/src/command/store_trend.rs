//! `flashlag store trend`: whether devices became slower over runs that were made now and then.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use flashlag_schema::history::{MachineState, Span, Trends};
use flashlag_store::{Store, Value};
use flashlag_units::{Bytes, Nanos};
use flashlag_views::history::{runs_sentence, seconds_of};
use flashlag_watch::trend::{Day, LEAST_WEEKS, trends_of_runs, weeks_of_runs};

use crate::exit::Exit;
use crate::say;

/// What is asked.
pub struct Asked<'a> {
    /// The test's name; without it, the first of each run that decides its verdict.
    pub test: Option<&'a str>,
    /// A condition in SQL on the runs.
    pub condition: Option<&'a str>,
}

/// Runs that can be compared: of one scenario, on one device with one filesystem. Two devices of a model are told apart
/// by their machines alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Same {
    device: String,
    machine: String,
    filesystem: String,
    scenario_hash: String,
    test: String,
}

/// The runs of one kind, in order of time.
#[derive(Debug, Default)]
struct Series {
    /// The test's name for people.
    title: String,
    runs: Vec<Day>,
}

/// Prints a sentence for each device that was measured often enough.
pub fn trend(store: &mut Store, asked: &Asked<'_>) -> Result<Exit> {
    let rows = store.query(&statement(asked))?.rows;
    let series = series_of(&rows);
    if series.is_empty() {
        bail!("{}", nothing(asked));
    }
    let (mut slower, mut few) = (false, Vec::new());
    for (same, series) in &series {
        let Some(trends) = trends_of_runs(&series.runs) else {
            few.push(weeks_of_runs(&series.runs));
            continue;
        };
        say::line(&runs_sentence(&trends, &name(same, series)))?;
        slower |= is_slower(&trends);
    }
    if let Some(most) = few.iter().max() {
        let more =
            if few.len() < series.len() { "For the others too early: a" } else { "Too early: a" };
        say::line(&format!(
            "{more} slow change shows in runs of {LEAST_WEEKS} weeks or more, and there are runs in {most}."
        ))?;
    }
    Ok(if slower { Exit::Crossed } else { Exit::Done })
}

/// What nothing was found for.
fn nothing(asked: &Asked<'_>) -> String {
    let of = asked.test.map_or(String::new(), |test| format!(" has a test {test}"));
    let such = if asked.condition.is_some() { " for which --where holds" } else { "" };
    format!(
        "no good run in the store{such}{of}: add runs with `flashlag store add`, or see what is there with \
         `flashlag store list`"
    )
}

/// A row for each run and test, in order of time; of a test that a run repeats, the first one counts.
fn statement(asked: &Asked<'_>) -> String {
    let test = match asked.test {
        Some(name) => format!("p.name = '{}'", name.replace('\'', "''")),
        None => "p.decides".to_owned(),
    };
    let condition = asked.condition.map(|it| format!(" AND ({it})")).unwrap_or_default();
    format!(
        "SELECT p.file, r.device, r.filesystem, r.scenario_hash, r.started, r.kernel, r.firmware, r.filled_percent, \
         p.name, p.title, p.p50_ns, r.machine FROM phases p JOIN (SELECT * FROM runs WHERE standing = 'good'{condition}) r \
         ON r.file = p.file WHERE {test} AND p.state = 'new' AND p.p50_ns IS NOT NULL \
         ORDER BY r.started, p.file, p.phase_index"
    )
}

fn series_of(rows: &[Vec<Value>]) -> BTreeMap<Same, Series> {
    let mut all: BTreeMap<Same, Series> = BTreeMap::new();
    let mut before = None;
    for row in rows {
        let text = |index: usize| row.get(index).map(Value::plain).unwrap_or_default();
        // The first test of a run is the one that counts.
        if before.replace(text(0)) == Some(text(0)) {
            continue;
        }
        let Some(day) = day(row) else { continue };
        let same = Same {
            device: text(1),
            machine: text(11),
            filesystem: text(2),
            scenario_hash: text(3),
            test: text(8),
        };
        let series = all.entry(same).or_default();
        series.title = text(9);
        series.runs.push(day);
    }
    all
}

/// A run as a day of a history; `None` if it has no time, as in virtual time.
fn day(row: &[Value]) -> Option<Day> {
    let text = |index: usize| row.get(index).map(Value::plain).filter(|text| !text.is_empty());
    let filled = match row.get(7) {
        Some(Value::Real(percent)) => Some(*percent),
        _ => None,
    };
    let state = MachineState {
        kernel: text(5),
        firmware: text(6),
        free_bytes: filled.map(|percent| Bytes((100.0 - percent).max(0.0) as u64)),
        total_bytes: filled.map(|_| Bytes(100)),
        ..MachineState::default()
    };
    let start_s = seconds_of(&text(4)?)?;
    let median = Nanos(text(10)?.parse().ok()?);
    Some(Day { start_s, median, span: Span { start_s, state, ..Span::default() } })
}

/// What is compared, in words.
fn name(same: &Same, series: &Series) -> String {
    let filesystem = match same.filesystem.as_str() {
        "" => String::new(),
        filesystem => format!(" ({filesystem})"),
    };
    format!("“{}” on {}{filesystem}", series.title, same.device)
}

/// Whether the device is slower now than it was at first.
fn is_slower(trends: &Trends) -> bool {
    match (&trends.trend, trends.shifts.first(), trends.shifts.last()) {
        (Some(trend), ..) => trend.ratio > 1.0,
        (None, Some(first), Some(last)) => last.to_ns > first.from_ns,
        _ => false,
    }
}
