use std::collections::BTreeMap;

use flashlag_units::{IntoOrder, Nanos, Text, did_you_mean};
use serde::Deserialize;
use toml::Spanned;

use super::card::Card;
use super::error::ScenarioError;
use super::fault::{Combination, ScenarioFault};
use super::pace::yes;
use super::replay::Replay;
use super::saves::SaveMatrix;
use super::settings::{refuse_idle_settings, substitute, typed_as};
use super::types::{Io, Limit, Requirement, Scenario, Step, Test};
use super::validate::validate;
use crate::hint::with_hint;
use crate::words::State;

/// A scenario's file.
#[derive(Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ScenarioFile {
    /// The scenario's name, also the default name of its run files.
    name: String,
    /// A description, in a line.
    #[serde(default)]
    about: String,
    /// Assumptions without a source.
    #[serde(default)]
    assumptions: Vec<String>,
    /// Values that `--set KEY=VALUE` changes. The value replaces each text `"$KEY"`.
    #[serde(default)]
    #[allow(dead_code, reason = "read before, by `Head`; listed here so that it is allowed")]
    #[cfg_attr(feature = "json-schema", schemars(with = "BTreeMap<String, serde_json::Value>"))]
    settings: toml::Table,
    /// Tests of block I/O.
    #[serde(default)]
    #[cfg_attr(feature = "json-schema", schemars(with = "Vec<Io>"))]
    io: Vec<Spanned<Io>>,
    /// Tests of saves: SQLite transactions, or files as apps write them without a database.
    #[serde(default)]
    #[cfg_attr(feature = "json-schema", schemars(with = "Vec<SaveMatrix>"))]
    save: Vec<Spanned<SaveMatrix>>,
    /// Tests that ask whether storage is what it says it is.
    #[serde(default)]
    #[cfg_attr(feature = "json-schema", schemars(with = "Vec<Card>"))]
    card: Vec<Spanned<Card>>,
    /// Traces that are replayed.
    #[serde(default)]
    #[cfg_attr(feature = "json-schema", schemars(with = "Vec<Replay>"))]
    replay: Vec<Spanned<Replay>>,
    /// What is done, in order.
    #[serde(default)]
    #[cfg_attr(feature = "json-schema", schemars(with = "Vec<StepText>"))]
    step: Vec<Spanned<StepText>>,
    /// Figures that a storage must reach to be good enough for what the scenario is about.
    #[serde(default)]
    #[cfg_attr(feature = "json-schema", schemars(with = "Vec<RequirementText>"))]
    require: Vec<Spanned<RequirementText>>,
}

/// What is parsed first, since the rest refers to it.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    name: String,
    #[serde(default)]
    settings: BTreeMap<String, toml::Value>,
}

/// A figure that a storage must reach: exactly one of `at_most`, `at_least`.
#[derive(Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct RequirementText {
    /// A test and its figure, as `--fail-if` names them: `append.p99`.
    figure: String,
    /// The most that the figure may be: `10ms`. Either this or `at_least`.
    #[serde(default)]
    at_most: Option<String>,
    /// The least that the figure must be: `1500` operations, or `10MB`, a second.
    #[serde(default)]
    at_least: Option<String>,
    /// Who published the limit, and where.
    source: String,
}

/// One step: exactly one of `measure`, `fill`, `delete`, `trim`, `idle`.
#[derive(Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct StepText {
    /// Runs these tests, in order; `["*"]` for all of them.
    measure: Option<Vec<String>>,
    /// With `measure`: the state of the device at this step; `new` if absent.
    state: Option<State>,
    /// With `measure`: number of repeats, at most 1000, counted by `run` from 1; once if absent.
    repeat: Option<u32>,
    /// Writes until only `--leave` is free: the name of the `[[io]]` that fills.
    fill: Option<String>,
    /// With `fill`: another directory to fill; if absent, the one under test.
    directory: Option<String>,
    /// `true`: deletes what fills wrote.
    delete: Option<bool>,
    /// `true`: the filesystem reports its free blocks to the device (`fstrim`).
    trim: Option<bool>,
    /// Waits this long; a step of 0 s is dropped.
    idle: Option<Text<Nanos>>,
    /// Whether the step exists: `when = "$filled"`, with a setting that is true or false.
    #[serde(default = "yes")]
    when: bool,
    /// The reverse of `when`: the step is left out if this is true.
    #[serde(default)]
    unless: bool,
}

