//! The phases side by side.

use flashlag_explain::{Figures, Plan, merged, response_histogram};
use flashlag_schema::{Phase, Run};
use flashlag_stats::Histogram;

use super::model::{CompareRow, CompareSide, Subject};
use super::ratios::ratios;
use crate::doubt::{Failure, failures_of};
use crate::naming::{stage_of, test_name};
use crate::overload::Overloads;
use crate::repeats::spread;
use crate::verdict::Judgement;
use crate::worst::decides;

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
    tell_apart(&mut rows);
    rows
}

/// Rows of one title get the names of their tests.
fn tell_apart(rows: &mut [CompareRow]) {
    let titles: Vec<String> = rows.iter().map(|row| row.title.clone()).collect();
    for row in rows {
        if titles.iter().filter(|title| **title == row.title).count() > 1 {
            row.title = format!("{} ({})", row.title, row.test);
        }
    }
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
    let repeats = repeats(runs, subjects, &label);
    let sides: Vec<Option<CompareSide>> = repeats.iter().map(|repeats| side(repeats)).collect();
    let kind = decides(plan, phase);
    let several = run.phases.iter().any(|other| other.state != phase.state);
    let stage = if several {
        format!(", {}", stage_of(run, phase).to_lowercase().replace(", run", " run"))
    } else {
        String::new()
    };
    let ratios = ratios(&repeats, &sides, subjects, seed);
    CompareRow {
        title: test_name(run, phase) + &stage,
        test: phase.name.clone(),
        state: phase.state,
        run: phase.run,
        operation: phase.operation,
        in_strip: kind.is_some(),
        kind,
        beside: phase.background.is_some(),
        ratios: ratios.against_first,
        other_pairs: ratios.others,
        sides,
        label,
    }
}

/// For each subject, the phases with that label, and their runs.
pub fn repeats<'a>(
    runs: &'a [Run],
    subjects: &[Subject],
    label: &str,
) -> Vec<Vec<(&'a Run, &'a Phase)>> {
    let of_subject = |subject: &Subject| {
        let runs = subject.runs.iter().filter_map(|index| runs.get(*index));
        let same = |run: &Run| run.phases.iter().position(|other| other.label() == label);
        runs.filter_map(|run| Some((run, run.phases.get(same(run)?)?))).collect()
    };
    subjects.iter().map(of_subject).collect()
}

/// All repeats as one: latencies merged, rates averaged.
fn side(repeats: &[(&Run, &Phase)]) -> Option<CompareSide> {
    let count = repeats.len();
    if count == 0 {
        return None;
    }
    let histograms = repeats.iter().filter_map(|(_, phase)| response_histogram(phase));
    let all = histograms.fold(Histogram::new(), |all, next| merged(all, &next));
    let failures: Vec<Failure> =
        repeats.iter().flat_map(|(run, phase)| failures_of(run, phase)).collect();
    let mean = |rate: fn(&Phase) -> f64| {
        repeats.iter().map(|(_, phase)| rate(phase)).sum::<f64>() / count as f64
    };
    let overload = Overloads::of(repeats);
    Some(CompareSide {
        figures: match overload {
            Some(_) => Figures::of_overloaded(all.count()),
            None => Figures::of(&all),
        },
        ops_per_sec: mean(|phase| phase.ops_per_sec),
        bytes_per_sec: mean(|phase| phase.bytes_per_sec),
        rate_spread: spread(repeats.iter().map(|(_, phase)| phase.ops_per_sec)),
        judgement: match (failures.is_empty(), &overload) {
            (false, _) => Judgement::NotJudged { failures },
            (true, Some(overload)) => Judgement::all_overloaded(overload),
            (true, None) => Judgement::of_histogram(&all),
        },
        overload,
        runs: count,
    })
}
