//! Changes over time: cache exhausted, throttled, periodic stalls, slower, faster; and the steady
//! tests. Only phases that changed have a chart.

use flashlag_schema::{ChangeKind, Phase, Run};
use flashlag_units::{InOrder, Nanos, per_second};

use super::model::{Block, ChangeLine, RateSeries, Section};
use crate::amount::{RateUnit, done, from_to};
use crate::format;
use crate::outline::{PhaseChange, changes, changes_heading, phase_title};
use crate::strip::strip;

/// The section; `None` without changes.
pub(super) fn section(run: &Run) -> Option<Section> {
    let seen = changes(run);
    if seen.is_empty() {
        return None;
    }
    let (settled, events): (Vec<_>, Vec<_>) = seen.into_iter().partition(is_steadiness);
    let settled: Vec<_> = settled.into_iter().filter(|state| stays(state, &events)).collect();
    if events.is_empty() && steady_note(run).is_some() {
        return None;
    }
    let charts = charts(run, &events);
    let numbers = "Throughput from zero, in MB/s; of saves, saves a second. The numbers in charts are \
                   those of this list.";
    let rule = "Steady: five rounds within 20% of their mean, and a slope within 10% (SNIA).";
    let side = [(!charts.is_empty()).then_some(numbers), (!settled.is_empty()).then_some(rule)];
    let mut blocks = vec![
        Block::Rates(charts),
        Block::Changes(events.iter().map(|event| line(run, event)).collect()),
    ];
    blocks.extend(steadiness(&settled).into_iter().map(|text| Block::Note(None, text)));
    Some(Section {
        id: "changes",
        name: "Changes",
        heading: changes_heading(run),
        side: side.into_iter().flatten().map(str::to_owned).collect(),
        blocks,
    })
}

/// Whether the test reached steady state.
fn stays(state: &PhaseChange<'_>, events: &[PhaseChange<'_>]) -> bool {
    let mut own = events.iter().filter(|event| event.phase == state.phase);
    own.all(|event| event.change.t_ns <= state.change.t_ns)
}

/// The sentence that replaces the section if there are only steady states and the picture has rows.
pub(super) fn steady_note(run: &Run) -> Option<String> {
    let seen = changes(run);
    let steady = |change: &PhaseChange<'_>| change.change.kind == ChangeKind::SteadyState;
    let rows = !strip(run).groups.is_empty();
    let note = rows && !seen.is_empty() && seen.iter().all(steady);
    note.then(|| steadiness(&seen).join(" "))
}

fn is_steadiness(change: &PhaseChange<'_>) -> bool {
    matches!(change.change.kind, ChangeKind::SteadyState | ChangeKind::NotSteady)
}

/// All changes in order, numbered from 1 in charts and in the list.
fn events(run: &Run) -> Vec<PhaseChange<'_>> {
    changes(run).into_iter().filter(|change| !is_steadiness(change)).collect()
}

/// The times of a phase's changes, with their numbers, for charts.
pub(super) fn numbered(run: &Run, phase: usize) -> Vec<(Nanos, usize)> {
    let events = events(run);
    let of_phase = events.iter().enumerate().filter(|(_, change)| change.phase == phase);
    of_phase.map(|(index, change)| (change.change.t_ns, index + 1)).collect()
}

/// The changes in words: `1: slower after 45 min, 0.18 to 0.085 MB/s`.
pub fn numbered_in_words(run: &Run, phase: usize) -> Vec<String> {
    let events = events(run);
    let of_phase = events.iter().enumerate().filter(|(_, change)| change.phase == phase);
    let words = of_phase.map(|(index, change)| {
        let rate = rate(run, change).map(|rate| format!(", {rate}")).unwrap_or_default();
        format!("{}: {} at {}{rate}.", index + 1, change.name, format::time(change.change.t_ns))
    });
    words.collect()
}

/// `10.6 to 1.30 MB/s`, `350 to 5.0 saves/s`.
fn rate(run: &Run, seen: &PhaseChange<'_>) -> Option<String> {
    Some(from_to(run.phases.get(seen.phase)?, seen.change.bytes_per_sec?))
}

