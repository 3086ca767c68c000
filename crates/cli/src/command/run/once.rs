//! One run of a scenario: plan, ask, run, show.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use flashlag_runner::{Cost, Prepared, Request, RunError, Target, prepare};
use flashlag_schema::scenario::Scenario;
use flashlag_schema::{Run, RunStatus, TargetKind, Verdict};
use flashlag_term::Progress;
use flashlag_units::{Bytes, Nanos};
use flashlag_views::{PhaseName, Threshold};

use crate::args::{LimitArgs, RunArgs};
use crate::exit::Exit;
use crate::load::scenario_text;
use crate::observer::ProgressObserver;
use crate::results::Results;
use crate::say;
use crate::signals::stop_flag;
use crate::terminal::Terminal;
use crate::typed::{self, LEAVE, SET};

/// Writes above this need the user's consent.
const ASK_ABOVE: Bytes = Bytes(4_000_000_000);

/// Runs a scenario: plan, ask, run, show.
pub(super) fn once(args: &RunArgs, terminal: &Terminal) -> Result<Exit> {
    let thresholds = thresholds(&args.fail_if)?;
    let words = command(args);
    let by_protocol = super::protocol::applied(args)?;
    let args = by_protocol.as_ref().unwrap_or(args);
    let scenario = scenario(args)?;
    check_phases(&thresholds, &scenario)?;
    let target = Target::parse(&args.on)?.with_parameters(&args.parameter)?;
    target.check_options(args.resume, args.verify, args.budget.is_some())?;
    check_limits(&target, &args.limits)?;
    let results = Results::plan(args, &scenario.name)?;
    enter_own_mounts(&target)?;
    let title =
        format!("flashlag {}  {} on {}", env!("CARGO_PKG_VERSION"), scenario.name, target.name());
    let request = request(args, (scenario, target), words, &results)?;
    let prepared = prepare(request).map_err(that_fits)?;
    if let Some(cost) = prepared.cost() {
        say_cleaned(cost, terminal);
        if !may_write(&prepared, cost, args)? {
            prepared.abandon();
            bail!("not run: nothing was written");
        }
    }
    let progress = Progress::new(terminal.progress, &title);
    progress.scenario(prepared.scenario());
    if let Some(cost) = prepared.cost() {
        progress.plan(cost.estimate.written, Some(cost.estimate.time));
        progress.storage(cost.free.total);
    }
    let began = std::time::Instant::now();
    let run = prepared.run(&mut ProgressObserver(&progress))?;
    let took = began.elapsed();
    progress.finished();
    let exit = conclude(&run, &results, args, terminal, &thresholds)?;
    if run.target.kind == TargetKind::Simulated && !terminal.quiet {
        // Never part of the run file: the same seed gives the same bytes on any machine.
        say::note(&format!("Took    {} of real time", Nanos(took.as_nanos() as u64)));
    }
    Ok(exit)
}

/// Refuses limits of charge and heat on a virtual device.
fn check_limits(target: &Target, limits: &LimitArgs) -> Result<()> {
    match (target, limits.given()) {
        (Target::Simulated(_) | Target::Lab(_), Some(option)) => {
            let (option, target) = (option.to_owned(), target.name());
            Err(RunError::Option { option, target }.into())
        }
        _ => Ok(()),
    }
}

/// Makes the mounts of a lab on the host's own kernel private to this process.
fn enter_own_mounts(target: &Target) -> Result<()> {
    match target {
        Target::Lab(lab) if lab.spec.host => {
            lab.check_host()?;
            super::own_mounts::enter()
        }
        _ => Ok(()),
    }
}

/// An error of a run that is too large for its volume suggests a command whose run fits.
fn that_fits(error: RunError) -> anyhow::Error {
    let RunError::Room { fits: Some(fits), .. } = &error else { return error.into() };
    let text = |bytes: Bytes| format!("{}MB", bytes.0 / 1_000_000);
    let leave = fits.leave.map(|leave| (LEAVE, text(leave)));
    let span = fits.span.map(|span| (SET, format!("span={}", text(span))));
    let changes: Vec<_> = leave.into_iter().chain(span).collect();
    let changes: Vec<_> = changes.iter().map(|(option, value)| (*option, value.as_str())).collect();
    typed::suggest(error, &changes)
}

fn thresholds(texts: &[String]) -> Result<Vec<Threshold>> {
    texts.iter().map(|text| Ok(text.parse::<Threshold>()?)).collect()
}

/// Refuses a threshold on a phase that the scenario lacks, before anything is measured.
fn check_phases(thresholds: &[Threshold], scenario: &Scenario) -> Result<()> {
    let phases = flashlag_runner::measured(scenario).into_iter();
    let phases = phases.map(|(state, run, test)| PhaseName { state, run, test });
    let phases: Vec<_> = phases.collect();
    thresholds.iter().try_for_each(|threshold| Ok(threshold.check(&phases)?))
}

/// The built-in scenario of that name, or the one in that file.
fn scenario(args: &RunArgs) -> Result<Scenario> {
    let text = scenario_text(&args.scenario)?;
    Scenario::parse(&text, &args.set).with_context(|| format!("scenario {}", args.scenario))
}

