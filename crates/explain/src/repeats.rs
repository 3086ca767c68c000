//! Whole runs made one after another (`run --runs`): the mean of each test and how runs differ.

use flashlag_schema::{Operation, Phase, Run};
use flashlag_units::Nanos;

use crate::doubt::failures_of;
use crate::figures::{Figures, felt, merged};
use crate::format::{self, capitalized};
use crate::naming::{Plan, is_fill, row_title, stage_of};
use crate::overload::{Overload, overload};
use crate::strip::GroupKind;
use crate::verdict::{Judgement, LagVerdict};
use crate::worst::{decides, worst};

/// The runs of one device, together.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeats {
    /// `Lags: in all of 3 runs.`, the worst of all runs.
    pub sentence: String,
    /// How many runs.
    pub runs: usize,
    /// One for each test of each stage that the first run has.
    pub rows: Vec<RepeatRow>,
}

/// One test of all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RepeatRow {
    /// `4K rand write, filled run 2`.
    pub title: String,
    /// What it does.
    pub operation: Operation,
    /// In how many runs it was measured.
    pub runs: usize,
    /// Bytes a second.
    pub bytes_per_sec: Spread,
    /// Operations a second.
    pub ops_per_sec: Spread,
    /// The runs' medians in nanoseconds; `None` where a run has none.
    pub p50: Option<Spread>,
    /// The runs' p99 in nanoseconds; `None` where a run's n is too small.
    pub p99: Option<Spread>,
    /// Of all runs' waits together, where a frame may wait for them.
    pub judgement: Option<Judgement>,
    /// Set where a run could not keep its schedule.
    pub overload: Option<Overload>,
}

/// A mean with how runs differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Mean of the runs.
    pub mean: f64,
    /// Standard deviation between the runs; `None` of a single one.
    pub deviation: Option<f64>,
}

impl Spread {
    /// Of the runs' figures; `None` of none.
    pub fn of(values: &[f64]) -> Option<Spread> {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let share = spread(values.iter().copied());
        let deviation = share.map(|share| share * mean);
        (!values.is_empty() && mean.is_finite()).then_some(Spread { mean, deviation })
    }

    /// `53.5 ± 0.4`, through `print`; the mean alone of a single run.
    pub fn in_words(&self, print: impl Fn(f64) -> String) -> String {
        match self.deviation {
            Some(deviation) => format!("{} ± {}", print(self.mean), print(deviation)),
            None => print(self.mean),
        }
    }
}

/// The standard deviation of a sample as a share of its mean; `None` of fewer than two values or a
/// mean of nothing.
pub(crate) fn spread(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    let square: f64 = values.map(|value| (value - mean).powi(2)).sum();
    (count > 1.0 && mean > 0.0).then(|| (square / (count - 1.0)).sqrt() / mean)
}

/// Runs of one scenario on one device, together.
pub fn repeats(runs: &[Run]) -> Repeats {
    let mut rows: Vec<(String, RepeatRow)> = Vec::new();
    for run in runs {
        let plan = Plan::of(run);
        for phase in run.phases.iter().filter(|phase| !is_fill(&plan, phase)) {
            let label = phase.label();
            if !rows.iter().any(|(known, _)| *known == label)
                && let Some(row) = row(run, &plan, phase, runs)
            {
                rows.push((label, row));
            }
        }
    }
    let rows: Vec<RepeatRow> = rows.into_iter().map(|(_, row)| row).collect();
    Repeats { sentence: sentence(runs), runs: runs.len(), rows }
}

fn row(run: &Run, plan: &Plan, phase: &Phase, runs: &[Run]) -> Option<RepeatRow> {
    let label = phase.label();
    let same = |run: &'_ Run| run.phases.iter().position(|other| other.label() == label);
    let all: Vec<(&Run, &Phase)> =
        runs.iter().filter_map(|run| Some((run, run.phases.get(same(run)?)?))).collect();
    let of = |figure: fn(&Phase) -> f64| {
        Spread::of(&all.iter().map(|(_, phase)| figure(phase)).collect::<Vec<f64>>())
    };
    let time = |figure: fn(&Figures) -> Option<Nanos>| {
        let values: Option<Vec<f64>> = all
            .iter()
            .map(|(_, phase)| figure(&Figures::of_phase(phase)).map(|time| time.0 as f64))
            .collect();
        Spread::of(&values?)
    };
    let several = run.phases.iter().any(|other| other.state != phase.state);
    let stage = match several {
        true => format!(", {}", stage_of(run, phase).to_lowercase().replace(", run", " run")),
        false => String::new(),
    };
    Some(RepeatRow {
        title: row_title(run, phase) + &stage,
        operation: phase.operation,
        runs: all.len(),
        bytes_per_sec: of(|phase| phase.bytes_per_sec)?,
        ops_per_sec: of(|phase| phase.ops_per_sec)?,
        p50: time(|figures| figures.p50),
        p99: time(|figures| figures.p99),
        judgement: decides(plan, phase).map(|_| judged(&all)),
        overload: all.iter().find_map(|(run, phase)| overload(run, phase)),
    })
}

