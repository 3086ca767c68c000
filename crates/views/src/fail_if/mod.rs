//! `--fail-if 'rand_write_4k.p99>20ms'`: thresholds that make a run fail.
//!
//! `PHASE.METRIC>VALUE`, or `<`. PHASE is a test's name (then every stage of it counts), `filled 2:
//! rand_write_4k` as in the run file, `filled.2.rand_write_4k`, or `filled.rand_write_4k` for every
//! run of that state. METRIC is one of [`METRICS`]; in an open loop, times count from the intended
//! start. VALUE has the metric's unit: `20ms`, `5MB` (per second), `1%`; operations are bare
//! numbers.

mod error;
mod metric;

use std::fmt;
use std::str::FromStr;

use flashlag_schema::{Phase, Run};
use flashlag_spec::State;
use flashlag_spec::scenario::{Limit, Requirement};
use flashlag_units::{InOrder, did_you_mean};

pub(crate) use metric::Metric;
use metric::Value;

pub use error::{METRICS, NoFigure, ThresholdError, ThresholdFault};

/// A threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    text: String,
    /// The option or the table that it was written in, for errors.
    given: String,
    phases: Selector,
    metric: Metric,
    above: bool,
    limit: Value,
}

/// The phases it applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Selector {
    written: String,
    state: Option<State>,
    run: Option<u32>,
    test: String,
}

/// A phase of a run or of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseName {
    /// The state of the device.
    pub state: State,
    /// The repetition, from 1.
    pub run: u32,
    /// The test's name.
    pub test: String,
}

impl PhaseName {
    fn of(phase: &Phase) -> PhaseName {
        PhaseName { state: phase.state, run: phase.run, test: phase.name.clone() }
    }
}

/// The figure of a phase beside a limit.
pub(crate) struct PhaseFigure<'a> {
    pub(crate) phase: &'a Phase,
    pub(crate) value: Value,
    /// Whether it is on the wrong side of the limit.
    pub(crate) crossed: bool,
}

/// The outcome of a threshold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThresholdOutcome {
    /// Whether it was crossed: exit status 1.
    pub crossed: bool,
    /// One line for each phase it applies to, crossed ones first.
    pub message: String,
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Threshold, ThresholdError> {
        Threshold::parse(text, format!("--fail-if '{text}'"))
    }
}

impl Threshold {
    /// The threshold that a figure crosses if it does not reach what a scenario requires.
    ///
    /// # Errors
    /// The figure or its limit is not in the form of `--fail-if`.
    pub fn of(requirement: &Requirement) -> Result<Threshold, ThresholdError> {
        let Requirement { figure, limit, .. } = requirement;
        let (sign, limit) = match limit {
            Limit::AtMost(most) => ('>', most),
            Limit::AtLeast(least) => ('<', least),
        };
        Threshold::parse(&format!("{figure}{sign}{limit}"), format!("[[require]] {figure}"))
    }

    fn parse(text: &str, given: String) -> Result<Threshold, ThresholdError> {
        let malformed = |fault| ThresholdError::Malformed { given: given.clone(), fault };
        let at = text.find(['>', '<']).ok_or_else(|| malformed(ThresholdFault::NoComparison))?;
        let (left, right) = (text[..at].trim(), text[at + 1..].trim());
        if right.starts_with('=') {
            return Err(malformed(ThresholdFault::Equals));
        }
        // `p99.9` contains the separator.
        let (phase, metric) = match left.strip_suffix(".p99.9") {
            Some(phase) => (phase, "p999"),
            None => left
                .rsplit_once('.')
                .ok_or_else(|| malformed(ThresholdFault::NoMetric(left.to_owned())))?,
        };
        let metric = Metric::parse(metric).ok_or_else(|| {
            let known = METRICS.split([',', ' ', '(', ')']).filter(|word| !word.is_empty());
            let meant = did_you_mean(metric, known);
            malformed(ThresholdFault::Metric { name: metric.to_owned(), meant })
        })?;
        Ok(Threshold {
            phases: Selector::parse(phase.trim()).map_err(malformed)?,
            limit: metric.value(right).map_err(malformed)?,
            metric,
            above: text[at..].starts_with('>'),
            text: text.to_owned(),
            given,
        })
    }
}

impl Selector {
    fn parse(written: &str) -> Result<Selector, ThresholdFault> {
        let selector = |state, run, test: &str| {
            let test = test.trim();
            if test.is_empty() {
                return Err(ThresholdFault::NoPhase);
            }
            Ok(Selector { written: written.to_owned(), state, run, test: test.to_owned() })
        };
        // `filled 2: rand_write_4k`, as in the run file.
        if let Some((stage, test)) = written.split_once(':') {
            let (state, run) = stage.split_once(' ').unwrap_or((stage, ""));
            let state = state_of(state.trim()).ok_or_else(|| not_a_state(state))?;
            let run = run.trim();
            let run = if run.is_empty() { None } else { Some(number(run)?) };
            return selector(Some(state), run, test);
        }
        let Some((first, rest)) = written.split_once('.') else {
            return selector(None, None, written);
        };
        // The name of a test may contain a dot.
        let Some(state) = state_of(first) else { return selector(None, None, written) };
        match rest.split_once('.') {
            Some((run, test)) if run.bytes().all(|byte| byte.is_ascii_digit()) => {
                selector(Some(state), Some(number(run)?), test)
            }
            _ => selector(Some(state), None, rest),
        }
    }

