//! Phases over time, with stalls marked by cause.

use std::cmp::Reverse;
use std::collections::HashSet;

use flashlag_explain::{merged, restored};
use flashlag_schema::{IntervalRecord, Phase, Run, StallCause, StallRecord};
use flashlag_stats::{Histogram, Percentile};
use flashlag_units::{InOrder, Nanos};

use super::changes::numbered;
use super::model::{
    Block, FiguresTable, Flag, NamedCause, PhaseSeries, Section, SeriesMedian, SeriesPoint,
    SeriesStall, TableKind, Waited,
};
use crate::causes::{basis_in_words, cause_name_in};
use crate::doubt::failures_of;
use crate::format;
use crate::outline::{PhaseStalls, causes_known, phase_title, stalls, wait_layers};
use crate::table::{Column, Table, stalls_table};

/// Maximum number of charts; the table has the rest.
const CHARTS: usize = 4;
/// Number of stalls named below a chart.
const NAMED_STALLS: usize = 3;

/// The section; `None` without series and stalls.
pub(super) fn section(run: &Run) -> Option<Section> {
    let stalls = stalls(run)?;
    let (usual, phases): (Vec<PhaseStalls>, Vec<PhaseStalls>) =
        stalls.phases.into_iter().partition(|phase| phase.usual && phase.seen > 0);
    let charts = charted(&phases, run).into_iter().filter_map(|stalls| {
        let series = phase_series(run, stalls.phase)?;
        Some(PhaseSeries { title: stalls.title.clone(), ..series })
    });
    let charts: Vec<PhaseSeries> = charts.collect();
    let rule = format!("{} No averages: they hide stalls.", series_rule(&charts));
    let causes: Vec<NamedCause> =
        phases.iter().flat_map(|phase| &phase.causes).map(|of| (of.cause, of.name)).collect();
    let explained = causes.iter().any(|(cause, _)| *cause != StallCause::Unknown);
    let key = if explained { causes } else { Vec::new() };
    let mut blocks = vec![Block::Stalls(charts, key)];
    let (rows, more) = longest_rows(&phases);
    if let Some(table) = table_of(rows, explained) {
        let title = match more {
            0 => "Every phase with stalls",
            _ => "The phases that stalled longest",
        };
        blocks.extend([Block::Title(title), Block::Table(table)]);
    }
    if more > 0 {
        blocks.push(Block::Note(None, format!("{more} more phases stalled for less.")));
    }
    blocks.extend(usual_in_words(run, &usual).map(|text| Block::Note(None, text)));
    Some(Section {
        id: "stalls",
        name: "Stalls over time",
        heading: stalls.heading,
        side: vec![rule, "Where marks would overlap the longest is kept.".to_owned()],
        blocks,
    })
}

/// Maximum number of rows: the phases with the longest stalls in all.
const ROWS: usize = 8;

fn table_of(phases: Vec<&PhaseStalls>, explained: bool) -> Option<FiguresTable> {
    let how = causes_known(phases.iter().copied()).map(|how| format!(": {how}"));
    let table = stalls_table(phases).without(&[Column::At, Column::Cause]);
    let (table, caption) = if explained {
        let how = how.unwrap_or_default();
        (table, format!("Waits longer than the limit, and their causes{how}."))
    } else {
        (table.without(&[Column::Causes]), "Waits longer than the limit.".to_owned())
    };
    // The caption says how causes are known.
    let table = Table { notes: Vec::new(), ..table };
    (!table.is_empty()).then_some(FiguresTable { table, kind: TableKind::Stalls, caption })
}

/// The phases that stalled longest, in the order of the run, and the number of other stalled phases.
fn longest_rows(phases: &[PhaseStalls]) -> (Vec<&PhaseStalls>, usize) {
    let mut rows: Vec<&PhaseStalls> = phases.iter().filter(|phase| phase.seen > 0).collect();
    rows.order_by_key(|phase| Reverse(phase.total));
    let more = rows.len().saturating_sub(ROWS);
    rows.truncate(ROWS);
    rows.order_by_key(|phase| phase.phase);
    (rows, more)
}

/// `In 256K seq write (median 27 ms) most waits are over 17 ms: that is no stall there.`
fn usual_in_words(run: &Run, usual: &[PhaseStalls]) -> Option<String> {
    let over = format::limit(usual.iter().map(|phase| phase.over).min()?);
    let median = |stalls: &PhaseStalls| run.phases.get(stalls.phase)?.latency_ns.p50;
    let named = |stalls: &PhaseStalls| match median(stalls) {
        Some(median) => format!("{} (median {})", stalls.title, format::time(median)),
        None => stalls.title.clone(),
    };
    Some(match usual.len() {
        many if many > NAMED => {
            format!("In {many} more tests most waits are over {over}: those are no stalls.")
        }
        _ => {
            let names: Vec<String> = usual.iter().map(named).collect();
            let names = format::list(&names);
            format!("Most waits are over {over} in {names}: those are no stalls.")
        }
    })
}

/// Maximum number of named tests; of more, only the number is printed.
const NAMED: usize = 6;

/// What the operations of a phase waited for.
fn waited(run: &Run, phase: &Phase) -> Waited {
    let parts = wait_layers(phase);
    let named = |cause: StallCause| (cause, cause_name_in(phase, cause));
    let causes = parts.iter().flat_map(|(_, parts)| parts).map(|part| named(part.cause)).collect();
    let how = basis_in_words(phase).map(|how| format!(", {how}")).unwrap_or_default();
    let words = format!("What {} waited for{how}", phase_title(run, phase));
    Waited { words, parts, causes }
}

