use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flashlag_runner::{Destination, OutputKind, is_same_file};
use flashlag_schema::Run;
use flashlag_views::{CompareOptions, Comparison, Gate, Group};

use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::form::{Form, comparison_by_ending};
use crate::load::run_from;
use crate::say;
use crate::terminal::Terminal;

/// The longest label that is derived from file names.
const LONGEST_NAME: usize = 24;

/// Prints runs side by side.
pub fn compare(args: &CompareArgs, terminal: &Terminal) -> Result<Exit> {
    // The other side comes first: usually it was measured first.
    let paths: Vec<PathBuf> = args.against.iter().chain(&args.runs).cloned().collect();
    if paths.len() < 2 {
        bail!(
            "a comparison needs two runs or more: compare A.json B.json, or those after a change \
             against those before it, compare AFTER... --against BEFORE..."
        );
    }
    let place = |path: &Path, form: Form| place_of(path, form.kind(), args.force, &paths);
    let page_place = args.report.as_deref().map(|path| place(path, Form::Html)).transpose()?;
    let form = args.format.map_or_else(|| comparison_by_ending(&args.output), Ok)?;
    let to_file = args.output != Path::new("-");
    let output = to_file.then(|| place(&args.output, form)).transpose()?;
    let junit_place = args.junit.as_deref();
    let junit_place = junit_place
        .map(|path| place_of(path, OutputKind::Export, args.force, &paths))
        .transpose()?;
    reject_repeated(&paths)?;
    let groups = match args.against.is_empty() {
        true => Vec::new(),
        false => groups(&args.against, &args.runs),
    };
    let asked = CompareOptions {
        force: args.force,
        groups,
        labels: args.labels.clone(),
        ..CompareOptions::default()
    };
    let (runs, comparison) = compared_as(&paths, asked)?;
    let gate = gate(args, &comparison)?;
    let written =
        |form: Form| form.comparison((&runs, &paths), &comparison, gate.as_ref(), terminal);
    if let Some(place) = &page_place {
        place.write(written(Form::Html)?.as_bytes())?;
    }
    let text = written(form)?;
    match output {
        Some(output) => output.write(text.as_bytes())?,
        None => form.print(&text)?,
    }
    let Some(gate) = gate else { return Ok(Exit::Done) };
    if let Some(place) = junit_place {
        place.write(flashlag_export::junit(&gate).as_bytes())?;
    }
    if args.fail_if_slower.is_none() {
        return Ok(Exit::Done);
    }
    say::notes(&gate.to_string());
    Ok(if gate.passes() { Exit::Done } else { Exit::Crossed })
}

/// The judgement that was asked for, by `--fail-if-slower` or as JUnit XML.
///
/// # Errors
/// Nothing can be decided: that is never a pass.
fn gate(args: &CompareArgs, comparison: &Comparison) -> Result<Option<Gate>> {
    if args.fail_if_slower.is_none() && args.junit.is_none() {
        return Ok(None);
    }
    Ok(Some(Gate::of(comparison, args.fail_if_slower.unwrap_or(0.0))?))
}

/// Reads runs and compares them; those with the same set-up are repeats of one another.
///
/// # Errors
/// A file that is no run; runs that did not do the same.
pub fn compared(paths: &[PathBuf], force: bool) -> Result<(Vec<Run>, Comparison)> {
    compared_as(paths, CompareOptions { force, ..CompareOptions::default() })
}

fn compared_as(paths: &[PathBuf], asked: CompareOptions) -> Result<(Vec<Run>, Comparison)> {
    let runs = paths.iter().map(|path| run_from(path)).collect::<Result<Vec<_>>>()?;
    let stem = |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let asked = CompareOptions { files: paths.iter().map(stem).collect(), ..asked };
    let comparison =
        flashlag_views::compare(&runs, &asked).context("these runs can't be compared")?;
    Ok((runs, comparison))
}

/// Refuses a file given twice: a shell pattern that matches too much would compare runs with
/// themselves.
fn reject_repeated(paths: &[PathBuf]) -> Result<()> {
    let mut seen: Vec<(PathBuf, &PathBuf)> = Vec::new();
    for path in paths {
        // A path that can't be resolved is reported when the file is read.
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        match seen.iter().find(|(known, _)| *known == real) {
            Some((_, first)) if *first == path => {
                bail!("{} is given twice: a run counts once, on one side", path.display())
            }
            Some((_, first)) => bail!(
                "{} is given twice, as {} too: a run counts once, on one side",
                path.display(),
                first.display()
            ),
            None => seen.push((real, path)),
        }
    }
    Ok(())
}

