//! Whether the runs did the same.

use std::collections::BTreeMap;

use flashlag_schema::{Run, TargetKind};
use flashlag_units::InOrder;

use super::model::CompareError;
use crate::format;

/// The warnings about scenarios; an error if they differ and `force` is not set.
pub fn warnings(runs: &[Run], force: bool) -> Result<Vec<String>, CompareError> {
    let Some((first, rest)) = runs.split_first() else { return Ok(Vec::new()) };
    let others = (2..).zip(rest).filter(|(_, run)| run.scenario.hash != first.scenario.hash);
    let mut kinds: Vec<(&Run, Vec<usize>)> = Vec::new();
    for (number, run) in others {
        match kinds.iter_mut().find(|(known, _)| known.scenario.hash == run.scenario.hash) {
            Some((_, numbers)) => numbers.push(number),
            None => kinds.push((run, vec![number])),
        }
    }
    let differences: Vec<String> =
        kinds.iter().map(|(run, numbers)| difference(first, numbers, run)).collect();
    if !differences.is_empty() && !force {
        return Err(CompareError::Scenario { differences: differences.join("; ") });
    }
    let mut warnings = Vec::new();
    if !differences.is_empty() {
        warnings.push(format!("Compared by --force, although {}.", differences.join("; ")));
    }
    let mut versions: Vec<&str> = runs.iter().map(|run| run.flashlag.version.as_str()).collect();
    versions.order();
    versions.dedup();
    if versions.len() > 1 {
        warnings.push(format!("Made by different versions: {}.", versions.join(", ")));
    }
    Ok(warnings)
}

/// `run 2 is quick (9f8e7d6c5b4a), not quick (1a2b3c4d5e6f): span is 20MB, not 100MB`; `runs 2 and 3
/// are …`.
fn difference(first: &Run, numbers: &[usize], run: &Run) -> String {
    let named = |run: &Run| {
        let hash: String = run.scenario.hash.chars().take(12).collect();
        format!("{} ({hash})", run.scenario.name)
    };
    let (ours, theirs) = (&first.scenario.settings, &run.scenario.settings);
    let absent = "not set".to_owned();
    let mut settings: Vec<String> = Vec::new();
    for key in ours.keys().chain(theirs.keys().filter(|key| !ours.contains_key(*key))) {
        let (before, now) = (ours.get(key).unwrap_or(&absent), theirs.get(key).unwrap_or(&absent));
        if before != now {
            settings.push(format!("{key}: {before} → {now}"));
        }
    }
    let why = match settings.is_empty() {
        false => settings.join(", "),
        true if first.scenario.name != run.scenario.name => "another scenario".to_owned(),
        true => options_that_differ(&first.scenario.text, &run.scenario.text)
            .filter(|_| [first, run].iter().all(|run| run.target.kind == TargetKind::Imported))
            .unwrap_or_else(|| "its settings are the same, but the file is not".to_owned()),
    };
    let listed: Vec<String> = numbers.iter().map(usize::to_string).collect();
    let which = match listed.as_slice() {
        [one] => format!("run {one} is"),
        several => format!("runs {} are", format::list(several)),
    };
    format!("{which} {}, not {}: {why}", named(run), named(first))
}

/// A fio job: its name and its options.
type Job<'a> = (&'a str, BTreeMap<&'a str, &'a str>);

/// The options that differ between the jobs of two imported files, `rw: randread → randwrite, fsync: 1 → not
/// set`; each job by its place in the file. `None` if no option does.
fn options_that_differ(ours: &str, theirs: &str) -> Option<String> {
    let (ours, theirs) = (jobs(ours), jobs(theirs));
    if ours.len() != theirs.len() {
        let count = format::plural(theirs.len(), "job", "jobs");
        return Some(format!("it has {count}, not {}", ours.len()));
    }
    let mut differences = Vec::new();
    for ((name, before), (_, now)) in ours.iter().zip(&theirs) {
        let of_job = if ours.len() > 1 { format!("[{name}] ") } else { String::new() };
        for key in before.keys().chain(now.keys().filter(|key| !before.contains_key(*key))) {
            let value = |options: &BTreeMap<&str, &str>| match options.get(key).copied() {
                None => "not set".to_owned(),
                Some("") => "set".to_owned(),
                Some(value) => value.to_owned(),
            };
            let (was, is) = (value(before), value(now));
            if was != is {
                differences.push(format!("{of_job}{key}: {was} → {is}"));
            }
        }
    }
    (!differences.is_empty()).then(|| differences.join(", "))
}

/// The sections of a job file.
fn jobs(text: &str) -> Vec<Job<'_>> {
    let mut jobs: Vec<Job<'_>> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix('[').and_then(|line| line.strip_suffix(']')), jobs.last_mut()) {
            (Some(name), _) => jobs.push((name, BTreeMap::new())),
            (None, Some((_, options))) => {
                let (key, value) = line.split_once('=').unwrap_or((line, ""));
                options.insert(key, value);
            }
            (None, None) => {}
        }
    }
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_fios_jobs_that_differ_are_named_with_both_values() {
        let differ = |ours, theirs| options_that_differ(ours, theirs).unwrap_or_default();
        let (a, b) = ("[a]\nbs=4k\nrw=randread\n", "[b]\nbs=4k\nfsync=1\nrw=randwrite\n");
        assert_eq!(differ(a, b), "rw: randread → randwrite, fsync: not set → 1");
        assert_eq!(differ(b, a), "fsync: 1 → not set, rw: randwrite → randread");
        let two = "[a]\nbs=4k\n[b]\nbs=8k\n";
        assert_eq!(differ(two, "[a]\nbs=4k\n[b]\nbs=16k\n"), "[b] bs: 8k → 16k");
        assert_eq!(differ(a, two), "it has 2 jobs, not 1");
        assert_eq!(options_that_differ(a, "[other]\nbs=4k\nrw=randread\n"), None);
    }
}
