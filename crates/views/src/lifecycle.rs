//! The reviewers' table: New, filled 1..N, deleted 1..N, trimmed, idle × tests.

use flashlag_explain::{Figures, Plan, is_fill};
use flashlag_schema::{Phase, Run};
use flashlag_spec::scenario::Durability;
use flashlag_spec::{Operation, State};
use flashlag_units::{InOrder, Nanos};

use crate::beside::PublishedBeside;
use crate::doubt::{Failure, failures_of};
use crate::format;
use crate::naming::{began_new, repeats, stage_label, test_title, when};
use crate::table::{Cell, Column, Missing};

/// The table.
#[derive(Clone, Debug, PartialEq)]
pub struct Lifecycle {
    /// The result, as a heading: `Random writes fall to 17% of new …`.
    pub heading: String,
    /// The tests, in the order of the run.
    pub columns: Vec<LifecycleColumn>,
    /// The stages, in order; those that were skipped too.
    pub rows: Vec<LifecycleRow>,
    /// Who published the figures beside the cells. If there are none, but reviewers measured the
    /// simulated device, the command that would show them; otherwise `None`.
    pub published: Option<String>,
}

/// A test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LifecycleColumn {
    /// Its name in the run file.
    pub test: String,
    /// `4K rand write`.
    pub title: String,
    /// Whether each operation was made durable.
    pub durable: bool,
}

/// A stage.
#[derive(Clone, Debug, PartialEq)]
pub struct LifecycleRow {
    /// `Filled, run 2`.
    pub label: String,
    /// The state.
    pub state: State,
    /// The repetition, from 1.
    pub run: u32,
    /// One for each column; `None` if that test was not run in this stage.
    pub cells: Vec<Option<LifecycleCell>>,
    /// The reason why this stage was skipped, and what to try.
    pub skipped: Option<String>,
    /// Failed checks that cover any cell of it.
    pub failures: Vec<Failure>,
}

/// One test in one stage.
#[derive(Clone, Debug, PartialEq)]
pub struct LifecycleCell {
    /// Index of its phase in the run.
    pub phase: usize,
    /// Bytes a second; see [`crate::format::mb_per_s`].
    pub bytes_per_sec: f64,
    /// Operations a second.
    pub ops_per_sec: f64,
    /// How many operations.
    pub n: u64,
    /// Median latency.
    pub p50: Option<Nanos>,
    /// 99 %.
    pub p99: Option<Nanos>,
    /// Throughput as a share of New; `None` in the New row or where New was not measured.
    pub share_of_new: Option<f64>,
    /// Whether it ended before its time.
    pub cut_short: bool,
    /// What reviewers measured here on the device that was simulated, in bytes a second.
    pub published: Option<f64>,
    /// Failed checks that cover it.
    pub failures: Vec<Failure>,
}

/// Below this share of new storage's throughput a cell is drawn as low.
const LOW: f64 = 0.5;

impl LifecycleCell {
    /// The figures that every view shows of a test in a stage.
    pub const COLUMNS: [Column; 5] =
        [Column::Speed, Column::ShareOfNew, Column::Published, Column::P50, Column::P99];

    /// Whether its throughput is below half of new storage's.
    pub fn is_low(&self) -> bool {
        self.share_of_new.is_some_and(|share| share < LOW)
    }

    /// One of [`LifecycleCell::COLUMNS`].
    pub fn cell(&self, column: Column) -> Cell {
        let time = |value: Option<Nanos>| match value {
            Some(value) => Cell::Duration(value),
            None => Cell::Missing(Missing::TooFew),
        };
        let none = Cell::Missing(Missing::NotApplicable);
        match column {
            Column::Speed => Cell::Speed(self.bytes_per_sec),
            Column::ShareOfNew => self.share_of_new.map_or(none, Cell::Percentage),
            Column::Published => self.published.map_or(none, Cell::Speed),
            Column::P50 => time(self.p50),
            Column::P99 => time(self.p99),
            _ => none,
        }
    }
}

