use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flashlag_runner::OutputKind;
use flashlag_schema::trace::Trace;
use flashlag_term::Style;
use flashlag_trace::{add_up, import, write_trace};

use super::compare::place_of;
use super::live::{self, Recorded};
use crate::args::{TraceArgs, TraceFormat};
use crate::exit::Exit;
use crate::say;
use crate::terminal::Terminal;

/// Says which programs write, and which wait for storage.
pub fn trace(args: &TraceArgs, terminal: &Terminal) -> Result<Exit> {
    if !args.command.is_empty() && args.output.as_deref() == Some(Path::new("-")) {
        bail!("standard output is the command's: name a file after -o");
    }
    let output = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let read: &[PathBuf] = args.from.as_slice();
    // Before anything is recorded: a file that can't be written would cost the recording.
    let place =
        output.map(|path| place_of(path, OutputKind::Export, args.force, read)).transpose()?;
    let recorded = match &args.from {
        Some(from) => Recorded { trace: Some(imported(from, args)?), ended: Exit::Done },
        None => live::record(args, terminal)?,
    };
    let Recorded { trace: Some(trace), ended } = recorded else { return Ok(recorded.ended) };
    let text = match args.output.is_some() {
        true => Some(written(&trace, args.format)?),
        false => None,
    };
    match (place, text) {
        (Some(place), Some(text)) => place.write(&text)?,
        (None, Some(text)) => {
            return say::data(&String::from_utf8_lossy(&text)).map(|()| ended);
        }
        (_, None) => {}
    }
    shown(&trace, args, terminal)?;
    Ok(ended)
}

/// The trace in a file, or on standard input.
fn imported(from: &Path, args: &TraceArgs) -> Result<Trace> {
    let is_stdin = from == Path::new("-");
    let name = if is_stdin { "standard input".to_owned() } else { from.display().to_string() };
    let file: Box<dyn Read> = match is_stdin {
        true => Box::new(io::stdin().lock()),
        false => Box::new(File::open(from).with_context(|| format!("cannot read {name}"))?),
    };
    let imported = import(file, args.from_format);
    Ok(imported.with_context(|| format!("no trace can be made of {name}"))?.trace)
}

/// The trace in a format of files.
fn written(trace: &Trace, format: TraceFormat) -> Result<Vec<u8>> {
    Ok(match format {
        TraceFormat::Jsonl => write_trace(Vec::new(), trace)?,
        TraceFormat::Perfetto => {
            let mut text = Vec::new();
            flashlag_export::perfetto::write(&mut text, trace, &add_up(trace))?;
            text
        }
    })
}

/// Prints the table.
fn shown(trace: &Trace, args: &TraceArgs, terminal: &Terminal) -> Result<()> {
    let ledger = add_up(trace);
    if args.json {
        return say::json(&format!("{}\n", serde_json::to_string_pretty(&ledger)?));
    }
    // Standard output is the command's, as with strace and perf.
    if !args.command.is_empty() {
        let style = Style::of_stderr();
        say::view_beside(&flashlag_term::trace(&ledger, style, terminal.verbose));
        return Ok(());
    }
    say::view(&flashlag_term::trace(&ledger, terminal.stdout, terminal.verbose))
}