fn line(run: &Run, seen: &PhaseChange<'_>) -> ChangeLine {
    let PhaseChange { title, name, change, .. } = seen;
    let at = format::time(change.t_ns);
    let written = match run.phases.get(seen.phase) {
        Some(phase) => done(phase, change.t_ns, change.written_bytes),
        None => format::size(change.written_bytes),
    };
    let rate = rate(run, seen);
    // The rates are in the text already; the temperatures after them are added.
    let detail = match (&rate, change.detail.split_once(", ")) {
        (None, _) => change.detail.as_str(),
        (Some(_), rest) => rest.map_or("", |(_, rest)| rest),
    };
    let period = change.period_ns.map(|period| format!("every {}", format::time(period)));
    let parts = [Some(format!("at {at}, after {written}")), rate, period];
    let when = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    ChangeLine { name, when, title: title.clone(), detail: detail.to_owned() }
}

/// Maximum number of names in a sentence; of more, only the number is printed.
const NAMED: usize = 8;

/// `Steady: 4K rand read and 4K rand write.` A phase that was not steady says by how much.
fn steadiness(settled: &[PhaseChange<'_>]) -> Vec<String> {
    let of = |kind| settled.iter().filter(move |change| change.change.kind == kind);
    let mut said = Vec::new();
    let steady: Vec<String> =
        of(ChangeKind::SteadyState).map(|change| change.title.clone()).collect();
    match steady.len() {
        0 => {}
        1..=NAMED => said.push(format!("Steady: {}.", format::list(&steady))),
        many => said.push(format!("Steady: {many} tests.")),
    }
    let unsteady: Vec<String> = of(ChangeKind::NotSteady)
        .map(|change| match change.change.detail.trim_end_matches('.') {
            "" => change.title.clone(),
            detail => format!("{} ({detail})", change.title),
        })
        .collect();
    if !unsteady.is_empty() {
        let rest = unsteady.len().saturating_sub(NAMED);
        let named: Vec<String> = unsteady.into_iter().take(NAMED).collect();
        let more = if rest > 0 { format!("; and {rest} more") } else { String::new() };
        said.push(format!("Not steady: {}{more}.", named.join("; ")));
    }
    said
}

/// Maximum number of charts.
const CHARTS: usize = 4;

/// The phases whose throughput changed most, in the order of the run.
fn charts(run: &Run, events: &[PhaseChange<'_>]) -> Vec<RateSeries> {
    let mut changed: Vec<(usize, f64)> = Vec::new();
    for event in events {
        let by = event.change.bytes_per_sec.map_or(0.0, |(before, after)| size_of(before, after));
        match changed.iter_mut().find(|(phase, _)| *phase == event.phase) {
            Some((_, most)) => *most = most.max(by),
            None => changed.push((event.phase, by)),
        }
    }
    changed.order_by(|a, b| b.1.total_cmp(&a.1));
    changed.truncate(CHARTS);
    // A run that was made to watch one test over time shows it, changed or not.
    if changed.is_empty() && strip(run).groups.is_empty() {
        changed.push((0, 0.0));
    }
    changed.order_by_key(|(phase, _)| *phase);
    changed.iter().filter_map(|(index, _)| rate_series(run, *index)).collect()
}

/// The size of a change: the absolute logarithm of the ratio.
fn size_of(before: f64, after: f64) -> f64 {
    let ratio = (after / before).ln().abs();
    if ratio.is_finite() { ratio } else { f64::MAX }
}

/// The throughput of a phase over time; `None` if it has fewer than two intervals.
pub fn rate_series(run: &Run, index: usize) -> Option<RateSeries> {
    let phase = run.phases.get(index)?;
    let steps = steps(phase);
    if steps.len() < 2 {
        return None;
    }
    let rates = || steps.iter().map(|(_, rate)| *rate);
    let (least, most) = (rates().fold(f64::MAX, f64::min), rates().fold(0.0, f64::max));
    let title = phase_title(run, phase);
    let unit = RateUnit::of(phase);
    let words = format!(
        "{title}: throughput over {}, between {} and {} {}",
        format::time(phase.elapsed_ns),
        unit.number(least),
        unit.number(most),
        unit.name()
    );
    let title = match unit {
        RateUnit::Megabytes => title,
        _ => format!("{title}, {}", unit.name()),
    };
    Some(RateSeries { title, words, steps, unit, changes: numbered(run, index) })
}

/// The end of each interval and bytes, or operations, a second in it.
fn steps(phase: &Phase) -> Vec<(Nanos, f64)> {
    let bytes = RateUnit::of(phase) == RateUnit::Megabytes;
    let mut from = Nanos::ZERO;
    let steps = phase.intervals.iter().filter_map(|interval| {
        let amount = if bytes { interval.bytes.0 } else { interval.ops };
        let rate = per_second(amount, interval.t_ns.saturating_since(from))?;
        from = from.max(interval.t_ns);
        Some((interval.t_ns, rate))
    });
    steps.collect()
}
