//! How to repeat the run: command, seed, scenario, and deviations of this run.

use askama::Template;
use flashlag_schema::{Run, RunStatus};
use flashlag_views::{cost, for_people, format, state_name};

use super::Section;
use crate::Options;
use crate::facts;
use crate::markup::Markup;

#[derive(Template)]
#[template(path = "section/reproduce.html")]
struct Body<'a> {
    command: String,
    facts: Vec<(&'static str, String)>,
    /// Long words, one line each.
    hashes: Vec<(&'static str, &'a str)>,
    error: Option<&'a str>,
    skipped: Vec<String>,
    downgrades: Vec<String>,
    assumptions: Vec<String>,
    scenario: &'a str,
    text: &'a str,
}

/// The section.
pub(super) fn section(run: &Run, options: &Options) -> Option<Section> {
    let error = match &run.status {
        RunStatus::Failed { error, .. } => Some(error.as_str()),
        _ => None,
    };
    let downgrades = run.downgrades.iter().map(|downgrade| {
        let (asked, done) = (&downgrade.requested, &downgrade.effective);
        format!("{asked} was asked for, {done} was done: {}", downgrade.reason)
    });
    let hashes = [
        ("Scenario hash", run.scenario.hash.as_str()),
        ("Run file’s checksum", run.integrity.sha256.as_str()),
    ];
    let body = Body {
        hashes: hashes.into_iter().filter(|(_, hash)| !hash.is_empty()).collect(),
        command: run.command.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" "),
        facts: facts_of(run, options),
        error,
        skipped: skipped(run),
        downgrades: downgrades.collect(),
        assumptions: run.scenario.assumptions.iter().map(|it| for_people(run, it)).collect(),
        scenario: &run.scenario.name,
        text: &run.scenario.text,
    };
    Some(Section {
        id: "reproduce",
        name: "Reproduce",
        heading: format!("Scenario {}, seed {}", run.scenario.name, run.scenario.seed),
        side: vec![
            "Runs whose scenario hashes are equal did the same; their figures can be compared."
                .to_owned(),
        ],
        body: Markup::of(&body),
    })
}

/// Skipped steps, a line for each stage and reason.
fn skipped(run: &Run) -> Vec<String> {
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

fn facts_of(run: &Run, options: &Options) -> Vec<(&'static str, String)> {
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
    if let Some(took) = facts::duration(run) {
        facts.push(("Took", format::time(took)));
    }
    facts.push(("Cost", cost(run)));
    let leave = format::size(run.options.leave_bytes);
    let reason = &run.options.leave_reason;
    let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
    facts.push(("A fill leaves", leave + &reason));
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
    if !options.run_files.is_empty() {
        facts.push(("Run file", options.run_files.join(", ")));
    }
    facts
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
