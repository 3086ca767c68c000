//! The results of `flashlag profiles check` for the built-in profiles, as stored beside the profiles. A test of the command runs every check anew and compares.

use std::sync::LazyLock;

use flashlag_schema::Run;
use flashlag_spec::profile::{Profile, builtin_profile};
use flashlag_units::IntoOrder;

use crate::format;

/// A profile's published rows, and how many of them its simulation meets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The profile's name.
    pub profile: String,
    /// Number of published rows.
    pub rows: u32,
    /// Those that come out within 20 % (a published change in percent: within 5 points).
    pub near: u32,
    /// Those within the bars of `flashlag profiles check`.
    pub within_bars: u32,
}

static STANDINGS: LazyLock<Vec<Standing>> =
    LazyLock::new(|| parse(include_str!("../../../profiles/standing.csv")));

/// The standings of all built-in profiles with published rows.
pub fn standings() -> &'static [Standing] {
    &STANDINGS
}

fn parse(text: &str) -> Vec<Standing> {
    let row = |line: &str| {
        let mut fields = line.split(',');
        let profile = fields.next()?.to_owned();
        let mut number = || fields.next()?.parse().ok();
        Some(Standing { profile, rows: number()?, near: number()?, within_bars: number()? })
    };
    text.lines().skip(1).filter_map(row).collect()
}

/// What a simulated run rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    /// A built-in profile, with what is published of its device.
    Checked(&'static Standing),
    /// The same, on a filesystem without published measurements; the list has the filesystems with
    /// some.
    CheckedElsewhere(&'static Standing, Vec<String>),
    /// A built-in profile without published rows.
    Unpublished,
    /// A profile of the user's own, or another version's, with published rows to check.
    NotChecked(String),
    /// A profile that was fitted to a measured run: its warnings.
    Fitted(String, Vec<String>),
}

impl Model {
    /// What a simulated run rests on; `None` for any other run.
    pub fn of(run: &Run) -> Option<Model> {
        if run.target.kind != flashlag_schema::TargetKind::Simulated {
            return None;
        }
        let record = run.target.profile.as_ref();
        let Some(profile) = record.and_then(|record| Profile::parse(&record.text).ok()) else {
            return Some(Model::Unpublished);
        };
        if let Some(from) = &profile.fitted_from {
            return Some(Model::Fitted(from.run.clone(), from.warnings()));
        }
        if profile.checks.is_empty() {
            return Some(Model::Unpublished);
        }
        let built_in = builtin_profile(&profile.name).and_then(|text| Profile::parse(text).ok());
        let standing = standings().iter().find(|standing| standing.profile == profile.name);
        Some(match standing.filter(|_| built_in.as_ref() == Some(&profile)) {
            Some(standing) => {
                if is_as_published(run, &profile) {
                    Model::Checked(standing)
                } else {
                    Model::CheckedElsewhere(standing, published_on(&profile))
                }
            }
            None => Model::NotChecked(profile.name),
        })
    }

    /// `It is a model: 19 of 22 published rows within 20%`, without a full stop.
    pub fn in_words(&self) -> String {
        match self {
            Model::Checked(Standing { rows, near, .. }) => {
                let of =
                    if near == rows { format!("all {rows}") } else { format!("{near} of {rows}") };
                let row = if *rows == 1 { "the one published row is" } else { "published rows" };
                if *rows == 1 && near == rows {
                    format!("It is a model: {row} met within 20%")
                } else {
                    format!("It is a model: {of} published rows within 20%")
                }
            }
            Model::CheckedElsewhere(standing, on) => {
                let on = format::list(on);
                let held = Model::Checked(standing).in_words();
                format!("{held}, on {on}; nothing was published for this filesystem on this device")
            }
            Model::Unpublished => {
                "It is an unchecked model: there are no published rows of this device".to_owned()
            }
            Model::NotChecked(name) => {
                let which = match builtin_profile(name) {
                    Some(_) => format!("{name} with other parameters than the built-in profile"),
                    None => format!("the profile {name}"),
                };
                format!(
                    "It is a model: {which}, not compared with published figures; `flashlag \
                     profiles check FILE.toml` does that"
                )
            }
            Model::Fitted(run, warnings) => {
                let but = match warnings.as_slice() {
                    [] => String::new(),
                    some => format!(". {}", some.join(" ").trim_end_matches('.')),
                };
                format!("It is a model that was fitted to {run}{but}")
            }
        }
    }
}

/// Whether the run was on a filesystem on which one of the profile's published rows was measured.
fn is_as_published(run: &Run, profile: &Profile) -> bool {
    let on = run.target.profile.as_ref().map(|record| record.filesystem.as_str());
    on.is_some_and(|on| published_on(profile).iter().any(|published| published == on))
}

/// The filesystems on which the profile's published rows were measured.
fn published_on(profile: &Profile) -> Vec<String> {
    let own = &profile.filesystem;
    let on = profile.checks.iter().map(|check| check.filesystem.as_ref().unwrap_or(own).clone());
    on.into_set().into_iter().collect()
}

/// `Nexus 7 (2012)`: the device of a simulated run, from the beginning of its profile's
/// description.
pub(crate) fn simulated_device(run: &Run) -> Option<String> {
    let profile = run.target.profile.as_ref()?;
    if run.target.kind != flashlag_schema::TargetKind::Simulated {
        return None;
    }
    Some(short_name(&profile.name, &profile.about))
}

/// The first words of what a profile is about, or its name where those are a sentence.
fn short_name(name: &str, about: &str) -> String {
    let begin = about.split([',', ':']).next().unwrap_or_default();
    // A full stop within a word does not end a sentence: `eMMC 5.1`.
    let begin = begin.split(". ").next().unwrap_or_default().trim_end_matches('.').trim();
    let short = !begin.is_empty() && begin.chars().count() <= LONGEST_NAME;
    let name = if short { begin } else { name };
    let bare = name.strip_prefix("A ").or_else(|| name.strip_prefix("An "));
    bare.map_or_else(|| name.to_owned(), format::decapitalized)
}

/// A device's name that is longer than this is a sentence.
const LONGEST_NAME: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_as_its_profile_begins_and_no_word_or_number_of_it_is_cut() {
        for name in flashlag_spec::profile::names() {
            let text = builtin_profile(name).unwrap_or_default();
            let about = Profile::parse(text).map(|profile| profile.about).unwrap_or_default();
            let short = short_name(name, &about);
            let bare = about.strip_prefix("A ").unwrap_or(&about).to_lowercase();
            let rest = bare.strip_prefix(&short.to_lowercase());
            let ends = |rest: &str| rest == "." || rest.starts_with([',', ':']);
            assert!(short == name || rest.is_some_and(ends), "{name}: {short}, of {about}");
        }
        assert_eq!(short_name("x", "A phone of 2023 with UFS 4.0."), "phone of 2023 with UFS 4.0");
        assert_eq!(short_name("x", "A card. The rest says more."), "card");
        assert_eq!(short_name("x", ""), "x");
    }
}
