use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use flashlag_explain::{findings_of, set_up};
use flashlag_inspect::{Root, environment_with_names};
use flashlag_predict::effect::{device_of, with_forecasts, without_forecasts};
use flashlag_runner::android::explain_phone;
use flashlag_runner::{Event, Observer, Request, Target, builtin, sim};
use flashlag_schema::Run;
use flashlag_schema::finding::{Explained, Finding};
use flashlag_schema::profile::Profile;
use flashlag_schema::scenario::Scenario;
use flashlag_schema::target::TargetSpec;
use flashlag_term::explain as draw;

use crate::args::ExplainArgs;
use crate::exit::Exit;
use crate::load::run_from;
use crate::say;
use crate::simulator::Simulations;
use crate::terminal::Terminal;

/// The longest that forecasts may take. Those of a new device take a second, of a full one a minute.
const FORECASTS: Duration = Duration::from_secs(15);
/// The profile of a device that takes no time.
const NO_DEVICE: &str = "zero";

/// Says why a run lagged, or what a directory or a phone's storage is made of.
pub fn explain(args: &ExplainArgs, terminal: &Terminal) -> Result<Exit> {
    let path = args.subject.as_path();
    let text = path.to_string_lossy();
    if path.is_dir() {
        return of_set_up(args, &seen_from(path)?, terminal);
    }
    match TargetSpec::parse(&text) {
        Ok(TargetSpec::Phone(phone)) => of_set_up(args, &explain_phone(&phone)?, terminal),
        Ok(TargetSpec::Device(_)) if text.starts_with("sim:") => {
            of_run(args, &simulated(&text)?, terminal)
        }
        _ if text.starts_with("lab:") => bail!(
            "{text} has to be measured first: `flashlag run quick --on {text} -o RUN.json`, then \
             `flashlag explain RUN.json`"
        ),
        _ => of_run(args, &run_from(path)?, terminal),
    }
}

fn of_set_up(args: &ExplainArgs, seen: &Explained, terminal: &Terminal) -> Result<Exit> {
    match args.json {
        true => json(seen)?,
        false => {
            let Explained { subject, environment, findings, .. } = seen;
            let style = terminal.stdout;
            say::view(&draw::set_up(subject, environment, findings, style, terminal.verbose))?;
        }
    }
    Ok(Exit::Done)
}

fn of_run(args: &ExplainArgs, run: &Run, terminal: &Terminal) -> Result<Exit> {
    let stored = findings_of(run).into_owned();
    let findings = effects(args, run, stored.list.clone(), terminal)?;
    match args.json {
        true => json(&Explained {
            subject: args.subject.display().to_string(),
            environment: run.environment.clone(),
            findings,
            run: Some(stored),
        })?,
        false => say::view(&draw::explained(run, &findings, terminal.stdout, terminal.verbose))?,
    }
    Ok(Exit::Done)
}

fn json(explained: &Explained) -> Result<()> {
    say::json(&format!("{}\n", serde_json::to_string_pretty(explained)?))
}

/// The findings with the effects that the run leaves to forecasts.
fn effects(
    args: &ExplainArgs,
    run: &Run,
    found: Vec<Finding>,
    terminal: &Terminal,
) -> Result<Vec<Finding>> {
    if args.no_forecast {
        return Ok(without_forecasts(found, run, "none was asked for"));
    }
    let named = args.profile.as_deref().map(sim::profile).transpose()?;
    let (stop, what) = (Arc::new(AtomicBool::new(false)), "forecasting effects");
    let simulations = Simulations::new(Arc::clone(&stop), terminal.progress, what, None);
    let (done, waited) = channel::<()>();
    std::thread::spawn(move || {
        if waited.recv_timeout(FORECASTS) == Err(RecvTimeoutError::Timeout) {
            stop.store(true, Ordering::Relaxed);
        }
    });
    let profiles: Vec<Profile> = sim::profile_names()
        .filter(|name| *name != NO_DEVICE)
        .map(sim::profile)
        .collect::<Result<_, _>>()?;
    let name = args.subject.display().to_string();
    let device = device_of((run, &name), &found, named.as_ref(), &profiles, &simulations);
    let found = match device {
        Ok(device) => with_forecasts(run, found, &device, &simulations),
        Err(why) => without_forecasts(found, run, &why),
    };
    drop(done);
    simulations.clear();
    Ok(found)
}

/// The built-in scenario `quick` on a simulated device, which takes a second.
fn simulated(target: &str) -> Result<Run> {
    let scenario = builtin("quick").context("there is no scenario `quick`")?;
    let scenario = Scenario::parse(scenario.text, &[])?;
    let request = Request::new(scenario, Target::parse(target)?, 1);
    Ok(flashlag_runner::run(request, &mut Silent)?)
}

struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: Event<'_>) {}
}

/// What is below a directory, with its whole path.
fn seen_from(directory: &Path) -> Result<Explained> {
    let whole = directory
        .canonicalize()
        .with_context(|| format!("the directory {} can't be looked at", directory.display()))?;
    let environment = environment_with_names(&Root::system(), &whole);
    let findings = set_up(&environment);
    Ok(Explained { subject: whole.display().to_string(), environment, findings, run: None })
}