/// Of all runs' waits together; not judged where a failed check covers one of them.
fn judged(all: &[(&Run, &Phase)]) -> Judgement {
    let failures: Vec<_> = all.iter().flat_map(|(run, phase)| failures_of(run, phase)).collect();
    if !failures.is_empty() {
        return Judgement::NotJudged { failures };
    }
    let histograms = all.iter().filter_map(|(_, phase)| felt(phase));
    let all = histograms.reduce(|all, next| merged(all, &next));
    all.map_or(Judgement::Nothing, |all| Judgement::of_histogram(&all))
}

/// The worst row of a run with nothing beside it, or, where it has only such, beside another.
fn verdict(run: &Run) -> Option<LagVerdict> {
    let plan = Plan::of(run);
    let verdicts = |alone: bool| {
        let deciding = run.phases.iter().filter(|phase| match decides(&plan, phase) {
            Some(GroupKind::BusySave) => !alone,
            kind => kind.is_some(),
        });
        worst(deciding.filter_map(|phase| Judgement::of(run, phase).verdict()))
    };
    verdicts(true).or_else(|| verdicts(false))
}

fn sentence(runs: &[Run]) -> String {
    let verdicts: Vec<Option<LagVerdict>> = runs.iter().map(verdict).collect();
    let Some(word) = worst(verdicts.iter().flatten().copied()) else {
        return format!(
            "{}: none of them can be judged.",
            format::plural(runs.len(), "run", "runs")
        );
    };
    let as_bad = verdicts.iter().filter(|verdict| **verdict == Some(word)).count();
    let unjudged = verdicts.iter().filter(|verdict| verdict.is_none()).count();
    let rest = match unjudged {
        0 => String::new(),
        some => format!("; {} not be judged", format::plural(some, "run can", "runs can")),
    };
    let word = capitalized(word.name());
    match as_bad == runs.len() {
        true => format!("{word}: in all of {} runs, by the worst row of each.", runs.len()),
        false => {
            format!("{word}: in {as_bad} of {} runs, by the worst row of each{rest}.", runs.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn the_spread_is_the_standard_deviation_of_a_sample() {
        // 2, 4, 4, 4, 5, 5, 7, 9: mean 5, sum of squares 32, 32 / 7 = 4.571, root 2.138.
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        let found = Spread::of(&values).expect("some values");
        assert!((found.mean - 5.0).abs() < 1e-12);
        assert!((found.deviation.expect("several") - 2.138).abs() < 0.001);
        assert_eq!(Spread::of(&[3.0]).expect("one").deviation, None);
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(found.in_words(format::rate), "5.00 ± 2.14");
    }

    #[test]
    fn equal_runs_do_not_spread_and_the_worst_run_is_the_verdict() {
        let quick = sample::quick();
        let found = repeats(&[quick.clone(), quick.clone(), quick.clone()]);
        assert_eq!(found.runs, 3);
        for row in &found.rows {
            let deviation = row.ops_per_sec.deviation.expect("three runs");
            assert!(row.runs == 3 && deviation < 1e-9 * row.ops_per_sec.mean, "{}", row.title);
        }
        let full = sample::lifecycle();
        let writes = full.phases.iter().filter(|phase| phase.name == "rand_write_4k");
        let late = writes.max_by_key(|phase| phase.latency_ns.p90).expect("one");
        let mut worse = quick.clone();
        worse.phases.push(flashlag_schema::Phase { name: "rand_write".to_owned(), ..late.clone() });
        let each = [verdict(&quick).expect("judged"), verdict(&worse).expect("judged")];
        assert!(each[0] < each[1], "{each:?}");
        let mixed = repeats(&[quick.clone(), worse, quick]);
        let word = capitalized(each[1].name());
        assert!(
            mixed.sentence.starts_with(&format!("{word}: in 1 of 3 runs")),
            "{}",
            mixed.sentence
        );
    }
}
