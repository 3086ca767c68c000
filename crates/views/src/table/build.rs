//! The tables of a run.

use flashlag_explain::Figures;
use flashlag_schema::{Lag, Phase, Run};
use flashlag_spec::Operation;

use super::model::{Table, TableGroup, TableRow};
use super::{Cell, Column, LagLimit, Missing};
use crate::doubt::failures_of;
use crate::fill::{FillCurve, FillLevel};
use crate::format;
use crate::naming::stage_of;
use crate::outline::phase_title;
use crate::overload::overload;
use crate::strip::{Strip, StripGroup, StripRow, strip};
use crate::worst::GroupKind;

/// The figures that the cells of a row are read from.
pub(super) struct RowFigures<'a> {
    pub(super) figures: &'a Figures,
    /// `None` if an amount of data means nothing, as for saves.
    pub(super) bytes_per_sec: Option<f64>,
    pub(super) ops_per_sec: Option<f64>,
    pub(super) lag: Option<&'a Lag>,
}

impl RowFigures<'_> {
    fn of_phase<'a>(figures: &'a Figures, phase: &'a Phase) -> RowFigures<'a> {
        RowFigures {
            figures,
            bytes_per_sec: phase.operation.moves_bytes().then_some(phase.bytes_per_sec),
            ops_per_sec: Some(phase.ops_per_sec),
            lag: phase.lag.as_ref(),
        }
    }

    fn cells(&self, columns: &[Column]) -> Vec<Cell> {
        columns.iter().map(|column| self.cell(*column)).collect()
    }

    pub(super) fn cell(&self, column: Column) -> Cell {
        let figures = self.figures;
        let none = Cell::Missing(Missing::NotApplicable);
        match column {
            Column::Speed => self.bytes_per_sec.map_or(none, Cell::Speed),
            Column::Rate | Column::SaveRate => self.ops_per_sec.map_or(none, Cell::Rate),
            Column::P50 => Cell::duration(figures.p50, figures),
            Column::P90 => Cell::duration(figures.p90, figures),
            Column::P99 => Cell::duration(figures.p99, figures),
            Column::P999 => Cell::duration(figures.p999, figures),
            Column::Longest => Cell::duration(figures.max, figures),
            Column::Late => match figures.late_share() {
                Some(share) => Cell::Percentage(share),
                None => Cell::duration(None, figures),
            },
            // If a schedule was not kept, the lateness of its saves only reflects how long the test
            // was.
            Column::Over(_) if figures.overloaded => Cell::Missing(Missing::Overloaded),
            Column::Over(limit) => match self.lag {
                Some(lag) => Cell::Part { count: limit.count(lag), of: lag.saves },
                None => none,
            },
            Column::Of => self.lag.map_or(none, |lag| Cell::Count(lag.saves)),
            Column::N => Cell::Count(figures.n),
            _ => none,
        }
    }
}

/// A figure of a distribution as a cell; `rate` in operations a second.
pub fn figure_cell(column: Column, figures: &Figures, rate: Option<f64>) -> Cell {
    RowFigures { figures, bytes_per_sec: None, ops_per_sec: rate, lag: None }.cell(column)
}

/// The only group of a table.
pub(super) fn one_group(rows: Vec<TableRow>) -> Vec<TableGroup> {
    vec![TableGroup { title: String::new(), rows }]
}

fn phase_row(run: &Run, index: usize, label: String, columns: &[Column]) -> Option<TableRow> {
    let phase = run.phases.get(index)?;
    let figures = Figures::of_phase(phase);
    Some(TableRow {
        label,
        phase: Some(index),
        is_part: false,
        failures: failures_of(run, phase),
        remark: None,
        cells: RowFigures::of_phase(&figures, phase).cells(columns),
    })
}

const TESTS: [Column; 8] = [
    Column::Speed,
    Column::Rate,
    Column::P50,
    Column::P90,
    Column::P99,
    Column::P999,
    Column::Longest,
    Column::N,
];

/// Whether the run measured in more than one state, or several times in one.
pub fn has_stages(run: &Run) -> bool {
    let mut stages =
        run.phases.iter().filter(|phase| phase.ops > 0).map(|phase| (phase.state, phase.run));
    let first = stages.next();
    stages.any(|stage| Some(stage) != first)
}

