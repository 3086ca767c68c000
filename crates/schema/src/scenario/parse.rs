use std::collections::BTreeMap;

use flashlag_units::{Bytes, Nanos, Text};
use serde::Deserialize;
use toml::Spanned;

use super::error::ScenarioError;
use super::settings::{substitute, typed_as};
use super::types::{Arrivals, Io, JournalMode, Save, Scenario, Statement, Step, Synchronous, Test};
use super::validate::validate;
use crate::phase::State;

/// The file, as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    #[serde(default)]
    about: String,
    #[serde(default)]
    assumptions: Vec<String>,
    #[serde(default)]
    #[allow(dead_code, reason = "read before, by `Head`; listed here so that it is allowed")]
    settings: toml::Table,
    #[serde(default)]
    io: Vec<Spanned<Io>>,
    #[serde(default)]
    save: Vec<Spanned<SaveMatrix>>,
    #[serde(default)]
    step: Vec<Spanned<StepText>>,
}

/// What is read first, since the rest refers to it.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    name: String,
    #[serde(default)]
    settings: BTreeMap<String, toml::Value>,
}

/// One or several: several make a matrix of tests.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T: Copy> OneOrMany<T> {
    fn all(&self) -> Vec<T> {
        match self {
            OneOrMany::One(one) => vec![*one],
            OneOrMany::Many(many) => many.clone(),
        }
    }
}

/// `[[save]]` as written. `{statement}`, `{journal}` and `{synchronous}` in the name are replaced.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct SaveMatrix {
    name: String,
    #[serde(default = "insert")]
    statement: OneOrMany<Statement>,
    journal: OneOrMany<JournalMode>,
    #[serde(default = "full")]
    synchronous: OneOrMany<Synchronous>,
    #[serde(default)]
    row: Option<Text<Bytes>>,
    #[serde(default)]
    rows: u64,
    #[serde(default)]
    databases: Option<u32>,
    #[serde(default)]
    saves: Option<u64>,
    #[serde(default)]
    time: Option<Text<Nanos>>,
    #[serde(default)]
    min_saves: Option<u64>,
    #[serde(default)]
    arrivals: Arrivals,
    #[serde(default)]
    background: Option<String>,
}

fn insert() -> OneOrMany<Statement> {
    OneOrMany::One(Statement::Insert)
}

fn full() -> OneOrMany<Synchronous> {
    OneOrMany::One(Synchronous::Full)
}

/// `[[step]]` as written: exactly one of `measure`, `fill`, `delete`, `trim`, `idle`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepText {
    measure: Option<Vec<String>>,
    state: Option<State>,
    repeat: Option<u32>,
    fill: Option<String>,
    directory: Option<String>,
    delete: Option<bool>,
    trim: Option<bool>,
    idle: Option<Text<Nanos>>,
}

impl Scenario {
    /// Reads a scenario file and applies `--set` pairs.
    ///
    /// # Errors
    /// The first mistake, with its line and what is allowed there.
    pub fn parse(text: &str, set: &[(String, String)]) -> Result<Scenario, ScenarioError> {
        let error =
            match Scenario::parse_with(text, set) {
                Err(
                    ScenarioError::Text { message, .. } | ScenarioError::Meaning { message, .. },
                ) if !set.is_empty() && Scenario::parse_with(text, &[]).is_ok() => message,
                parsed => return parsed,
            };
        // Without them all is well, so one of them is to blame, or only all together.
        let alone = |pair: &(String, String)| {
            let error = Scenario::parse_with(text, std::slice::from_ref(pair)).err()?;
            let (ScenarioError::Text { message, .. } | ScenarioError::Meaning { message, .. }) =
                error
            else {
                return None;
            };
            Some(ScenarioError::Setting { set: as_given(std::slice::from_ref(pair)), message })
        };
        let to_blame = set.iter().find_map(alone);
        Err(to_blame.unwrap_or(ScenarioError::Setting { set: as_given(set), message: error }))
    }

