//! How long operations took: percentile plots on logarithmic axes, and the numbers.

use askama::Template;
use flashlag_explain::{Figures, distribution_heading, failures_of, format, phase_title};
use flashlag_explain::{SaveKind, state_name, test_name, test_title};
use flashlag_schema::scenario::{JournalMode, Synchronous};
use flashlag_schema::{Operation, Phase, Run, State};
use flashlag_stats::Histogram;

use super::{Cell, Flag, Section, percentile_cells};
use crate::chart::{DistributionPlot, LatencyAxis, Stroke};
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "section/distribution.html")]
struct Body {
    panels: Vec<Panel>,
    rows: Vec<Row>,
}

struct Panel {
    title: String,
    svg: Markup,
}

struct Row {
    title: String,
    flag: Option<Flag>,
    doubt: bool,
    n: String,
    cells: Vec<Cell>,
    flush: Option<Vec<Cell>>,
}

/// One curve of a panel.
struct Line<'a> {
    name: String,
    stroke: Stroke,
    phase: &'a Phase,
}

const HEIGHT: u32 = 230;
/// Curves in a panel: more can't be told apart.
const CURVES: usize = 5;
/// Panels: beyond this the table has the rest.
const PANELS: usize = 8;

/// The section; `None` where nothing was measured.
pub(super) fn section(run: &Run) -> Option<Section> {
    let phases: Vec<&Phase> = run.phases.iter().filter(|phase| phase.ops > 0).collect();
    if phases.is_empty() {
        return None;
    }
    let rows: Vec<Row> = phases.iter().map(|phase| row(run, phase)).collect();
    let histograms = phases.iter().filter_map(|phase| felt(phase));
    let ends = histograms.flat_map(|h| [h.min(), h.max()]).flatten();
    let axis = LatencyAxis::covering(ends);
    let panels =
        panels(run, &phases).into_iter().filter_map(|(title, lines)| panel(&axis, title, lines));
    let body = Body { panels: panels.take(PANELS).collect(), rows };
    Some(Section {
        id: "distribution",
        name: "Distributions",
        heading: distribution_heading(run),
        side: vec![
            "Across: the slowest 1 in 10, 1 in 100, and so on. Upwards: how long they take, at least."
                .to_owned(),
            "Both axes are logarithmic, so that 1 in 1,000 has as much room as the median.".to_owned(),
        ],
        body: Markup::of(&body),
    })
}

/// What a person would have waited: from the intended start where there was a schedule.
fn felt(phase: &Phase) -> Option<Histogram> {
    phase.response_histogram.as_ref().unwrap_or(&phase.histogram).restore().ok()
}

