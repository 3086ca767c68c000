use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use flashlag_report::{Chart, Theme};
use flashlag_runner::OutputKind;
use flashlag_schema::Run;

use super::compare::{compared, options, place_of};
use crate::args::{Format, ReportArgs};
use crate::exit::Exit;
use crate::load::run_from;
use crate::say;
use crate::terminal::Terminal;

/// Writes a run in another form, or a page of several.
pub fn report(args: &ReportArgs, terminal: &Terminal) -> Result<Exit> {
    let format = args.format.or_else(|| by_ending(&args.output)).unwrap_or(Format::Text);
    let kind = match format {
        Format::Html => OutputKind::Report,
        _ => OutputKind::Export,
    };
    let place = match args.output == Path::new("-") {
        true => None,
        false => Some(place_of(&args.output, kind, args.force, &args.runs)?),
    };
    let text = match args.runs.as_slice() {
        [one] if args.chart.is_some() => chart(&run_from(one)?, args)?,
        _ if args.chart.is_some() => bail!("--chart draws from one run: name one"),
        _ if args.output.extension().is_some_and(|ending| ending == "svg") => {
            bail!("an SVG holds one chart: add --chart NAME (`--chart list` prints their names)")
        }
        [one] => written(&run_from(one)?, one, format, terminal)?,
        several => {
            let (runs, comparison) = compared(several, args.force)?;
            match format {
                Format::Html => {
                    flashlag_report::comparison_html(&comparison, &runs, &options(several))
                }
                Format::Text => super::compare::in_text(&comparison, terminal),
                _ => bail!("several runs make a comparison: as HTML (-o FILE.html) or text only"),
            }
        }
    };
    match place {
        Some(place) => place.write(text.as_bytes())?,
        None => match format {
            _ if args.chart.as_deref().is_some_and(|name| name != "list") => say::data(&text)?,
            Format::Text => say::view(&text)?,
            Format::Json | Format::Fio => say::json(&text)?,
            _ => say::data(&text)?,
        },
    }
    Ok(Exit::Done)
}

/// One chart, or the names of all.
fn chart(run: &Run, args: &ReportArgs) -> Result<String> {
    let name = args.chart.as_deref().unwrap_or_default();
    if name == "list" {
        let charts = flashlag_report::charts(run);
        let widest = charts.iter().map(|chart| chart.name.len()).max().unwrap_or(0);
        let title = |chart: &Chart| flashlag_term::sanitize(&chart.title);
        let lines = charts.iter().map(|it| format!("{:widest$}  {}\n", it.name, title(it)));
        return Ok(lines.collect());
    }
    let theme = if args.dark { Theme::Dark } else { Theme::Light };
    flashlag_report::chart_svg(run, name, theme).map_err(anyhow::Error::msg)
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
