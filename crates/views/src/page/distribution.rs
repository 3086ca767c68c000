//! Latency distributions: percentile plots on logarithmic axes; by stage, also the figures.

use flashlag_explain::{Figures, SaveKind, is_overloaded};
use flashlag_schema::{Phase, Run};
use flashlag_spec::scenario::{JournalMode, Synchronous};
use flashlag_spec::{Operation, State};
use flashlag_stats::Histogram;
use flashlag_units::InOrder;

use super::figures::every_test;
use super::model::{Block, CURVES, Curve, Distributions, Panel, Section};
use crate::format;
use crate::naming::{state_name, test_name, test_title};
use crate::outline::distribution_heading;
use crate::table::has_stages;

/// One curve of a panel.
struct Line<'a> {
    name: String,
    mark: usize,
    phase: &'a Phase,
}

/// Maximum number of panels; the tables have the rest.
const PANELS: usize = 8;

/// The section; `None` if nothing was measured.
pub(super) fn section(run: &Run) -> Option<Section> {
    let mut drawn = distributions(run);
    drawn.panels.truncate(PANELS);
    // Saves, and tests without stages, have tables of their own.
    let table = has_stages(run).then(|| every_test(run, CAPTION)).flatten();
    if drawn.panels.is_empty() && table.is_none() {
        return None;
    }
    Some(Section {
        id: "distribution",
        name: "Distributions",
        heading: distribution_heading(run),
        side: vec![
            "Across: the slowest 1 in 10, 1 in 100, and so on. Upwards: how long they take, at least."
                .to_owned(),
            "Both axes are logarithmic, so that 1 in 1,000 has as much room as the median.".to_owned(),
        ],
        blocks: [Block::Distributions(drawn)].into_iter().chain(table).collect(),
    })
}

const CAPTION: &str = "Every test. Latency in ms. Of several runs in one state the charts show the \
                       last; the table has all.";

/// All plots of a run, durable writes and saves first.
pub fn distributions(run: &Run) -> Distributions {
    // A fill has percentiles by level instead.
    let filled = |phase: &Phase| phase.intervals.iter().any(|it| it.filled_bytes.is_some());
    // The waits of an overloaded schedule have no distribution: they grow with the test.
    let drawn = |phase: &&Phase| phase.ops > 0 && !filled(phase) && !is_overloaded(phase);
    let phases: Vec<&Phase> = run.phases.iter().filter(drawn).collect();
    let histograms = phases.iter().filter_map(|phase| response_histogram(phase));
    let ends = histograms.flat_map(|h| [h.min(), h.max()]).flatten().collect();
    Distributions { panels: panels(run, &phases).into_iter().filter_map(panel).collect(), ends }
}

/// The latency as users see it: from the intended start if there was a schedule.
fn response_histogram(phase: &Phase) -> Option<Histogram> {
    phase.response_histogram.as_ref().unwrap_or(&phase.histogram).restore().ok()
}

/// The lines of a panel.
struct Lines<'a> {
    title: String,
    lines: Vec<Line<'a>>,
    left_out: Vec<String>,
}

/// Panels with their lines: one for each test in a run of several stages, otherwise one for block
/// I/O and one for each kind of save.
fn panels<'a>(run: &Run, phases: &[&'a Phase]) -> Vec<Lines<'a>> {
    let staged = has_stages(run);
    let mut panels: Vec<Lines<'a>> = Vec::new();
    for &phase in phases {
        let (title, name) = if staged {
            (test_name(run, phase), state_name(run, phase.state).to_owned())
        } else {
            unstaged(run, phase)
        };
        let index = match panels.iter().position(|known| known.title == title) {
            Some(index) => index,
            None => {
                panels.push(Lines { title, lines: Vec::new(), left_out: Vec::new() });
                panels.len() - 1
            }
        };
        let Some(Lines { lines, left_out, .. }) = panels.get_mut(index) else { continue };
        // The last of several runs in one state.
        lines.retain(|line| !staged || line.phase.state != phase.state);
        if lines.len() < CURVES {
            let index = if staged { by_state(phase.state) } else { lines.len() };
            lines.push(Line { name: short(&name), mark: index, phase });
        } else {
            left_out.push(name);
        }
    }
    panels.order_by_key(|panel| panel.lines.iter().map(|line| weight(line.phase)).min());
    panels
}

