//! `run --runs N`: repeats a whole scenario, with a run file for each repeat.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use flashlag_runner::{Destination, OutputKind, Target};
use flashlag_schema::{Run, RunStatus};

use super::once::once;
use crate::args::RunArgs;
use crate::exit::Exit;
use crate::results::default_output;
use crate::say;
use crate::terminal::Terminal;
use crate::typed;
use flashlag_commands::run_from;

/// Makes the runs one after another, and prints a summary of all. Finished runs are kept and
/// summarized even if a later one fails.
pub(super) fn repeats(args: &RunArgs, terminal: &Terminal) -> Result<Exit> {
    let base = match &args.output {
        Some(output) => output.clone(),
        None => default_output(&args.scenario),
    };
    let files: Vec<PathBuf> = (1..=args.runs).map(|number| numbered(&base, number)).collect();
    check_places(args, &files)?;
    let each = Terminal { brief: true, ..*terminal };
    let mut finished: Vec<Run> = Vec::new();
    let mut ended = Ok(Exit::Done);
    for (number, file) in (1..=args.runs).zip(&files) {
        if args.resume
            && let Some(run) = complete(file)?
        {
            finished.push(run);
            continue;
        }
        if !terminal.quiet {
            say::note(&format!("Run {number} of {}: {}", args.runs, file.display()));
        }
        let one = repeat(args, number, file);
        match once(&one, &each) {
            Ok(exit) => {
                finished.push(run_from(file)?);
                ended = ended.map(|so_far| worse(so_far, exit));
            }
            Err(error) => {
                ended = Err(ended_at(args, number, file, &base, error));
                break;
            }
        }
    }
    if !finished.is_empty() {
        let together = flashlag_views::repeats(&finished, args.runs as usize);
        say::view(&flashlag_term::repeats(&together, terminal.stdout))?;
    }
    ended
}

/// The error that ended the runs at this one, and how to resume them.
fn ended_at(
    args: &RunArgs,
    number: u32,
    file: &Path,
    base: &Path,
    error: anyhow::Error,
) -> anyhow::Error {
    let of = args.runs;
    let kept = run_from(file).ok();
    let stopped = kept.is_some_and(|run| matches!(run.status, RunStatus::Interrupted { .. }));
    if !stopped {
        return error.context(format!("run {number} of {of} did not finish"));
    }
    let base = typed::quoted(&base.to_string_lossy());
    anyhow::anyhow!(
        "run {number} of {of} was stopped; its measurements are kept: the same command with --runs {of} \
         --resume -o {base} continues all of them"
    )
}

/// The arguments of one repeat. A simulation repeats with consecutive seeds: the same seed would give
/// the same file.
fn repeat(args: &RunArgs, number: u32, file: &Path) -> RunArgs {
    let simulated = matches!(Target::parse(&args.on), Ok(Target::Simulated(_)));
    let step = if simulated { u64::from(number) - 1 } else { 0 };
    RunArgs {
        output: Some(file.to_owned()),
        report: args.report.as_ref().map(|report| numbered(report, number)),
        seed: args.seed.wrapping_add(step),
        // A simulation takes seconds and is not resumed.
        resume: args.resume && file.exists() && !simulated,
        force: args.force || (args.resume && file.exists() && simulated),
        // The question of the first run names what all of them write.
        yes: args.yes || number > 1,
        ..args.clone()
    }
}

/// `NAME-2.json` of `NAME.json`.
fn numbered(path: &Path, number: u32) -> PathBuf {
    beside(path, &number.to_string())
}

/// `NAME-WORD.json` of `NAME.json`: a file of one of several runs that belong together.
pub(super) fn beside(path: &Path, word: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = match path.extension() {
        Some(ending) => format!("{stem}-{word}.{}", ending.to_string_lossy()),
        None => format!("{stem}-{word}"),
    };
    path.with_file_name(name)
}

/// Checks every destination before the first run: the third of three runs must not find, an hour
/// later, that its name is taken.
fn check_places(args: &RunArgs, files: &[PathBuf]) -> Result<()> {
    for (number, file) in (1..).zip(files) {
        if !(args.resume && file.exists()) {
            Destination::check(file, OutputKind::Run, args.force)?;
        }
        if let Some(report) = &args.report {
            Destination::check(&numbered(report, number), OutputKind::Report, args.force)?;
        }
    }
    Ok(())
}

/// The run in that file if it is complete.
fn complete(file: &Path) -> Result<Option<Run>> {
    if !file.exists() {
        return Ok(None);
    }
    let run = run_from(file).context("cannot resume")?;
    Ok(Some(run).filter(|run| run.status == RunStatus::Complete))
}

/// The more serious exit status: a failed check counts more than a crossed threshold.
pub(super) fn worse(one: Exit, other: Exit) -> Exit {
    let rank = |exit: Exit| match exit {
        Exit::Done => 0,
        Exit::Crossed => 1,
        Exit::Untrusted => 2,
        Exit::CouldNotRun | Exit::Passed(_) => 3,
    };
    if rank(other) > rank(one) { other } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_numbered_before_the_ending() {
        assert_eq!(numbered(Path::new("a/card.json"), 2), Path::new("a/card-2.json"));
        assert_eq!(numbered(Path::new("card"), 11), Path::new("card-11"));
        assert_eq!(numbered(Path::new("v1.2.json"), 1), Path::new("v1.2-1.json"));
    }

    #[test]
    fn the_worst_of_several_ends_is_kept() {
        let ends = [Exit::Done, Exit::Crossed, Exit::Untrusted, Exit::CouldNotRun];
        for (place, one) in ends.iter().enumerate() {
            for (other_place, other) in ends.iter().enumerate() {
                assert_eq!(worse(*one, *other), ends[place.max(other_place)]);
            }
        }
    }
}
