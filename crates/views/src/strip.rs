//! The rows of the picture: one latency axis, one row per stage, then saves, then published
//! devices.

use flashlag_explain::{Figures, Plan};
use flashlag_schema::{Phase, Run};
use flashlag_units::InOrder;

use crate::doubt::Failure;
use crate::format;
use crate::marks::{Mark, marks_beside};
use crate::naming::{file_save_label, save_label, stage_of, test_title};
use crate::replayed::is_paced;
use crate::verdict::Judgement;
use crate::worst::{GroupKind, decides};

/// The picture.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Strip {
    /// Non-empty groups, in order.
    pub groups: Vec<StripGroup>,
    /// Published devices, below them, without verdicts.
    pub marks: Vec<Mark>,
}

/// Rows under one title.
#[derive(Clone, Debug, PartialEq)]
pub struct StripGroup {
    /// Their kind.
    pub kind: GroupKind,
    /// `4K rand write, durable, n = 12,000 each`.
    pub title: String,
    /// The rows.
    pub rows: Vec<StripRow>,
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub struct StripRow {
    /// `Filled, run 2`.
    pub label: String,
    /// Index of its phase in the run.
    pub phase: usize,
    /// Its figures; late is longer than one 60 Hz frame.
    pub figures: Figures,
    /// Its verdict, or the reason for having none.
    pub judgement: Judgement,
    /// `cut short`, where it ended before its time.
    pub note: Option<String>,
}

impl StripRow {
    /// Whether no failed check covers it.
    pub fn trusted(&self) -> bool {
        self.judgement.failures().is_empty()
    }

    /// The first failed check that covers it.
    pub fn failure(&self) -> Option<&Failure> {
        self.judgement.failures().first()
    }
}

/// The picture of a run.
pub fn strip(run: &Run) -> Strip {
    let plan = Plan::of(run);
    let mut groups = Vec::new();
    for (index, phase) in run.phases.iter().enumerate() {
        let Some((kind, title, label)) = place_of(run, &plan, phase) else { continue };
        let row = row(run, index, phase, label);
        match groups.iter_mut().find(|g: &&mut StripGroup| g.kind == kind && g.title == title) {
            Some(group) => group.rows.push(row),
            None => groups.push(StripGroup { kind, title, rows: vec![row] }),
        }
    }
    groups.order_by_key(|group| group.kind as u8);
    for group in &mut groups {
        group.title += &sample_sizes(&group.rows);
    }
    Strip { groups, marks: marks_beside(run) }
}

/// The group of a phase, its title and kind; `None` if it is not shown.
fn place_of(run: &Run, plan: &Plan, phase: &Phase) -> Option<(GroupKind, String, String)> {
    let group = decides(plan, phase)?;
    if group == GroupKind::DurableWrite {
        let title = format!("{}, durable", test_title(&phase.name));
        return Some((GroupKind::DurableWrite, title, stage_of(run, phase)));
    }
    let (kind, file) = (plan.save(phase), plan.file_save(phase));
    let label = match (kind, file, &phase.replay) {
        (Some(kind), ..) => save_label(&kind),
        (None, Some(save), _) => file_save_label(save),
        (None, None, Some(_)) => "Transactions of a trace".to_owned(),
        (None, None, None) => phase.name.clone(),
    };
    let sqlite = if file.is_some() { "File" } else { "SQLite" };
    if group == GroupKind::BusySave {
        let busy = match phase.background {
            Some(_) => "save beside another writer, from its intended start",
            None if is_paced(phase) => "save, from when your app made it in the recording",
            None => "save on a schedule, from its intended start",
        };
        let title = format!("{sqlite} {busy}{}", stage_suffix(run, phase));
        return Some((GroupKind::BusySave, title, label));
    }
    let statement = match kind {
        Some(kind) if phase.name.starts_with(kind.statement_name()) => kind.statement_name(),
        _ => "save",
    };
    let title = format!("{sqlite} {statement}{}", stage_suffix(run, phase));
    Some((GroupKind::Save, title, label))
}

/// `, filled run 3` if the run has more than one stage; otherwise empty.
fn stage_suffix(run: &Run, phase: &Phase) -> String {
    let first = run.phases.first().map(|phase| (phase.state, phase.run));
    let stages = run.phases.iter().any(|other| Some((other.state, other.run)) != first);
    if !stages {
        return String::new();
    }
    let stage = stage_of(run, phase);
    format!(", {}", stage.to_lowercase().replace(", run", " run"))
}

fn row(run: &Run, index: usize, phase: &Phase, label: String) -> StripRow {
    StripRow {
        label,
        phase: index,
        figures: Figures::of_phase(phase),
        judgement: Judgement::of(run, phase),
        note: phase.cut_short.then(|| "cut short".to_owned()),
    }
}

/// `, n = 12,000 each`, or the range where they differ.
fn sample_sizes(rows: &[StripRow]) -> String {
    let sizes = rows.iter().map(|row| row.figures.n);
    let (least, most) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
    match (least == most, rows.len()) {
        (true, 1) => format!(", n = {}", format::count(most)),
        (true, _) => format!(", n = {} each", format::count(most)),
        _ => format!(", n = {} to {}", format::count(least), format::count(most)),
    }
}
