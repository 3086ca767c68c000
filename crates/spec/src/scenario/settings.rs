use std::collections::BTreeMap;

use super::error::ScenarioError;
use super::fault::ScenarioFault;

/// Replaces each `"$name"` by the setting's value, as TOML, and keeps every line at its number, so
/// that a later error names the right one.
pub(super) fn substitute(
    text: &str,
    settings: &BTreeMap<String, toml::Value>,
) -> Result<String, ScenarioError> {
    let mut replaced = String::with_capacity(text.len());
    for (number, line) in text.lines().enumerate() {
        let line = substitute_line(line, settings).map_err(|name| ScenarioError::File {
            line: number + 1,
            fault: ScenarioFault::NoSetting { name, known: settings.keys().cloned().collect() },
        })?;
        replaced.push_str(&line);
        replaced.push('\n');
    }
    Ok(replaced)
}

/// One line; `Err` holds the unknown name.
fn substitute_line(line: &str, settings: &BTreeMap<String, toml::Value>) -> Result<String, String> {
    let mut replaced = String::with_capacity(line.len());
    let mut rest = line;
    // A reference in a comment does not count.
    if line.trim_start().starts_with('#') {
        return Ok(line.to_owned());
    }
    while let Some(start) = rest.find("\"$") {
        let after = &rest[start + 2..];
        let end = after.find('"').unwrap_or(after.len());
        let name = &after[..end];
        let value = settings.get(name).ok_or_else(|| name.to_owned())?;
        replaced.push_str(&rest[..start]);
        replaced.push_str(&value.to_string());
        rest = after.get(end + 1..).unwrap_or("");
    }
    replaced.push_str(rest);
    Ok(replaced)
}

/// The value of `--set KEY=VALUE`, of the same type as the default, so that `5` stays a number and
/// `100MB` a string.
pub(super) fn typed_as(default: &toml::Value, text: &str) -> Result<toml::Value, ScenarioFault> {
    let wanted = |wanted: &'static str| ScenarioFault::Type { text: text.to_owned(), wanted };
    Ok(match default {
        toml::Value::Integer(_) => {
            toml::Value::Integer(text.parse().map_err(|_| wanted("a whole number"))?)
        }
        toml::Value::Float(_) => toml::Value::Float(text.parse().map_err(|_| wanted("a number"))?),
        toml::Value::Boolean(_) => {
            toml::Value::Boolean(text.parse().map_err(|_| wanted("true or false"))?)
        }
        toml::Value::Array(_) => {
            let items = text.split(',').map(|item| toml::Value::String(item.trim().to_owned()));
            toml::Value::Array(items.collect())
        }
        _ => toml::Value::String(text.to_owned()),
    })
}

/// Refuses a `--set` that changes a value without effect, since `when` or `unless` leaves out every
/// `[[save]]` that uses it: `--set android=true --set journal=wal`. `there` says for each
/// `[[save]]` whether it is kept.
pub(super) fn refuse_idle_settings(
    text: &str,
    set: &[(&str, &str)],
    there: &[bool],
) -> Result<(), ScenarioError> {
    // The text was parsed before: it is valid.
    let Ok(mut file) = toml::from_str::<toml::Table>(text) else { return Ok(()) };
    let Some(toml::Value::Array(saves)) = file.remove("save") else { return Ok(()) };
    let rest = toml::Value::Table(file);
    for (key, value) in set {
        let reference = format!("${key}");
        let users: Vec<(&toml::Value, bool)> = saves
            .iter()
            .zip(there.iter().copied())
            .filter(|(save, _)| refers(save, &reference))
            .collect();
        // Keys that decide whether a test exists use the setting in either case.
        let decides = |save: &toml::Value| {
            CONDITIONS
                .iter()
                .any(|key| save.get(key).is_some_and(|value| refers(value, &reference)))
        };
        let in_use = refers(&rest, &reference)
            || users.is_empty()
            || users.iter().any(|(save, there)| *there || decides(save));
        if !in_use {
            let mut left_out: Vec<String> = Vec::new();
            for (save, _) in users {
                for key in CONDITIONS {
                    let condition = save.get(key).map(|value| format!("`{key} = {value}`"));
                    left_out.extend(condition.filter(|condition| !left_out.contains(condition)));
                }
            }
            return Err(ScenarioError::IdleSetting {
                set: format!("--set {key}={value}"),
                key: (*key).to_owned(),
                left_out: left_out.join(" or "),
            });
        }
    }
    Ok(())
}

/// The keys that leave tests out.
const CONDITIONS: [&str; 2] = ["when", "unless"];

/// Whether a text in the value is this reference.
fn refers(value: &toml::Value, reference: &str) -> bool {
    match value {
        toml::Value::String(text) => text == reference,
        toml::Value::Array(items) => items.iter().any(|item| refers(item, reference)),
        toml::Value::Table(table) => table.values().any(|value| refers(value, reference)),
        _ => false,
    }
}
