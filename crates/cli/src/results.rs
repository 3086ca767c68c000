//! Chooses and checks where a run's results go, before anything is measured.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use flashlag_runner::{Destination, OutputKind, RunFile, is_same_file};
use flashlag_schema::Run;

use crate::args::RunArgs;
use crate::form::page_of;
use crate::typed::{self, OUTPUT, REPORT};

/// The destinations of a run.
#[derive(Debug)]
pub struct Results {
    pub run: Arc<RunFile>,
    /// The report; `None` if its name is derived from the run file's.
    report: Option<Destination>,
    force: bool,
}

impl Results {
    /// Chooses the destinations and checks that they don't overwrite other files.
    pub fn plan(args: &RunArgs, scenario: &str) -> Result<Results> {
        let beside = args.output.as_ref().map(|path| path.with_extension("html"));
        let report = args.report.as_ref().or(beside.as_ref());
        if let (Some(run), Some(report)) = (&args.output, report)
            && is_same_file(run, report)
            && !is_page(run)
        {
            let error = format!("{} can't be both the run file and the report", run.display());
            let page = run.with_extension("html");
            return Err(typed::suggest(error, &[(REPORT, &page.to_string_lossy())]));
        }
        let run = match &args.output {
            Some(path) if is_page(path) => refuse_page(path)?,
            Some(path) if args.resume => RunFile::resumed(path)?,
            Some(path) => RunFile::new(path, args.force)?,
            None => RunFile::unnamed(&default_output(scenario))?,
        };
        let check = |path: &PathBuf| Destination::check(path, OutputKind::Report, args.force);
        let report = report.map(check).transpose()?;
        Ok(Results { run: Arc::new(run), report, force: args.force })
    }

    /// Writes the report and returns its path.
    pub fn write_report(&self, run: &Run, explicit: bool) -> Result<PathBuf> {
        let run_file = self.run.path();
        let page = flashlag_report::html(run, &page_of(std::slice::from_ref(&run_file)));
        // If the run file got another name, the report lies beside it.
        let moved = self.run.displaced_from().is_some() && !explicit;
        let beside;
        let report = match &self.report {
            Some(report) if !moved => report,
            _ => {
                let path = run_file.with_extension("html");
                beside = Destination::check(&path, OutputKind::Report, self.force)?;
                &beside
            }
        };
        report.write(page.as_bytes())?;
        Ok(report.path())
    }
}

/// `flashlag-run-quick-20261121-043000.json`, in the current directory.
pub fn default_output(scenario: &str) -> PathBuf {
    let plain: String =
        scenario.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    PathBuf::from(format!("flashlag-run-{plain}-{}.json", flashlag_runner::stamp()))
}

fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|ending| {
        ending.eq_ignore_ascii_case("html") || ending.eq_ignore_ascii_case("htm")
    })
}

fn refuse_page(path: &Path) -> Result<RunFile> {
    let run_file = path.with_extension("json");
    Err(typed::suggest(
        "-o names the run file, which is JSON, and not the report",
        &[(OUTPUT, &run_file.to_string_lossy()), (REPORT, &path.to_string_lossy())],
    ))
}
