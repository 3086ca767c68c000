//! Phases over time, with stalls marked by cause.

use std::cmp::Reverse;
use std::collections::HashSet;

use askama::Template;
use flashlag_schema::{Phase, Run, StallCause, StallRecord};
use flashlag_units::Nanos;
use flashlag_views::{
    Column, PhaseStalls, basis_in_words, cause_name, cause_name_in, causes_known, failures_of,
    format, stalls, stalls_table, wait_layers,
};

use super::figures::{Frame, table};
use super::{Flag, Section};
use crate::chart::{
    Kind, LatencyAxis, Layers, SeriesPlot, SeriesPoint, SeriesStall, Svg, cause_mark, swatch,
};
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "section/stalls.html")]
struct Body {
    charts: Vec<Chart>,
    key: Vec<(Markup, String)>,
    /// The phases that stalled longest; empty if none stalled.
    table: Option<Markup>,
    /// Number of phases with stalls that have no row.
    more: usize,
    /// The note on phases whose median wait is over the limit.
    usual: Option<String>,
}

struct Chart {
    title: String,
    flag: Option<Flag>,
    svg: Markup,
    longest: Vec<String>,
    /// What its operations waited for over time, with a key.
    layers: Option<(Markup, Vec<(Markup, String)>)>,
}

/// Maximum number of charts; the table has the rest.
const CHARTS: usize = 4;
/// Number of stalls named below a chart.
const NAMED_STALLS: usize = 3;

