//! Writes a profile as TOML.

use std::collections::BTreeMap;
use std::fmt::Write;

use flashlag_units::{InOrder, IntoOrder};

use super::document::{Profile, ProfileCheck};
use super::fitted_from::FittedFrom;
use super::parameter::Parameter;
use crate::words::Verdict;

pub(super) fn quote(text: &str) -> String {
    if text.chars().all(flashlag_units::is_printable) {
        return toml::Value::String(text.to_owned()).to_string();
    }
    // One line, without control characters: a profile is shown as it is stored.
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            character if flashlag_units::is_printable(character) => quoted.push(character),
            character => quoted.push_str(&format!("\\U{:08X}", u32::from(character))),
        }
    }
    quoted + "\""
}

pub(super) fn list(all: &[String]) -> String {
    let all: Vec<String> = all.iter().map(|text| quote(text)).collect();
    format!("[{}]", all.join(", "))
}

/// The whole file.
pub(super) fn write_all(profile: &Profile) -> String {
    let kind =
        profile.kind.map_or_else(String::new, |kind| format!("kind = \"{}\"\n", kind.name()));
    let mut text = format!(
        "name = {}\nabout = {}\n{kind}os = {}\nfilesystem = {}\nassumptions = {}\n",
        quote(&profile.name),
        quote(&profile.about),
        quote(&profile.os),
        quote(&profile.filesystem),
        list(&profile.assumptions),
    );
    if let Some(from) = &profile.fitted_from {
        write_fitted_from(&mut text, from);
    }
    for check in &profile.checks {
        write_check(&mut text, check);
    }
    let mut parameters: Vec<(&str, &str, &Parameter)> = profile
        .parameters
        .iter()
        .map(|(key, parameter)| {
            let (table, name) = key.rsplit_once('.').unwrap_or(("", key));
            (table, name, parameter)
        })
        .collect();
    // The parameters of a section come first, those of its parts after them.
    parameters.order_by_key(|(table, name, _)| (*table, *name));
    let mut section = "";
    for (table, name, parameter) in parameters {
        if table != section {
            let _ = write!(text, "\n[{table}]\n");
            section = table;
        }
        let _ = write!(text, "{name} = {{ value = {}", parameter.value);
        if let Some([low, high]) = &parameter.range {
            let _ = write!(text, ", range = [{low}, {high}]");
        }
        if !parameter.fitted.is_empty() {
            let _ = write!(text, ", fitted = {}", list(&parameter.fitted));
        }
        let _ = writeln!(text, ", source = {} }}", quote(&parameter.source));
    }
    text
}

pub(super) fn write_fitted_from(text: &mut String, from: &FittedFrom) {
    let (run, doubts) = (quote(&from.run), list(&from.doubts));
    let verdict = match from.verdict {
        Verdict::Trusted => "trusted",
        Verdict::Untrusted => "untrusted",
    };
    let _ = writeln!(
        text,
        "fitted_from = {{ run = {run}, verdict = \"{verdict}\", doubts = {doubts}, forced = {}, \
         misfit_percent = {} }}",
        from.forced,
        toml::Value::Float(from.misfit_percent),
    );
}

pub(super) fn write_check(text: &mut String, check: &ProfileCheck) {
    let (device, scenario) = (quote(&check.device), quote(&check.scenario));
    let _ = write!(text, "\n[[check]]\ndevice = {device}\nscenario = {scenario}\n");
    let optional =
        [("leave", &check.leave), ("filesystem", &check.filesystem), ("against", &check.against)];
    for (key, value) in optional {
        if let Some(value) = value {
            let _ = writeln!(text, "{key} = {}", quote(value));
        }
    }
    let maps = [
        ("settings", &check.settings),
        ("conditions", &check.conditions),
        ("workloads", &check.workloads),
    ];
    for (name, map) in maps.into_iter().filter(|(_, map)| !map.is_empty()) {
        let pair = |(key, value): (&String, &String)| format!("{} = {}", quote(key), quote(value));
        let map: Vec<String> = map.iter().map(pair).collect();
        let _ = writeln!(text, "{name} = {{ {} }}", map.join(", "));
    }
    let values = |map: &BTreeMap<String, toml::Value>| {
        let pair = |(key, value): (&String, &toml::Value)| format!("{} = {value}", quote(key));
        map.iter().map(pair).collect::<Vec<_>>().join(", ")
    };
    if !check.model.is_empty() {
        let _ = writeln!(text, "model = {{ {} }}", values(&check.model));
    }
    if !check.bars.is_empty() {
        let bars = check.bars.iter().map(|(key, bar)| (key.clone(), toml::Value::Float(*bar)));
        let _ = writeln!(text, "bars = {{ {} }}", values(&bars.into_map()));
    }
}
