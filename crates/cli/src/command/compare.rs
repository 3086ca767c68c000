use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use flashlag_commands::Sides;
use flashlag_runner::{Destination, OutputKind, is_same_file};
use flashlag_views::{Comparison, Gate};

use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::form::{Form, comparison_by_ending};
use crate::say;
use crate::terminal::Terminal;

/// Prints runs side by side.
pub fn compare(args: &CompareArgs, terminal: &Terminal) -> Result<Exit> {
    #[cfg(feature = "parquet")]
    if let Some(table) = &args.table {
        return super::compare_with::compare_with(&args.runs, table);
    }
    let sides = Sides {
        against: args.against.clone(),
        runs: args.runs.clone(),
        labels: args.labels.clone(),
        force: args.force,
    };
    let paths = sides.paths()?;
    let place = |path: &Path, form: Form| place_of(path, form.kind(), args.force, &paths);
    let page_place = args.report.as_deref().map(|path| place(path, Form::Html)).transpose()?;
    let form = args.format.map_or_else(|| comparison_by_ending(&args.output), Ok)?;
    let to_file = args.output != Path::new("-");
    let output = to_file.then(|| place(&args.output, form)).transpose()?;
    let junit_place = args.junit.as_deref();
    let junit_place = junit_place
        .map(|path| place_of(path, OutputKind::Export, args.force, &paths))
        .transpose()?;
    let (runs, comparison) = sides.compared()?;
    say::changed(paths.iter().map(PathBuf::as_path).zip(&runs));
    let gate = gate(args, &comparison)?;
    let written = |form: Form| form.comparison(&runs, &paths, &comparison, gate.as_ref(), terminal);
    if let Some(place) = &page_place {
        place.write(written(Form::Html)?.as_bytes())?;
    }
    let text = written(form)?;
    match output {
        Some(output) => output.write(text.as_bytes())?,
        None => form.print(&text)?,
    }
    let Some(gate) = gate else { return Ok(Exit::Done) };
    if let Some(place) = junit_place {
        place.write(flashlag_export::junit(&gate).as_bytes())?;
    }
    if args.fail_if_slower.is_none() {
        return Ok(Exit::Done);
    }
    say::notes(&gate.to_string());
    Ok(if gate.passes() { Exit::Done } else { Exit::Crossed })
}

/// The judgement that `--fail-if-slower` or JUnit XML requests.
fn gate(args: &CompareArgs, comparison: &Comparison) -> Result<Option<Gate>> {
    if args.fail_if_slower.is_none() && args.junit.is_none() {
        return Ok(None);
    }
    Ok(Some(Gate::of(comparison, args.fail_if_slower.unwrap_or(0.0))?))
}

/// The destination of an output made from runs, which is never one of the runs' files.
pub fn place_of(
    path: &Path,
    kind: OutputKind,
    force: bool,
    runs: &[PathBuf],
) -> Result<Destination> {
    // A link to the file counts, too.
    let is_read = |run: &&PathBuf| {
        is_same_file(path, run) || run.canonicalize().is_ok_and(|run| is_same_file(path, &run))
    };
    if let Some(run) = runs.iter().find(is_read) {
        bail!("{} is read here and would be overwritten: choose another file", run.display());
    }
    Ok(Destination::check(path, kind, force)?)
}
