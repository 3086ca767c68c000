//! The phases side by side.

use flashlag_schema::{Operation, Phase, Run};
use flashlag_stats::Histogram;

use super::ratios::ratios;
use super::{CompareRow, CompareSide, Subject};
use crate::doubt::{Failure, failures_of};
use crate::figures::{Figures, felt, merged};
use crate::naming::{Plan, SaveKind, is_fill, stage_of, test_title};
use crate::verdict::Judgement;

/// One row for each phase that any subject has, in the order in which they first appear.
pub fn rows(runs: &[Run], subjects: &[Subject], seed: u64) -> Vec<CompareRow> {
    let mut rows: Vec<CompareRow> = Vec::new();
    for run in runs {
        let plan = Plan::of(run);
        for phase in &run.phases {
            let label = phase.label();
            if !rows.iter().any(|row| row.label == label) {
                rows.push(row(run, &plan, phase, runs, subjects, seed));
            }
        }
    }
    rows
}

fn row(
    run: &Run,
    plan: &Plan,
    phase: &Phase,
    runs: &[Run],
    subjects: &[Subject],
    seed: u64,
) -> CompareRow {
    let label = phase.label();
    let repeats: Vec<Vec<(&Run, &Phase)>> = subjects
        .iter()
        .map(|subject| {
            let of_subject = subject.runs.iter().filter_map(|index| runs.get(*index));
            let same = |run: &'_ Run| run.phases.iter().position(|other| other.label() == label);
            of_subject.filter_map(|run| Some((run, run.phases.get(same(run)?)?))).collect()
        })
        .collect();
    let sides: Vec<Option<CompareSide>> = repeats.iter().map(|repeats| side(repeats)).collect();
    let saves = phase.operation == Operation::Save;
    let several = run.phases.iter().any(|other| other.state != phase.state);
    let stage = match several {
        true => format!(", {}", stage_of(run, phase).to_lowercase().replace(", run", " run")),
        false => String::new(),
    };
    let name = SaveKind::of(run, phase).filter(|_| phase.background.is_none()).map(|kind| {
        format!("SQLite {}, {}", kind.statement_name(), crate::format::decapitalized(&kind.label()))
    });
    CompareRow {
        title: name.unwrap_or_else(|| test_title(&phase.name)) + &stage,
        test: phase.name.clone(),
        state: phase.state,
        run: phase.run,
        operation: phase.operation,
        in_strip: saves || (phase.is_durable_write() && !is_fill(plan, phase)),
        ratios: ratios(&repeats, &sides, subjects, seed),
        sides,
        label,
    }
}

/// All repeats as one: latencies merged, rates averaged.
fn side(repeats: &[(&Run, &Phase)]) -> Option<CompareSide> {
    let count = repeats.len();
    if count == 0 {
        return None;
    }
    let histograms = repeats.iter().filter_map(|(_, phase)| felt(phase));
    let all = histograms.fold(Histogram::new(), |all, next| merged(all, &next));
    let failures: Vec<Failure> =
        repeats.iter().flat_map(|(run, phase)| failures_of(run, phase)).collect();
    let mean = |rate: fn(&Phase) -> f64| {
        repeats.iter().map(|(_, phase)| rate(phase)).sum::<f64>() / count as f64
    };
    Some(CompareSide {
        figures: Figures::of(&all),
        ops_per_sec: mean(|phase| phase.ops_per_sec),
        bytes_per_sec: mean(|phase| phase.bytes_per_sec),
        judgement: match failures.is_empty() {
            true => Judgement::of_histogram(&all),
            false => Judgement::NotJudged { failures },
        },
        runs: count,
    })
}
