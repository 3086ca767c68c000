use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use flashlag_explain::{CompareOptions, Comparison, Group};
use flashlag_runner::{Destination, OutputKind, is_same_file};
use flashlag_schema::Run;

use crate::args::CompareArgs;
use crate::exit::Exit;
use crate::load::{name_of, run_from};
use crate::say;
use crate::terminal::Terminal;

/// The longest name that a group takes from its files.
const LONGEST_NAME: usize = 24;

/// Prints runs side by side.
pub fn compare(args: &CompareArgs, terminal: &Terminal) -> Result<Exit> {
    // What they are compared against comes first, as it does in time.
    let paths: Vec<PathBuf> = args.against.iter().chain(&args.runs).cloned().collect();
    if paths.len() < 2 {
        bail!(
            "a comparison needs two runs or more: compare A.json B.json, or those after a change \
             against those before it, compare AFTER... --against BEFORE..."
        );
    }
    let page =
        args.report.as_deref().map(|path| place_of(path, OutputKind::Report, args.force, &paths));
    let page = page.transpose()?;
    let (runs, comparison) = match args.against.is_empty() {
        true => compared(&paths, args.force)?,
        false => {
            reject_repeated(&paths)?;
            compared_as(&paths, args.force, groups(&args.against, &args.runs))?
        }
    };
    if let Some(page) = &page {
        let text = flashlag_report::comparison_html(&comparison, &runs, &options(&paths));
        page.write(text.as_bytes())?;
    }
    let text = flashlag_term::comparison(&comparison, terminal.stdout);
    say::view(&text)?;
    Ok(Exit::Done)
}

/// Reads runs and compares them; those with the same set-up are repeats of one another.
///
/// # Errors
/// A file that is no run; runs that did not do the same.
pub fn compared(paths: &[PathBuf], force: bool) -> Result<(Vec<Run>, Comparison)> {
    compared_as(paths, force, Vec::new())
}

fn compared_as(
    paths: &[PathBuf],
    force: bool,
    groups: Vec<Group>,
) -> Result<(Vec<Run>, Comparison)> {
    let runs = paths.iter().map(|path| run_from(path)).collect::<Result<Vec<_>>>()?;
    let options = CompareOptions { force, groups, ..CompareOptions::default() };
    let comparison = flashlag_explain::compare(&runs, &options)
        .context("these runs can't be compared (--force does it all the same)")?;
    Ok((runs, comparison))
}

/// A pattern of the shell that takes in too much would compare runs with themselves.
fn reject_repeated(paths: &[PathBuf]) -> Result<()> {
    let mut seen: Vec<PathBuf> = Vec::new();
    for path in paths {
        // Reading it tells what is wrong with one that has no real path.
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        if seen.contains(&real) {
            bail!("{} is given twice: a run counts once, on one side", path.display());
        }
        seen.push(real);
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

/// What the names of each side's files have in common, or of their directories, where that tells
/// the sides apart.
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

/// `before` of `before-1` and `before-2`: what they begin with, without a number that is cut off.
fn common(paths: &[PathBuf], part: impl Fn(&PathBuf) -> Option<String>) -> Option<String> {
    let parts = paths.iter().map(part).collect::<Option<Vec<String>>>()?;
    let (first, others) = parts.split_first()?;
    let mut shared = first.clone();
    for other in others {
        let alike = shared.chars().zip(other.chars()).take_while(|(one, two)| one == two);
        shared = alike.map(|(one, _)| one).collect();
    }
    if !others.iter().all(|other| other == first) {
        let end = |letter: char| !letter.is_alphabetic();
        shared.truncate(shared.trim_end_matches(end).len());
    }
    let long_enough = 2..=LONGEST_NAME;
    long_enough.contains(&shared.chars().count()).then_some(shared)
}

/// Where something made from runs goes: never over one of them.
///
/// # Errors
/// What is in the way, and what to do instead.
pub fn place_of(
    path: &Path,
    kind: OutputKind,
    force: bool,
    runs: &[PathBuf],
) -> Result<Destination> {
    if let Some(run) = runs.iter().find(|run| is_same_file(path, run)) {
        bail!("{} would be overwritten, which is read here: choose another file", run.display());
    }
    Ok(Destination::check(path, kind, force)?)
}

/// The report names the files it was made from.
pub fn options(paths: &[PathBuf]) -> flashlag_report::Options {
    let run_files = paths.iter().map(|path| name_of(path)).collect();
    flashlag_report::Options { run_files, banner: None }
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
