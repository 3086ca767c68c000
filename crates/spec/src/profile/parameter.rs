use std::collections::BTreeMap;

use flashlag_units::{Bytes, Nanos};
use serde::Deserialize;

use super::error::ProfileError;

/// A parameter's value and its source.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The value: a quantity in quotes, a number, a word or a boolean.
    #[cfg_attr(feature = "json-schema", schemars(with = "serde_json::Value"))]
    pub value: toml::Value,
    /// The source of the value.
    pub source: String,
    /// The plausible values, lowest and highest, from the source.
    #[serde(default)]
    #[cfg_attr(feature = "json-schema", schemars(with = "Option<[serde_json::Value; 2]>"))]
    pub range: Option<[toml::Value; 2]>,
    /// The published rows that it was fitted to (`new/rand_write_4k`); none if it was not fitted.
    #[serde(default)]
    pub fitted: Vec<String>,
}

/// The quantity of a parameter's value, so that it can be changed by a share of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Measure {
    Time(Nanos),
    Size(Bytes),
    Count(i64),
    Number(f64),
    Other,
}

fn measure(value: &toml::Value) -> Measure {
    match value {
        toml::Value::Integer(count) => Measure::Count(*count),
        toml::Value::Float(number) => Measure::Number(*number),
        toml::Value::String(text) => match (text.parse::<Nanos>(), text.parse::<Bytes>()) {
            (Ok(time), _) => Measure::Time(time),
            (_, Ok(size)) => Measure::Size(size),
            _ => Measure::Other,
        },
        _ => Measure::Other,
    }
}

impl Parameter {
    /// A parameter that a profile left out, in the notation of the command line.
    pub fn added(text: &str) -> Parameter {
        let read: Result<toml::Table, _> = format!("value = {text}").parse();
        let value = read.ok().and_then(|mut table| table.remove("value"));
        // Times, sizes and words have no quotes there.
        let value = value.unwrap_or_else(|| toml::Value::String(text.to_owned()));
        Parameter {
            value,
            source: "a requested change".to_owned(),
            range: None,
            fitted: Vec::new(),
        }
    }

    /// The value as a plain number (nanoseconds, bytes, a count or a share); `None` for words.
    pub fn number(&self) -> Option<f64> {
        number(&self.value)
    }

    /// The bounds as plain numbers, if there are two.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        let [low, high] = self.range.as_ref()?;
        Some((number(low)?, number(high)?))
    }

    /// A number in this parameter's notation: a time, a size, a count or a share.
    pub fn spell(&self, number: f64) -> String {
        let whole = number.max(0.0).round() as u64;
        match measure(&self.value) {
            Measure::Time(_) => format!("{whole}ns"),
            Measure::Size(_) => format!("{whole}B"),
            Measure::Count(_) => format!("{}", number.round() as i64),
            Measure::Number(_) | Measure::Other => format!("{number}"),
        }
    }

    /// Sets another value, in the notation of the command line.
    pub(super) fn set(&mut self, key: &str, text: &str) -> Result<(), ProfileError> {
        let wrong =
            |expected| ProfileError::Value { key: key.to_owned(), text: text.to_owned(), expected };
        self.value = match &self.value {
            toml::Value::Integer(_) => {
                toml::Value::Integer(text.parse().map_err(|_| wrong("a whole number"))?)
            }
            toml::Value::Float(_) => {
                toml::Value::Float(text.parse().map_err(|_| wrong("a number"))?)
            }
            toml::Value::Boolean(_) => {
                toml::Value::Boolean(text.parse().map_err(|_| wrong("true or false"))?)
            }
            toml::Value::Array(_) => {
                let read: Result<toml::Table, _> = format!("list = {text}").parse();
                let list = read.ok().and_then(|mut table| table.remove("list"));
                let list = list.filter(toml::Value::is_array);
                list.ok_or_else(|| wrong("a list in brackets"))?
            }
            _ => toml::Value::String(text.to_owned()),
        };
        Ok(())
    }
}

fn number(value: &toml::Value) -> Option<f64> {
    match measure(value) {
        Measure::Time(time) => Some(time.0 as f64),
        Measure::Size(size) => Some(size.0 as f64),
        Measure::Count(count) => Some(count as f64),
        Measure::Number(number) => Some(number),
        Measure::Other => None,
    }
}

/// `[section] name = { value, source, … }` to `section.name`; `[section.part]` likewise.
pub(super) fn read_all(sections: toml::Table) -> Result<BTreeMap<String, Parameter>, ProfileError> {
    let mut parameters = BTreeMap::new();
    for (section, table) in sections {
        let toml::Value::Table(table) = table else {
            return Err(ProfileError::NoSection(section));
        };
        for (name, value) in table {
            let key = format!("{section}.{name}");
            match value {
                toml::Value::Table(part) if is_section(&part) => {
                    for (name, value) in part {
                        read_one(format!("{key}.{name}"), value, &mut parameters)?;
                    }
                }
                value => read_one(key, value, &mut parameters)?,
            }
        }
    }
    Ok(parameters)
}

/// Whether it holds parameters and is not one itself.
fn is_section(table: &toml::Table) -> bool {
    !table.is_empty() && table.values().all(toml::Value::is_table)
}

fn read_one(
    key: String,
    value: toml::Value,
    into: &mut BTreeMap<String, Parameter>,
) -> Result<(), ProfileError> {
    let parameter = value
        .try_into()
        .map_err(|error| ProfileError::Parameter { key: key.clone(), error: Box::new(error) })?;
    into.insert(key, parameter);
    Ok(())
}
