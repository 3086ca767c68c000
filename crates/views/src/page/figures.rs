//! Sections that are tables of figures: the tests, saves, levels of a fill.

use flashlag_explain::is_overloaded;
use flashlag_schema::finding::CauseId;
use flashlag_schema::internals::{Ext4Journal, FilesystemInternals};
use flashlag_schema::{Lag, Phase, Run};
use flashlag_spec::scenario::EngineKind;
use flashlag_spec::{Operation, Reading};

use super::changes::steady_note;
use super::model::{Block, FiguresTable, Flag, Section, TableKind};
use crate::fill::fill_curves;
use crate::findings::findings;
use crate::outline::{LAG_IS_A_BUDGET, saves_heading, tests_heading};
use crate::replayed::is_paced;
use crate::table::{
    Cell, Column, LagLimit, Table, TableGroup, TableRow, fill_table, growth_table, has_stages,
    late_saves_table, saves_table, tests_table,
};

/// Throughput, operations a second and latency of the tests; `None` if only saves were measured, or if the
/// stages have a table.
pub(super) fn tests(run: &Run) -> Option<Section> {
    if has_stages(run) {
        return None;
    }
    let caption = "Throughput in MB/s (10⁶ bytes), operations a second, latency in ms.";
    Some(Section {
        id: "tests",
        name: "Tests",
        heading: tests_heading(run),
        side: steady_note(run).into_iter().collect(),
        blocks: vec![every_test(run, caption)?],
    })
}

/// One row for each test, with its flush if that was timed separately; `None` without tests.
pub(super) fn every_test(run: &Run, caption: &str) -> Option<Block> {
    let table = tests_table(run, false);
    (!table.is_empty()).then(|| figures(TableKind::Tests, table, caption))
}

fn figures(kind: TableKind, table: Table, caption: &str) -> Block {
    Block::Table(FiguresTable { table, kind, caption: caption.to_owned() })
}

/// Percentiles by fill level; `None` without a fill.
pub(super) fn fills(run: &Run) -> Option<Section> {
    let curves = fill_curves(run);
    let heading = curves.first()?.heading.clone();
    let mut blocks = Vec::new();
    for curve in curves {
        let mut table = fill_table(run, &curve);
        let notes = std::mem::take(&mut table.notes);
        let flag = Flag::of(&curve.failures);
        blocks.push(Block::Fill(curve, flag));
        blocks.push(figures(TableKind::Levels, table, "Latency in ms at each level."));
        blocks.extend(notes.into_iter().map(|note| Block::Note(None, note)));
    }
    let how = "Latency axis logarithmic, fill level linear. Points are measured levels.";
    Some(Section { id: "fill", name: "Fill level", heading, side: vec![how.to_owned()], blocks })
}

/// With more kinds of save than this, the tables leave out rows without late saves.
const MANY: usize = 12;
/// Maximum number of rows about growth: the costliest.
const GROWTH: usize = 8;

/// SQLite saves: how long they take, how many are late, and what growth costs; `None` without saves.
pub(super) fn saves(run: &Run) -> Option<Section> {
    let saves: Vec<&Phase> =
        run.phases.iter().filter(|phase| phase.operation == Operation::Save).collect();
    if saves.is_empty() {
        return None;
    }
    let many = saves.len() > MANY;
    let caption = "Saves a second, and the wait for each in ms.";
    let mut blocks = vec![figures(TableKind::Saves, saves_table(run, many), caption)];
    let (late, in_time) = late(run, many, &saves);
    blocks.push(Block::Title("How many are late"));
    blocks.push(figures(TableKind::Late, late, "Share of saves that take longer than"));
    if in_time > 0 {
        let text = format!("In {in_time} more kinds no save was longer than 8.33 ms.");
        blocks.push(Block::Note(None, text));
    }
    // With few kinds of save, a finding states the cost of growth.
    let (growth, grew_less) = growth_table(run, GROWTH);
    if !growth.is_empty() && (many || !says_growth(run)) {
        let caption = growth_caption(run, grew_longer(&saves));
        blocks.push(Block::Title("What growth costs"));
        blocks.push(figures(TableKind::Growth, growth, &caption));
        if grew_less > 0 {
            let text = format!("Growth costs less in {grew_less} more kinds.");
            blocks.push(Block::Note(None, text));
        }
    }
    Some(Section {
        id: "saves",
        name: if saves.iter().any(|phase| is_of_file(phase)) { "Saves" } else { "SQLite saves" },
        heading: saves_heading(run),
        side: vec![
            what_saves_are(&saves).to_owned(),
            counted_from(&saves).to_owned(),
            LAG_IS_A_BUDGET.to_owned(),
        ],
        blocks,
    })
}

