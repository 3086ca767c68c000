//! Stalls by phase.

use super::model::{Table, TableRow};
use super::{Cell, Column};
use crate::format;
use crate::outline::{PhaseStalls, causes_known};

const COLUMNS: [Column; 7] = [
    Column::Limit,
    Column::Stalls,
    Column::Longest,
    Column::At,
    Column::Together,
    Column::Cause,
    Column::Causes,
];

/// The stalls of each of these phases, in the given order; a phase without stalls has no row. The
/// note says how the causes are known.
pub fn stalls_table<'a>(phases: impl IntoIterator<Item = &'a PhaseStalls>) -> Table {
    let stalled: Vec<&PhaseStalls> = phases.into_iter().filter(|phase| phase.seen > 0).collect();
    let known = causes_known(stalled.iter().copied());
    let notes = known.map(|how| format!("How causes are known: {how}.")).into_iter().collect();
    let groups = super::build::one_group(stalled.into_iter().map(row).collect());
    Table { title: "phase", columns: COLUMNS.to_vec(), groups, notes }
}

fn row(phase: &PhaseStalls) -> TableRow {
    let none = || Cell::Text(String::new());
    let first = phase.causes.iter().take(1).map(|of| (of.name, None));
    let all = phase.causes.iter().map(|of| (of.name, Some(of.stalls as u64)));
    let cell = |column: &Column| match column {
        Column::Limit => Cell::Limit(phase.over),
        Column::Stalls => Cell::Count(phase.seen),
        Column::Longest => phase.longest.map_or_else(none, Cell::Time),
        Column::At => phase.longest_at.map_or_else(none, Cell::Time),
        Column::Together => Cell::Time(phase.total),
        Column::Cause => Cell::Causes(first.clone().collect()),
        Column::Causes => Cell::Causes(all.clone().collect()),
        _ => none(),
    };
    let kept = phase.listed as u64;
    TableRow {
        label: phase.title.clone(),
        phase: Some(phase.phase),
        is_part: false,
        failures: phase.failures.clone(),
        remark: (kept < phase.seen)
            .then(|| format!("the longest {} are listed", format::count(kept))),
        cells: COLUMNS.iter().map(cell).collect(),
    }
}

#[cfg(test)]
mod tests {
    use flashlag_schema::{CauseBasis, StallCause};
    use flashlag_testing::sample;

    use super::*;

    /// The notes of the table of all phases.
    fn notes(run: &flashlag_schema::Run) -> Vec<String> {
        let phases = crate::stalls(run).map(|stalls| stalls.phases).unwrap_or_default();
        stalls_table(&phases).notes
    }

    #[test]
    fn the_note_counts_the_causes_by_how_each_is_known() {
        let mut run = sample::lifecycle();
        let measured = ["How causes are known: measured by the scheduler."];
        assert_eq!(notes(&run), measured);
        let stalls = || run.phases.iter().flat_map(|phase| &phase.stalls);
        let known = stalls().filter(|stall| stall.cause != StallCause::Unknown).count();
        let mut all = run.phases.iter_mut().flat_map(|phase| &mut phase.stalls);
        for basis in [CauseBasis::Reported, CauseBasis::Inferred, CauseBasis::Reported] {
            let stall = all.next().unwrap();
            (stall.cause, stall.cause_basis) = (StallCause::GarbageCollection, basis);
        }
        // Nothing is known of a cause that is unknown.
        let unknown = all.next().unwrap();
        (unknown.cause, unknown.cause_basis) = (StallCause::Unknown, CauseBasis::Inferred);
        let expected = format!(
            "How causes are known: 2 reported by the device, 1 inferred from counters, {} measured by \
             the scheduler.",
            known - 4
        );
        assert_eq!(notes(&run), [expected]);
        run.phases.iter_mut().for_each(|phase| phase.stalls.clear());
        assert_eq!(notes(&run), Vec::<String>::new());
    }
}