/// The section; `None` without series and stalls.
pub(super) fn section(run: &Run) -> Option<Section> {
    let stalls = stalls(run)?;
    let (usual, phases): (Vec<PhaseStalls>, Vec<PhaseStalls>) =
        stalls.phases.into_iter().partition(|phase| phase.usual && phase.seen > 0);
    let charts: Vec<Chart> = charted(&phases, run)
        .into_iter()
        .filter_map(|phase| chart(run, phase, run.phases.get(phase.phase)?))
        .collect();
    let causes: Vec<Named> =
        phases.iter().flat_map(|phase| &phase.causes).map(|of| (of.cause, of.name)).collect();
    let kinds = Kind::ALL
        .into_iter()
        .filter(|kind| causes.iter().any(|(cause, _)| Kind::of(*cause) == *kind));
    let explained = causes.iter().any(|(cause, _)| *cause != StallCause::Unknown);
    let (rows, more) = longest_rows(&phases);
    let body = Body {
        more,
        key: kinds
            .filter(|_| explained)
            .map(|kind| (cause_mark(kind), kind_in_words(kind, &causes)))
            .collect(),
        table: table_of(run, rows, explained),
        usual: usual_in_words(run, &usual),
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

/// Maximum number of rows: the phases with the longest stalls in all.
const ROWS: usize = 8;

fn table_of(run: &Run, phases: Vec<&PhaseStalls>, explained: bool) -> Option<Markup> {
    let how = causes_known(phases.iter().copied()).map(|how| format!(": {how}"));
    let model = stalls_table(phases).without(&[Column::At, Column::Cause]);
    let (model, caption) = if explained {
        let how = how.unwrap_or_default();
        (model, format!("Waits longer than the limit, and their causes{how}."))
    } else {
        (model.without(&[Column::Causes]), "Waits longer than the limit.".to_owned())
    };
    let frame = Frame { about: "Stalls by phase", caption, class: "fold dense", units: false };
    (!model.is_empty()).then(|| table(Some(run), &model, frame))
}

/// The phases that stalled longest, in the order of the run, and the number of other stalled phases.
fn longest_rows(phases: &[PhaseStalls]) -> (Vec<&PhaseStalls>, usize) {
    let mut rows: Vec<&PhaseStalls> = phases.iter().filter(|phase| phase.seen > 0).collect();
    rows.sort_by_key(|phase| Reverse(phase.total));
    let more = rows.len().saturating_sub(ROWS);
    rows.truncate(ROWS);
    rows.sort_by_key(|phase| phase.phase);
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

/// Maximum number of named tests; of more only the number is printed.
const NAMED: usize = 6;

/// A cause with its name in its phase.
type Named = (StallCause, &'static str);

/// The causes of a kind, of those that there are.
fn kind_in_words(kind: Kind, causes: &[Named]) -> String {
    match kind {
        Kind::Storage => return "blocked on storage".to_owned(),
        Kind::Cpu => return "waiting for a CPU".to_owned(),
        Kind::Unknown if causes.iter().any(|(cause, _)| *cause == StallCause::Stopped) => {
            return "the program itself was stopped, several things, or unknown".to_owned();
        }
        Kind::Unknown => return "several things, or unknown".to_owned(),
        Kind::Executing
        | Kind::Filesystem
        | Kind::OtherIo
        | Kind::WakeUp
        | Kind::WriteCache
        | Kind::Flash => {}
    }
    let mut names: Vec<String> = Vec::new();
    for (_, name) in causes.iter().filter(|(cause, _)| Kind::of(*cause) == kind) {
        let name = if *name == cause_name(StallCause::Executing) {
            "executing".to_owned()
        } else {
            (*name).to_owned()
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    format::list(&names)
}

/// The layers of a phase with their key, from the top.
fn layers(run: &Run, phase: &Phase) -> Option<(Markup, Vec<(Markup, String)>)> {
    const HEIGHT: u32 = 56;
    let parts = wait_layers(phase);
    let named = |cause: StallCause| (cause, cause_name_in(phase, cause));
    let causes: Vec<Named> =
        parts.iter().flat_map(|(_, parts)| parts).map(|part| named(part.cause)).collect();
    let layers = Layers::of(&parts)?;
    let named: Vec<(Kind, String)> = layers
        .key()
        .into_iter()
        .map(|(kind, share)| {
            (kind, format!("{} {}", kind_in_words(kind, &causes), format::share(share)))
        })
        .collect();
    let words: Vec<String> = named.iter().map(|(_, words)| words.clone()).collect();
    let title = flashlag_views::phase_title(run, phase);
    let how = basis_in_words(phase).map(|how| format!(", {how}")).unwrap_or_default();
    let label = format!("What {title} waited for{how}: {}", words.join(", "));
    let key = named.into_iter().map(|(kind, words)| (swatch(kind), words)).collect();
    Some((layers.drawing().named(HEIGHT, &label), key))
}

/// The phases to draw, in the order of the run: those that stalled longest, then those with changes;
/// without either, the one with the longest wait.
fn charted<'a>(phases: &'a [PhaseStalls], run: &Run) -> Vec<&'a PhaseStalls> {
    let changed = |phase: &PhaseStalls| !super::changes::numbered(run, phase.phase).is_empty();
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
    // Fewer for a run without any trusted phase.
    let judged = run.phases.iter().any(|phase| failures_of(run, phase).is_empty());
    order.truncate(if judged { CHARTS } else { CHARTS / 2 });
    order.sort_by_key(|phase| phase.phase);
    order
}

fn chart(run: &Run, stalls: &PhaseStalls, phase: &Phase) -> Option<Chart> {
    const HEIGHT: u32 = 150;
    let (drawing, label) = drawing(run, stalls.phase)?;
    Some(Chart {
        title: stalls.title.clone(),
        flag: Flag::of(run, &stalls.failures),
        svg: drawing.named(HEIGHT, &label),
        longest: longest_in_words(phase),
        layers: layers(run, phase),
    })
}

/// The chart of a phase over time, with its text alternative; `None` if there is nothing to draw.
pub(crate) fn drawing(run: &Run, index: usize) -> Option<(Svg, String)> {
    let phase = run.phases.get(index)?;
    // A longest wait that is listed as a stall is drawn once, as a stall.
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
    let changes = super::changes::numbered(run, index);
    let plot = SeriesPlot { axis, points: &points, stalls: &stalls, changes: &changes };
    let label = format!(
        "{} over {}: {} stalls over {}, the longest {}",
        flashlag_views::phase_title(run, phase),
        format::time(phase.elapsed_ns),
        format::count(phase.stalls_seen.max(phase.stalls.len() as u64)),
        format::limit(phase.stall_over_ns),
        phase
            .stalls
            .iter()
            .map(|stall| stall.ns)
            .max()
            .map_or_else(|| "unknown".to_owned(), format::time)
    );
    Some((plot.drawing(), label))
}

fn longest_in_words(phase: &Phase) -> Vec<String> {
    let mut order: Vec<&StallRecord> = phase.stalls.iter().collect();
    order.sort_by_key(|stall| Reverse(stall.ns));
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
