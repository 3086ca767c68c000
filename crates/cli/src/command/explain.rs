use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use flashlag_commands::Subject;
use flashlag_explain::findings_of;
use flashlag_export::wear_prometheus;
use flashlag_predict::effect::without_forecasts;
use flashlag_schema::Run;
use flashlag_schema::finding::{Explained, Finding};
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
        Subject::Run(run) => of_run(args, &run, terminal),
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
    let stored = findings_of(run).into_owned();
    let findings = effects(args, run, stored.list.clone(), terminal)?;
    if args.format() == ExplainFormat::Json {
        json(&Explained {
            subject: args.subject.display().to_string(),
            environment: run.environment.clone(),
            findings,
            run: Some(stored),
        })?
    } else {
        say::view(&draw::explained(run, &findings, terminal.stdout, terminal.verbose))?
    }
    Ok(Exit::Done)
}

fn json(explained: &Explained) -> Result<()> {
    say::json(&format!("{}\n", serde_json::to_string_pretty(explained)?))
}

/// The findings, with forecasts of the effects that the run did not measure.
fn effects(
    args: &ExplainArgs,
    run: &Run,
    found: Vec<Finding>,
    terminal: &Terminal,
) -> Result<Vec<Finding>> {
    if args.no_forecast {
        return Ok(without_forecasts(found, run, "none was asked for"));
    }
    let name = args.subject.display().to_string();
    let stop = Arc::new(AtomicBool::new(false));
    let counting = line(terminal.progress);
    let profile = args.profile.as_deref();
    Ok(flashlag_commands::effects(run, &name, found, profile, &stop, counting)?)
}
