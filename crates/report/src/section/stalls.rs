//! Phases over time, with stalls marked by what they waited for.

use std::cmp::Reverse;
use std::collections::HashSet;

use askama::Template;
use flashlag_explain::{PhaseStalls, cause_name, format, stalls};
use flashlag_schema::{Phase, Run, StallCause, StallRecord};
use flashlag_units::Nanos;

use super::{Flag, Section};
use crate::chart::{LatencyAxis, SeriesPlot, SeriesPoint, SeriesStall, cause_key};
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "section/stalls.html")]
struct Body {
    charts: Vec<Chart>,
    key: Vec<(Markup, &'static str)>,
    rows: Vec<Row>,
}

struct Chart {
    title: String,
    flag: Option<Flag>,
    svg: Markup,
    longest: Vec<String>,
}

struct Row {
    title: String,
    over: String,
    seen: String,
    longest: String,
    total: String,
    causes: String,
}

/// Charts: the phases that waited the longest in all; the table has the rest.
const CHARTS: usize = 4;
/// Stalls told in words below a chart.
const TOLD: usize = 5;

/// The section; `None` where there is no series and no stall.
pub(super) fn section(run: &Run) -> Option<Section> {
    let stalls = stalls(run)?;
    let charts: Vec<Chart> = charted(&stalls.phases, run)
        .into_iter()
        .filter_map(|phase| chart(run, phase, run.phases.get(phase.phase)?))
        .collect();
    let seen = run.phases.iter().flat_map(|phase| &phase.stalls).map(|stall| stall.cause);
    let seen: Vec<StallCause> = seen.collect();
    let all = [StallCause::Storage, StallCause::Cpu, StallCause::Executing, StallCause::Mixed];
    let key = all.into_iter().filter(|cause| {
        seen.contains(cause) || (*cause == StallCause::Mixed && seen.contains(&StallCause::Unknown))
    });
    let body = Body {
        key: key.map(|cause| (cause_key(cause), key_words(cause))).collect(),
        rows: stalls.phases.iter().filter(|phase| phase.seen > 0).map(row).collect(),
        charts,
    };
    Some(Section {
        id: "stalls",
        name: "Stalls over time",
        heading: stalls.heading,
        side: vec![
            "Line: the median of each stretch. Dots: its longest wait. No averages: they hide stalls."
                .to_owned(),
            "Where marks would overlap the longest is kept.".to_owned(),
        ],
        body: Markup::of(&body),
    })
}

fn key_words(cause: StallCause) -> &'static str {
    match cause {
        StallCause::Storage => "blocked on storage",
        StallCause::Cpu => "waiting for a CPU",
        StallCause::Executing => "executing",
        StallCause::Mixed | StallCause::Unknown => "several things, or unknown",
    }
}

/// The phases to draw, in the order of the run: those that stalled longest, then those with
/// changes; where there are neither, the one with the longest wait.
fn charted<'a>(phases: &'a [PhaseStalls], run: &Run) -> Vec<&'a PhaseStalls> {
    let changed = |phase: &PhaseStalls| {
        run.phases.get(phase.phase).is_some_and(|phase| !phase.changes.is_empty())
    };
    let mut order: Vec<&PhaseStalls> =
        phases.iter().filter(|phase| phase.listed > 0 || changed(phase)).collect();
    if order.is_empty() {
        let longest = |phase: &&PhaseStalls| {
            let intervals = run.phases.get(phase.phase).map(|phase| &phase.intervals);
            intervals.into_iter().flatten().map(|interval| interval.max).max()
        };
        order.extend(phases.iter().max_by_key(longest));
    }
    order.sort_by_key(|phase| Reverse((phase.total, changed(phase))));
    order.truncate(CHARTS);
    order.sort_by_key(|phase| phase.phase);
    order
}

fn chart(run: &Run, told: &PhaseStalls, phase: &Phase) -> Option<Chart> {
    // A longest wait that is listed as a stall is drawn as one, where it began.
    let listed: HashSet<Nanos> = phase.stalls.iter().map(|stall| stall.ns).collect();
    let points: Vec<SeriesPoint> = phase
        .intervals
        .iter()
        .map(|i| SeriesPoint {
            ends: i.t_ns,
            median: i.p50,
            longest: (!listed.contains(&i.max)).then_some(i.max),
        })
        .collect();
    let stalls: Vec<SeriesStall> = phase
        .stalls
        .iter()
        .map(|stall| SeriesStall { at: stall.t_ns, length: stall.ns, cause: stall.cause })
        .collect();
    if points.is_empty() && stalls.is_empty() {
        return None;
    }
    let medians = points.iter().filter_map(|point| point.median);
    let longest = points.iter().filter_map(|point| point.longest);
    let axis = LatencyAxis::covering(
        medians.chain(longest).chain(stalls.iter().map(|stall| stall.length)),
    );
    let changes: Vec<(Nanos, usize)> = numbered_changes(run, told.phase);
    let plot =
        SeriesPlot { axis, points: &points, stalls: &stalls, changes: &changes, height: 190 };
    let label = format!(
        "{} over {}: {} stalls over {}, the longest {}",
        told.title,
        format::time(phase.elapsed_ns),
        format::count(told.seen),
        format::time(told.over),
        told.longest.map_or_else(|| "unknown".to_owned(), format::time)
    );
    Some(Chart {
        title: told.title.clone(),
        flag: Flag::of(run, &told.failures),
        svg: plot.draw(&label),
        longest: longest_in_words(&phase.stalls),
    })
}

/// The changes of a phase with the numbers they have in the section on changes.
fn numbered_changes(run: &Run, phase: usize) -> Vec<(Nanos, usize)> {
    let all = flashlag_explain::changes(run);
    let numbered = all.iter().enumerate().filter(|(_, change)| change.phase == phase);
    numbered.map(|(index, change)| (change.change.t_ns, index + 1)).collect()
}

fn longest_in_words(stalls: &[StallRecord]) -> Vec<String> {
    let mut order: Vec<&StallRecord> = stalls.iter().collect();
    order.sort_by_key(|stall| Reverse(stall.ns));
    let told = |stall: &&StallRecord| {
        let (length, at) = (format::time(stall.ns), format::time(stall.t_ns));
        format!("{length} at {at} ({})", cause_name(stall.cause))
    };
    order.iter().take(TOLD).map(told).collect()
}

fn row(phase: &PhaseStalls) -> Row {
    let causes: Vec<String> = phase
        .causes
        .iter()
        .map(|(cause, count)| format!("{} {}", cause_name(*cause), format::count(*count as u64)))
        .collect();
    let listed = if (phase.listed as u64) < phase.seen {
        format!(" (longest {} kept)", format::count(phase.listed as u64))
    } else {
        String::new()
    };
    Row {
        title: phase.title.clone(),
        over: format::time(phase.over),
        seen: format::count(phase.seen) + &listed,
        longest: phase.longest.map_or_else(|| format::NONE.to_owned(), format::time),
        total: format::time(phase.total),
        causes: causes.join(", "),
    }
}
