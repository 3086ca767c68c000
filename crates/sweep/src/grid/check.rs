//! Checks the values of a grid: the names of profiles, mounts and scenarios.

use std::collections::BTreeMap;
use std::fmt::Display;

use flashlag_runner::{BUILTINS, builtin};
use flashlag_spec::profile::{Profile, builtin_profile};
use flashlag_spec::scenario::{Scenario, Step};
use flashlag_spec::target::{Age, FilesystemKind, Kind, MountSpec, TargetError};
use flashlag_units::{Bytes, did_you_mean};

use super::axes::{Axes, Seeds, Values};
use super::boxes::{Box, SeedList, Texts};
use super::same::{shown, twice};
use crate::error::GridError;
use crate::point::FILLED;

/// Millionths in a whole.
pub(crate) const WHOLE: u32 = 1_000_000;
/// The highest fill level, in millionths: the tests still need room for their files.
const FULLEST: u32 = 990_000;

/// The place of a value in the grid.
struct Place<'a>(&'a str);

impl Place<'_> {
    fn wrong(&self, key: &str, reason: impl Display) -> GridError {
        GridError::Value {
            place: self.0.to_owned(),
            key: key.to_owned(),
            reason: reason.to_string(),
        }
    }

    /// The values of a key, or `default`; refuses an empty list and duplicates.
    fn values(
        &self,
        key: &str,
        values: Option<&Values>,
        default: &str,
    ) -> Result<Vec<String>, GridError> {
        let all = values.map_or_else(|| vec![default.to_owned()], |values| values.0.clone());
        if all.is_empty() {
            return Err(self.wrong(key, "it has no value: give one, or leave the key out"));
        }
        for (index, value) in all.iter().enumerate() {
            if all.iter().take(index).any(|before| before == value) {
                return Err(self.wrong(key, format_args!("{value} is given twice")));
            }
        }
        Ok(all)
    }

    /// The meaning of each text; refuses two with the same meaning.
    fn distinct<T: PartialEq>(
        &self,
        key: &str,
        texts: &[String],
        meaning: impl Fn(&str) -> Result<T, GridError>,
    ) -> Result<Vec<T>, GridError> {
        let mut all: Vec<T> = Vec::new();
        for text in texts {
            let value = meaning(text)?;
            let before = all.iter().position(|before| *before == value);
            if let Some(before) = before.and_then(|before| texts.get(before)) {
                let (one, two) = (shown(before), shown(text));
                return Err(self.wrong(key, twice(&one, &two)));
            }
            all.push(value);
        }
        Ok(all)
    }
}

/// The combinations of a list's values. Each value must be valid for some scenario, profile or
/// filesystem of the list; a combination that makes no device is found only when it is measured.
pub(super) fn checked(axes: &Axes, place: &str, texts: &mut Texts) -> Result<Box, GridError> {
    let at = Place(place);
    let scenario = at.values("scenario", axes.scenario.as_ref(), "micro")?;
    if axes.profile.is_none() {
        return Err(at.wrong("profile", "it is missing: give a name from `flashlag profiles`"));
    }
    let profile = at.values("profile", axes.profile.as_ref(), "")?;
    let scenarios = scenarios(&at, &scenario, texts)?;
    let profiles = profiles(&at, &profile, texts)?;
    let filesystem = at.values("filesystem", axes.filesystem.as_ref(), "")?;
    for text in filesystem.iter().filter(|text| !text.is_empty()) {
        MountSpec::parse(Kind::Sim, text).map_err(|error| at.wrong("filesystem", error))?;
    }
    let options = at.values("options", axes.options.as_ref(), "")?;
    options.iter().try_for_each(|text| check_options(&at, text))?;
    let size = at.values("size", axes.size.as_ref(), "")?;
    for text in size.iter().filter(|text| !text.is_empty()) {
        text.parse::<Bytes>().map_err(|error| at.wrong("size", error))?;
    }
    let age = at.values("age", axes.age.as_ref(), "")?;
    at.distinct("age", &age, |text| Ok(state(&at, text)?.parse::<Age>().unwrap_or_default()))?;
    let age = age.iter().map(|text| state(&at, text)).collect::<Result<Vec<_>, _>>()?;
    let full = at.values("full", axes.full.as_ref(), "0")?;
    let full = at.distinct("full", &full, |text| share(&at, text))?;
    if full.iter().any(|full| *full > 0) {
        check_fills(&at, &scenarios)?;
    }
    let has_setting = |scenario: &Scenario| scenario.settings.contains_key(FILLED);
    Ok(Box {
        scenario,
        fills: scenarios.iter().map(has_setting).collect(),
        profile,
        filesystem,
        options,
        size,
        age,
        full,
        set: settings(&at, &axes.set, &scenarios)?,
        parameters: parameters(&at, &axes.parameters, &profiles)?,
        seed: seeds(&at, axes.seed.as_ref())?,
    })
}