/// The panel and the line of a phase in a run of one stage.
fn unstaged(run: &Run, phase: &Phase) -> (String, String) {
    match SaveKind::of(run, phase) {
        None if phase.operation == Operation::Save && phase.replay.is_none() => {
            ("Saves of a file".to_owned(), test_name(run, phase))
        }
        Some(_) if phase.background.is_some() => {
            ("SQLite saves".to_owned(), "beside writer".to_owned())
        }
        // A panel for each kind of commit: all in one would be too many lines.
        Some(kind) if phase.name.starts_with(kind.statement_name()) => {
            let full = SaveKind { synchronous: Synchronous::Full, ..kind };
            let commit = match kind.synchronous {
                Synchronous::Full => "",
                Synchronous::Extra => ", EXTRA",
                Synchronous::Normal => ", NORMAL",
            };
            (format!("SQLite, one {} a save{commit}", kind.statement_name()), save_name(&full))
        }
        Some(kind) => ("SQLite saves".to_owned(), save_name(&kind)),
        None if phase.replay.is_some() => ("A trace".to_owned(), test_title(&phase.name)),
        None => {
            let writes =
                matches!(phase.operation, Operation::SequentialWrite | Operation::RandomWrite);
            let panel = match (tests_of(run) > CURVES, writes) {
                (false, _) => "Reads and writes",
                (true, false) => "Reads",
                (true, true) => "Writes",
            };
            let mut name = test_title(&phase.name);
            if panel != "Reads and writes" {
                name = name.replacen(" read", "", 1).replacen(" write", "", 1);
            }
            (panel.to_owned(), name)
        }
    }
}

/// Number of tests in one panel.
fn tests_of(run: &Run) -> usize {
    run.phases.iter().filter(|phase| phase.operation.is_block_test()).count()
}

/// A journal mode, short enough for the end of a line.
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

/// A name cut for the end of a line: its first word and its last ones, by which tests of one kind differ.
/// The table has it in full.
fn short(name: &str) -> String {
    const MOST: usize = 18;
    if name.chars().count() <= MOST {
        return name.to_owned();
    }
    let cut = |end: &str| name.split(' ').next().map(|first| format!("{first} … {end}"));
    let ends = name.match_indices(' ').map(|(space, _)| &name[space + 1..]);
    let fitting = ends.filter_map(cut).find(|cut| cut.chars().count() <= MOST);
    fitting.unwrap_or_else(|| name.chars().take(MOST - 1).chain(['…']).collect())
}

/// The mark of a state, the same in every panel.
fn by_state(state: State) -> usize {
    match state {
        State::New => 0,
        State::Filled => 1,
        State::Deleted => 2,
        State::Trimmed => 3,
        State::Idle => 4,
    }
}

/// The order of panels: durable writes, saves, other writes, reads.
fn weight(phase: &Phase) -> u8 {
    match phase.operation {
        _ if phase.is_durable_write() => 0,
        Operation::Save => 1,
        Operation::SequentialWrite | Operation::RandomWrite => 2,
        Operation::SequentialRead | Operation::RandomRead => 3,
        Operation::ReplayRead
        | Operation::ReplayWrite
        | Operation::ReplaySync
        | Operation::ReplayNames
        | Operation::ReplayDiscard => 4,
    }
}

/// The plot of a panel; `None` if none of its histograms can be read or has a value.
fn panel(panel: Lines<'_>) -> Option<Panel> {
    let Lines { title, lines, left_out } = panel;
    let most = lines.iter().map(|line| line.phase.ops).max().unwrap_or(0);
    let mut curves = Vec::new();
    let mut words = format!("{title}, how long the slowest take.");
    for Line { name, mark, phase } in lines {
        let Some(histogram) = response_histogram(phase) else { continue };
        let figures = Figures::of(&histogram);
        let named = [("median", figures.p50), ("p99", figures.p99), ("p99.9", figures.p999)];
        words += &format!(" {name}:");
        for (name, value) in named.iter().filter_map(|(name, value)| Some((name, (*value)?))) {
            words += &format!(" {name} {},", format::time(value));
        }
        words += &format!(" n = {}.", format::count(figures.n));
        curves.push(Curve { name, mark, histogram });
    }
    let any = curves.iter().any(|curve| curve.histogram.max().is_some());
    any.then_some(Panel { title, words, most, curves, left_out })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_its_first_word_and_what_tells_it_from_others() {
        for (name, expected) in [
            ("4K rand write", "4K rand write"),
            ("4K rand write, after 100 ms", "4K … after 100 ms"),
            ("4K rand write, after 10 ms", "4K … after 10 ms"),
            ("4K rand read, mixed", "4K … read, mixed"),
            ("a_test_with_one_very_long_word", "a_test_with_one_v…"),
            ("twelve_chars a_word_of_fifteen", "twelve_chars a_wo…"),
        ] {
            assert_eq!(short(name), expected);
        }
    }
}