/// The two sides, by the order in which the runs are read.
fn groups(against: &[PathBuf], runs: &[PathBuf]) -> Vec<Group> {
    let [first, second] = names(against, runs);
    let all = against.len() + runs.len();
    vec![
        Group { name: first, runs: (0..against.len()).collect() },
        Group { name: second, runs: (against.len()..all).collect() },
    ]
}

/// A label for each side from what its file names, or its directories, have in common; empty if
/// these labels are equal.
fn names(against: &[PathBuf], runs: &[PathBuf]) -> [String; 2] {
    let stem = |path: &PathBuf| Some(path.file_stem()?.to_string_lossy().into_owned());
    let directory = |path: &PathBuf| {
        let name = path.parent().and_then(Path::file_name)?;
        Some(name.to_string_lossy().into_owned())
    };
    let by_stem = [common(against, stem), common(runs, stem)];
    let by_directory = [common(against, directory), common(runs, directory)];
    for found in [by_stem, by_directory] {
        if let [Some(first), Some(second)] = found
            && first != second
        {
            return [first, second];
        }
    }
    ["Baseline".to_owned(), "Candidate".to_owned()]
}

/// The common beginning of names, without a number that it cuts in two: `before` of `before-1` and
/// `before-2`.
fn common(paths: &[PathBuf], part: impl Fn(&PathBuf) -> Option<String>) -> Option<String> {
    let parts = paths.iter().map(part).collect::<Option<Vec<String>>>()?;
    let (first, others) = parts.split_first()?;
    let mut shared = first.clone();
    for other in others {
        let alike = shared.chars().zip(other.chars()).take_while(|(one, two)| one == two);
        shared = alike.map(|(one, _)| one).collect();
    }
    let is_digit = |letter: char| letter.is_ascii_digit();
    let goes_on = |part: &String| part[shared.len()..].starts_with(is_digit);
    if !others.iter().all(|other| other == first) {
        // `before-1` of `before-10` and `before-11` is half a number, `n5` of `n5-1` and `n5-2` not.
        let half = shared.ends_with(is_digit) && parts.iter().any(goes_on);
        let kept = if half { shared.trim_end_matches(is_digit) } else { &shared };
        let kept = kept.trim_end_matches(|letter: char| !letter.is_alphanumeric());
        shared.truncate(kept.len());
    }
    let long_enough = 1..=LONGEST_NAME;
    long_enough.contains(&shared.chars().count()).then_some(shared)
}

/// The destination of something made from runs, which is never one of the runs.
///
/// # Errors
/// The destination exists, with what to do instead.
pub fn place_of(
    path: &Path,
    kind: OutputKind,
    force: bool,
    runs: &[PathBuf],
) -> Result<Destination> {
    // By a link, too.
    let is_read = |run: &&PathBuf| {
        is_same_file(path, run) || run.canonicalize().is_ok_and(|run| is_same_file(path, &run))
    };
    if let Some(run) = runs.iter().find(is_read) {
        bail!("{} would be overwritten, which is read here: choose another file", run.display());
    }
    Ok(Destination::check(path, kind, force)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(against: &[&str], runs: &[&str]) -> [String; 2] {
        let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect::<Vec<_>>();
        names(&paths(against), &paths(runs))
    }

    #[test]
    fn sides_are_called_what_their_files_have_in_common() {
        let before = ["before-1.json", "before-2.json", "before-10.json"];
        assert_eq!(named(&before, &["after1.json", "after2.json"]), ["before", "after"]);
        assert_eq!(named(&["n5-1.json", "n5-2.json"], &["f2-1.json", "f2-12.json"]), ["n5", "f2"]);
        assert_eq!(named(&["v-10.json", "v-11.json"], &["w10.json", "w11.json"]), ["v", "w"]);
        assert_eq!(named(&["f2fs.json"], &["ext4.json"]), ["f2fs", "ext4"]);
        assert_eq!(named(&["x/old/1.json", "x/old/2.json"], &["new/1.json"]), ["old", "new"]);
    }

    #[test]
    fn sides_whose_files_do_not_tell_them_apart_have_plain_names() {
        let plain = ["Baseline", "Candidate"];
        let run = |time| format!("flashlag-run-quick-20261120-{time}.json");
        let (a, b, c) = (run("101500"), run("101800"), run("112500"));
        assert_eq!(named(&[&a, &b], &[&c]), plain);
        assert_eq!(named(&["1.json", "2.json"], &["3.json", "4.json"]), plain);
        assert_eq!(named(&["run1.json", "run2.json"], &["run3.json", "run4.json"]), plain);
        assert_eq!(named(&["..", "/"], &[""]), plain);
    }
}
