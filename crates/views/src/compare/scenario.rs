//! Whether the runs did the same.

use flashlag_schema::Run;

use super::CompareError;
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
        warnings.push(format!("Compared by force, though {}.", differences.join("; ")));
    }
    let mut versions: Vec<&str> = runs.iter().map(|run| run.flashlag.version.as_str()).collect();
    versions.sort_unstable();
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
    let absent = "absent".to_owned();
    let mut settings: Vec<String> = Vec::new();
    for key in ours.keys().chain(theirs.keys().filter(|key| !ours.contains_key(*key))) {
        let (before, now) = (ours.get(key).unwrap_or(&absent), theirs.get(key).unwrap_or(&absent));
        if before != now {
            settings.push(format!("{key} is {now}, not {before}"));
        }
    }
    let why = match settings.is_empty() {
        false => settings.join(", "),
        true if first.scenario.name != run.scenario.name => "another scenario".to_owned(),
        true => "its settings are the same, but the file is not".to_owned(),
    };
    let listed: Vec<String> = numbers.iter().map(usize::to_string).collect();
    let which = match listed.as_slice() {
        [one] => format!("run {one} is"),
        several => format!("runs {} are", format::list(several)),
    };
    format!("{which} {}, not {}: {why}", named(run), named(first))
}
