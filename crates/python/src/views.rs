//! `compare` and `explain`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_commands::{Forecasts, Sides, Silent, Subject, explained};
use flashlag_export::Format;
use flashlag_schema::finding::Explained as Seen;
use flashlag_term::{Style, explain as draw};
use pyo3::prelude::*;

use crate::error::{failed, raised};
use crate::run::Run;
use crate::table::Table;
use crate::work::{Worked, guarded, worked};

/// A comparison of runs.
#[pyclass(frozen, module = "flashlag._flashlag")]
pub struct Comparison {
    comparison: flashlag_views::Comparison,
    runs: Vec<flashlag_schema::Run>,
}

/// Compares runs. Each side is given by its runs and the names of their files.
#[pyfunction]
pub fn compare(
    py: Python<'_>,
    against: Vec<(PathBuf, Py<Run>)>,
    runs: Vec<(PathBuf, Py<Run>)>,
    labels: Vec<String>,
    force: bool,
) -> PyResult<Comparison> {
    let all = against.iter().chain(&runs).map(|(_, run)| run.get().0.clone()).collect::<Vec<_>>();
    let paths = |side: &[(PathBuf, Py<Run>)]| side.iter().map(|(path, _)| path.clone()).collect();
    let sides = Sides { against: paths(&against), runs: paths(&runs), labels, force };
    let compared = py.detach(|| guarded(|| sides.compared_runs(&all)))?;
    let comparison = compared.map_err(|error| raised(&error))?;
    Ok(Comparison { comparison, runs: all })
}

#[pymethods]
impl Comparison {
    /// The comparison as in a terminal, without colour.
    #[pyo3(signature = (full=false))]
    fn text(&self, py: Python<'_>, full: bool) -> PyResult<String> {
        py.detach(|| {
            guarded(|| {
                if full {
                    flashlag_term::comparison_in_full(&self.comparison, Style::PLAIN)
                } else {
                    flashlag_term::comparison(&self.comparison, Style::PLAIN)
                }
            })
        })
    }

    /// The comparison as JSON.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        let text =
            py.detach(|| guarded(|| Format::Json.write_comparison(&self.comparison, None)))?;
        text.map_err(|error| failed(&error.to_string()))
    }

    /// A self-contained HTML page.
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        let options = flashlag_report::Options::default();
        py.detach(|| {
            guarded(|| flashlag_report::comparison_html(&self.comparison, &self.runs, &options))
        })
    }

    /// A row for each test and side.
    fn frame(&self, py: Python<'_>) -> PyResult<Table> {
        Table::of(py.detach(|| guarded(|| flashlag_frame::comparison(&self.comparison)))?)
    }
}

/// Why a run lagged, or what a storage stack consists of.
#[pyclass(frozen, module = "flashlag._flashlag")]
pub struct Explained {
    seen: Seen,
    run: Option<flashlag_schema::Run>,
}

/// Explains a run, a directory, a phone or a simulated device.
#[pyfunction]
pub fn explain(
    py: Python<'_>,
    subject: PathBuf,
    run: Option<Py<Run>>,
    profile: Option<String>,
    forecast: bool,
) -> PyResult<Explained> {
    let given = run.map(|run| run.get().0.clone());
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let Worked { value, signal } = worked(py, &stop, move || {
        let found = match given {
            Some(run) => Subject::Run(Box::new(run)),
            None => Subject::of(&subject)?,
        };
        let run = match found {
            Subject::SetUp(seen) => return Ok(Explained { seen: *seen, run: None }),
            Subject::Run(run) => *run,
        };
        let name = subject.display().to_string();
        let forecasts = forecast.then(|| Forecasts {
            profile: profile.as_deref(),
            stop: &flag,
            counting: Box::new(Silent),
        });
        let seen = explained(&run, &name, forecasts)?;
        Ok(Explained { seen, run: Some(run) })
    })?;
    match signal {
        Some(signal) => Err(signal),
        None => value.map_err(|error| raised(&error)),
    }
}

#[pymethods]
impl Explained {
    /// The explanation as in a terminal, without colour.
    #[pyo3(signature = (full=false))]
    fn text(&self, py: Python<'_>, full: bool) -> PyResult<String> {
        let Seen { subject, environment, findings, .. } = &self.seen;
        py.detach(|| {
            guarded(|| match &self.run {
                Some(run) => draw::explained(run, findings, Style::PLAIN, full),
                None => draw::set_up(subject, environment, findings, Style::PLAIN, full),
            })
        })
    }

    /// The findings, as JSON.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.seen).map_err(|error| failed(&error.to_string()))
    }
}