/// Panels with their lines: a panel a test where there are several stages, else one for block I/O
/// and one for each kind of save.
fn panels<'a>(run: &Run, phases: &[&'a Phase]) -> Vec<(String, Vec<Line<'a>>)> {
    let first = phases.first().map(|phase| (phase.state, phase.run));
    let staged = phases.iter().any(|phase| Some((phase.state, phase.run)) != first);
    let mut panels: Vec<(String, Vec<Line<'a>>)> = Vec::new();
    for &phase in phases {
        let (title, name) = match staged {
            true => (test_name(run, phase), state_name(phase.state).to_owned()),
            false => unstaged(run, phase),
        };
        let index = match panels.iter().position(|(known, _)| *known == title) {
            Some(index) => index,
            None => {
                panels.push((title, Vec::new()));
                panels.len() - 1
            }
        };
        let Some((_, lines)) = panels.get_mut(index) else { continue };
        // Of several runs in one state the last, which has seen the most.
        lines.retain(|line| !staged || line.phase.state != phase.state);
        if lines.len() < CURVES {
            let stroke = if staged { by_state(phase.state) } else { by_order(lines.len()) };
            lines.push(Line { name: short(&name), stroke, phase });
        }
    }
    panels.sort_by_key(|(_, lines)| lines.iter().map(|line| weight(line.phase)).min());
    panels
}

/// The panel and the line of a phase where all phases are in one stage.
fn unstaged(run: &Run, phase: &Phase) -> (String, String) {
    match SaveKind::of(run, phase) {
        Some(_) if phase.background.is_some() => {
            ("SQLite saves".to_owned(), "beside writer".to_owned())
        }
        Some(kind) if phase.name.starts_with(kind.statement_name()) => {
            (format!("SQLite, one {} a save", kind.statement_name()), save_name(&kind))
        }
        Some(kind) => ("SQLite saves".to_owned(), save_name(&kind)),
        None => ("Reads and writes".to_owned(), test_title(&phase.name)),
    }
}

/// A journal mode, short enough to stand beside a line.
fn save_name(kind: &SaveKind) -> String {
    let journal = match kind.journal {
        JournalMode::Delete => "rollback",
        JournalMode::Truncate => "truncate",
        JournalMode::Persist => "persist",
        JournalMode::Wal => "WAL",
        JournalMode::Memory => "memory",
        JournalMode::Off => "off",
    };
    match kind.synchronous {
        Synchronous::Full => journal.to_owned(),
        Synchronous::Extra => format!("{journal} extra"),
        Synchronous::Normal => format!("{journal} normal"),
    }
}

/// Cut to what fits beside a line; the table has it whole.
fn short(name: &str) -> String {
    const MOST: usize = 15;
    match name.chars().count() {
        0..=MOST => name.to_owned(),
        _ => name.chars().take(MOST - 1).chain(['…']).collect(),
    }
}

fn by_state(state: State) -> Stroke {
    match state {
        State::New => Stroke::Thin,
        State::Filled => Stroke::Bold,
        State::Deleted => Stroke::Dashed,
        State::Trimmed => Stroke::Dotted,
        State::Idle => Stroke::DashDotted,
    }
}

fn by_order(line: usize) -> Stroke {
    let strokes = [Stroke::Thin, Stroke::Dashed, Stroke::Dotted, Stroke::Bold];
    strokes.get(line).copied().unwrap_or(Stroke::DashDotted)
}

/// What lags comes first: durable writes, saves, other writes, fills, reads.
fn weight(phase: &Phase) -> u8 {
    let fill = phase.intervals.iter().any(|interval| interval.filled_bytes.is_some());
    match phase.operation {
        _ if fill => 3,
        _ if phase.is_durable_write() => 0,
        Operation::Save => 1,
        Operation::SequentialWrite | Operation::RandomWrite => 2,
        Operation::SequentialRead | Operation::RandomRead => 4,
    }
}

fn panel(axis: &LatencyAxis, title: String, lines: Vec<Line<'_>>) -> Option<Panel> {
    let most = lines.iter().map(|line| line.phase.ops).max().unwrap_or(0);
    let mut plot = DistributionPlot::new(*axis, most, HEIGHT);
    let mut words = format!("{title}, how long the slowest take.");
    for line in lines {
        let Some(histogram) = felt(line.phase) else { continue };
        let figures = Figures::of(&histogram);
        let told = [("median", figures.p50), ("p99", figures.p99), ("p99.9", figures.p999)];
        words += &format!(" {}:", line.name);
        for (name, value) in told.iter().filter_map(|(name, value)| Some((name, (*value)?))) {
            words += &format!(" {name} {},", format::time(value));
        }
        words += &format!(" n = {}.", format::count(figures.n));
        plot.add(line.name, line.stroke, &histogram);
    }
    (!plot.is_empty()).then(|| Panel { title, svg: plot.draw(&words) })
}

fn row(run: &Run, phase: &Phase) -> Row {
    let failures = failures_of(run, phase);
    let figures = Figures::of_phase(phase);
    let flush = phase.flush_latency_ns.as_ref().map(|flush| {
        let values = [flush.p50, flush.p90, flush.p99, flush.p999, flush.max];
        values.into_iter().map(|value| Cell::ms(value, phase.ops)).collect()
    });
    Row {
        title: phase_title(run, phase),
        flag: Flag::of(run, &failures),
        doubt: !failures.is_empty(),
        n: format::count(figures.n),
        cells: percentile_cells(&figures),
        flush,
    }
}
