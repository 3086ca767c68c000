use std::path::Path;

use anyhow::{Context, Result, bail};
use flashlag_explain::{advice, findings_of};
use flashlag_inspect::{Root, environment};
use flashlag_schema::advice::Explained;
use flashlag_schema::{Environment, Run};
use flashlag_term::explain::{explained, set_up};

use crate::args::ExplainArgs;
use crate::exit::Exit;
use crate::load::run_from;
use crate::say;
use crate::terminal::Terminal;

/// Says why a run lagged, or what a directory lies on.
pub fn explain(args: &ExplainArgs, terminal: &Terminal) -> Result<Exit> {
    let (path, style) = (args.subject.as_path(), terminal.stdout);
    let run = if path.is_dir() { None } else { Some(run_of(path)?) };
    let (subject, seen) = match &run {
        Some(run) => (path.display().to_string(), run.environment.clone()),
        None => seen_from(path)?,
    };
    if args.json {
        let findings = run.as_ref().map(|run| findings_of(run).into_owned());
        let explained = Explained { subject, advice: advice(&seen), environment: seen, findings };
        say::json(&format!("{}\n", serde_json::to_string_pretty(&explained)?))?;
    } else {
        say::view(&match &run {
            Some(run) => explained(run, style, terminal.verbose),
            None => set_up(&subject, &seen, style, terminal.verbose),
        })?;
    }
    Ok(Exit::Done)
}

fn run_of(path: &Path) -> Result<Run> {
    let text = path.to_string_lossy();
    if text.starts_with("sim:") || text.starts_with("lab:") || text.starts_with("adb:") {
        bail!(
            "{text} has to be measured first: `flashlag run quick --on {text} -o RUN.json`, then \
             `flashlag explain RUN.json`"
        );
    }
    run_from(path)
}

/// The directory's whole path, and what is below it.
fn seen_from(directory: &Path) -> Result<(String, Environment)> {
    let whole = directory
        .canonicalize()
        .with_context(|| format!("the directory {} can't be looked at", directory.display()))?;
    let seen = environment(&Root::system(), &whole);
    Ok((whole.display().to_string(), seen))
}
