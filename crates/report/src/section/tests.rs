//! Throughput, operations a second and latency of the tests.

use askama::Template;
use flashlag_schema::{Operation, Phase, Run};
use flashlag_views::{Figures, failures_of, format, phase_title, tests_heading};

use super::{Cell, Flag, Section, percentile_cells};
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "section/tests.html")]
struct Table {
    /// Whether there are so many rows that they stand close together.
    dense: bool,
    caption: &'static str,
    rows: Vec<Row>,
}

struct Row {
    title: String,
    flag: Option<Flag>,
    doubt: bool,
    speed: String,
    per_second: String,
    n: String,
    cells: Vec<Cell>,
    flush: Option<Vec<Cell>>,
}

/// The section; `None` where nothing but saves was measured, or where the stages have a table.
pub(super) fn section(run: &Run) -> Option<Section> {
    let is_test = |phase: &&Phase| phase.ops > 0 && phase.operation != Operation::Save;
    let tests = run.phases.iter().filter(is_test);
    if has_stages(run) || tests.clone().next().is_none() {
        return None;
    }
    let caption = "Throughput in MB/s (10⁶ bytes), operations a second, latency in ms.";
    Some(Section {
        id: "tests",
        name: "Tests",
        heading: tests_heading(run),
        side: super::changes::steady_note(run).into_iter().collect(),
        body: table(run, tests, caption),
    })
}

/// Whether the run measured in more than one state, or several times in one.
pub(super) fn has_stages(run: &Run) -> bool {
    let mut stages =
        run.phases.iter().filter(|phase| phase.ops > 0).map(|phase| (phase.state, phase.run));
    let first = stages.next();
    stages.any(|stage| Some(stage) != first)
}

/// One row for each phase, with its flush where that was timed apart.
pub(super) fn table<'a>(
    run: &Run,
    phases: impl Iterator<Item = &'a Phase>,
    caption: &'static str,
) -> Markup {
    let rows: Vec<Row> = phases.map(|phase| row(run, phase)).collect();
    Markup::of(&Table { dense: rows.len() > super::DENSE, caption, rows })
}

fn row(run: &Run, phase: &Phase) -> Row {
    let failures = failures_of(run, phase);
    let figures = Figures::of_phase(phase);
    // By stage there are many rows already; a finding says what the flush costs.
    let flush = phase.flush_latency_ns.as_ref().filter(|_| !has_stages(run)).map(|flush| {
        let values = [flush.p50, flush.p90, flush.p99, flush.p999, flush.max];
        values.into_iter().map(|value| Cell::ms(value, phase.ops)).collect()
    });
    // Rows of a database are not what MB/s count.
    let speed = match phase.operation {
        Operation::Save => format::NONE.to_owned(),
        _ => format::mb_per_s(phase.bytes_per_sec),
    };
    Row {
        title: phase_title(run, phase),
        flag: Flag::of(run, &failures),
        doubt: !failures.is_empty(),
        speed,
        per_second: format::per_second(phase.ops_per_sec),
        n: format::count(figures.n),
        cells: percentile_cells(&figures),
        flush,
    }
}
