//! Whole runs made one after another (`run --runs`): the mean of each test, and how much runs
//! differ.

use flashlag_explain::{Figures, LagVerdict, Plan, is_fill, merged, response_histogram, verdict};
use flashlag_schema::{Phase, Run};
use flashlag_spec::Operation;
use flashlag_units::Nanos;

use crate::doubt::failures_of;
use crate::format::{self, capitalized};
use crate::headline::{Deciding, DecidingVerdict, TestVerdict};
use crate::naming::{stage_of, test_name};
use crate::overload::Overloads;
use crate::verdict::Judgement;
use crate::worst::{BESIDE, circumstances, decides, worst};

/// The runs of one device, together.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeats {
    /// `Lags: in all of 3 runs, by Rollback save.`: in the test that decides each
    /// run's headline.
    pub sentence: String,
    /// How many runs.
    pub runs: usize,
    /// How many runs were requested.
    pub asked: usize,
    /// One for each test of each stage that the first run has.
    pub rows: Vec<RepeatRow>,
}

/// One test of all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RepeatRow {
    /// `4K rand write, filled run 2`.
    pub title: String,
    /// The operation of its test.
    pub operation: Operation,
    /// In how many runs it was measured.
    pub runs: usize,
    /// Bytes a second.
    pub bytes_per_sec: Spread,
    /// Operations a second.
    pub ops_per_sec: Spread,
    /// The runs' medians in nanoseconds; `None` if a run has none.
    pub p50: Option<Spread>,
    /// The runs' p99 in nanoseconds; `None` if a run's n is too small.
    pub p99: Option<Spread>,
    /// The verdict over the waits of all runs, if a frame may wait for them.
    pub judgement: Option<Judgement>,
    /// Set if a run could not keep its schedule.
    pub overload: Option<Overloads>,
}

/// A mean with how runs differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Mean of the runs.
    pub mean: f64,
    /// Standard deviation between the runs; `None` for a single one.
    pub deviation: Option<f64>,
}

impl Spread {
    /// The spread of the runs' figures; `None` without any.
    pub fn of(values: &[f64]) -> Option<Spread> {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let share = spread(values.iter().copied());
        let deviation = share.map(|share| share * mean);
        (!values.is_empty() && mean.is_finite()).then_some(Spread { mean, deviation })
    }

    /// `53.5 ± 0.4`, the mean through `print`, the deviation in the same `unit` with as many
    /// decimals; the mean alone of a single run, or where the deviation is less than the last digit.
    pub fn in_words(&self, unit: f64, print: impl Fn(f64) -> String) -> String {
        let mean = print(self.mean);
        let Some(deviation) = self.deviation else { return mean };
        let decimals = mean.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let deviation = match decimals {
            0 => format::count((deviation / unit).round() as u64),
            _ => format!("{:.decimals$}", deviation / unit),
        };
        if deviation.chars().any(|digit| matches!(digit, '1'..='9')) {
            format!("{mean} ± {deviation}")
        } else {
            mean
        }
    }
}

/// The standard deviation of a sample as a share of its mean; `None` for fewer than two values or a
/// mean of zero.
pub(crate) fn spread(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let count = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / count;
    let square: f64 = values.map(|value| (value - mean).powi(2)).sum();
    (count > 1.0 && mean > 0.0).then(|| (square / (count - 1.0)).sqrt() / mean)
}

/// The repeats of one scenario on one device: the complete ones among `asked`.
pub fn repeats(runs: &[Run], asked: usize) -> Repeats {
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
    let asked = asked.max(runs.len());
    Repeats { sentence: sentence(runs, asked), runs: runs.len(), asked, rows }
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
    let stage = if several {
        format!(", {}", stage_of(run, phase).to_lowercase().replace(", run", " run"))
    } else {
        String::new()
    };
    Some(RepeatRow {
        title: test_name(run, phase) + &stage,
        operation: phase.operation,
        runs: all.len(),
        bytes_per_sec: of(|phase| phase.bytes_per_sec)?,
        ops_per_sec: of(|phase| phase.ops_per_sec)?,
        p50: time(|figures| figures.p50),
        p99: time(|figures| figures.p99),
        judgement: Some(judged(&all)).filter(|judgement| {
            let word = judgement.verdict();
            decides(plan, phase).is_some()
                || word == Some(LagVerdict::Overloaded)
                || !judgement.failures().is_empty()
        }),
        overload: Overloads::of(&all),
    })
}