    fn parse_with(text: &str, set: &[(String, String)]) -> Result<Scenario, ScenarioError> {
        let mut head: Head = toml::from_str(text).map_err(|error| text_error(text, &error))?;
        for (key, value) in set {
            let Some(default) = head.settings.get(key) else {
                let allowed: Vec<_> = head.settings.keys().cloned().collect();
                let allowed =
                    if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
                let (key, name) = (key.clone(), head.name);
                return Err(ScenarioError::UnknownSetting { key, name, allowed });
            };
            let typed = typed_as(default, value).map_err(|message| ScenarioError::Setting {
                set: format!("--set {key}={value}"),
                message,
            })?;
            head.settings.insert(key.clone(), typed);
        }
        let replaced = substitute(text, &head.settings)?;
        let file: File =
            toml::from_str(&replaced).map_err(|error| text_error(&replaced, &error))?;
        let line_of = |span: std::ops::Range<usize>| line_at(&replaced, span.start);
        let mut tests: Vec<(usize, Test)> = Vec::new();
        for io in file.io {
            tests.push((line_of(io.span()), Test::Io(io.into_inner())));
        }
        for matrix in file.save {
            let line = line_of(matrix.span());
            tests.extend(expand(matrix.get_ref()).into_iter().map(|save| (line, Test::Save(save))));
        }
        let mut steps = Vec::new();
        for step in file.step {
            let line = line_of(step.span());
            let step = step_from(step.into_inner())
                .map_err(|message| ScenarioError::Meaning { line, message })?;
            steps.push((line, step));
        }
        name_all_tests(&mut steps, &tests);
        validate(&tests, &mut steps)?;
        Ok(Scenario {
            name: file.name,
            about: file.about,
            assumptions: file.assumptions,
            settings: head
                .settings
                .iter()
                .map(|(key, value)| (key.clone(), plain(value)))
                .collect(),
            text: text.to_owned(),
            tests: tests.into_iter().map(|(_, test)| (test.name().to_owned(), test)).collect(),
            steps: steps.into_iter().map(|(_, step)| step).collect(),
        })
    }
}

/// `measure = ["*"]` means every test of the file, in its order.
fn name_all_tests(steps: &mut [(usize, Step)], tests: &[(usize, Test)]) {
    for (_, step) in steps {
        if let Step::Measure { tests: names, .. } = step
            && names.iter().any(|name| name == "*")
        {
            *names = tests.iter().map(|(_, test)| test.name().to_owned()).collect();
        }
    }
}

/// A setting as `--set` takes it.
fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

fn expand(matrix: &SaveMatrix) -> Vec<Save> {
    let mut saves = Vec::new();
    for statement in matrix.statement.all() {
        for journal in matrix.journal.all() {
            for synchronous in matrix.synchronous.all() {
                let name = matrix
                    .name
                    .replace("{statement}", &word(&statement))
                    .replace("{journal}", &word(&journal))
                    .replace("{synchronous}", &word(&synchronous));
                saves.push(Save {
                    name,
                    statement,
                    journal,
                    synchronous,
                    row: matrix.row.unwrap_or(Text(Bytes(100))),
                    rows: matrix.rows,
                    databases: matrix.databases.unwrap_or(1),
                    saves: matrix.saves,
                    time: matrix.time,
                    min_saves: matrix.min_saves,
                    arrivals: matrix.arrivals,
                    background: matrix.background.clone(),
                });
            }
        }
    }
    saves
}

/// The word by which a unit variant is written in files.
fn word<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

fn step_from(text: StepText) -> Result<Step, String> {
    let kinds = [
        text.measure.is_some(),
        text.fill.is_some(),
        text.delete.is_some(),
        text.trim.is_some(),
        text.idle.is_some(),
    ];
    if kinds.iter().filter(|given| **given).count() != 1 {
        return Err("a step has exactly one of measure, fill, delete, trim, idle".to_owned());
    }
    if text.measure.is_none() && (text.state.is_some() || text.repeat.is_some()) {
        return Err("state and repeat belong to a measure step".to_owned());
    }
    if text.fill.is_none() && text.directory.is_some() {
        return Err("directory belongs to a fill step".to_owned());
    }
    if text.delete == Some(false) || text.trim == Some(false) {
        return Err("write delete = true or trim = true, or leave the step out".to_owned());
    }
    Ok(match text {
        StepText { measure: Some(tests), state, repeat, .. } => {
            Step::Measure { tests, state: state.unwrap_or_default(), repeat: repeat.unwrap_or(1) }
        }
        StepText { fill: Some(test), directory, .. } => {
            Step::Fill { test, directory: directory.filter(|directory| !directory.is_empty()) }
        }
        StepText { delete: Some(_), .. } => Step::Delete,
        StepText { trim: Some(_), .. } => Step::Trim,
        StepText { idle, .. } => Step::Idle { time: idle.unwrap_or_default() },
    })
}

fn text_error(text: &str, error: &toml::de::Error) -> ScenarioError {
    let line = error.span().map_or(1, |span| line_at(text, span.start));
    ScenarioError::Text { line, message: error.message().to_owned() }
}

fn line_at(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    before.filter(|byte| **byte == b'\n').count() + 1
}

/// `--set a=1 --set b=2`
fn as_given(set: &[(String, String)]) -> String {
    let words = set.iter().map(|(key, value)| format!("--set {key}={value}"));
    words.collect::<Vec<_>>().join(" ")
}
