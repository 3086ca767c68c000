//! SQLite saves: how long they take, how many are late, and what growth costs.

use askama::Template;
use flashlag_explain::{Figures, LAG_IS_A_BUDGET, failures_of, format, phase_title, saves_heading};
use flashlag_schema::{Lag, Operation, Phase, Run};

use super::{Cell, Flag, Section, percentile_cells};
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "section/saves.html")]
struct Body {
    rows: Vec<Row>,
    growth: Vec<GrowthRow>,
    total: Option<Vec<(String, String)>>,
    budget: &'static str,
}

struct Row {
    title: String,
    flag: Option<Flag>,
    doubt: bool,
    per_second: String,
    n: String,
    cells: Vec<Cell>,
    /// Saves longer than each limit, as shares, most patient last; the counts in words.
    lag: Vec<(String, String)>,
    missed: Option<String>,
}

struct GrowthRow {
    title: String,
    part: &'static str,
    n: String,
    cells: Vec<Cell>,
}

/// The section; `None` where nothing was saved.
pub(super) fn section(run: &Run) -> Option<Section> {
    let saves: Vec<&Phase> =
        run.phases.iter().filter(|phase| phase.operation == Operation::Save).collect();
    if saves.is_empty() {
        return None;
    }
    let growth = saves.iter().flat_map(|phase| growth(run, phase));
    let body = Body {
        rows: saves.iter().map(|phase| row(run, phase)).collect(),
        growth: growth.collect(),
        total: (saves.len() > 1).then(|| shares(&run.lag)),
        budget: LAG_IS_A_BUDGET,
    };
    Some(Section {
        id: "saves",
        name: "SQLite saves",
        heading: saves_heading(run),
        side: vec![
            "A save is one transaction of one row, through real SQLite.".to_owned(),
            "On a schedule, a save’s wait counts from its intended start.".to_owned(),
        ],
        body: Markup::of(&body),
    })
}

fn row(run: &Run, phase: &Phase) -> Row {
    let failures = failures_of(run, phase);
    let figures = Figures::of_phase(phase);
    let lag = phase.lag.as_ref().map(shares);
    let none = || vec![(format::NONE.to_owned(), String::new()); 6];
    Row {
        title: phase_title(run, phase),
        flag: Flag::of(run, &failures),
        doubt: !failures.is_empty(),
        per_second: format::per_second(phase.ops_per_sec),
        n: format::count(figures.n),
        cells: percentile_cells(&figures),
        lag: lag.unwrap_or_else(none),
        missed: phase.missed_slots.filter(|missed| *missed > 0).map(format::count),
    }
}

/// The share over each limit, and the count.
fn shares(lag: &Lag) -> Vec<(String, String)> {
    let counts =
        [lag.over_120hz, lag.over_90hz, lag.over_60hz, lag.over_100ms, lag.over_700ms, lag.over_5s];
    let both = |count: u64| (format::share_of(count, lag.saves), format::count(count));
    counts.into_iter().map(both).collect()
}

fn growth(run: &Run, phase: &Phase) -> Vec<GrowthRow> {
    let Some(growth) = &phase.growth else { return Vec::new() };
    let parts = [("grew a file", &growth.grew), ("in place", &growth.in_place)];
    let row = |(name, part): (&'static str, &flashlag_schema::GrowthPart)| {
        let latency = &part.latency_ns;
        let values = [latency.p50, latency.p90, latency.p99, latency.p999, latency.max];
        GrowthRow {
            title: phase_title(run, phase),
            part: name,
            n: format::count(part.ops),
            cells: values.into_iter().map(|value| Cell::ms(value, part.ops)).collect(),
        }
    };
    parts.into_iter().filter(|(_, part)| part.ops > 0).map(row).collect()
}
