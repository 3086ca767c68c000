use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use flashlag_engine::guard::PublishError;
use flashlag_schema::Run;
use rustix::fs::Stat;

use super::destination::{Destination, path_of, refused, replaces};
use crate::error::{OutputKind, RunError};

/// Maximum number of names that are tried.
const MOST_NAMES: u32 = 100_000;

/// The file of a run, stored after every phase, so that a crash loses at most one phase.
///  A file that appeared meanwhile is never replaced: the run goes to `NAME-2.json`, `NAME-3.json`
/// and so on, so that each of several runs keeps its result.
#[derive(Debug)]
pub struct RunFile {
    destination: Destination,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    name: OsString,
    /// The file at the path: at first one that may be replaced, later this run's own.
    holds: Option<Stat>,
}

impl RunFile {
    /// A run file of that name.
    pub fn new(path: &Path, force: bool) -> Result<RunFile, RunError> {
        RunFile::of(Destination::check(path, OutputKind::Run, force)?)
    }

    /// The run file of a run to continue.
    pub fn resumed(path: &Path) -> Result<RunFile, RunError> {
        RunFile::of(Destination::check(path, OutputKind::ResumedRun, false)?)
    }

    /// A run file with a default name: `path`, or the first free one after it.
    pub fn unnamed(path: &Path) -> Result<RunFile, RunError> {
        let mut destination = Destination::check(path, OutputKind::ResumedRun, true)?;
        if destination.found.take().is_some() || page_is_there(path) {
            destination.name = next_free(&destination, 1)?;
        }
        RunFile::of(destination)
    }

    fn of(destination: Destination) -> Result<RunFile, RunError> {
        let current = Current { name: destination.name.clone(), holds: destination.found };
        Ok(RunFile { destination, current: Mutex::new(current) })
    }

    /// The path of the file.
    pub fn path(&self) -> PathBuf {
        path_of(&self.destination.publisher, &self.current().name)
    }

    /// The requested name, if the run had to take another.
    pub fn displaced_from(&self) -> Option<PathBuf> {
        let asked = self.destination.path();
        (asked != self.path()).then_some(asked)
    }

    /// The temporary name, which a killed run can leave.
    pub(crate) fn temporary(&self) -> PathBuf {
        self.destination.publisher.temporary()
    }

    /// Seals the run and replaces the file in one step.
    pub(crate) fn store(&self, run: &mut Run) -> Result<(), RunError> {
        run.seal();
        self.write(run.to_json().as_bytes())
    }

    fn write(&self, contents: &[u8]) -> Result<(), RunError> {
        let publisher = &self.destination.publisher;
        let mut current = self.current();
        for number in 1..MOST_NAMES {
            let holds = replaces(current.holds.as_ref());
            match publisher.publish(&current.name, contents, holds) {
                Ok(stat) => {
                    current.holds = Some(stat);
                    return Ok(());
                }
                Err(PublishError::Taken) => {
                    *current = Current { name: next_free(&self.destination, number)?, holds: None };
                }
                Err(PublishError::Os(errno)) => {
                    return Err(refused(&path_of(publisher, &current.name), errno));
                }
            }
        }
        Err(refused(&path_of(publisher, &current.name), rustix::io::Errno::EXIST))
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first of `NAME-2.json`, `NAME-3.json`, … after `number` that neither a run nor a page has.
fn next_free(destination: &Destination, number: u32) -> Result<OsString, RunError> {
    let publisher = &destination.publisher;
    for number in number + 1..=MOST_NAMES {
        let name = numbered(&destination.name, number);
        let path = path_of(publisher, &name);
        let found = publisher.look(&name).map_err(|errno| refused(&path, errno))?;
        if found.is_none() && !page_is_there(&path) {
            return Ok(name);
        }
    }
    Err(refused(&destination.path(), rustix::io::Errno::EXIST))
}

fn page_is_there(run_file: &Path) -> bool {
    run_file.with_extension("html").symlink_metadata().is_ok()
}

/// `run-2.json` for `run.json`.
fn numbered(name: &OsStr, number: u32) -> OsString {
    let path = Path::new(name);
    let mut numbered = path.file_stem().unwrap_or(name).to_owned();
    numbered.push(format!("-{number}"));
    if let Some(ending) = path.extension() {
        numbered.push(".");
        numbered.push(ending);
    }
    numbered
}