/// The verdict over the waits of all runs; not judged if a failed check covers one of them.
fn judged(all: &[(&Run, &Phase)]) -> Judgement {
    let failures: Vec<_> = all.iter().flat_map(|(run, phase)| failures_of(run, phase)).collect();
    if !failures.is_empty() {
        return Judgement::NotJudged { failures };
    }
    if let Some(overload) = Overloads::of(all) {
        return Judgement::all_overloaded(&overload);
    }
    let histograms = all.iter().filter_map(|(_, phase)| response_histogram(phase));
    let all = histograms.reduce(|all, next| merged(all, &next));
    all.map_or(Judgement::Nothing, |all| Judgement::of_histogram(&all))
}

/// The outcome of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RunOutcome {
    /// No save and no durable write was measured.
    NoWaits,
    /// Failed checks cover the deciding test.
    NotJudged,
    /// The deciding test, and the worst of the others with its circumstances if it is worse.
    Judged { alone: LagVerdict, worse: Option<(LagVerdict, String)> },
}

impl RunOutcome {
    fn of(run: &Run) -> RunOutcome {
        let Some(deciding) = Deciding::of(run) else { return RunOutcome::NoWaits };
        let plan = Plan::of(run);
        let deciding_row = |phase: &'_ Phase| {
            let kind = decides(&plan, phase)?;
            let name = test_name(run, phase);
            let how = circumstances(Some(kind), phase.background.is_some(), &name);
            // The test in the words of the table, which has no other name for it.
            Some(if how == BESIDE { format!("{how} ({name})") } else { how })
        };
        let tests = run.phases.iter().filter_map(|phase| {
            Some(TestVerdict {
                test: &phase.name,
                state: phase.state,
                verdict: verdict(run, phase),
                circumstances: deciding_row(phase)?,
            })
        });
        match deciding.judge(&tests.collect::<Vec<_>>()) {
            Some(DecidingVerdict { alone, worse, .. }) => RunOutcome::Judged { alone, worse },
            None => RunOutcome::NotJudged,
        }
    }
}

fn sentence(runs: &[Run], asked: usize) -> String {
    let outcomes: Vec<RunOutcome> = runs.iter().map(RunOutcome::of).collect();
    let words = |outcome: &RunOutcome| match outcome {
        RunOutcome::Judged { alone, worse } => Some((*alone, worse.clone())),
        _ => None,
    };
    let judged: Vec<_> = outcomes.iter().filter_map(words).collect();
    let missing = match asked - runs.len() {
        0 => String::new(),
        some => format!("; {} incomplete", format::plural(some, "run is", "runs are")),
    };
    let Some(alone) = worst(judged.iter().map(|(alone, _)| *alone)) else {
        let failed = outcomes.iter().filter(|outcome| **outcome == RunOutcome::NotJudged).count();
        return match failed {
            0 => {
                "No save and no durable write was measured: there is no verdict on lag.".to_owned()
            }
            failed => format!("No verdict: checks fail {}{missing}.", in_runs(failed, asked)),
        };
    };
    let alike = judged.iter().filter(|(word, _)| *word == alone).count();
    let worse = judged.iter().filter_map(|(_, worse)| worse.as_ref());
    let worse = worse.max_by_key(|(word, _)| *word).filter(|(word, _)| *word > alone);
    let is_as_bad = |other: &Option<(LagVerdict, String)>| {
        other.as_ref().map(|(word, _)| *word) == worse.map(|(word, _)| *word)
    };
    let as_bad = judged.iter().filter(|(_, other)| is_as_bad(other)).count();
    let (name, often) = (alone.name(), in_runs(alike, asked));
    let longest = runs.iter().rev().max_by_key(|run| run.phases.len());
    let title = longest.and_then(Deciding::of).map(|deciding| deciding.title);
    let first = match worse.map(|(word, how)| (word.name(), how, in_runs(as_bad, asked))) {
        None => {
            let by = title.map_or_else(String::new, |title| format!(", by {title}"));
            format!("{}: {often}{by}", capitalized(name))
        }
        Some((word, how, times)) => {
            let (main, but) = if how.starts_with(BESIDE) { (" alone", "") } else { ("", "but ") };
            let by = title.map_or_else(String::new, |title| format!(" ({title})"));
            let main = format!("{}{main}{by}", capitalized(name));
            let worse = format!("{but}{word} {how}");
            if times == often {
                format!("{main}, {worse}: {often}")
            } else {
                format!("{main} {often}, {worse} {times}")
            }
        }
    };
    let unjudged = match outcomes.len() - judged.len() {
        0 => String::new(),
        some => format!("; {} no verdict", format::plural(some, "run has", "runs have")),
    };
    format!("{first}{unjudged}{missing}.")
}