fn scenarios(
    at: &Place<'_>,
    names: &[String],
    texts: &mut Texts,
) -> Result<Vec<Scenario>, GridError> {
    let wrong = |error: &dyn Display| at.wrong("scenario", error);
    let read = |name: &String| {
        let text = match builtin(name) {
            Some(builtin) => builtin.text().to_owned(),
            None if name.ends_with(".toml") => std::fs::read_to_string(name)
                .map_err(|error| wrong(&format_args!("cannot read {name}: {error}")))?,
            None => {
                let known: Vec<&str> = BUILTINS.iter().map(|builtin| builtin.name).collect();
                let near = did_you_mean(name, known.iter().copied());
                let known = known.join(", ");
                return Err(wrong(&format_args!(
                    "no scenario is named {name}; there are {known}, or give a TOML file{near}"
                )));
            }
        };
        let scenario =
            Scenario::parse(&text, &[]).map_err(|error| wrong(&format_args!("{name}: {error}")))?;
        texts.scenarios.insert(name.clone(), text);
        Ok(scenario)
    };
    names.iter().map(read).collect()
}

fn profiles(
    at: &Place<'_>,
    names: &[String],
    texts: &mut Texts,
) -> Result<Vec<Profile>, GridError> {
    let read = |name: &String| {
        let wrong = |error: &dyn Display| at.wrong("profile", format_args!("{name}: {error}"));
        let profile = Profile::find(name).map_err(|error| wrong(&error))?;
        let text = match builtin_profile(name) {
            Some(text) => text.to_owned(),
            None => std::fs::read_to_string(name).map_err(|error| wrong(&error))?,
        };
        texts.profiles.insert(name.clone(), text);
        Ok(profile)
    };
    names.iter().map(read).collect()
}

/// Refuses an option that no filesystem has.
fn check_options(at: &Place<'_>, text: &str) -> Result<(), GridError> {
    for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let mut refused: Option<TargetError> = None;
        let taken = FilesystemKind::of(Kind::Sim).iter().any(|filesystem| {
            match MountSpec::parse(Kind::Sim, &format!("{filesystem},{word}")) {
                Ok(_) => true,
                Err(error) => {
                    refused.get_or_insert(error);
                    false
                }
            }
        });
        if let Some(error) = refused.filter(|_| !taken) {
            return Err(at.wrong("options", error));
        }
    }
    Ok(())
}

/// A device's state: `new`, `full`, and `12mo` for `aged:12mo`.
fn state(at: &Place<'_>, text: &str) -> Result<String, GridError> {
    let state = match text {
        "" | "new" => return Ok(String::new()),
        "full" => text.to_owned(),
        _ if text.starts_with("aged:") => text.to_owned(),
        _ => format!("aged:{text}"),
    };
    match MountSpec::parse(Kind::Sim, &format!("raw,state={state}")) {
        Ok(_) => Ok(state),
        Err(_) => Err(at.wrong("age", format_args!("`{text}`: write new, full or 12mo"))),
    }
}

