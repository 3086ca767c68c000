//! SQLite saves: how long they take, how many are late, and what growth costs.

use askama::Template;
use flashlag_schema::finding::FindingId;
use flashlag_schema::{Lag, Operation, Phase, Run};
use flashlag_units::Nanos;
use flashlag_views::{Figures, GroupKind, LAG_IS_A_BUDGET, StripGroup, failures_of, format, strip};
use flashlag_views::{findings, is_overloaded, overload, phase_title, saves_heading};

use super::{Cell, Flag, Section, percentile_cells};
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "section/saves.html")]
struct Body {
    dense: bool,
    groups: Vec<Group>,
    /// How many rows the second table leaves out, as none of their saves was long.
    in_time: usize,
    growth: Vec<GrowthRow>,
    /// How many rows the third table leaves out.
    grew_less: usize,
    total: Option<Vec<(String, String)>>,
}

/// Saves of one statement in one stage.
struct Group {
    /// Empty where there is but one.
    title: String,
    rows: Vec<Row>,
}

impl Group {
    /// The rows of the second table.
    fn late(&self) -> Vec<&Row> {
        self.rows.iter().filter(|row| row.in_lag_table).collect()
    }
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
    /// What became of its schedule, where it was not kept.
    schedule: Option<String>,
    in_lag_table: bool,
}

struct GrowthRow {
    title: String,
    share: String,
    n: String,
    /// Median and p99 of those that grew a file and of those that did not, and the longest of both.
    cells: Vec<Cell>,
}

/// More saves than this are many: their tables leave out rows that say nothing.
const MANY: usize = 12;
/// Rows about growth, where it costs most.
const GROWTH: usize = 8;

/// The section; `None` where nothing was saved.
pub(super) fn section(run: &Run) -> Option<Section> {
    let saves: Vec<&Phase> =
        run.phases.iter().filter(|phase| phase.operation == Operation::Save).collect();
    if saves.is_empty() {
        return None;
    }
    let many = saves.len() > MANY;
    let strip = strip(run);
    let groups = strip.groups.iter().filter(|group| group.kind != GroupKind::DurableWrite);
    let groups: Vec<Group> = match many {
        true => groups.map(|it| group(run, it)).collect(),
        false => vec![Group {
            title: String::new(),
            rows: saves.iter().map(|phase| row(run, phase, false)).collect(),
        }],
    };
    // Of few saves a finding says what growth costs.
    let said = !many && says_growth(run);
    let (growth, grew_less) = if said { (Vec::new(), 0) } else { growth(run, &saves) };
    let body = Body {
        dense: many,
        in_time: groups.iter().map(|group| group.rows.len() - group.late().len()).sum(),
        groups,
        growth,
        grew_less,
        total: (saves.len() > 1).then(|| shares(&kept(&saves))),
    };
    Some(Section {
        id: "saves",
        name: "SQLite saves",
        heading: saves_heading(run),
        side: vec![
            "A save is one transaction of one row, through real SQLite.".to_owned(),
            "On a schedule, a save’s wait counts from its intended start.".to_owned(),
            LAG_IS_A_BUDGET.to_owned(),
        ],
        body: Markup::of(&body),
    })
}

fn group(run: &Run, group: &StripGroup) -> Group {
    let rows = group.rows.iter().filter_map(|it| {
        let phase = run.phases.get(it.phase)?;
        Some(Row { title: it.label.clone(), ..row(run, phase, true) })
    });
    Group { title: group.title.clone(), rows: rows.collect() }
}

fn row(run: &Run, phase: &Phase, many: bool) -> Row {
    let failures = failures_of(run, phase);
    let figures = Figures::of_phase(phase);
    let overload = overload(run, phase);
    let lag = phase.lag.as_ref().filter(|_| overload.is_none()).map(shares);
    let missed = phase.missed_slots.filter(|missed| *missed > 0);
    let missed = missed.map(|missed| format!("{} slots missed", format::count(missed)));
    let none = || vec![(format::NONE.to_owned(), String::new()); 6];
    Row {
        title: phase_title(run, phase),
        flag: Flag::of(run, &failures),
        doubt: !failures.is_empty(),
        per_second: format::per_second(phase.ops_per_sec),
        n: format::count(figures.n),
        cells: percentile_cells(&figures),
        lag: lag.unwrap_or_else(none),
        in_lag_table: !many || phase.lag.as_ref().is_none_or(|lag| lag.over_120hz > 0),
        schedule: overload.map(|it| format!("overloaded: {}", it.in_words())).or(missed),
    }
}

/// Of all saves whose schedule was kept: how late the others were says how long the test was.
fn kept(saves: &[&Phase]) -> Lag {
    let kept = saves.iter().filter(|phase| !is_overloaded(phase));
    kept.filter_map(|phase| phase.lag).fold(Lag::default(), Lag::plus)
}

/// The share over each limit, and the count.
fn shares(lag: &Lag) -> Vec<(String, String)> {
    let counts =
        [lag.over_120hz, lag.over_90hz, lag.over_60hz, lag.over_100ms, lag.over_700ms, lag.over_5s];
    let both = |count: u64| (format::share_of(count, lag.saves), format::count(count));
    counts.into_iter().map(both).collect()
}

/// Whether growth is among the findings, as a cause or as none.
fn says_growth(run: &Run) -> bool {
    let found = findings(run);
    let causes = found.causes.iter().map(|cause| cause.id);
    causes.chain(found.ruled_out.iter().map(|out| out.id)).any(|id| id == FindingId::GrowingFiles)
}

/// The saves that growing a file costs most, in the order of the run, and how many others grew.
fn growth(run: &Run, saves: &[&Phase]) -> (Vec<GrowthRow>, usize) {
    let both = |phase: &&Phase| {
        let grown = phase.growth.as_ref();
        grown.is_some_and(|growth| growth.grew.ops > 0 && growth.in_place.ops > 0)
    };
    let all: Vec<&Phase> = saves.iter().copied().filter(both).collect();
    let mut costly: Vec<(usize, u128)> = all.iter().map(|phase| cost(phase)).enumerate().collect();
    costly.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
    let rest = costly.len().saturating_sub(GROWTH);
    costly.truncate(GROWTH);
    costly.sort_unstable();
    let rows = costly.iter().filter_map(|(index, _)| growth_row(run, all.get(*index)?));
    (rows.collect(), rest)
}

/// What growth adds to all saves together, in nanoseconds.
fn cost(phase: &Phase) -> u128 {
    let Some(growth) = &phase.growth else { return 0 };
    let mean = |part: &flashlag_schema::GrowthPart| part.latency_ns.mean.unwrap_or_default();
    let each = mean(&growth.grew).since(mean(&growth.in_place));
    u128::from(each.0) * u128::from(growth.grew.ops)
}

fn growth_row(run: &Run, phase: &Phase) -> Option<GrowthRow> {
    let growth = phase.growth.as_ref()?;
    let parts = [&growth.grew, &growth.in_place];
    let of = |value: fn(&flashlag_schema::LatencySummary) -> Option<Nanos>| {
        parts.map(|part| Cell::ms(value(&part.latency_ns), part.ops))
    };
    let all = growth.grew.ops.saturating_add(growth.in_place.ops);
    Some(GrowthRow {
        title: phase_title(run, phase),
        share: format::share_of(growth.grew.ops, all),
        n: format::count(all),
        cells: [of(|it| it.p50), of(|it| it.p99), of(|it| it.max)].into_iter().flatten().collect(),
    })
}
