use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use flashlag_commands::{Forecasts, Subject, explained};
use flashlag_export::wear_prometheus;
use flashlag_schema::Run;
use flashlag_schema::finding::Explained;
use flashlag_term::explain as draw;

use crate::args::{ExplainArgs, ExplainFormat};
use crate::exit::Exit;
use crate::say;
use crate::simulator::line;
use crate::terminal::Terminal;

/// Says why a run lagged, or what a directory or a phone's storage is made of.
pub fn explain(args: &ExplainArgs, terminal: &Terminal) -> Result<Exit> {
    match Subject::of(&args.subject)? {
        Subject::SetUp(seen) => of_set_up(args, &seen, terminal),
        Subject::Run(run) => {
            say::changed([(args.subject.as_path(), &*run)]);
            of_run(args, &run, terminal)
        }
    }
}

fn of_set_up(args: &ExplainArgs, seen: &Explained, terminal: &Terminal) -> Result<Exit> {
    match args.format() {
        ExplainFormat::Json => json(seen)?,
        ExplainFormat::Prometheus => say::text(&wear_prometheus(&seen.environment))?,
        ExplainFormat::Text => {
            let Explained { subject, environment, findings, .. } = seen;
            let style = terminal.stdout;
            say::view(&draw::set_up(subject, environment, findings, style, terminal.verbose))?;
        }
    }
    Ok(Exit::Done)
}

fn of_run(args: &ExplainArgs, run: &Run, terminal: &Terminal) -> Result<Exit> {
    if args.format() == ExplainFormat::Prometheus {
        say::text(&wear_prometheus(&run.environment))?;
        return Ok(Exit::Done);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let forecasts = (!args.no_forecast).then(|| Forecasts {
        profile: args.profile.as_deref(),
        stop: &stop,
        counting: line(terminal.progress),
    });
    let found = explained(run, &args.subject.display().to_string(), forecasts)?;
    if args.format() == ExplainFormat::Json {
        json(&found)?
    } else {
        say::view(&draw::explained(run, &found.findings, terminal.stdout, terminal.verbose))?
    }
    Ok(Exit::Done)
}

fn json(explained: &Explained) -> Result<()> {
    say::json(&format!("{}\n", flashlag_schema::to_json_pretty(explained)?))
}
