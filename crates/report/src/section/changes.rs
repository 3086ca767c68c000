//! Changes over time: cache exhausted, throttled, periodic stalls, slower, faster; and the steady
//! tests. Only phases that changed have a chart.

use askama::Template;
use flashlag_schema::{ChangeKind, Phase, Run};
use flashlag_units::{Nanos, per_second};
use flashlag_views::{PhaseChange, changes, changes_heading, format};

use super::Section;
use crate::chart::{RatePlot, Svg};
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "section/changes.html")]
struct Body {
    charts: Vec<(String, Markup)>,
    changes: Vec<Row>,
    /// Sentences on the steady and the unsteady phases.
    steadiness: Vec<String>,
}

struct Row {
    title: String,
    name: &'static str,
    when: String,
    written: String,
    rate: Option<String>,
    period: Option<String>,
    detail: String,
}

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
    let mut side = Vec::new();
    if !charts.is_empty() {
        let numbers =
            "Throughput from zero, in MB/s. The numbers in charts are those of this list.";
        side.push(numbers.to_owned());
    }
    if !settled.is_empty() {
        let rule = "Steady: five rounds within 20% of their mean, and a slope within 10% (SNIA).";
        side.push(rule.to_owned());
    }
    let body = Body {
        charts,
        changes: events.iter().map(row).collect(),
        steadiness: steadiness(&settled),
    };
    let heading = changes_heading(run);
    Some(Section { id: "changes", name: "Changes", heading, side, body: Markup::of(&body) })
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
    let rows = !flashlag_views::strip(run).groups.is_empty();
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
pub(crate) fn numbered(run: &Run, phase: usize) -> Vec<(Nanos, usize)> {
    let events = events(run);
    let of_phase = events.iter().enumerate().filter(|(_, change)| change.phase == phase);
    of_phase.map(|(index, change)| (change.change.t_ns, index + 1)).collect()
}

/// The changes in words: `1: slower after 45 min, 0.18 to 0.085 MB/s`.
pub(crate) fn numbered_in_words(run: &Run, phase: usize) -> Vec<String> {
    let events = events(run);
    let of_phase = events.iter().enumerate().filter(|(_, change)| change.phase == phase);
    let words = of_phase.map(|(index, change)| {
        let Row { name, when, rate, .. } = row(change);
        let rate = rate.map(|rate| format!(", {rate}")).unwrap_or_default();
        format!("{}: {name} at {when}{rate}.", index + 1)
    });
    words.collect()
}

fn row(seen: &PhaseChange<'_>) -> Row {
    let change = seen.change;
    let rate = change.bytes_per_sec.map(|(before, after)| {
        format!("{} to {} MB/s", format::mb_per_s(before), format::mb_per_s(after))
    });
    Row {
        title: seen.title.clone(),
        name: seen.name,
        when: format::time(change.t_ns),
        written: format::size(change.written_bytes),
        // The rates are in the text already; the temperatures after them are added.
        detail: match (&rate, change.detail.split_once(", ")) {
            (None, _) => change.detail.clone(),
            (Some(_), rest) => rest.map(|(_, rest)| rest.to_owned()).unwrap_or_default(),
        },
        rate,
        period: change.period_ns.map(|period| format!("every {}", format::time(period))),
    }
}

/// Maximum number of names in a sentence; of more only the number is printed.
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
fn charts(run: &Run, events: &[PhaseChange<'_>]) -> Vec<(String, Markup)> {
    let mut changed: Vec<(usize, f64)> = Vec::new();
    for event in events {
        let by = event.change.bytes_per_sec.map_or(0.0, |(before, after)| size_of(before, after));
        match changed.iter_mut().find(|(phase, _)| *phase == event.phase) {
            Some((_, most)) => *most = most.max(by),
            None => changed.push((event.phase, by)),
        }
    }
    changed.sort_by(|a, b| b.1.total_cmp(&a.1));
    changed.truncate(CHARTS);
    // A run that was made to watch one test over time shows it, changed or not.
    if changed.is_empty() && flashlag_views::strip(run).groups.is_empty() {
        changed.push((0, 0.0));
    }
    changed.sort_by_key(|(phase, _)| *phase);
    let phases = changed.iter().filter_map(|(index, _)| Some((*index, run.phases.get(*index)?)));
    phases.filter_map(|(index, phase)| chart(run, index, phase)).collect()
}

/// The size of a change: the absolute logarithm of the ratio.
fn size_of(before: f64, after: f64) -> f64 {
    let ratio = (after / before).ln().abs();
    if ratio.is_finite() { ratio } else { f64::MAX }
}

fn chart(run: &Run, index: usize, phase: &Phase) -> Option<(String, Markup)> {
    const HEIGHT: u32 = 150;
    let (drawing, label) = drawing(run, index)?;
    Some((flashlag_views::phase_title(run, phase), drawing.named(HEIGHT, &label)))
}

/// The chart of a phase's throughput over time, with its text alternative; `None` if there is nothing
/// to draw.
pub(crate) fn drawing(run: &Run, index: usize) -> Option<(Svg, String)> {
    let phase = run.phases.get(index)?;
    let (steps, marks) = (steps(phase), numbered(run, index));
    let label = in_words(&flashlag_views::phase_title(run, phase), phase, &steps)?;
    Some((RatePlot { steps: &steps, changes: &marks }.drawing(), label))
}

/// The text alternative of the chart; `None` if there is nothing to draw.
fn in_words(title: &str, phase: &Phase, steps: &[(Nanos, f64)]) -> Option<String> {
    let rates = || steps.iter().map(|(_, rate)| *rate);
    let (least, most) = (rates().fold(f64::MAX, f64::min), rates().fold(0.0, f64::max));
    (steps.len() >= 2).then(|| {
        format!(
            "{title}: throughput over {}, between {} and {} MB/s",
            format::time(phase.elapsed_ns),
            format::mb_per_s(least),
            format::mb_per_s(most)
        )
    })
}

/// The end of each interval and bytes a second in it.
pub(crate) fn steps(phase: &Phase) -> Vec<(Nanos, f64)> {
    let mut from = Nanos::ZERO;
    let steps = phase.intervals.iter().filter_map(|interval| {
        let rate = per_second(interval.bytes.0, interval.t_ns.saturating_since(from))?;
        from = from.max(interval.t_ns);
        Some((interval.t_ns, rate))
    });
    steps.collect()
}