/// The phases to draw, in the order of the run: those that stalled longest, then those with changes;
/// without either, the one with the longest wait.
fn charted<'a>(phases: &'a [PhaseStalls], run: &Run) -> Vec<&'a PhaseStalls> {
    let changed = |phase: &PhaseStalls| !numbered(run, phase.phase).is_empty();
    let mut order: Vec<&PhaseStalls> =
        phases.iter().filter(|phase| phase.listed > 0 || changed(phase)).collect();
    if order.is_empty() {
        let longest = |phase: &&PhaseStalls| {
            let intervals = run.phases.get(phase.phase).map(|phase| &phase.intervals);
            intervals.into_iter().flatten().map(|interval| interval.max).max()
        };
        order.extend(phases.iter().max_by_key(longest));
    }
    order.order_by_key(|phase| Reverse((phase.total, changed(phase))));
    // A run without any trusted phase gets fewer charts.
    let judged = run.phases.iter().any(|phase| failures_of(run, phase).is_empty());
    order.truncate(if judged { CHARTS } else { CHARTS / 2 });
    order.order_by_key(|phase| phase.phase);
    order
}

/// A phase over time; `None` if there is nothing to draw.
pub fn phase_series(run: &Run, index: usize) -> Option<PhaseSeries> {
    let phase = run.phases.get(index)?;
    // A longest wait that is listed as a stall is drawn once, as a stall.
    let listed: HashSet<Nanos> = phase.stalls.iter().map(|stall| stall.ns).collect();
    let points = phase.intervals.iter().map(|i| SeriesPoint {
        ends: i.t_ns,
        longest: (!listed.contains(&i.max)).then_some(i.max),
    });
    let points: Vec<SeriesPoint> = points.collect();
    let stalls = phase.stalls.iter();
    let stalls: Vec<SeriesStall> = stalls
        .map(|stall| SeriesStall { at: stall.t_ns, length: stall.ns, cause: stall.cause })
        .collect();
    if points.is_empty() && stalls.is_empty() {
        return None;
    }
    let title = phase_title(run, phase);
    let longest = phase.stalls.iter().map(|stall| stall.ns).max();
    let words = format!(
        "{title} over {}: {} over {}, the longest {}",
        format::time(phase.elapsed_ns),
        flashlag_units::counted(
            phase.stalls_seen.max(phase.stalls.len() as u64),
            "stall",
            "stalls"
        ),
        format::limit(phase.stall_over_ns),
        longest.map_or_else(|| "unknown".to_owned(), format::time)
    );
    Some(PhaseSeries {
        title,
        flag: Flag::of(&failures_of(run, phase)),
        words,
        medians: medians(phase),
        points,
        stalls,
        changes: numbered(run, index),
        longest: longest_in_words(phase),
        waited: waited(run, phase),
    })
}

/// The medians of a phase over time. Neighbouring intervals are joined until they hold enough
/// operations for a median, and what is left at the end belongs to the last stretch; empty if the
/// whole phase has too few.
fn medians(phase: &Phase) -> Vec<SeriesMedian> {
    let mut stretches = Vec::new();
    let (mut first, mut ops) = (0, 0u64);
    for (index, interval) in phase.intervals.iter().enumerate() {
        ops = ops.saturating_add(interval.ops);
        if Percentile::P50.supported_by(ops) {
            stretches.push(first..index + 1);
            (first, ops) = (index + 1, 0);
        }
    }
    if let Some(last) = stretches.last_mut() {
        last.end = phase.intervals.len();
    }
    let medians = stretches.into_iter().filter_map(|stretch| {
        let before = stretch.start.checked_sub(1).and_then(|index| phase.intervals.get(index));
        let joined = phase.intervals.get(stretch)?;
        Some(SeriesMedian {
            from: before.map_or(Nanos::ZERO, |interval| interval.t_ns),
            ends: joined.last()?.t_ns,
            median: median_of(joined)?,
        })
    });
    medians.collect()
}

/// The median of neighbouring intervals; `None` if one of their histograms can't be read.
fn median_of(intervals: &[IntervalRecord]) -> Option<Nanos> {
    if let [IntervalRecord { p50: Some(median), .. }] = intervals {
        return Some(*median);
    }
    let mut all = Histogram::new();
    for interval in intervals {
        all = merged(all, &restored(&interval.histogram)?);
    }
    all.percentile(Percentile::P50)
}

/// The marks of charts over time; a line is only named where there is one.
pub fn series_rule<'a>(charts: impl IntoIterator<Item = &'a PhaseSeries>) -> String {
    let (drawn, bare): (Vec<&PhaseSeries>, Vec<&PhaseSeries>) =
        charts.into_iter().partition(|series| !series.medians.is_empty());
    let line = match (drawn.is_empty(), bare.is_empty()) {
        (false, true) => "Line: the median of each stretch of at least 20 operations.",
        (false, false) => {
            "Line: the median of each stretch of at least 20 operations; a test with fewer has none."
        }
        (true, _) => "No line: there are too few operations for a median, which needs 20.",
    };
    format!("{line} Dots: the longest wait of each interval.")
}

fn longest_in_words(phase: &Phase) -> Vec<String> {
    let mut order: Vec<&StallRecord> = phase.stalls.iter().collect();
    order.order_by_key(|stall| Reverse(stall.ns));
    let words = |stall: &&StallRecord| {
        let length = format::time(stall.ns);
        let at = match stall.t_ns {
            Nanos::ZERO => "at the start".to_owned(),
            at => format!("at {}", format::time(at)),
        };
        match stall.cause {
            StallCause::Unknown => format!("{length} {at}"),
            cause => format!("{length} {at} ({})", cause_name_in(phase, cause)),
        }
    };
    order.iter().take(NAMED_STALLS).map(words).collect()
}
