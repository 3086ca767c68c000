//! Parameters as things to turn: by how much, within which bounds, in what steps.

use flashlag_schema::profile::{Parameter, Profile};

/// Sizes of which a device has one, two, four, …: a tenth more of them makes no device.
const DOUBLED: [&str; 7] = [
    "nand.page",
    "nand.pages_per_block",
    "map.unit",
    "map.program_unit",
    "map.allocation_unit",
    "host.largest",
    "map.entry",
];

/// How a parameter can be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grain {
    /// To any value.
    Fine,
    /// By whole numbers.
    Whole,
    /// By halves and doubles.
    Doubled,
}

pub(crate) fn grain(key: &str, parameter: &Parameter) -> Grain {
    if DOUBLED.contains(&key) {
        Grain::Doubled
    } else if parameter.value.is_integer() {
        Grain::Whole
    } else {
        Grain::Fine
    }
}

/// The value after it was moved by `factor`, or by the smallest step there is that way.
pub(crate) fn moved(key: &str, parameter: &Parameter, factor: f64) -> Option<f64> {
    let value = parameter.number()?;
    Some(match grain(key, parameter) {
        Grain::Fine => value * factor,
        Grain::Whole if factor >= 1.0 => (value * factor).round().max(value + 1.0),
        Grain::Whole => (value * factor).round().min(value - 1.0),
        Grain::Doubled if factor >= 1.0 => value * 2.0,
        Grain::Doubled => value / 2.0,
    })
}

/// The profile with that parameter at that value.
///
/// # Errors
/// Where that makes no device: what is wrong, by the parameter's name.
pub(crate) fn set(profile: &Profile, key: &str, value: f64) -> Result<Profile, String> {
    let Some(parameter) = profile.parameters.get(key) else {
        return Err(format!("{} has no parameter `{key}`", profile.name));
    };
    profile.with(key, &parameter.spell(value)).map_err(|error| error.to_string())
}

/// A value as people write it: `1.3ms`, `54MiB`, `0.1`.
pub(crate) fn written(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A number of a parameter as people write it.
pub(crate) fn written_number(parameter: &Parameter, number: f64) -> String {
    use flashlag_units::{Bytes, Nanos};
    let spelled = parameter.spell(number);
    if let Ok(time) = spelled.parse::<Nanos>() {
        return time.to_string();
    }
    match spelled.parse::<Bytes>() {
        Ok(size) => size.to_string(),
        Err(_) => spelled,
    }
}
