//! `predict`, `fit` and `profiles`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_commands::{
    CommandError, FitWords, PredictWords, Prediction, Silent, Simulations, fit as fit_run,
};
use flashlag_predict::change::Sweep;
use flashlag_runner::{OutputKind, sim};
use flashlag_term::{Style, predict as draw};
use flashlag_units::Bytes;
use pyo3::prelude::*;
use serde_json::json;

use crate::error::{failed, raised};
use crate::run::{Run, size, written};
use crate::table::Table;
use crate::work::{Worked, guarded, worked};

/// Bytes written on a day of use, unless said otherwise.
const DAILY: Bytes = Bytes(5_000_000_000);

/// The arguments of a forecast, as `flashlag/_predict.py` assembles them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct PredictArgs {
    subject: String,
    change: Vec<String>,
    sweep: Option<String>,
    fs: Option<String>,
    daily: Option<String>,
    seeds: Option<u64>,
    force: bool,
    causes: bool,
}

/// A device before and after each of several changes, and at fill levels.
#[pyclass(frozen, module = "flashlag._flashlag")]
pub struct Forecast {
    changes: Option<flashlag_predict::change::Forecast>,
    levels: Option<Sweep>,
}

/// Simulates a device before and after each change, and at each level of a sweep.
#[pyfunction]
pub fn predict(py: Python<'_>, words: PredictArgs, run: Option<Py<Run>>) -> PyResult<Forecast> {
    let words = PredictWords {
        subject: words.subject,
        change: words.change,
        sweep: words.sweep,
        fs: words.fs,
        daily: size("--daily", words.daily.as_deref())?.unwrap_or(DAILY),
        seeds: words.seeds,
        force: words.force,
        causes: words.causes,
    };
    let run = run.map(|run| run.get().0.clone());
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let Worked { value, signal } = worked(py, &stop, move || {
        let prediction = match &run {
            Some(run) => Prediction::of_run(run, &words)?,
            None => Prediction::of(&words)?,
        };
        let simulations = Simulations::new(flag, Box::new(Silent), prediction.profile(), None);
        let changes = prediction.forecast(&simulations)?;
        Ok(Forecast { changes, levels: prediction.sweep(&simulations)? })
    })?;
    match signal {
        Some(signal) => Err(signal),
        None => value.map_err(|error: CommandError| raised(&error)),
    }
}

#[pymethods]
impl Forecast {
    /// The forecast as in a terminal, without colour.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            guarded(|| {
                let changes = self.changes.iter().map(|it| draw::forecast(it, Style::PLAIN));
                let levels = self.levels.iter().map(|it| draw::sweep(it, Style::PLAIN));
                changes.chain(levels).collect::<Vec<_>>().join("\n")
            })
        })
    }

    /// A row for each test before the first change and after each; `None` without a change.
    fn frame(&self) -> PyResult<Option<Table>> {
        self.changes.as_ref().map(|it| Table::of(flashlag_frame::forecast(it))).transpose()
    }

    /// A row for each test at each fill level; `None` without a sweep.
    fn levels(&self) -> PyResult<Option<Table>> {
        self.levels.as_ref().map(|it| Table::of(flashlag_frame::sweep(it))).transpose()
    }

    /// Reasons for each change, warnings and assumptions, as JSON.
    fn to_json(&self) -> String {
        let steps = self.changes.iter().flat_map(|forecast| &forecast.steps).map(|step| {
            json!({
                "change": step.change,
                "filesystem": step.filesystem,
                "share": step.share,
                "reasons": step.reasons,
                "beyond": step.beyond,
            })
        });
        let warnings = self.changes.iter().flat_map(|forecast| &forecast.warnings);
        let warnings = warnings.chain(self.levels.iter().flat_map(|sweep| &sweep.warnings));
        let assumptions = self.changes.iter().flat_map(|forecast| &forecast.assumptions);
        let assumptions =
            assumptions.chain(self.levels.iter().flat_map(|sweep| &sweep.assumptions));
        json!({
            "steps": steps.collect::<Vec<_>>(),
            "warnings": warnings.collect::<Vec<_>>(),
            "assumptions": assumptions.collect::<Vec<_>>(),
        })
        .to_string()
    }
}

/// The arguments of a fit, as `flashlag/_predict.py` assembles them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct FitArgs {
    run_name: String,
    name: String,
    start: Option<String>,
    fs: Option<String>,
    only: Vec<String>,
    simulations: usize,
    starts: usize,
    force: bool,
}

/// A profile made from a run.
#[pyclass(frozen, module = "flashlag._flashlag")]
pub struct Fit(flashlag_predict::fit::Fit);

/// Makes a profile from a measured run.
#[pyfunction]
pub fn fit(py: Python<'_>, words: FitArgs, run: Py<Run>) -> PyResult<Fit> {
    let run = run.get().0.clone();
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let asked = FitWords {
        name: words.name,
        from: words.start,
        fs: words.fs,
        only: words.only,
        simulations: words.simulations,
        starts: words.starts,
        force: words.force,
    };
    let Worked { value, signal } = worked(py, &stop, move || {
        let simulations =
            |what: &str, of| Ok(Simulations::new(Arc::clone(&flag), Box::new(Silent), what, of));
        fit_run(&run, &words.run_name, &asked, &simulations, &mut |_| {})
    })?;
    match signal {
        Some(signal) => Err(signal),
        None => value.map(Fit).map_err(|error| raised(&error)),
    }
}

#[pymethods]
impl Fit {
    /// The fit as in a terminal, without colour.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| guarded(|| draw::fit(&self.0, Style::PLAIN)))
    }

    /// The profile as a file.
    fn toml(&self) -> String {
        self.0.profile.to_toml()
    }

    /// Writes the profile.
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        written(py, &path, OutputKind::Profile, force, &self.toml())
    }

    /// How well it fits, and every parameter, as JSON.
    fn to_json(&self) -> String {
        let Fit(fit) = self;
        let parameters = fit.parameters.iter().map(|parameter| {
            json!({
                "key": parameter.key,
                "before": parameter.before,
                "after": parameter.after,
                "uncertainty": parameter.uncertainty,
                "bound": parameter.bound,
                "held": parameter.held,
            })
        });
        json!({
            "start": fit.start,
            "filesystem": fit.filesystem,
            "misfit_before": fit.misfit_before,
            "misfit": fit.misfit,
            "simulations": fit.simulations,
            "exhausted": fit.exhausted,
            "lacks": fit.lacks,
            "parameters": parameters.collect::<Vec<_>>(),
        })
        .to_string()
    }
}

/// Name, device, software, filesystem, size in bytes, and file.
type ProfileRow = (String, String, String, String, u64, String);

/// The built-in profiles: name, device, software, filesystem, size in bytes, and file.
#[pyfunction]
pub fn profiles() -> PyResult<Vec<ProfileRow>> {
    let of = |name: &str| {
        let profile = sim::profile(name).map_err(|error| raised(&error.into()))?;
        let model = profile.model().map_err(|error| failed(&format!("{name}: {error}")))?;
        let text = sim::builtin_profile(name).unwrap_or_default().to_owned();
        let size = model.map.capacity.0.0;
        Ok((profile.name, profile.about, profile.os, profile.filesystem, size, text))
    };
    sim::profile_names().map(of).collect()
}