/// `in all of 3 runs`, `in 1 of 3 runs`.
fn in_runs(some: usize, all: usize) -> String {
    let which = if some == all { "all".to_owned() } else { some.to_string() };
    format!("in {which} of {}", format::plural(all, "run", "runs"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flashlag_testing::sample;

    #[test]
    fn the_spread_is_the_standard_deviation_of_a_sample() {
        // 2, 4, 4, 4, 5, 5, 7, 9: mean 5, sum of squares 32, 32 / 7 = 4.571, root 2.138.
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        let found = Spread::of(&values).expect("some values");
        assert!((found.mean - 5.0).abs() < 1e-12);
        assert!((found.deviation.expect("several") - 2.138).abs() < 0.001);
        assert_eq!(Spread::of(&[3.0]).expect("one").deviation, None);
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(found.in_words(1.0, format::rate), "5.00 ± 2.14");
        // As precise as the mean, whatever the unit.
        let steady = Spread { mean: 12.9e6, deviation: Some(900.0) };
        assert_eq!(steady.in_words(1e6, format::mb_per_s), "12.9");
        let fast = Spread { mean: 23_456.0, deviation: Some(1_234.4) };
        assert_eq!(fast.in_words(1.0, format::per_second), "23,456 ± 1,234");
    }

    #[test]
    fn equal_runs_do_not_spread_and_the_worst_run_is_the_verdict() {
        let quick = sample::quick();
        let found = repeats(&[quick.clone(), quick.clone(), quick.clone()], 3);
        assert_eq!(found.runs, 3);
        for row in &found.rows {
            let deviation = row.ops_per_sec.deviation.expect("three runs");
            assert!(row.runs == 3 && deviation < 1e-9 * row.ops_per_sec.mean, "{}", row.title);
        }
        let full = sample::lifecycle();
        let mut worse = quick.clone();
        // The saves with the default journal once full, presented as if measured in the state of
        // this run.
        let bad =
            full.phases.iter().rfind(|p| p.name == "save_delete" && p.state.name() == "filled");
        let own = worse.phases.iter_mut().find(|phase| phase.name == "save_delete").expect("one");
        *own = Phase { state: own.state, run: own.run, ..bad.expect("one").clone() };
        let word = |run: &Run| match RunOutcome::of(run) {
            RunOutcome::Judged { alone, .. } => alone,
            other => panic!("{other:?}"),
        };
        assert!(word(&quick) < word(&worse));
        let mixed = repeats(&[quick.clone(), worse.clone(), quick.clone()], 3);
        let name = capitalized(word(&worse).name());
        assert!(
            mixed.sentence.starts_with(&format!("{name} in 1 of 3 runs"))
                || mixed.sentence.starts_with(&format!("{name}: in 1 of 3 runs")),
            "{}",
            mixed.sentence
        );
    }
}
