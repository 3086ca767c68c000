use std::path::{Path, PathBuf};

use flashlag_schema::Run;
use flashlag_views::{CompareOptions, Comparison, Group};

use crate::error::CommandError;
use crate::files::run_from;

/// The longest label that is derived from file names.
const LONGEST_NAME: usize = 24;

/// The files of a comparison, by side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sides {
    /// The runs of the other side; empty if each run, with its repeats, is a side.
    pub against: Vec<PathBuf>,
    pub runs: Vec<PathBuf>,
    /// Names of the sides, in order, the other side first.
    pub labels: Vec<String>,
    /// Whether to compare although the scenarios differ.
    pub force: bool,
}

impl Sides {
    /// All files. The other side comes first: usually it was measured first.
    pub fn paths(&self) -> Result<Vec<PathBuf>, CommandError> {
        let paths: Vec<PathBuf> = self.against.iter().chain(&self.runs).cloned().collect();
        if paths.len() < 2 {
            return Err(CommandError::Words(
                "a comparison needs two runs or more: compare A.json B.json, or those after a change \
                 against those before it, compare AFTER... --against BEFORE..."
                    .to_owned(),
            ));
        }
        Ok(paths)
    }

    /// Reads the runs and compares them; those with the same set-up are repeats of one another.
    ///
    /// # Errors
    /// A file is no run or is given twice, or the runs did not do the same.
    pub fn compared(&self) -> Result<(Vec<Run>, Comparison), CommandError> {
        let paths = self.paths()?;
        reject_repeated(&paths)?;
        let runs = paths.iter().map(|path| run_from(path)).collect::<Result<Vec<_>, _>>()?;
        let comparison = self.compared_runs(&runs)?;
        Ok((runs, comparison))
    }

    /// Compares runs that were read before, in the order of [`Sides::paths`].
    ///
    /// # Errors
    /// There are fewer than two runs, or they did not do the same.
    pub fn compared_runs(&self, runs: &[Run]) -> Result<Comparison, CommandError> {
        let paths = self.paths()?;
        let asked = CompareOptions {
            force: self.force,
            groups: self.groups(),
            labels: self.labels.clone(),
            ..CompareOptions::default()
        };
        compared_of(runs, &paths, asked)
    }

    fn groups(&self) -> Vec<Group> {
        if self.against.is_empty() { Vec::new() } else { groups(&self.against, &self.runs) }
    }
}

/// Reads runs and compares them; those with the same set-up are repeats of one another.
///
/// # Errors
/// A file is no run, or the runs did not do the same.
pub fn compared(paths: &[PathBuf], force: bool) -> Result<(Vec<Run>, Comparison), CommandError> {
    let runs = paths.iter().map(|path| run_from(path)).collect::<Result<Vec<_>, _>>()?;
    let asked = CompareOptions { force, ..CompareOptions::default() };
    let comparison = compared_of(&runs, paths, asked)?;
    Ok((runs, comparison))
}

fn compared_of(
    runs: &[Run],
    paths: &[PathBuf],
    asked: CompareOptions,
) -> Result<Comparison, CommandError> {
    let stem = |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let asked = CompareOptions { files: paths.iter().map(stem).collect(), ..asked };
    flashlag_views::compare(runs, &asked).map_err(CommandError::Compare)
}

/// Refuses a file given twice: a shell pattern that matches too much would compare runs with
/// themselves.
fn reject_repeated(paths: &[PathBuf]) -> Result<(), CommandError> {
    let mut seen: Vec<(PathBuf, &PathBuf)> = Vec::new();
    for path in paths {
        // A path that can't be resolved is reported when the file is read.
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        match seen.iter().find(|(known, _)| *known == real) {
            Some((_, first)) => {
                let too = if *first == path {
                    String::new()
                } else {
                    format!(", as {} too", first.display())
                };
                return Err(CommandError::Words(format!(
                    "{} is given twice{too}: a run counts once, on one side",
                    path.display()
                )));
            }
            None => seen.push((real, path)),
        }
    }
    Ok(())
}

/// The two sides, as groups of indices in the order in which the runs are read.
fn groups(against: &[PathBuf], runs: &[PathBuf]) -> Vec<Group> {
    let [first, second] = names(against, runs);
    let all = against.len() + runs.len();
    vec![
        Group { name: first, runs: (0..against.len()).collect() },
        Group { name: second, runs: (against.len()..all).collect() },
    ]
}

/// A label for each side from the common part of its file names or directories; empty if these
/// labels are equal.
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
