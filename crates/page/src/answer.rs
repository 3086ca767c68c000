//! The answer to a question: what the run says, beside the same device when it was new and empty.

use std::cell::RefCell;
use std::rc::Rc;

use flashlag_report::parts::{DistributionPlot, LatencyAxis, SeriesMark};
use flashlag_runner::{Event, Observer, sim};
use flashlag_schema::{Lag, LatencySummary, Phase, Run, RunStatus};
use flashlag_spec::scenario::After;
use flashlag_stats::Histogram;
use flashlag_units::Nanos;
use flashlag_views::{Judgement, format, headline};
use serde::Serialize;

use crate::question::{Question, QuestionError};

/// Height of the drawing, in pixels.
const HEIGHT: u32 = 230;
const NOW: &str = "as chosen";
const NEW: &str = "new, empty";

/// What the page shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The headline of the run, as every view says it.
    pub sentence: String,
    /// What qualifies it.
    pub more: String,
    /// How far to believe it.
    pub believe: String,
    /// `smooth`, `hitches`, `lags`, `freezes`.
    pub verdict: &'static str,
    pub rows: Vec<Row>,
    /// The distributions of both states.
    pub drawing: String,
    /// The command that gives the same figures.
    pub command: String,
    /// The figures of the run itself, exact.
    pub latency_ns: LatencySummary,
    /// The text of the run file, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

/// A figure of the device as chosen, and when it was new and empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    pub name: &'static str,
    pub now: String,
    pub new: String,
}

thread_local! {
    /// The last device that was simulated new.
    static LAST_NEW: RefCell<Option<(Question, Rc<Measured>)>> = const { RefCell::new(None) };
}

/// Nobody watches: a page shows the end alone.
pub(crate) struct Nobody;

impl Observer for Nobody {
    fn event(&mut self, _: Event<'_>) {}
}

/// A run with the phase that it is about, and its histogram.
struct Measured {
    run: Run,
    phase: Phase,
    histogram: Histogram,
}

impl Measured {
    fn of(question: &Question) -> Result<(Measured, String), QuestionError> {
        let request = question.request()?;
        let command = request.command.join(" ");
        let go_on = &mut |_: &Run, _, _| After::Next;
        let (run, _) = sim::simulate_repeats(&request, &[], &mut Nobody, go_on)?;
        if let RunStatus::Failed { error, .. } = &run.status {
            return Err(QuestionError::Failed(error.clone()));
        }
        let phase = run.phases.last().cloned().ok_or(QuestionError::Nothing)?;
        let histogram = phase.histogram.restore().map_err(|_| QuestionError::Nothing)?;
        Ok((Measured { run, phase, histogram }, command))
    }

    /// A new device, simulated once while only its state is changed.
    fn when_new(question: Question) -> Result<Rc<Measured>, QuestionError> {
        let known = |(known, _): &&(Question, Rc<Measured>)| *known == question;
        let kept =
            LAST_NEW.with_borrow(|last| last.as_ref().filter(known).map(|(_, new)| Rc::clone(new)));
        if let Some(new) = kept {
            return Ok(new);
        }
        let new = Rc::new(Measured::of(&question)?.0);
        LAST_NEW.set(Some((question, Rc::clone(&new))));
        Ok(new)
    }

    fn late(&self) -> String {
        let histogram = &self.histogram;
        format::share_of(histogram.count_over(Lag::FRAME_60HZ), histogram.count())
    }
}

impl Answer {
    /// Simulates the device as chosen, and when new and empty.
    ///
    /// # Errors
    /// A device, filesystem or state that can't be simulated, in the program's words.
    pub fn to(question: &Question) -> Result<Answer, QuestionError> {
        let (now, command) = Measured::of(question)?;
        let new = match question.when_new() {
            same if same.is_state_of(question) => None,
            new => Some(Measured::when_new(new)?),
        };
        let headline = headline(&now.run);
        Ok(Answer {
            sentence: headline.sentence,
            more: headline.more,
            believe: headline.believe.sentence,
            verdict: Judgement::of(&now.run, &now.phase).word(),
            rows: rows(&now, new.as_deref().unwrap_or(&now)),
            drawing: drawing(&now, new.as_deref()),
            command,
            latency_ns: now.phase.latency_ns,
            run: question.with_run.then(|| now.run.to_json()),
        })
    }
}

fn rows(now: &Measured, new: &Measured) -> Vec<Row> {
    let of = |measured: &Measured| {
        let LatencySummary { p50, p90, p99, p999, max, .. } = measured.phase.latency_ns;
        let ops = measured.phase.ops;
        let mut cells: Vec<String> =
            [p50, p90, p99, p999, max].map(|value| format::ms_of(value, ops)).into();
        cells.push(measured.late());
        cells
    };
    let names = ["p50", "p90", "p99", "p99.9", "longest", "over a frame of 16.7 ms"];
    let cells = of(now).into_iter().zip(of(new));
    names.into_iter().zip(cells).map(|(name, (now, new))| Row { name, now, new }).collect()
}

fn drawing(now: &Measured, new: Option<&Measured>) -> String {
    let all = || std::iter::once((now, NOW)).chain(new.map(|new| (new, NEW)));
    let ends = all().flat_map(|(one, _)| [one.histogram.min(), one.histogram.max()]);
    let ends: Vec<Nanos> = ends.flatten().collect();
    let axis = LatencyAxis::covering(ends);
    let mut plot = DistributionPlot::new(axis, now.histogram.count(), HEIGHT);
    for (index, (measured, name)) in all().enumerate() {
        plot.add(name.to_owned(), SeriesMark::nth(index), &measured.histogram);
    }
    let words = all().map(|(measured, name)| {
        let longest = measured.histogram.max().map(format::time).unwrap_or_default();
        format!("{name}: the longest takes {longest}")
    });
    let words: Vec<String> = words.collect();
    let label = format!(
        "How long the longest 1 in 10, 1 in 100, 1 in 1,000 writes take, {}; {}",
        axis.in_words(),
        words.join("; ")
    );
    plot.draw(&label).into_string()
}
