use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use flashlag_commands::{compared, run_from};
use flashlag_report::{Chart, Theme};
use flashlag_schema::Run;

use super::compare::place_of;
use crate::args::ReportArgs;
use crate::exit::Exit;
use crate::form::{Form, by_ending};
use crate::say;
use crate::terminal::Terminal;

/// Writes a run in another form, or a page of several.
pub fn report(args: &ReportArgs, terminal: &Terminal) -> Result<Exit> {
    let form = form(args)?;
    let place = if args.output == Path::new("-") {
        None
    } else {
        Some(place_of(&args.output, form.kind(), args.force, &args.runs)?)
    };
    let text = match args.runs.as_slice() {
        [one] if args.chart.is_some() => chart(&seen(one)?, args)?,
        _ if args.chart.is_some() => bail!("--chart draws from one run: name one"),
        [one] => form.run(&seen(one)?, one, terminal)?,
        several => {
            let (runs, comparison) = compared(several, args.force)?;
            say::changed(several.iter().map(PathBuf::as_path).zip(&runs));
            form.comparison(&runs, several, &comparison, None, terminal)?
        }
    };
    match place {
        Some(place) => place.write(text.as_bytes())?,
        None if args.chart.as_deref().is_some_and(|name| name != "list") => say::data(&text)?,
        None => form.print(&text)?,
    }
    Ok(Exit::Done)
}

/// The format, as given or by the name of the file. A chart is written as it is, whatever its name.
fn form(args: &ReportArgs) -> Result<Form> {
    match args.format {
        Some(form) => Ok(form),
        None if args.chart.is_some() => Ok(Form::Text),
        None if args.output.extension().is_some_and(|ending| ending == "svg") => {
            bail!("an SVG is one chart: add --chart NAME (`--chart list` prints their names)")
        }
        None => {
            let endings = ".html, .md, .csv, .tsv, .json, .metrics, .prom or .txt";
            by_ending("a run", &args.output, Form::by_ending, Form::Text, endings)
        }
    }
}

/// The run in a file, which is said to be changed if it was.
fn seen(path: &Path) -> Result<Run> {
    let run = run_from(path)?;
    say::changed([(path, &run)]);
    Ok(run)
}

/// Prints one chart, or the names of all charts.
fn chart(run: &Run, args: &ReportArgs) -> Result<String> {
    let name = args.chart.as_deref().unwrap_or_default();
    if name == "list" {
        let charts = flashlag_report::charts(run);
        let widest = charts.iter().map(|chart| chart.name.len()).max().unwrap_or(0);
        let title = |chart: &Chart| flashlag_units::sanitize(&chart.title);
        let lines = charts.iter().map(|it| format!("{:widest$}  {}\n", it.name, title(it)));
        return Ok(lines.collect());
    }
    let theme = if args.dark { Theme::Dark } else { Theme::Light };
    Ok(flashlag_report::chart_svg(run, name, theme)?)
}
