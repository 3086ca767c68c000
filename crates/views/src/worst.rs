//! The rows that decide a verdict, and the worst of them: one rule for the headline of a
//! run and for a comparison.

use flashlag_explain::{LagVerdict, Plan, is_fill};
use flashlag_schema::Phase;
use flashlag_spec::Operation;

/// The kind of a row that decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupKind {
    /// Durable 4 KiB random writes by stage.
    DurableWrite,
    /// Saves by journal mode.
    Save,
    /// Saves on a schedule, beside another writer: from their intended start.
    BusySave,
}

/// The rows that decide: durable 4 KiB writes with nothing beside them, and saves. A fill's own
/// writes and transfers of other sizes do not: no frame waits for them.
pub(crate) fn decides(plan: &Plan, phase: &Phase) -> Option<GroupKind> {
    let alone = phase.background.is_none();
    if phase.operation == Operation::Save {
        let kind = if alone && phase.closed_loop { GroupKind::Save } else { GroupKind::BusySave };
        return Some(kind);
    }
    let write = phase.is_durable_write() && alone && !is_fill(plan, phase);
    write.then_some(GroupKind::DurableWrite)
}

/// The circumstances of saves with a background writer.
pub(crate) const BESIDE: &str = "beside another writer";

/// The circumstances of a row that is worse than the test that decides, within a sentence, by its kind, whether
/// another writer is beside it, and its title.
pub(crate) fn circumstances(kind: Option<GroupKind>, beside: bool, title: &str) -> String {
    match kind {
        Some(GroupKind::BusySave) if beside => BESIDE.to_owned(),
        _ => format!("in {title}"),
    }
}

/// The worst of several verdicts; `None` if none was given.
pub(crate) fn worst(verdicts: impl IntoIterator<Item = LagVerdict>) -> Option<LagVerdict> {
    verdicts.into_iter().max()
}