/// Whether saves that made a file grow took longer on average than those in place: in every kind of save, in none,
/// or in some (`None`). Means within a twentieth of each other are the same.
fn grew_longer(saves: &[&Phase]) -> Option<bool> {
    let mut longer = saves.iter().filter_map(|phase| {
        let growth = phase.growth.as_ref()?;
        let (grew, in_place) = (growth.grew.latency_ns.mean?, growth.in_place.latency_ns.mean?);
        Some(grew.0 > in_place.0.saturating_add(in_place.0 / 20))
    });
    let first = longer.next()?;
    longer.all(|other| other == first).then_some(first)
}

/// What the table of growth compares; why growth takes longer only where it does, and where the filesystem has a
/// journal or a log to commit.
fn growth_caption(run: &Run, longer: Option<bool>) -> String {
    let what = "Wait in ms, from the call, of those that grew a file, and of those in place.";
    let why = match longer {
        Some(true) if commits(run) => {
            "A save that makes a file grow waits for a commit of the filesystem’s own. "
        }
        Some(false) => "A save that makes a file grow takes no longer here. ",
        _ => "",
    };
    format!("{why}{what}")
}

/// Whether the filesystem has a journal or a log that a save must wait for when a file grows; ext4 may be made
/// without one.
fn commits(run: &Run) -> bool {
    let internals = run.environment.internals.as_ref().and_then(|known| known.filesystem.value());
    let bare = |journal: &Reading<Ext4Journal>| journal.value() == Some(&Ext4Journal::None);
    match (run.environment.filesystem.kind.value().map(String::as_str), internals) {
        (Some("ext4"), Some(FilesystemInternals::Ext4 { journal, .. })) => !bare(journal),
        (Some("ext3" | "ext4" | "xfs" | "btrfs"), _) => true,
        _ => false,
    }
}

/// Whether a phase saved a file without SQLite.
fn is_of_file(phase: &Phase) -> bool {
    phase.engine == EngineKind::Psync && phase.replay.is_none()
}

/// A sentence that says from when the wait of a save on a schedule counts.
fn counted_from(saves: &[&Phase]) -> &'static str {
    if saves.iter().all(|phase| is_paced(phase)) {
        "The wait of a save counts from when your app made it in the recording."
    } else {
        "On a schedule, a save’s wait counts from its intended start."
    }
}

/// A sentence that says what one save is.
fn what_saves_are(saves: &[&Phase]) -> &'static str {
    if saves.iter().all(|phase| phase.replay.is_some()) {
        "A save is a transaction of the trace, from its first operation to the sync that makes it \
         durable."
    } else if saves.iter().all(|phase| is_of_file(phase)) {
        "A save is all calls by which the app's library makes a file durable."
    } else if saves.iter().any(|phase| is_of_file(phase)) {
        "A save is one transaction through real SQLite, or all calls that make a file durable."
    } else {
        "A save is one transaction of one row, through real SQLite."
    }
}

/// The table of saves longer than each limit, with a row for all; and the number of rows left out
/// because none of their saves was longer than the shortest limit.
fn late(run: &Run, many: bool, saves: &[&Phase]) -> (Table, usize) {
    let mut model = late_saves_table(run, many).without(&[Column::SaveRate, Column::Of]);
    let all = model.rows().count();
    let in_time = |row: &TableRow| matches!(row.cells.first(), Some(Cell::Part { count: 0, .. }));
    for group in &mut model.groups {
        group.rows.retain(|row| !many || !in_time(row));
        for row in &mut group.rows {
            row.remark = None;
        }
    }
    let left_out = all - model.rows().count();
    if saves.len() > 1 {
        let total = kept(saves);
        let cell = |limit: &LagLimit| Cell::Part { count: limit.count(&total), of: total.saves };
        let row = TableRow {
            label: "All of these saves".to_owned(),
            phase: None,
            is_part: false,
            failures: Vec::new(),
            remark: None,
            cells: LagLimit::ALL.iter().map(cell).collect(),
        };
        model.groups.push(TableGroup { title: String::new(), rows: vec![row] });
    }
    (model, left_out)
}