/// A share of the room for files, `90%` or `0.9`, in millionths.
fn share(at: &Place<'_>, text: &str) -> Result<u32, GridError> {
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.trim().parse::<f64>(),
    };
    let millionths = number.ok().map(|share| (share * f64::from(WHOLE)).round());
    match millionths.filter(|share| (0.0..=f64::from(FULLEST)).contains(share)) {
        Some(share) => Ok(share as u32),
        None => Err(at.wrong("full", format_args!("`{text}`: write a share from 0% to 99%"))),
    }
}

/// Refuses to fill if no scenario can.
fn check_fills(at: &Place<'_>, scenarios: &[Scenario]) -> Result<(), GridError> {
    let fills = |scenario: &Scenario| {
        let with = if scenario.settings.contains_key(FILLED) {
            Scenario::parse(&scenario.text, &[(FILLED.to_owned(), "true".to_owned())]).ok()
        } else {
            None
        };
        let steps = &with.as_ref().unwrap_or(scenario).steps;
        steps.iter().any(|step| matches!(step, Step::Fill { .. }))
    };
    if scenarios.iter().any(fills) {
        Ok(())
    } else {
        Err(at
            .wrong("full", "no scenario of these fills the storage: micro, fill and lifecycle do"))
    }
}

/// Settings, each of which is valid for some scenario.
fn settings(
    at: &Place<'_>,
    set: &BTreeMap<String, Values>,
    scenarios: &[Scenario],
) -> Result<Vec<(String, Vec<String>)>, GridError> {
    taken_by_some(at, "set", set, scenarios, |scenario, key, value| {
        Scenario::parse(&scenario.text, &[(key.to_owned(), value.to_owned())]).map(drop)
    })
}

/// Parameters, each of which is valid for some profile.
fn parameters(
    at: &Place<'_>,
    parameters: &BTreeMap<String, Values>,
    profiles: &[Profile],
) -> Result<Vec<(String, Vec<String>)>, GridError> {
    taken_by_some(at, "parameters", parameters, profiles, |profile, key, value| {
        profile.with(key, value).map(drop)
    })
}

/// The values of each key of a table, each of which at least one of `takers` accepts; otherwise the
/// error of the first one.
fn taken_by_some<T, E: std::fmt::Display>(
    at: &Place<'_>,
    table: &str,
    keys: &BTreeMap<String, Values>,
    takers: &[T],
    take: impl Fn(&T, &str, &str) -> Result<(), E>,
) -> Result<Vec<(String, Vec<String>)>, GridError> {
    let mut all = Vec::new();
    for (key, values) in keys {
        let name = format!("{table}.{key}");
        let values = at.values(&name, Some(values), "")?;
        for value in &values {
            let mut tried = takers.iter().map(|taker| take(taker, key, value));
            let first = tried.next().unwrap_or(Ok(()));
            if let Err(error) = first
                && !tried.any(|tried| tried.is_ok())
            {
                return Err(at.wrong(&name, error));
            }
        }
        all.push((key.clone(), values));
    }
    Ok(all)
}

fn seeds(at: &Place<'_>, seeds: Option<&Seeds>) -> Result<SeedList, GridError> {
    let list = match seeds {
        None => SeedList::Some(vec![1]),
        Some(Seeds::One(seed)) => SeedList::Some(vec![*seed]),
        Some(Seeds::Some(seeds)) => {
            let texts = Values(seeds.iter().map(u64::to_string).collect());
            at.values("seed", Some(&texts), "")?;
            SeedList::Some(seeds.clone())
        }
        Some(Seeds::Range(range)) => range.into(),
    };
    match &list {
        SeedList::Range { count: 0, .. } => Err(at.wrong("seed", "count = 0: give one at least")),
        SeedList::Range { from, count } if from.checked_add(*count).is_none() => {
            Err(at.wrong("seed", "the last one is no number of 64 bits"))
        }
        _ => Ok(list),
    }
}
