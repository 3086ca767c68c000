use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flashlag_explain::Threshold;
use flashlag_runner::{Event, Observer, Prepared, Request, execute, prepare, sim};
use flashlag_schema::scenario::Scenario;
use flashlag_schema::{Run, RunStatus, Verdict};
use flashlag_term::Progress;
use flashlag_units::Bytes;

use crate::args::RunArgs;
use crate::exit::Exit;
use crate::load::{name_of, scenario_text};
use crate::signals::stop_flag;
use crate::terminal::Terminal;

/// Above this it asks.
const ASK_ABOVE: Bytes = Bytes(4_000_000_000);

/// Runs a scenario: plan, ask, run, show.
pub fn run(args: &RunArgs, terminal: &Terminal) -> Result<Exit> {
    let thresholds = thresholds(&args.fail_if)?;
    let scenario = scenario(args)?;
    if args.on.starts_with("sim:") && !Path::new(&args.on).exists() {
        return simulated(args, scenario, terminal, &thresholds);
    }
    if args.on.starts_with("lab:") && !Path::new(&args.on).exists() {
        return super::guest::run(args, scenario, terminal, &thresholds);
    }
    let request = request(args, scenario)?;
    let (output, title) = (request.output.clone(), title(&request));
    let prepared = prepare(request)?;
    tell_cleaned(&prepared, terminal);
    if !may_write(&prepared, args.yes)? {
        prepared.abandon();
        bail!("not run: nothing was written");
    }
    let progress = Progress::new(terminal.progress, &title);
    progress.scenario(prepared.scenario());
    progress.plan(prepared.estimate.written, Some(prepared.estimate.time));
    progress.storage(prepared.free.total);
    let mut shown = Shown { progress: &progress };
    let run = execute(prepared, &mut shown)?;
    progress.finished();
    conclude(&run, &output, args, terminal, &thresholds)
}

fn thresholds(texts: &[String]) -> Result<Vec<Threshold>> {
    texts.iter().map(|text| Ok(text.parse::<Threshold>()?)).collect()
}

/// The built-in scenario of that name, or the file.
fn scenario(args: &RunArgs) -> Result<Scenario> {
    let text = scenario_text(&args.scenario)?;
    Scenario::parse(&text, &args.set).with_context(|| format!("scenario {}", args.scenario))
}

fn request(args: &RunArgs, scenario: Scenario) -> Result<Request> {
    if let Some((kind, _)) = args.on.split_once(':')
        && kind == "adb"
        && !Path::new(&args.on).exists()
    {
        bail!(
            "target `{}`: this version measures directories (--on DIR), simulates (--on sim:PROFILE) and boots \
             (--on lab:PROFILE+FS)",
            args.on
        );
    }
    let output = args.output.clone().unwrap_or_else(|| default_output(&scenario.name));
    let resume = args.resume.then(|| earlier(&output)).transpose()?;
    if !args.resume && args.output.is_some() {
        refuse_unfinished(&output)?;
    }
    Ok(Request {
        scenario,
        target: args.on.clone(),
        directory: PathBuf::from(&args.on),
        seed: args.seed,
        leave: args.leave,
        budget: args.budget,
        verify: args.verify,
        command: std::env::args().collect(),
        output,
        resume,
        stop: stop_flag()?,
    })
}

/// The same, in virtual time: nothing is written but results, so nothing is asked.
fn simulated(
    args: &RunArgs,
    scenario: Scenario,
    terminal: &Terminal,
    thresholds: &[Threshold],
) -> Result<Exit> {
    refuse_real_only(args)?;
    let target = sim::SimTarget::parse(&args.on)?;
    let output = args.output.clone().unwrap_or_else(|| default_output(&scenario.name));
    let title =
        format!("flashlag {}  {} on {}", env!("CARGO_PKG_VERSION"), scenario.name, target.text);
    let request = sim::SimRequest {
        scenario,
        target,
        seed: args.seed,
        leave: args.leave,
        command: command(args),
        output: Some(output.clone()),
        stop: stop_flag()?,
    };
    let progress = Progress::new(terminal.progress, &title);
    progress.scenario(&request.scenario);
    let run = sim::simulate(&request, &mut Shown { progress: &progress })?;
    progress.finished();
    conclude(&run, &output, args, terminal, thresholds)
}

/// Options that have no meaning where no storage is touched.
fn refuse_real_only(args: &RunArgs) -> Result<()> {
    let given =
        [("--resume", args.resume), ("--verify", args.verify), ("--budget", args.budget.is_some())];
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => bail!("{option} is for real storage; leave it out for {}", args.on),
        None => Ok(()),
    }
}

/// The command that makes the same run again: without where its results go, so that the same run is
/// the same file wherever it is kept.
pub(super) fn command(args: &RunArgs) -> Vec<String> {
    let mut words = vec!["flashlag".to_owned(), "run".to_owned(), args.scenario.clone()];
    words.extend(["--on".to_owned(), args.on.clone()]);
    for (key, value) in &args.set {
        words.extend(["--set".to_owned(), format!("{key}={value}")]);
    }
    words.extend(["--seed".to_owned(), args.seed.to_string()]);
    if let Some(leave) = args.leave {
        words.extend(["--leave".to_owned(), leave.0.to_string()]);
    }
    words
}

