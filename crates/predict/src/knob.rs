//! Changes of a parameter: its steps and its spelling.

use flashlag_spec::profile::{Parameter, Profile};
use flashlag_units::Bytes;

use crate::ModelError;

/// Parameters that double or halve: no device has a tenth more of them.
const DOUBLED: [&str; 8] = [
    "nand.page",
    "nand.pages_per_block",
    "map.unit",
    "map.program_unit",
    "map.allocation_unit",
    "host.largest",
    "map.entry",
    "buffer.size",
];

/// The steps of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grain {
    Fine,
    Whole,
    /// Halves and doubles.
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

/// The value times `factor`, or the next step in that direction.
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
/// The device is invalid; the error names the parameter.
pub(crate) fn set(profile: &Profile, key: &str, value: f64) -> Result<Profile, ModelError> {
    set_all(profile, &[(key, value)])
}

/// The profile with all of these parameters at these values.
pub(crate) fn set_all(profile: &Profile, all: &[(&str, f64)]) -> Result<Profile, ModelError> {
    let mut changed = profile.clone();
    for (key, value) in all {
        let Some(parameter) = changed.parameters.get_mut(*key) else {
            let (profile, key) = (profile.name.clone(), (*key).to_owned());
            return Err(ModelError::UnknownParameter { profile, key });
        };
        let text = spelled(parameter, *value);
        parameter.value = match &parameter.value {
            toml::Value::Integer(_) => toml::Value::Integer(value.round() as i64),
            toml::Value::Float(_) => toml::Value::Float(rounded(*value)),
            _ => toml::Value::String(text),
        };
    }
    changed.model()?;
    Ok(changed)
}

/// A value as in a profile: `1.3ms`, `54MiB`, `0.1`.
pub(crate) fn written(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A number as in a profile, to four digits: `1343us`, `54300KiB`.
pub(crate) fn spelled(parameter: &Parameter, number: f64) -> String {
    let number = rounded(number);
    let text = parameter.spell(number);
    let whole = number.max(0.0).round() as u64;
    if text.ends_with("ns") && whole >= 10_000 && whole.is_multiple_of(10) {
        return match whole % 1000 {
            0 => format!("{}us", whole / 1000),
            rest => format!("{}.{}us", whole / 1000, format!("{rest:03}").trim_end_matches('0')),
        };
    }
    if text.ends_with('B') {
        let binary = parameter.value.as_str().is_some_and(|value| value.contains("iB"));
        let whole = if binary && whole > 1 << 20 { whole.next_multiple_of(1024) } else { whole };
        return exact(Bytes(whole));
    }
    text
}

/// A size without loss, in the largest unit that divides it.
pub(crate) fn exact(size: Bytes) -> String {
    let units = [
        ("GiB", 1_u64 << 30),
        ("GB", 1_000_000_000),
        ("MiB", 1 << 20),
        ("MB", 1_000_000),
        ("KiB", 1 << 10),
        ("kB", 1_000),
    ];
    let divides = |unit: u64| size.0 > 0 && size.0.is_multiple_of(unit);
    match units.into_iter().find(|(_, unit)| divides(*unit)) {
        Some((name, unit)) => format!("{}{name}", size.0 / unit),
        None => format!("{}B", size.0),
    }
}

/// The number to four significant digits; a multiple of 1,024 stays one.
fn rounded(number: f64) -> f64 {
    let kib = number / 1024.0;
    if number == 0.0 || !number.is_finite() || (kib.fract() == 0.0 && kib >= 1.0) {
        return number;
    }
    let unit = 10f64.powf(number.abs().log10().floor() - 3.0);
    (number / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Parameter {
        Parameter {
            value: toml::Value::String(text.to_owned()),
            source: "test".to_owned(),
            range: None,
            fitted: Vec::new(),
        }
    }

    #[test]
    fn numbers_are_written_as_people_write_them() {
        let cases = [
            ("1ms", 1_342_711.0, "1343us"),
            ("1ms", 13_427.0, "13.43us"),
            ("1ms", 250.0, "250ns"),
            ("1ms", 0.0, "0ns"),
            ("4KiB", 8192.0, "8KiB"),
            ("300MiB", 270.0 * 1048576.0, "270MiB"),
            ("300MiB", 54_321_987.0, "53047KiB"),
            ("100MB", 94_437_654.0, "94440kB"),
        ];
        for (like, number, text) in cases {
            assert_eq!(spelled(&of(like), number), text);
        }
    }

    #[test]
    fn what_comes_in_halves_and_doubles_moves_so() {
        assert_eq!(moved("nand.page", &of("8KiB"), 1.1), Some(16384.0));
        assert_eq!(moved("nand.program", &of("1ms"), 0.9), Some(900_000.0));
        let count = Parameter { value: toml::Value::Integer(2), ..of("1ms") };
        assert_eq!(moved("gc.low_water", &count, 1.1), Some(3.0));
        assert_eq!(moved("gc.low_water", &count, 0.9), Some(1.0));
    }
}
