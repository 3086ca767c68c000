//! How to repeat the run: command, seed, scenario, and deviations of this run.

use flashlag_schema::{Run, RunStatus};
use flashlag_units::Nanos;

use super::model::{Block, Section};
use crate::cost::cost;
use crate::format;
use crate::naming::state_name;
use crate::outline::for_people;

/// The section. `run_files` are the names of the files with the raw data.
pub(super) fn section(run: &Run, run_files: &[String]) -> Section {
    let mut blocks = Vec::new();
    let words: Vec<String> = run.command.iter().map(|word| shell_word(word)).collect();
    if !words.is_empty() {
        blocks.push(Block::Code("Command".to_owned(), words.join(" ")));
    }
    if let RunStatus::Failed { error, .. } = &run.status {
        blocks.extend([Block::Title("It ended with an error"), Block::Text(error.clone())]);
    }
    blocks.push(Block::Facts(facts_of(run, run_files)));
    let hashes =
        [("Scenario hash", &run.scenario.hash), ("Run file’s checksum", &run.integrity.sha256)];
    let hashes = hashes.into_iter().filter(|(_, hash)| !hash.is_empty());
    blocks.extend(hashes.map(|(name, hash)| Block::Hash(name, hash.clone())));
    let assumptions = run.scenario.assumptions.iter().map(|it| for_people(run, it));
    let lists = [
        ("Not run", not_run(run)),
        ("Done otherwise than asked", done_otherwise(run)),
        ("Assumed", assumptions.collect()),
    ];
    for (title, lines) in lists.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        blocks.extend([Block::Title(title), Block::List(lines)]);
    }
    let text = run.scenario.text.clone();
    if !text.is_empty() {
        let about = format!("Scenario {}", run.scenario.name);
        blocks.push(Block::Folded("The scenario, as it was read", about, text));
    }
    Section {
        id: "reproduce",
        name: "Reproduce",
        heading: format!("Scenario {}, seed {}", run.scenario.name, run.scenario.seed),
        side: vec![
            "Runs whose scenario hashes are equal did the same; their figures can be compared."
                .to_owned(),
        ],
        blocks,
    }
}

/// Skipped steps, a line for each stage and reason.
pub fn not_run(run: &Run) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for skipped in &run.skipped {
        let stage = state_name(run, skipped.state);
        let line = format!("{stage}: {}", for_people(run, &skipped.reason));
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// Requests that were not honoured: what was asked for, what was done, and why.
pub fn done_otherwise(run: &Run) -> Vec<String> {
    let downgrades = run.downgrades.iter().map(|downgrade| {
        let (asked, done) = (&downgrade.requested, &downgrade.effective);
        format!("{asked} was asked for, {done} was done: {}", downgrade.reason)
    });
    downgrades.collect()
}

fn facts_of(run: &Run, run_files: &[String]) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let commit = match run.flashlag.commit.value() {
        Some(commit) => format!("{} ({commit})", run.flashlag.version),
        None => run.flashlag.version.clone(),
    };
    facts.push(("flashlag", commit));
    facts.push(("I/O by", run.options.engine.clone()));
    facts.push(("Target", run.target.name.clone()));
    if let Some(directory) = &run.target.directory {
        facts.push(("Directory", directory.clone()));
    }
    if let Some(started) = &run.started {
        facts.push(("Started", started.clone()));
    }
    if let Some(took) = duration(run) {
        facts.push(("Took", format::time(took)));
    }
    facts.push(("Cost", cost(run)));
    let leave = format::size(run.options.leave_bytes);
    let reason = &run.options.leave_reason;
    let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
    facts.push(("Left free", leave + &reason));
    if let Some(budget) = run.options.budget_bytes {
        facts.push(("Budget", format::size(budget)));
    }
    let verified = if run.options.verify { "every byte" } else { "no" };
    facts.push(("Read back", verified.to_owned()));
    let settings: Vec<String> =
        run.scenario.settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    if !settings.is_empty() {
        facts.push(("Settings", settings.join(", ")));
    }
    facts.push(("Seed", run.scenario.seed.to_string()));
    if !run_files.is_empty() {
        facts.push(("Run file", run_files.join(", ")));
    }
    facts
}

/// Time from the start of the run to the end of its last phase.
pub(super) fn duration(run: &Run) -> Option<Nanos> {
    run.phases.iter().map(|phase| phase.began_ns.plus(phase.elapsed_ns)).max()
}

/// A word, quoted for a POSIX shell where necessary.
fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn words_are_quoted_where_a_shell_would_change_them() {
        assert_eq!(shell_word("--seed=1"), "--seed=1");
        assert_eq!(shell_word("rand.p99>20ms"), "'rand.p99>20ms'");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
        assert_eq!(shell_word(""), "''");
    }
}