/// `flashlag-run-quick-20261121-043000.json`, in the current directory.
pub(super) fn default_output(scenario: &str) -> PathBuf {
    let plain: String =
        scenario.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    PathBuf::from(format!("flashlag-run-{plain}-{}.json", flashlag_runner::stamp()))
}

fn earlier(output: &Path) -> Result<Box<Run>> {
    let text = std::fs::read_to_string(output)
        .with_context(|| format!("cannot resume: cannot read {}", output.display()))?;
    let run = Run::from_json(&text)
        .with_context(|| format!("cannot resume: {} is no run file", output.display()))?;
    Ok(Box::new(run))
}

/// Hours of measuring are not overwritten by a forgotten `--resume`.
fn refuse_unfinished(output: &Path) -> Result<()> {
    let Ok(text) = std::fs::read_to_string(output) else { return Ok(()) };
    let unfinished = Run::from_json(&text)
        .is_ok_and(|run| run.status != RunStatus::Complete && !run.phases.is_empty());
    if unfinished {
        bail!(
            "{} holds an unfinished run: go on with it by --resume, or remove it first",
            output.display()
        );
    }
    Ok(())
}

fn title(request: &Request) -> String {
    format!(
        "flashlag {}  {} on {}",
        env!("CARGO_PKG_VERSION"),
        request.scenario.name,
        request.target
    )
}

fn tell_cleaned(prepared: &Prepared, terminal: &Terminal) {
    for cleaned in &prepared.cleaned {
        let path = cleaned.directory.display();
        if !cleaned.is_complete() {
            eprintln!(
                "note: {path} of an earlier run could not be removed whole: see `flashlag clean`"
            );
        } else if !terminal.quiet {
            eprintln!(
                "note: removed {path}, which an earlier run left ({})",
                cleaned.removed.bytes
            );
        }
    }
}

/// Says what the run costs; asks where that is much.
fn may_write(prepared: &Prepared, yes: bool) -> Result<bool> {
    let written = prepared.estimate.written;
    if yes || written <= ASK_ABOVE {
        return Ok(true);
    }
    let mut err = std::io::stderr().lock();
    let (leave, reason) = prepared.leave();
    writeln!(err, "This run writes up to {written} and leaves {leave} free ({reason}).")?;
    match flashlag_runner::life_share(prepared.environment(), written) {
        Ok(percent) => {
            let share = flashlag_units::percent(percent / 100.0);
            writeln!(err, "That is about {share} of the device's rated life.")?;
        }
        Err(reason) => writeln!(err, "Its share of the device's life is unknown: {reason}.")?,
    }
    if !std::io::stdin().is_terminal() {
        bail!(
            "not run: it writes more than {ASK_ABOVE}; add --yes to agree, or --budget to cap it"
        );
    }
    write!(err, "Go on? [y/N] ")?;
    err.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Hands the runner's events to the progress display.
pub(super) struct Shown<'a> {
    pub progress: &'a Progress,
}

impl Observer for Shown<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Preparing(what) => self.progress.preparing(what),
            Event::PhaseStarted { label, expected, limit, live } => {
                self.progress.watch(live);
                self.progress.phase_started(label, expected, limit);
            }
            Event::PhaseFinished(phase) => self.progress.phase_finished(phase),
            Event::Note(text) => self.progress.note(text),
        }
    }
}

/// Writes the report, prints the summary, and decides the exit status.
pub(super) fn conclude(
    run: &Run,
    output: &Path,
    args: &RunArgs,
    terminal: &Terminal,
    thresholds: &[Threshold],
) -> Result<Exit> {
    let report = args.report.clone().unwrap_or_else(|| output.with_extension("html"));
    let options = flashlag_report::Options { run_files: vec![name_of(output)], banner: None };
    std::fs::write(&report, flashlag_report::html(run, &options))
        .with_context(|| format!("cannot write the report {}", report.display()))?;
    let mut out = std::io::stdout().lock();
    write!(out, "{}", terminal.summary(run))?;
    let mut err = std::io::stderr().lock();
    writeln!(err, "Report  {}", report.display())?;
    writeln!(err, "Data    {}", output.display())?;
    drop(out);
    decide(run, thresholds, &mut err)
}

/// An error outweighs distrust, distrust a threshold.
fn decide(run: &Run, thresholds: &[Threshold], err: &mut dyn Write) -> Result<Exit> {
    match &run.status {
        RunStatus::Failed { error, .. } => bail!("{error}\n  What was measured before is kept."),
        RunStatus::Interrupted { .. } => {
            bail!("stopped; what was measured is kept, and --resume -o FILE goes on with it")
        }
        _ => {}
    }
    let mut crossed = false;
    for threshold in thresholds {
        let outcome = threshold.evaluate(run)?;
        crossed |= outcome.crossed;
        writeln!(err, "{}", outcome.message)?;
    }
    Ok(match (run.trust.verdict, crossed) {
        (Verdict::Untrusted, _) => Exit::Untrusted,
        (Verdict::Trusted, true) => Exit::Crossed,
        (Verdict::Trusted, false) => Exit::Done,
    })
}
