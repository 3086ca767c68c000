use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flashlag_schema::Run;

use super::compare::{compared, options};
use crate::args::{Format, ReportArgs};
use crate::exit::Exit;
use crate::load::run_from;
use crate::terminal::Terminal;

/// Writes a run in another form, or a page of several.
pub fn report(args: &ReportArgs, terminal: &Terminal) -> Result<Exit> {
    let format = args.format.or_else(|| by_ending(&args.output)).unwrap_or(Format::Text);
    let text = match args.runs.as_slice() {
        [one] => written(&run_from(one)?, one, format, terminal)?,
        several => {
            let (runs, comparison) = compared(several, args.force)?;
            match format {
                Format::Html => {
                    flashlag_report::comparison_html(&comparison, &runs, &options(several))
                }
                Format::Text => flashlag_term::comparison(&comparison, terminal.stdout),
                _ => bail!("several runs make a comparison: as HTML (-o FILE.html) or text only"),
            }
        }
    };
    if args.output == Path::new("-") {
        std::io::stdout().lock().write_all(text.as_bytes())?;
    } else {
        std::fs::write(&args.output, text)
            .with_context(|| format!("cannot write {}", args.output.display()))?;
    }
    Ok(Exit::Done)
}

fn by_ending(path: &Path) -> Option<Format> {
    match path.extension()?.to_str()? {
        "html" | "htm" => Some(Format::Html),
        "md" => Some(Format::Markdown),
        "csv" => Some(Format::Csv),
        "tsv" => Some(Format::Tsv),
        "txt" => Some(Format::Text),
        "prom" | "metrics" => Some(Format::Openmetrics),
        "json" => Some(Format::Json),
        _ => None,
    }
}

fn written(run: &Run, path: &PathBuf, format: Format, terminal: &Terminal) -> Result<String> {
    Ok(match format {
        Format::Text => terminal.summary(run),
        Format::Tsv => flashlag_term::plain_table(run),
        Format::Html => flashlag_report::html(run, &options(std::slice::from_ref(path))),
        Format::Markdown => flashlag_term::markdown(run),
        Format::Csv => flashlag_term::csv_intervals(run),
        Format::Openmetrics => flashlag_term::openmetrics(run),
        Format::Fio => flashlag_schema::fio::export(run)?,
        Format::Json => run.to_json(),
    })
}
