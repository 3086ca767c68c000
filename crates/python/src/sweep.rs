//! A sweep whose chunks are measured elsewhere: the calls for a scheduler and for a worker.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use flashlag_commands::one_paragraph;
use flashlag_sweep::{Finished, Grid, SweepError, SweepOptions, WORKER, Workers, cores};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{failed, misspelt};
use crate::work::{Worked, guarded, worked};

/// A sweep under way.
#[pyclass(module = "flashlag._flashlag", frozen)]
pub struct Sweep(Mutex<Option<flashlag_sweep::Sweep>>);

/// The exception of a sweep's error.
fn raised(error: &SweepError) -> PyErr {
    let sentence = one_paragraph(error);
    match error {
        SweepError::Grid { .. } | SweepError::OtherGrid { .. } => misspelt(&sentence),
        _ => failed(&sentence),
    }
}

impl Sweep {
    fn inner(&self) -> MutexGuard<'_, Option<flashlag_sweep::Sweep>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut flashlag_sweep::Sweep) -> Result<T, SweepError> + Send,
    ) -> PyResult<T> {
        py.detach(|| guarded(|| self.inner().as_mut().map(work)))?
            .ok_or_else(|| failed("this sweep is finished, or was closed"))?
            .map_err(|error| raised(&error))
    }
}

/// Points, rows, failed rows and skipped rows.
fn counts(finished: &Finished) -> (u64, u64, u64, u64) {
    (finished.points, finished.rows, finished.failed, finished.skipped)
}

#[pymethods]
impl Sweep {
    /// Begins a sweep of the grid in a file, or goes on with one.
    #[new]
    #[pyo3(signature = (grid, output, chunk=None, force=false))]
    fn new(
        py: Python<'_>,
        grid: PathBuf,
        output: PathBuf,
        chunk: Option<u64>,
        force: bool,
    ) -> PyResult<Sweep> {
        let open = || {
            let grid = Grid::read(&grid)?;
            flashlag_sweep::Sweep::open(grid, &output, SweepOptions { chunk, force })
        };
        let opened = py.detach(|| guarded(open))?.map_err(|error| raised(&error))?;
        Ok(Sweep(Mutex::new(Some(opened))))
    }

    /// Number of points.
    fn points(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |sweep| Ok(sweep.grid().points()))
    }

    /// Number of points whose results are stored.
    fn done(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |sweep| Ok(sweep.done()))
    }

    /// The first chunk at or after `start` that is not measured.
    fn next_missing(&self, py: Python<'_>, start: u64) -> PyResult<Option<u64>> {
        self.with(py, |sweep| Ok(sweep.next_missing(start)))
    }

    /// A chunk's points, as bytes for `measure`.
    fn chunk<'py>(&self, py: Python<'py>, index: u64) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(py, |sweep| sweep.chunk(index))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Stores the results of a chunk on the disk; `False` if they were already there.
    fn add(&self, py: Python<'_>, results: &[u8]) -> PyResult<bool> {
        self.with(py, |sweep| sweep.add(results))
    }

    /// Releases the journal: another process may continue.
    fn close(&self) {
        self.inner().take();
    }

    /// Writes the table. Returns points, rows, failed rows and skipped rows.
    fn finish(&self, py: Python<'_>) -> PyResult<(u64, u64, u64, u64)> {
        let finish = || self.inner().take().map(flashlag_sweep::Sweep::finish);
        let finished = py.detach(|| guarded(finish))?;
        let finished = finished.ok_or_else(|| failed("this sweep is finished, or was closed"))?;
        let finished = finished.map_err(|error| raised(&error))?;
        Ok(counts(&finished))
    }

    /// Measures what is missing in processes of the program, and writes the table. Returns what
    /// `finish` returns. A signal, or an exception of `progress`, ends it early.
    #[pyo3(signature = (program, progress=None))]
    fn run(
        &self,
        py: Python<'_>,
        program: PathBuf,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(u64, u64, u64, u64)> {
        let sweep = py.detach(|| self.inner().take());
        let sweep = sweep.ok_or_else(|| failed("this sweep is finished, or was closed"))?;
        let stop = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&stop);
        let work = move || {
            let mut raised = None;
            let mut tell = |done: u64, points: u64| {
                let Some(call) = &progress else { return };
                let called = Python::attach(|py| call.call1(py, (done, points)).map(drop));
                if let Err(error) = called {
                    ends.store(true, Ordering::Relaxed);
                    raised.get_or_insert(error);
                }
            };
            let workers = Workers::new(program, vec![WORKER.into()], cores());
            let ended = workers.run(sweep, &ends, &mut tell);
            (ended, raised)
        };
        let Worked { value: (ended, called), signal } = worked(py, &stop, work)?;
        match (ended, signal.or(called)) {
            (Err(SweepError::Stopped { .. }) | Ok(_), Some(exception)) => Err(exception),
            (Err(error), _) => Err(raised(&error)),
            (Ok(finished), None) => Ok(counts(&finished)),
        }
    }

    /// The number of cores.
    #[staticmethod]
    fn cores() -> usize {
        cores()
    }
}

/// Measures a chunk's points; what a worker does.
#[pyfunction]
pub fn measure<'py>(py: Python<'py>, chunk: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    let measured = py.detach(|| guarded(|| flashlag_sweep::measure(chunk)))?;
    let results = measured.map_err(|error| raised(&error))?;
    Ok(PyBytes::new(py, &results))
}
