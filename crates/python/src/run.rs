//! `run`, `load` and `verify`, and the run that they return.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flashlag_commands::{
    CommandError, Limits, RunWords, celsius, consent, discrepancies, earlier, percent, run_from,
};
use flashlag_frame::HistogramOf;
use flashlag_report::Theme;
use flashlag_runner::{Destination, Event, Observer, OutputKind, RunFile, Target, prepare};
use flashlag_spec::Verdict;
use flashlag_term::Style;
use flashlag_units::{Bytes, did_you_mean};
use pyo3::prelude::*;

use crate::error::{failed, misspelt, raised};
use crate::table::Table;
use crate::work::{Worked, guarded, worked};

/// The arguments of a run, as `flashlag/_run.py` assembles them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Words {
    scenario: String,
    on: String,
    set: Vec<(String, String)>,
    seed: u64,
    output: Option<PathBuf>,
    label: Option<String>,
    leave: Option<String>,
    budget: Option<String>,
    min_battery: Option<String>,
    max_temperature: Option<String>,
    cool_to: Option<String>,
    verify: bool,
    resume: bool,
    force: bool,
    yes: bool,
}

impl Words {
    fn run(&self) -> PyResult<RunWords> {
        let label = self.label.as_deref().map(flashlag_commands::label).transpose();
        Ok(RunWords {
            set: self.set.clone(),
            label: label.map_err(|error| misspelt(&format!("--label: {error}")))?,
            leave: size("--leave", self.leave.as_deref())?,
            budget: size("--budget", self.budget.as_deref())?,
            verify: self.verify,
            limits: Limits {
                min_battery: read("--min-battery", self.min_battery.as_deref(), percent)?,
                max_temperature: read(
                    "--max-temperature",
                    self.max_temperature.as_deref(),
                    celsius,
                )?,
                cool_to: read("--cool-to", self.cool_to.as_deref(), celsius)?,
            },
            ..RunWords::new(&self.scenario, &self.on, self.seed)
        })
    }

    /// Where to store the run, if at all.
    fn stored(&self) -> Result<Option<Arc<RunFile>>, CommandError> {
        let Some(path) = &self.output else { return Ok(None) };
        let file =
            if self.resume { RunFile::resumed(path)? } else { RunFile::new(path, self.force)? };
        Ok(Some(Arc::new(file)))
    }
}