impl Scenario {
    /// Whether a step fills the storage, or a test does that asks whether a card holds what it claims.
    pub fn fills(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Fill { .. })) || self.asks_a_card()
    }

    /// Whether a test asks whether a card holds what it claims.
    pub fn asks_a_card(&self) -> bool {
        self.tests.values().any(|test| matches!(test, Test::Card(_)))
    }

    /// Reads a scenario file and applies `--set` pairs.
    pub fn parse(text: &str, set: &[(String, String)]) -> Result<Scenario, ScenarioError> {
        let fault = match Scenario::parse_with(text, set) {
            Err(ScenarioError::File { fault, .. })
                if !set.is_empty() && Scenario::parse_with(text, &[]).is_ok() =>
            {
                fault
            }
            parsed => return parsed,
        };
        // The file is valid without the settings: one of them is at fault, or their combination.
        let alone = |pair: &(String, String)| match Scenario::parse_with(
            text,
            std::slice::from_ref(pair),
        ) {
            Err(ScenarioError::File { fault, .. }) => {
                Some(ScenarioError::Setting { set: as_given(std::slice::from_ref(pair)), fault })
            }
            _ => None,
        };
        let of_one = set.iter().find_map(alone);
        Err(of_one.unwrap_or(ScenarioError::Setting { set: as_given(set), fault }))
    }

    fn parse_with(text: &str, set: &[(String, String)]) -> Result<Scenario, ScenarioError> {
        let (head, changed) = head_with(text, set)?;
        let replaced = substitute(text, &head.settings)?;
        let file: ScenarioFile =
            toml::from_str(&replaced).map_err(|error| text_error(&replaced, &error))?;
        let lines = LineStarts::of(&replaced);
        let line_of = |span: std::ops::Range<usize>| lines.line_at(span.start);
        let mut tests: Vec<(usize, Test)> = Vec::new();
        for io in file.io {
            tests.push((line_of(io.span()), Test::Io(io.into_inner())));
        }
        let there = |matrix: &Spanned<SaveMatrix>| matrix.get_ref().is_there();
        refuse_idle_settings(text, &changed, &file.save.iter().map(there).collect::<Vec<_>>())?;
        for matrix in file.save.into_iter().filter(there) {
            let line = line_of(matrix.span());
            let expanded = matrix.get_ref().expand();
            let expanded = expanded.map_err(|fault| ScenarioError::File { line, fault })?;
            tests.extend(expanded.into_iter().map(|test| (line, test)));
        }
        for card in file.card {
            tests.push((line_of(card.span()), Test::Card(card.into_inner())));
        }
        for replay in file.replay {
            tests.push((line_of(replay.span()), Test::Replay(replay.into_inner())));
        }
        let mut steps = Vec::new();
        let steps_there = |step: &Spanned<StepText>| step.get_ref().when && !step.get_ref().unless;
        for step in file.step.into_iter().filter(steps_there) {
            let line = line_of(step.span());
            let step = step_from(step.into_inner())
                .map_err(|fault| ScenarioError::File { line, fault: fault.into() })?;
            steps.push((line, step));
        }
        let require = file.require.into_iter();
        let require = require.map(|one| {
            let line = line_of(one.span());
            let fault = |fault: Combination| ScenarioError::File { line, fault: fault.into() };
            requirement_from(one.into_inner()).map_err(fault)
        });
        let requirements = require.collect::<Result<_, _>>()?;
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
                .into_map(),
            text: text.to_owned(),
            tests: tests.into_iter().map(|(_, test)| (test.name().to_owned(), test)).collect(),
            steps: steps.into_iter().map(|(_, step)| step).collect(),
            requirements,
        })
    }
}

/// Settings by key.
type Settings<'a> = Vec<(&'a str, &'a str)>;

/// What is read first, with the settings that were asked for; and those of them that change something.
fn head_with<'a>(
    text: &str,
    set: &'a [(String, String)],
) -> Result<(Head, Settings<'a>), ScenarioError> {
    let mut head: Head = toml::from_str(text).map_err(|error| text_error(text, &error))?;
    let mut changed = Vec::new();
    for (key, value) in set {
        let Some(default) = head.settings.get(key) else {
            let allowed: Vec<_> = head.settings.keys().map(String::as_str).collect();
            let near = did_you_mean(key, allowed.iter().copied());
            let allowed =
                if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") + &near };
            let (key, name) = (key.clone(), head.name);
            return Err(ScenarioError::UnknownSetting { key, name, allowed });
        };
        let typed = typed_as(default, value).map_err(|fault| ScenarioError::Setting {
            set: format!("--set {key}={value}"),
            fault,
        })?;
        // A guest and a phone get all settings, including those of the file.
        if typed != *default {
            changed.push((key.as_str(), value.as_str()));
        }
        head.settings.insert(key.clone(), typed);
    }
    Ok((head, changed))
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

fn requirement_from(text: RequirementText) -> Result<Requirement, Combination> {
    let RequirementText { figure, at_most, at_least, source } = text;
    let limit = match (at_most, at_least) {
        (Some(most), None) => Limit::AtMost(most),
        (None, Some(least)) => Limit::AtLeast(least),
        _ => return Err(Combination::OneLimit),
    };
    Ok(Requirement { figure, limit, source })
}

fn step_from(text: StepText) -> Result<Step, Combination> {
    let kinds = [
        text.measure.is_some(),
        text.fill.is_some(),
        text.delete.is_some(),
        text.trim.is_some(),
        text.idle.is_some(),
    ];
    if kinds.iter().filter(|given| **given).count() != 1 {
        return Err(Combination::StepKind);
    }
    if text.measure.is_none() && (text.state.is_some() || text.repeat.is_some()) {
        return Err(Combination::MeasureKeys);
    }
    if text.fill.is_none() && text.directory.is_some() {
        return Err(Combination::FillDirectory);
    }
    if text.delete == Some(false) || text.trim == Some(false) {
        return Err(Combination::StepFalse);
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
    let line = error.span().map_or(1, |span| LineStarts::of(text).line_at(span.start));
    ScenarioError::File { line, fault: ScenarioFault::Text(with_hint(error.message())) }
}

/// The offsets of the starts of lines, from the second on.
struct LineStarts(Vec<usize>);

impl LineStarts {
    fn of(text: &str) -> LineStarts {
        LineStarts(text.match_indices('\n').map(|(offset, _)| offset + 1).collect())
    }

    /// The number of the line that contains a byte, counted from 1.
    fn line_at(&self, offset: usize) -> usize {
        self.0.partition_point(|start| *start <= offset) + 1
    }
}

/// `--set a=1 --set b=2`
fn as_given(set: &[(String, String)]) -> String {
    let words = set.iter().map(|(key, value)| format!("--set {key}={value}"));
    words.collect::<Vec<_>>().join(" ")
}