/// The tests of a run, a row each, with or without its saves; those that did nothing are left out.
/// In a run of one stage, each test whose flush was timed separately has a row for it.
pub fn tests_table(run: &Run, saves: bool) -> Table {
    let is_test = |phase: &Phase| phase.ops > 0 && (saves || phase.operation != Operation::Save);
    let staged = has_stages(run);
    let mut rows = Vec::new();
    for (index, phase) in run.phases.iter().enumerate().filter(|(_, phase)| is_test(phase)) {
        rows.extend(phase_row(run, index, phase_title(run, phase), &TESTS));
        // A table by stage has many rows already, and a finding says what the flush costs.
        rows.extend(flush_row(index, phase).filter(|_| !staged));
        rows.extend(replay_rows(index, phase));
    }
    Table { title: "test", columns: TESTS.to_vec(), groups: one_group(rows), notes: Vec::new() }
}

/// The rows below a part of a replay. If the replay is paced, its figures count from the intended
/// start, so one row has the times from the operations' own start; another has the times where the
/// trace was recorded.
fn replay_rows(index: usize, phase: &Phase) -> Vec<TableRow> {
    let Some(replay) = &phase.replay else { return Vec::new() };
    let begun = (!phase.closed_loop).then(|| {
        let figures = Figures::of_summary(phase.ops, &phase.latency_ns);
        part_row(index, "from their own start", &figures)
    });
    let traced = replay.traced_ns.as_ref().map(|traced| {
        let ops = replay.traced_histogram.as_ref().map(|stored| stored.count.iter().sum());
        part_row(index, "where it was traced", &Figures::of_summary(ops.unwrap_or(0), traced))
    });
    begun.into_iter().chain(traced).collect()
}

fn flush_row(index: usize, phase: &Phase) -> Option<TableRow> {
    let flush = phase.flush_latency_ns.as_ref()?;
    Some(part_row(index, "of that, its flush", &Figures::of_summary(phase.ops, flush)))
}

/// A row with the waits of a part of the operations above it.
fn part_row(index: usize, label: &str, figures: &Figures) -> TableRow {
    let cell = |column: &Column| {
        if Column::LATENCY.contains(column) {
            figure_cell(*column, figures, None)
        } else {
            Cell::Text(String::new())
        }
    };
    TableRow {
        label: label.to_owned(),
        phase: Some(index),
        is_part: true,
        failures: Vec::new(),
        remark: None,
        cells: TESTS.iter().map(cell).collect(),
    }
}

/// Every phase of a run, saves included, by its name in the scenario.
pub fn phases_table(run: &Run) -> Table {
    let columns: Vec<Column> = [Column::Stage].into_iter().chain(TESTS).collect();
    let phases = run.phases.iter().enumerate();
    let rows = phases.filter_map(|(index, phase)| {
        let mut row = phase_row(run, index, phase.name.clone(), &TESTS)?;
        row.cells.insert(0, Cell::Text(stage_of(run, phase)));
        Some(row)
    });
    let groups = one_group(rows.collect());
    Table { title: "phase", columns, groups, notes: Vec::new() }
}

/// The rows that decide how a device lags, by group, as [`strip`] has them, each with its verdict.
pub fn verdicts_table(run: &Run) -> Table {
    let figures = [Column::Late, Column::N];
    let figures: Vec<Column> = Column::LATENCY.into_iter().chain(figures).collect();
    let row = |row: &StripRow| {
        let mut drawn = strip_row(run, row, &figures);
        drawn.cells.push(Cell::Verdict(row.judgement.clone()));
        drawn
    };
    let group = |group: &StripGroup| TableGroup {
        title: group.title.clone(),
        rows: group.rows.iter().map(row).collect(),
    };
    let groups = strip(run).groups.iter().map(group).collect();
    let columns = figures.iter().copied().chain([Column::Verdict]).collect();
    Table { title: "", columns, groups, notes: Vec::new() }
}