/// Parses a value.
pub fn read<T>(
    option: &str,
    text: Option<&str>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> PyResult<Option<T>> {
    let value = text.map(parse).transpose();
    value.map_err(|error| misspelt(&format!("{option}: {error}")))
}

/// A size: `300MB`, or a number of bytes.
pub fn size(option: &str, text: Option<&str>) -> PyResult<Option<Bytes>> {
    read(option, text, |text| text.parse().map_err(|error| format!("{error}")))
}

/// Makes a run. Returns it, and the exception of the signal that ended it early.
#[pyfunction]
#[pyo3(signature = (words, progress=None))]
pub fn run(
    py: Python<'_>,
    words: Words,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Run, Option<PyErr>)> {
    let asked = words.run()?;
    let stop = Arc::new(AtomicBool::new(false));
    let mut observer = Progress { call: progress, stop: Arc::clone(&stop), raised: None };
    let flag = Arc::clone(&stop);
    let work = move || {
        let made = made(asked, &words, flag, &mut observer);
        (made, observer.raised)
    };
    let Worked { value: (made, callback), signal } = worked(py, &stop, work)?;
    let run = made.map_err(|error| raised(&error))?;
    Ok((Run(run), signal.or(callback)))
}

fn made(
    asked: RunWords,
    words: &Words,
    stop: Arc<AtomicBool>,
    observer: &mut Progress,
) -> Result<flashlag_schema::Run, CommandError> {
    let command = asked.command();
    let asked = asked.by_protocol()?;
    let scenario = asked.scenario()?;
    let target = asked.target(words.resume)?;
    if matches!(target, Target::Lab(_)) {
        // A guest's first program is a copy of the running one, which is Python here.
        let on = &asked.on;
        return Err(CommandError::Impossible(format!(
            "{on} needs the program: `flashlag run {} --on {on} -o RUN.json`, then \
             flashlag.load(\"RUN.json\")",
            asked.scenario
        )));
    }
    let resume = match (&words.output, words.resume) {
        (Some(path), true) => Some(Box::new(earlier(path)?)),
        _ => None,
    };
    let request = asked.request((scenario, target), command, (words.stored()?, resume), stop);
    let prepared = consent(prepare(request)?, words.yes)?;
    Ok(prepared.run(observer)?)
}

/// Passes the names of phases to a Python function. The first exception that it raises ends the
/// run.
struct Progress {
    call: Option<Py<PyAny>>,
    stop: Arc<AtomicBool>,
    raised: Option<PyErr>,
}

impl Observer for Progress {
    fn event(&mut self, event: Event<'_>) {
        let text = match event {
            Event::PhaseStarted { label, .. } => label,
            Event::Preparing(text) | Event::Note(text) => text,
            _ => return,
        };
        let Some(call) = self.call.as_ref().filter(|_| self.raised.is_none()) else { return };
        if let Err(error) = Python::attach(|py| call.call1(py, (text,)).map(drop)) {
            self.stop.store(true, Ordering::Relaxed);
            self.raised = Some(error);
        }
    }
}

/// Reads a run file, or fio's json+ as a run.
#[pyfunction]
pub fn load(py: Python<'_>, path: PathBuf) -> PyResult<Run> {
    let run = py.detach(|| guarded(|| run_from(&path)))?;
    run.map(Run).map_err(|error| raised(&error))
}

/// Recomputes every figure of a run file. Returns a sentence for each that differs.
#[pyfunction]
pub fn verify(py: Python<'_>, path: PathBuf) -> PyResult<Vec<String>> {
    let found = py.detach(|| guarded(|| discrepancies(&path)))?;
    let found = found.map_err(|error| raised(&error))?;
    Ok(found.iter().map(ToString::to_string).collect())
}

/// A run.
#[pyclass(frozen, module = "flashlag._flashlag")]
pub struct Run(pub flashlag_schema::Run);

#[pymethods]
impl Run {
    /// The run of a run file's text.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Run> {
        let run = guarded(|| flashlag_schema::Run::from_json(text))?;
        run.map(Run).map_err(|error| failed(&format!("no run file: {error}")))
    }

    /// The text of the run file.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| guarded(|| self.0.to_json()))
    }

    /// Writes the run file.
    #[pyo3(signature = (path, force=false))]
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        let text = self.to_json(py)?;
        written(py, &path, OutputKind::Run, force, &text)
    }

    /// Whether every trust check passed.
    #[getter]
    fn trusted(&self) -> bool {
        self.0.trust.verdict == Verdict::Trusted
    }

    /// Whether the device lags and how badly, in a sentence.
    #[getter]
    fn headline(&self) -> PyResult<String> {
        guarded(|| flashlag_views::headline(&self.0).sentence)
    }

    /// The summary as in a terminal, without colour.
    #[pyo3(signature = (full=false))]
    fn summary(&self, py: Python<'_>, full: bool) -> PyResult<String> {
        py.detach(|| {
            guarded(|| {
                if full {
                    flashlag_term::summary_in_full(&self.0, Style::PLAIN)
                } else {
                    flashlag_term::summary(&self.0, Style::PLAIN)
                }
            })
        })
    }

    /// The first screen of the report, for a notebook.
    fn first_screen(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| guarded(|| flashlag_report::first_screen(&self.0)))
    }

    /// The report: a self-contained HTML page.
    #[pyo3(signature = (name=None))]
    fn html(&self, py: Python<'_>, name: Option<String>) -> PyResult<String> {
        let options =
            flashlag_report::Options { run_files: name.into_iter().collect(), banner: None };
        py.detach(|| guarded(|| flashlag_report::html(&self.0, &options)))
    }

    /// Writes the report.
    #[pyo3(signature = (path, force=false))]
    fn save_report(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        let page = self.html(py, None)?;
        written(py, &path, OutputKind::Report, force, &page)
    }

    /// The charts of the run: names and titles.
    fn charts(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let charts = py.detach(|| guarded(|| flashlag_report::charts(&self.0)))?;
        Ok(charts.into_iter().map(|chart| (chart.name, chart.title)).collect())
    }

    /// A chart as SVG.
    fn chart(&self, py: Python<'_>, name: &str, dark: bool) -> PyResult<String> {
        let theme = if dark { Theme::Dark } else { Theme::Light };
        let drawn = py.detach(|| guarded(|| flashlag_report::chart_svg(&self.0, name, theme)))?;
        drawn.map_err(|error| misspelt(&error.to_string()))
    }

    /// Writes a chart.
    fn save_chart(
        &self,
        py: Python<'_>,
        name: &str,
        dark: bool,
        path: PathBuf,
        force: bool,
    ) -> PyResult<()> {
        let svg = self.chart(py, name, dark)?;
        written(py, &path, OutputKind::Export, force, &svg)
    }

    /// A row for each phase.
    fn frame(&self, py: Python<'_>) -> PyResult<Table> {
        Table::of(py.detach(|| guarded(|| flashlag_frame::phases(&[&self.0])))?)
    }

    /// A row for each bucket of each phase.
    fn histogram(&self, py: Python<'_>, of: &str) -> PyResult<Table> {
        let names = HistogramOf::ALL.map(HistogramOf::name);
        let found = HistogramOf::ALL.into_iter().find(|known| known.name() == of);
        let Some(known) = found else {
            let near = did_you_mean(of, names);
            return Err(misspelt(&format!(
                "no histogram is of `{of}`: there are {}{near}",
                names.join(", ")
            )));
        };
        Table::of(py.detach(|| guarded(|| flashlag_frame::histograms(&self.0, known)))?)
    }

    /// A row for each interval of each phase.
    fn intervals(&self, py: Python<'_>) -> PyResult<Table> {
        Table::of(py.detach(|| guarded(|| flashlag_frame::intervals(&self.0)))?)
    }
}

/// Writes a result without overwriting anything by accident.
pub fn written(
    py: Python<'_>,
    path: &Path,
    kind: OutputKind,
    force: bool,
    text: &str,
) -> PyResult<()> {
    let write = || Destination::check(path, kind, force)?.write(text.as_bytes());
    py.detach(write).map_err(|error| raised(&error.into()))
}
