//! Makes one run of a scenario: plan, ask, run, show.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, bail};
use flashlag_commands::{ASK_ABOVE, CommandError, RunWords, earlier, proves_card};
use flashlag_runner::{Cost, Prepared, Request, RunError, Target, prepare};
use flashlag_schema::{CardVerdict, Run, RunStatus, TargetKind};
use flashlag_spec::scenario::Scenario;
use flashlag_spec::{Reading, Verdict};
use flashlag_term::Progress;
use flashlag_units::{Bytes, Nanos};
use flashlag_views::{PhaseName, Requires, Threshold, good_enough};

use crate::args::RunArgs;
use crate::exit::Exit;
use crate::observer::ProgressObserver;
use crate::results::Results;
use crate::say;
use crate::signals::stop_flag;
use crate::terminal::Terminal;
use crate::typed::{self, LEAVE, SET};

/// Runs a scenario: plan, ask, run, show.
pub(super) fn once(args: &RunArgs, terminal: &Terminal) -> Result<Exit> {
    let thresholds = thresholds(&args.fail_if)?;
    let asked = args.words();
    let command = asked.command();
    let asked = asked.by_protocol()?;
    let scenario = asked.scenario()?;
    check_phases(&thresholds, &scenario)?;
    check_phases(&required(&scenario)?, &scenario)?;
    let target = asked.target(args.resume)?;
    let results = Results::plan(args, &scenario.name)?;
    #[cfg(feature = "lab")]
    enter_own_mounts(&target)?;
    let title =
        format!("flashlag {}  {} on {}", env!("CARGO_PKG_VERSION"), scenario.name, target.name());
    let request = request(args, &asked, (scenario, target), command, &results)?;
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
        // Printed and not stored in the run file: the same seed must give the same bytes on any
        // machine.
        say::note(&format!("Took    {} of real time", Nanos(took.as_nanos() as u64)));
    }
    Ok(exit)
}

/// Makes the mounts of a lab on the host's own kernel private to this process.
#[cfg(feature = "lab")]
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

/// The scenario's requirements, as thresholds.
fn required(scenario: &Scenario) -> Result<Vec<Threshold>> {
    scenario.requirements.iter().map(|requirement| Ok(Threshold::of(requirement)?)).collect()
}

/// Refuses a threshold on a phase that the scenario lacks, before anything is measured.
fn check_phases(thresholds: &[Threshold], scenario: &Scenario) -> Result<()> {
    let phases = flashlag_runner::measured(scenario).into_iter();
    let phases = phases.map(|(state, run, test)| PhaseName { state, run, test });
    let phases: Vec<_> = phases.collect();
    thresholds.iter().try_for_each(|threshold| Ok(threshold.check(&phases)?))
}

fn request(
    args: &RunArgs,
    asked: &RunWords,
    (scenario, target): (Scenario, Target),
    words: Vec<String>,
    results: &Results,
) -> Result<Request> {
    let resume = args.resume.then(|| earlier(&results.run.path())).transpose()?.map(Box::new);
    let command = match &target {
        Target::Directory(_) => std::env::args().collect(),
        _ => words,
    };
    let stored = (Some(Arc::clone(&results.run)), resume);
    Ok(asked.request((scenario, target), command, stored, stop_flag()?))
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

/// What a card that lies does to what is stored on it.
const CARD: &str = "Only free space is written. But on a card that claims more than it has, any writing overwrites \
                    what is stored on it: copy your files away first.";

/// Prints what the run will write, and asks for consent if that is much.
fn may_write(prepared: &Prepared, cost: &Cost, args: &RunArgs) -> Result<bool> {
    let written = Bytes(cost.estimate.written.0.saturating_mul(u64::from(args.runs)));
    let card = proves_card(prepared);
    if args.yes || written <= ASK_ABOVE && !card {
        return Ok(true);
    }
    let (leave, reason) = &cost.leave;
    let these = match args.runs {
        0..=1 => "This run may write".to_owned(),
        several => format!("These {several} runs may write"),
    };
    say::note(&format!("{these} up to {written} and leave {leave} free ({reason})."));
    let share = prepared.environment().map(|found| flashlag_runner::life_share(found, written));
    let share = share.unwrap_or_else(|| Reading::unavailable("the device is not known"));
    say::note(&match share {
        Reading::Value(percent) => {
            let share = flashlag_units::percent(percent / 100.0);
            format!("That is about {share} of the device's rated life.")
        }
        Reading::Unavailable { unavailable } => {
            format!("Its share of the device's life is unknown: {unavailable}.")
        }
    });
    if card {
        say::note(CARD);
    }
    if !std::io::stdin().is_terminal() {
        let refused = if card { CommandError::CardConsent } else { CommandError::Consent };
        return Err(refused.into());
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
        say::note(&format!("note: another program created {taken} during this run"));
    }
    if let Ok(report) = &report {
        say::note(&format!("Report  {}", report.display()));
    }
    say::note(&format!("Data    {}", output.display()));
    report?;
    decide(run, &output, thresholds)
}

/// Whether nothing was found against a card.
fn is_good(verdict: CardVerdict) -> bool {
    matches!(verdict, CardVerdict::Genuine | CardVerdict::NothingFound)
}

/// The exit status: an error outweighs a failed check, which outweighs a crossed threshold.
fn decide(run: &Run, output: &Path, thresholds: &[Threshold]) -> Result<Exit> {
    match &run.status {
        RunStatus::Failed { error, .. } => {
            let goes_on = matches!(run.target.kind, TargetKind::Path | TargetKind::Phone);
            if goes_on {
                return Err(typed::ended(error, &output.to_string_lossy()));
            }
            bail!("{error}\n  The measurements before it are kept.")
        }
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
    crossed |= run.cards.iter().any(|card| !is_good(card.verdict));
    // A requirement that was not shown to be met does not pass.
    crossed |= good_enough(run).is_some_and(|answer| answer.verdict != Requires::Met);
    Ok(match (run.trust.verdict, crossed) {
        (Verdict::Untrusted, _) => Exit::Untrusted,
        (Verdict::Trusted, true) => Exit::Crossed,
        (Verdict::Trusted, false) => Exit::Done,
    })
}