/// The durable writes that decide, a row for each stage.
pub fn durable_writes_table(run: &Run) -> Table {
    let columns: Vec<Column> = Column::LATENCY.into_iter().chain([Column::N]).collect();
    let Strip { groups, .. } = strip(run);
    let groups = groups.iter().filter(|group| group.kind == GroupKind::DurableWrite);
    let rows: Vec<TableRow> =
        groups.flat_map(|group| &group.rows).map(|row| strip_row(run, row, &columns)).collect();
    Table { title: "", columns, groups: one_group(rows), notes: Vec::new() }
}

fn strip_row(run: &Run, row: &StripRow, columns: &[Column]) -> TableRow {
    let phase = run.phases.get(row.phase);
    let measured = RowFigures {
        figures: &row.figures,
        bytes_per_sec: None,
        ops_per_sec: phase.map(|phase| phase.ops_per_sec),
        lag: phase.and_then(|phase| phase.lag.as_ref()),
    };
    TableRow {
        label: row.label.clone(),
        phase: Some(row.phase),
        is_part: false,
        failures: row.judgement.failures().to_vec(),
        remark: phase.and_then(|phase| schedule(run, phase)),
        cells: measured.cells(columns),
    }
}

/// The remark about a schedule that was not kept.
fn schedule(run: &Run, phase: &Phase) -> Option<String> {
    let overload = overload(run, phase).map(|it| format!("overloaded: {}", it.in_words()));
    let missed = phase.missed_slots.filter(|missed| *missed > 0);
    overload.or_else(|| Some(format!("{} slots missed", format::count(missed?))))
}

/// How long saves take: by group, as [`strip`] has them, or in one list.
pub fn saves_table(run: &Run, grouped: bool) -> Table {
    let columns: Vec<Column> =
        [Column::SaveRate].into_iter().chain(Column::LATENCY).chain([Column::N]).collect();
    of_saves(run, columns, grouped)
}

/// How many saves were longer than each limit, by group or in one list.
pub fn late_saves_table(run: &Run, grouped: bool) -> Table {
    let limits = LagLimit::ALL.into_iter().map(Column::Over);
    let columns = [Column::SaveRate].into_iter().chain(limits).chain([Column::Of]);
    of_saves(run, columns.collect(), grouped)
}

fn of_saves(run: &Run, columns: Vec<Column>, grouped: bool) -> Table {
    if !grouped {
        let saves = run.phases.iter().enumerate();
        let saves = saves.filter(|(_, phase)| phase.operation == Operation::Save);
        let rows = saves.filter_map(|(index, phase)| {
            let row = phase_row(run, index, phase_title(run, phase), &columns)?;
            Some(TableRow { remark: schedule(run, phase), ..row })
        });
        let groups = one_group(rows.collect());
        return Table { title: "save", columns, groups, notes: Vec::new() };
    }
    let Strip { groups, .. } = strip(run);
    let groups = groups.iter().filter(|group| group.kind != GroupKind::DurableWrite);
    let group = |group: &StripGroup| TableGroup {
        title: group.title.clone(),
        rows: group.rows.iter().map(|row| strip_row(run, row, &columns)).collect(),
    };
    let groups: Vec<TableGroup> = groups.map(group).collect();
    Table { title: "save", columns, groups, notes: Vec::new() }
}

/// The levels of a fill. Late is given where a frame may wait for one of its writes.
pub fn fill_table(run: &Run, curve: &FillCurve) -> Table {
    let durable = run.phases.get(curve.phase).is_some_and(Phase::is_durable_write);
    let late = durable.then_some(Column::Late);
    let columns: Vec<Column> =
        [Column::Speed].into_iter().chain(Column::LATENCY).chain(late).chain([Column::N]).collect();
    let row = |level: &FillLevel| {
        let measured = RowFigures {
            figures: &level.figures,
            bytes_per_sec: Some(level.bytes_per_sec),
            ops_per_sec: None,
            lag: None,
        };
        TableRow {
            label: format::share(level.full),
            phase: Some(curve.phase),
            is_part: false,
            failures: curve.failures.clone(),
            remark: None,
            cells: measured.cells(&columns),
        }
    };
    let groups = one_group(curve.levels.iter().map(row).collect());
    Table { title: "full", columns, groups, notes: curve.flush_note().into_iter().collect() }
}