/// All saves whose schedule was kept: the latency of others depends on the length of the test.
fn kept(saves: &[&Phase]) -> Lag {
    let kept = saves.iter().filter(|phase| !is_overloaded(phase));
    kept.filter_map(|phase| phase.lag).fold(Lag::default(), Lag::plus)
}

/// Whether growth is among the findings, as a cause or ruled out.
fn says_growth(run: &Run) -> bool {
    let found = findings(run);
    let causes = found.causes.iter().map(|cause| cause.id);
    causes.chain(found.ruled_out.iter().map(|out| out.id)).any(|id| id == CauseId::GrowingFiles)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use flashlag_schema::{Growth, GrowthPart};
    use flashlag_spec::State;
    use flashlag_stats::Histogram;
    use flashlag_units::Nanos;

    use super::*;

    /// Saves of which those that grew a file and the others take the given microseconds.
    fn saves(grew: u64, in_place: u64) -> Phase {
        let of = |micros: u64| {
            let mut waits = Histogram::new();
            (0..100).for_each(|_| waits.record(Nanos::from_micros(micros)));
            waits
        };
        let growth =
            Growth { grew: GrowthPart::from(&of(grew)), in_place: GrowthPart::from(&of(in_place)) };
        let phase = flashlag_testing::closed_loop_phase(
            "save_delete",
            State::New,
            Operation::Save,
            &of(in_place),
        );
        Phase { growth: Some(growth), ..phase }
    }

    /// The caption of the table of growth of a run of these saves on this filesystem.
    fn caption(kind: &str, phases: &[Phase]) -> String {
        let mut run = flashlag_testing::bare_run(phases.to_vec());
        run.environment.filesystem.kind = Reading::Value(kind.to_owned());
        growth_caption(&run, grew_longer(&phases.iter().collect::<Vec<_>>()))
    }

    #[test]
    fn growth_is_explained_only_where_it_takes_longer_and_something_is_committed() {
        let (longer, shorter, same) = (saves(900, 500), saves(470, 480), saves(505, 500));
        let why = "waits for a commit of the filesystem’s own";
        assert!(caption("ext4", &[longer.clone(), longer.clone()]).contains(why));
        assert!(!caption("vfat", std::slice::from_ref(&longer)).contains(why));
        for few in [&shorter, &same] {
            let said = caption("ext4", std::slice::from_ref(few));
            assert!(
                said.starts_with("A save that makes a file grow takes no longer here."),
                "{said}"
            );
        }
        let mixed = caption("ext4", &[longer, shorter]);
        assert!(mixed.starts_with("Wait in ms, from the call"), "{mixed}");
    }

    #[test]
    fn an_ext4_without_a_journal_commits_nothing() {
        let mut run = flashlag_testing::bare_run(vec![saves(900, 500)]);
        run.environment.filesystem.kind = Reading::Value("ext4".to_owned());
        assert!(commits(&run));
        let ext4 = |journal| flashlag_schema::internals::Internals {
            filesystem: Reading::Value(FilesystemInternals::Ext4 {
                journal: Reading::Value(journal),
                barrier: Reading::default(),
                commit_s: Reading::default(),
                fast_commits: Reading::default(),
                lifetime_written_bytes: Reading::default(),
                errors: Reading::default(),
                features: Reading::default(),
            }),
            ..Default::default()
        };
        run.environment.internals = Some(ext4(Ext4Journal::Ordered));
        assert!(commits(&run));
        run.environment.internals = Some(ext4(Ext4Journal::None));
        assert!(!commits(&run));
    }
}