/// The table of a run; `None` if it has only one stage and skipped none. Fills, saves, tests beside
/// another writer and durable writes of other sizes ([`sizes`]) are no part of it.
pub fn lifecycle(run: &Run) -> Option<Lifecycle> {
    let plan = Plan::of(run);
    let tested = |phase: &&Phase| is_test(&plan, phase) && !is_of_other_size(run, phase);
    let phases = || run.phases.iter().filter(tested);
    let mut stages: Vec<(State, u32)> = phases().map(|phase| (phase.state, phase.run)).collect();
    for skipped in &run.skipped {
        if !stages.iter().any(|(state, _)| *state == skipped.state) {
            stages.push((skipped.state, 1));
        }
    }
    stages.order();
    stages.dedup();
    if stages.len() < 2 || phases().next().is_none() {
        return None;
    }
    let columns = columns(phases());
    let (rows, published) = rows(run, &plan, &columns, &stages);
    // If no figure stands beside a cell, the note says how to get them.
    let published = published.or_else(|| PublishedBeside::of(run).note(run));
    Some(Lifecycle { heading: heading(run, &columns, &rows), columns, rows, published })
}

/// Durable random writes of other sizes than the 4 KiB that `run` has too, by stage; `None` where
/// there are none.
pub fn sizes(run: &Run) -> Option<Lifecycle> {
    let plan = Plan::of(run);
    let tested = |phase: &&Phase| is_test(&plan, phase) && is_of_other_size(run, phase);
    let phases = || run.phases.iter().filter(tested);
    let columns = columns(phases());
    let mut stages: Vec<(State, u32)> = phases().map(|phase| (phase.state, phase.run)).collect();
    stages.order();
    stages.dedup();
    let (rows, published) = rows(run, &plan, &columns, &stages);
    let heading = "Durable writes of other sizes".to_owned();
    (!rows.is_empty()).then_some(Lifecycle { heading, columns, rows, published })
}

fn is_test(plan: &Plan, phase: &Phase) -> bool {
    phase.operation.is_block_test() && phase.background.is_none() && !is_fill(plan, phase)
}

/// Whether it is a durable random write of another size, beside those of 4 KiB.
fn is_of_other_size(run: &Run, phase: &Phase) -> bool {
    phase.operation == Operation::RandomWrite
        && phase.durable != Durability::None
        && !phase.is_durable_write()
        && phase.queue_depth == 1
        && run.phases.iter().any(Phase::is_durable_write)
}

/// One column for each test, in the order of the run.
fn columns<'a>(phases: impl Iterator<Item = &'a Phase>) -> Vec<LifecycleColumn> {
    let mut columns: Vec<LifecycleColumn> = Vec::new();
    for phase in phases {
        if !columns.iter().any(|column| column.test == phase.name) {
            columns.push(LifecycleColumn {
                test: phase.name.clone(),
                title: test_title(&phase.name),
                durable: phase.durable != Durability::None,
            });
        }
    }
    columns
}

/// One row for each stage; and who published the figures in them.
fn rows(
    run: &Run,
    plan: &Plan,
    columns: &[LifecycleColumn],
    stages: &[(State, u32)],
) -> (Vec<LifecycleRow>, Option<String>) {
    let beside = PublishedBeside::of(run);
    let rows = stages.iter().map(|(state, number)| {
        let mut row = row(run, plan, columns, *state, *number);
        for cell in row.cells.iter_mut().flatten() {
            let published = run.phases.get(cell.phase).and_then(|phase| beside.row(phase));
            cell.published = published.and_then(|row| row.mb_per_s()).map(|rate| rate * 1e6);
        }
        row
    });
    let rows: Vec<LifecycleRow> = rows.collect();
    let any = rows.iter().flat_map(|row| row.cells.iter().flatten());
    let published = any.filter_map(|cell| cell.published).next().and_then(|_| beside.note(run));
    (rows, published)
}

fn row(
    run: &Run,
    plan: &Plan,
    columns: &[LifecycleColumn],
    state: State,
    number: u32,
) -> LifecycleRow {
    let find = |state: State, number: Option<u32>, test: &str| {
        run.phases.iter().enumerate().find(|(_, phase)| {
            let stage = phase.state == state && number.is_none_or(|number| phase.run == number);
            stage && phase.name == test && phase.background.is_none() && !is_fill(plan, phase)
        })
    };
    let cells: Vec<Option<LifecycleCell>> = columns
        .iter()
        .map(|column| {
            let (index, phase) = find(state, Some(number), &column.test)?;
            let new = find(State::New, None, &column.test).filter(|(new, _)| *new != index);
            Some(cell(run, index, phase, new.map(|(_, new)| new)))
        })
        .collect();
    let mut failures: Vec<Failure> = Vec::new();
    for failure in cells.iter().flatten().flat_map(|cell| &cell.failures) {
        if !failures.contains(failure) {
            failures.push(failure.clone());
        }
    }
    LifecycleRow {
        label: stage_label(run, state, number),
        state,
        run: number,
        skipped: skipped(run, state, number),
        cells,
        failures,
    }
}

