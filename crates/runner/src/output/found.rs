//! Decides whether an existing file may be replaced by an output.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;

use flashlag_engine::guard::Publisher;
use flashlag_schema::{Run, RunStatus};
use rustix::fs::{FileType, Stat};

use crate::error::{OutputFault, OutputKind, RunError};

/// Bytes of a page that are searched for flashlag's mark.
const PAGE_HEAD: u64 = 4096;
/// The longest run file.
const LONGEST: u64 = 1 << 30;
/// The mark of flashlag's pages.
const GENERATOR: &str = r#"<meta name="generator" content="flashlag">"#;

/// Refuses what must not be replaced.
pub(super) fn check(
    at: &Publisher,
    path: &Path,
    name: &OsStr,
    (kind, force): (OutputKind, bool),
    found: Option<&Stat>,
) -> Result<(), RunError> {
    let Some(found) = found else { return Ok(()) };
    let refuse = |fault| Err(RunError::Output { path: path.to_owned(), fault });
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => {}
        found => {
            let leads_to = std::fs::read_link(path).ok();
            let path = path.to_owned();
            return refuse(OutputFault::Irregular { found, leads_to, path, kind });
        }
    }
    if force || kind == OutputKind::ResumedRun {
        return Ok(());
    }
    let text = |longest: u64| -> Option<String> {
        let mut text = Vec::new();
        at.read(name).ok()?.take(longest).read_to_end(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    };
    if kind == OutputKind::Report && text(PAGE_HEAD).is_some_and(|page| page.contains(GENERATOR)) {
        return Ok(());
    }
    // A long file is read whole only if it begins like a run file.
    let begins = text(PAGE_HEAD).is_some_and(|head| head.contains(flashlag_schema::SCHEMA));
    let run = text(if begins { LONGEST } else { 0 }).and_then(|text| Run::from_json(&text).ok());
    match (run, kind) {
        (Some(run), _) if run.status == RunStatus::Complete => {
            refuse(OutputFault::FinishedRun { scenario: run.scenario.name })
        }
        (Some(run), OutputKind::Run) if run.phases.is_empty() => Ok(()),
        (Some(run), OutputKind::Run) => {
            refuse(OutputFault::UnfinishedRun { scenario: run.scenario.name })
        }
        (Some(_), _) => refuse(OutputFault::Run),
        (None, OutputKind::Run) => refuse(OutputFault::NoRun),
        (None, OutputKind::Report) => refuse(OutputFault::NoReport),
        (None, _) => refuse(OutputFault::Taken),
    }
}
