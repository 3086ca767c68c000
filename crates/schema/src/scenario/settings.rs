use std::collections::BTreeMap;

use super::error::ScenarioError;
use super::fault::ScenarioFault;

/// Replaces each `"$name"` by the setting's value, as TOML, without moving any line: so that a
/// later error still names the right one.
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

/// One line; `Err` holds the name that is no setting.
fn substitute_line(line: &str, settings: &BTreeMap<String, toml::Value>) -> Result<String, String> {
    let mut replaced = String::with_capacity(line.len());
    let mut rest = line;
    // A reference in a comment is no reference.
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

/// What `--set KEY=VALUE` means: of the type that the default has, so that `5` stays a number
/// and `100MB` a string.
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