fn cell(run: &Run, index: usize, phase: &Phase, new: Option<&Phase>) -> LifecycleCell {
    let figures = Figures::of_phase(phase);
    // A figure that a failed check covers can't be the base of a share.
    let new = new.filter(|new| failures_of(run, new).is_empty());
    let share = |new: &Phase| {
        let share = phase.bytes_per_sec / new.bytes_per_sec;
        share.is_finite().then_some(share)
    };
    LifecycleCell {
        phase: index,
        bytes_per_sec: phase.bytes_per_sec,
        ops_per_sec: phase.ops_per_sec,
        n: figures.n,
        p50: figures.p50,
        p99: figures.p99,
        share_of_new: new.and_then(share),
        cut_short: phase.cut_short,
        published: None,
        failures: failures_of(run, phase),
    }
}

/// The reasons why that stage, or a part of it, was not run: each once.
fn skipped(run: &Run, state: State, number: u32) -> Option<String> {
    let mut reasons: Vec<&str> = Vec::new();
    for skipped in run.skipped.iter().filter(|skipped| skipped.state == state && number == 1) {
        if !reasons.contains(&skipped.reason.as_str()) {
            reasons.push(&skipped.reason);
        }
    }
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// Another test loses at least this share of its first speed before the heading says so.
const FALLS: f64 = 0.2;

/// `; 256K seq read falls to 65% once full`: of the other tests, the one that falls deepest in any stage.
fn falls(
    run: &Run,
    columns: &[LifecycleColumn],
    rows: &[LifecycleRow],
    column: usize,
) -> Option<String> {
    let others = columns.iter().enumerate().filter(|(index, _)| *index != column);
    let cells = others.flat_map(|(index, other)| {
        rows.iter().filter_map(move |row| {
            let cell = row.cells.get(index)?.as_ref()?;
            let share = cell.share_of_new.filter(|_| cell.failures.is_empty())?;
            Some((share, other, row))
        })
    });
    let (low, other, row) = cells.min_by(|a, b| a.0.total_cmp(&b.0))?;
    (low <= 1.0 - FALLS).then(|| {
        let (share, when) = (format::share(low), when(run, row.state));
        format!("; {} falls to {share} {when}", other.title)
    })
}

/// How random writes fared in their slowest stage, by cells that no failed check covers.
fn heading(run: &Run, columns: &[LifecycleColumn], rows: &[LifecycleRow]) -> String {
    let plain = || "Throughput by stage".to_owned();
    let durable = columns.iter().position(|column| column.test == "rand_write_4k");
    let Some(column) = durable.or_else(|| columns.iter().position(|column| column.durable)) else {
        return plain();
    };
    let share = |row: &LifecycleRow| {
        let cell = row.cells.get(column)?.as_ref()?;
        cell.share_of_new.filter(|_| cell.failures.is_empty())
    };
    let shared = rows.iter().filter_map(|row| Some((share(row)?, row)));
    let Some((low, slowest)) = shared.min_by(|a, b| a.0.total_cmp(&b.0)) else { return plain() };
    if low >= 0.9 {
        let kept = if low >= 1.0 {
            "their speed".to_owned()
        } else {
            format!("{} of their speed", format::share(low))
        };
        let but = falls(run, columns, rows, column).unwrap_or_default();
        return format!("Random writes keep {kept} in every stage{but}");
    }
    let first = if began_new(run) { "new" } else { "their first speed" };
    let number =
        if repeats(run, slowest.state) { format!(" (run {})", slowest.run) } else { "".into() };
    let heading = format!(
        "Random writes fall to {} of {first} {}{number}",
        format::share(low),
        when(run, slowest.state)
    );
    let of_state = |state: State| {
        let others = rows.iter().filter(move |row| row.state == state && row.state > slowest.state);
        others.filter_map(share).max_by(f64::total_cmp)
    };
    let back = |share: f64| (share - low) / (1.0 - low);
    let said = |what: &str, share: Option<f64>| match share {
        None => String::new(),
        Some(share) if back(share) < 0.2 => {
            format!("; {what} does not help ({})", format::share(share))
        }
        Some(share) => format!("; {what} brings them back to {}", format::share(share)),
    };
    let deleting = said("deleting", of_state(State::Deleted));
    heading + &deleting + &said("trimming", of_state(State::Trimmed))
}