fn request(
    args: &RunArgs,
    (scenario, target): (Scenario, Target),
    words: Vec<String>,
    results: &Results,
) -> Result<Request> {
    let resume = args.resume.then(|| earlier(&results.run.path())).transpose()?;
    let is_phone = matches!(target, Target::Phone(_));
    let command = match &target {
        Target::Directory(_) => std::env::args().collect(),
        Target::Simulated(_) | Target::Lab(_) | Target::Phone(_) => words,
    };
    Ok(Request {
        scenario,
        replays: Default::default(),
        target,
        seed: args.seed,
        leave: args.leave,
        budget: args.budget,
        verify: args.verify,
        limits: args.limits.limits(is_phone),
        label: args.label.clone(),
        command,
        output: Some(Arc::clone(&results.run)),
        resume,
        stop: stop_flag()?,
    })
}

/// The command that repeats the run, without the paths of its results: the same run gives the same
/// file wherever it is stored.
fn command(args: &RunArgs) -> Vec<String> {
    let mut words = vec!["flashlag".to_owned(), "run".to_owned(), args.scenario.clone()];
    words.extend(["--on".to_owned(), args.on.clone()]);
    for (key, value) in &args.set {
        words.extend(["--set".to_owned(), format!("{key}={value}")]);
    }
    for (key, value) in &args.parameter {
        words.extend(["--parameter".to_owned(), format!("{key}={value}")]);
    }
    words.extend(["--seed".to_owned(), args.seed.to_string()]);
    if let Some(label) = &args.label {
        words.extend(["--label".to_owned(), label.clone()]);
    }
    if let Some(leave) = args.leave {
        words.extend(["--leave".to_owned(), format!("{}B", leave.0)]);
    }
    words
}

fn earlier(output: &Path) -> Result<Box<Run>> {
    let text = std::fs::read_to_string(output)
        .with_context(|| format!("cannot resume: cannot read {}", output.display()))?;
    let run = Run::from_json(&text)
        .with_context(|| format!("cannot resume: {} is no run file", output.display()))?;
    Ok(Box::new(run))
}

fn say_cleaned(cost: &Cost, terminal: &Terminal) {
    for cleaned in &cost.cleaned {
        let path = cleaned.directory.display();
        if !cleaned.is_complete() {
            say::note(&format!(
                "note: {path} of another run could not be removed: `flashlag clean` says why"
            ));
        } else if !terminal.quiet {
            let bytes = cleaned.removed.bytes;
            say::note(&format!("note: removed {path}, which an earlier run left ({bytes})"));
        }
    }
}

/// Prints what the run will write, and asks for consent if that is much.
fn may_write(prepared: &Prepared, cost: &Cost, args: &RunArgs) -> Result<bool> {
    let written = Bytes(cost.estimate.written.0.saturating_mul(u64::from(args.runs)));
    if args.yes || written <= ASK_ABOVE {
        return Ok(true);
    }
    let (leave, reason) = &cost.leave;
    let these = match args.runs {
        0..=1 => "This run may write".to_owned(),
        several => format!("These {several} runs may write"),
    };
    say::note(&format!("{these} up to {written} and leave {leave} free ({reason})."));
    let share = prepared.environment().map(|found| flashlag_runner::life_share(found, written));
    say::note(&match share.unwrap_or_else(|| Err("the device is not known".to_owned())) {
        Ok(percent) => {
            let share = flashlag_units::percent(percent / 100.0);
            format!("That is about {share} of the device's rated life.")
        }
        Err(reason) => format!("Its share of the device's life is unknown: {reason}."),
    });
    if !std::io::stdin().is_terminal() {
        bail!(
            "not run: it writes more than {ASK_ABOVE}; add --yes to agree, or --budget to cap it"
        );
    }
    say::ask("Go on? [y/N]");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Writes the report, prints the summary, and decides the exit status.
fn conclude(
    run: &Run,
    results: &Results,
    args: &RunArgs,
    terminal: &Terminal,
    thresholds: &[Threshold],
) -> Result<Exit> {
    let report = results.write_report(run, args.report.is_some());
    let output = results.run.path();
    // The run is stored: a closed pipe, or a full disk below a log, does not change its status.
    if let Err(error) = say::view(&terminal.summary(run))
        && !crate::exit::is_closed_pipe(&error)
    {
        say::note(&format!("note: the summary could not be printed: {error}"));
    }
    if let Some(asked) = results.run.displaced_from() {
        let taken = asked.display();
        say::note(&format!("note: {taken} was made by another program during this run"));
    }
    if let Ok(report) = &report {
        say::note(&format!("Report  {}", report.display()));
    }
    say::note(&format!("Data    {}", output.display()));
    report?;
    decide(run, &output, thresholds)
}

/// The exit status: an error outweighs a failed check, which outweighs a crossed threshold.
fn decide(run: &Run, output: &Path, thresholds: &[Threshold]) -> Result<Exit> {
    match &run.status {
        RunStatus::Failed { error, .. } => bail!("{error}\n  The measurements before it are kept."),
        RunStatus::Interrupted { .. } => {
            let output = output.to_string_lossy();
            match run.target.kind {
                TargetKind::Path | TargetKind::Phone => return Err(typed::resumed(&output)),
                _ => {
                    let output = typed::quoted(&output);
                    bail!("stopped; its measurements are kept in {output}")
                }
            }
        }
        _ => {}
    }
    let mut crossed = false;
    for threshold in thresholds {
        let outcome = threshold.evaluate(run)?;
        crossed |= outcome.crossed;
        say::note(&outcome.message);
    }
    Ok(match (run.trust.verdict, crossed) {
        (Verdict::Untrusted, _) => Exit::Untrusted,
        (Verdict::Trusted, true) => Exit::Crossed,
        (Verdict::Trusted, false) => Exit::Done,
    })
}
