use std::cell::LazyCell;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flashlag_commands::run_from;
use flashlag_runner::OutputKind;
use flashlag_schema::Run;
use flashlag_schema::trace::{Trace, TraceLedger};
use flashlag_term::Style;
use flashlag_trace::{ImportOptions, add_up, add_up_beside, import_by, with_frames, write_trace};

use super::compare::place_of;
use super::live::{self, Recorded};
use crate::args::{TraceArgs, TraceFormat};
use crate::exit::Exit;
use crate::say;
use crate::terminal::Terminal;

/// Shows which programs write, and which wait for storage.
pub fn trace(args: &TraceArgs, terminal: &Terminal) -> Result<Exit> {
    if !args.command.is_empty() && args.output.as_deref() == Some(Path::new("-")) {
        bail!("standard output is the command's: name a file after -o");
    }
    let output = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let read: Vec<PathBuf> = args.from.iter().chain(&args.beside).cloned().collect();
    // Checked before the recording: a file that can't be written would cost the recording.
    let place =
        output.map(|path| place_of(path, OutputKind::Export, args.force, &read)).transpose()?;
    let (recorded, run) = match &args.from {
        Some(from) => {
            let (trace, run) = beside(imported(from, args)?, args)?;
            (Recorded { trace: Some(trace), ended: Exit::Done }, run)
        }
        None => {
            refuse_a_file(args)?;
            (live::record(args, terminal)?, None)
        }
    };
    let Recorded { trace: Some(trace), ended } = recorded else { return Ok(recorded.ended) };
    let together = run.map(|run| add_up_beside(&trace, &run)).transpose();
    let together = together.with_context(|| not_beside(args))?;
    // A trace that is only stored needs no totals.
    let ledger = LazyCell::new(|| together.unwrap_or_else(|| add_up(&trace)));
    let contents = |to: &mut dyn Write| match args.format {
        TraceFormat::Jsonl => write_trace(to, &trace).map(drop),
        TraceFormat::Perfetto => flashlag_export::perfetto::write(to, &trace, &ledger),
    };
    match place {
        Some(place) => place.write_by(contents)?,
        None if args.output.is_some() => return say::data_by(contents).map(|()| ended),
        None => {}
    }
    shown(&ledger, args, terminal)?;
    Ok(ended)
}

/// The trace with what was made at the same time: the recording whose frames are in the trace, or a run.
fn beside(trace: Trace, args: &TraceArgs) -> Result<(Trace, Option<Run>)> {
    let Some(other) = &args.beside else { return Ok((trace, None)) };
    let no_run = match may_be_run(other)?.then(|| run_from(other)) {
        Some(Ok(run)) => return Ok((trace, Some(run))),
        Some(Err(error)) => Some(error),
        None => None,
    };
    let recording = match (import_by(opened(other)?, &ImportOptions::default()), no_run) {
        (Ok(imported), _) => imported.trace,
        (Err(_), Some(no_run)) => return Err(no_run.into()),
        (Err(error), None) => {
            let name = other.display();
            return Err(error).with_context(|| format!("{name} is neither a run nor a trace"));
        }
    };
    let together = with_frames(recording, &trace).with_context(|| not_beside(args))?;
    Ok((together, None))
}

/// Whether a file begins as a JSON object, and not as a stored trace does.
fn may_be_run(path: &Path) -> Result<bool> {
    let mut head = Vec::new();
    let read = opened(path)?.take(64).read_to_end(&mut head);
    read.with_context(|| format!("cannot read {}", path.display()))?;
    let head = head.trim_ascii_start();
    Ok(head.starts_with(b"{") && !head.starts_with(b"{\"trace\""))
}

fn opened(path: &Path) -> Result<File> {
    File::open(path).with_context(|| format!("cannot read {}", path.display()))
}

fn not_beside(args: &TraceArgs) -> String {
    let name =
        |path: &Option<PathBuf>| path.as_deref().unwrap_or(Path::new("")).display().to_string();
    format!("{} can't be laid beside {}", name(&args.from), name(&args.beside))
}

/// Who names a file means to read it; recording would go on until Ctrl-C instead.
fn refuse_a_file(args: &TraceArgs) -> Result<()> {
    let Some(path) = args.path.as_deref().filter(|path| Path::new(path).is_file()) else {
        return Ok(());
    };
    let folder = match Path::new(path).parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    bail!(
        "{path} is a file: to read a trace, write `flashlag trace --from {path}`; to record what is written to its filesystem, `flashlag trace {}`",
        folder.display()
    )
}

/// The trace in a file, or on standard input.
fn imported(from: &Path, args: &TraceArgs) -> Result<Trace> {
    let is_stdin = from == Path::new("-");
    let name = if is_stdin { "standard input".to_owned() } else { from.display().to_string() };
    let file: Box<dyn Read> =
        if is_stdin { Box::new(io::stdin().lock()) } else { Box::new(opened(from)?) };
    let (format, columns) = (args.from_format, args.columns.clone());
    let options = ImportOptions { format, columns, ..ImportOptions::default() };
    let imported = import_by(file, &options);
    Ok(imported.with_context(|| format!("no trace can be made of {name}"))?.trace)
}

/// Prints the table.
fn shown(ledger: &TraceLedger, args: &TraceArgs, terminal: &Terminal) -> Result<()> {
    if args.json {
        return say::json(&format!("{}\n", flashlag_schema::to_json_pretty(ledger)?));
    }
    // Standard output is the command's, as with strace and perf.
    if !args.command.is_empty() {
        let style = Style::of_stderr();
        say::view_beside(&flashlag_term::trace(ledger, style, terminal.verbose));
        return Ok(());
    }
    say::view(&flashlag_term::trace(ledger, terminal.stdout, terminal.verbose))
}