    fn takes(&self, phase: &PhaseName) -> bool {
        let stage = self.state.is_none_or(|state| state == phase.state);
        let run = self.run.is_none_or(|run| run == phase.run);
        phase.test == self.test && stage && run
    }
}

fn state_of(name: &str) -> Option<State> {
    let all = [State::New, State::Filled, State::Deleted, State::Trimmed, State::Idle];
    all.into_iter().find(|state| state.name() == name)
}

fn not_a_state(name: &str) -> ThresholdFault {
    let meant = did_you_mean(name, ["new", "filled", "deleted", "trimmed", "idle"]);
    ThresholdFault::State { name: name.to_owned(), meant }
}

fn number(text: &str) -> Result<u32, ThresholdFault> {
    text.parse().map_err(|_| ThresholdFault::Run(text.to_owned()))
}

impl Threshold {
    /// Evaluates the threshold on a run.
    ///
    /// # Errors
    /// There is no such phase, or one of the phases lacks the figure.
    pub fn evaluate(&self, run: &Run) -> Result<ThresholdOutcome, ThresholdError> {
        let mut figures = self.figures(run)?;
        figures.order_by_key(|figure| !figure.crossed);
        let named = |phase: &Phase| named(run.phases.iter().map(PhaseName::of), phase);
        let line = |figure: &PhaseFigure<'_>| self.line(&named(figure.phase), figure);
        let lines: Vec<String> = figures.iter().map(line).collect();
        Ok(ThresholdOutcome {
            crossed: figures.iter().any(|figure| figure.crossed),
            message: lines.join("\n"),
        })
    }

    /// Checks that these phases include one that the threshold applies to, before anything is measured.
    ///
    /// # Errors
    /// There is no such phase; the error lists the existing ones and one of similar spelling.
    pub fn check(&self, phases: &[PhaseName]) -> Result<(), ThresholdError> {
        if phases.iter().any(|phase| self.phases.takes(phase)) {
            return Ok(());
        }
        let tests = phases.iter().map(|phase| phase.test.as_str());
        // There may be a test of that name in other states.
        let known = tests.clone().any(|test| test == self.phases.test);
        let meant = if known { String::new() } else { did_you_mean(&self.phases.test, tests) };
        let staged = is_staged(phases.iter().map(|phase| (phase.state, phase.run)));
        let label = |phase: &PhaseName| {
            if staged { phase.state.label(phase.run, &phase.test) } else { phase.test.clone() }
        };
        let labels: Vec<String> = phases.iter().map(label).collect();
        let allowed = if labels.is_empty() { "none".to_owned() } else { labels.join(", ") };
        let (given, phase) = (self.given.clone(), self.phases.written.clone());
        Err(ThresholdError::NoPhase { given, phase, meant, allowed })
    }

    /// The figure of each phase that it applies to.
    ///
    /// # Errors
    /// There is no such phase, or one of the phases lacks the figure.
    pub(crate) fn figures<'a>(&self, run: &'a Run) -> Result<Vec<PhaseFigure<'a>>, ThresholdError> {
        self.check(&run.phases.iter().map(PhaseName::of).collect::<Vec<_>>())?;
        let phases = run.phases.iter().filter(|phase| self.phases.takes(&PhaseName::of(phase)));
        let named = |phase: &Phase| named(run.phases.iter().map(PhaseName::of), phase);
        phases.map(|phase| self.read(phase, &named)).collect()
    }

    /// The limit, as figures are printed.
    pub(crate) fn limit(&self) -> String {
        self.limit.to_string()
    }

    fn read<'a>(
        &self,
        phase: &'a Phase,
        named: &dyn Fn(&Phase) -> String,
    ) -> Result<PhaseFigure<'a>, ThresholdError> {
        let value = self.metric.read(phase).map_err(|reason| ThresholdError::Absent {
            given: self.given.clone(),
            phase: named(phase),
            metric: self.metric.name().to_owned(),
            reason,
        })?;
        let crossed =
            if self.above { value.is_above(&self.limit) } else { self.limit.is_above(&value) };
        Ok(PhaseFigure { phase, value, crossed })
    }

    fn line(&self, label: &str, figure: &PhaseFigure<'_>) -> String {
        let PhaseFigure { value, crossed, .. } = figure;
        let how = match (crossed, self.above) {
            (true, true) => "above the limit of",
            (true, false) => "below the limit of",
            (false, true) => "not above",
            (false, false) => "not below",
        };
        format!("{label}: {} is {value}, {how} {}", self.metric.name(), self.limit)
    }
}

/// A phase as a threshold may name it: its test, with the stage only where a run has several.
fn named(all: impl Iterator<Item = PhaseName>, phase: &Phase) -> String {
    if is_staged(all.map(|name| (name.state, name.run))) {
        phase.label()
    } else {
        phase.name.clone()
    }
}

fn is_staged(mut stages: impl Iterator<Item = (State, u32)>) -> bool {
    let first = stages.next();
    stages.any(|stage| Some(stage) != first)
}
