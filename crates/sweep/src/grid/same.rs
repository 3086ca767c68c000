//! Finds values that are spelled differently and mean the same: their points would be in the table
//! twice.

use std::collections::BTreeMap;

use flashlag_spec::profile::Profile;
use flashlag_spec::target::{Kind, MountSpec};
use flashlag_units::{Bytes, InOrder, IntoOrder, Nanos};

use super::boxes::{Box, Texts};
use crate::error::GridError;

/// Compares values by their meaning; the meaning of a missing key depends on the profile.
#[derive(Debug)]
pub(super) struct Same<'a> {
    texts: &'a Texts,
    profiles: BTreeMap<&'a str, Profile>,
}

/// A value and how it is spelled.
type Spelled = (String, String);

impl<'a> Same<'a> {
    pub fn new(texts: &'a Texts) -> Same<'a> {
        let parsed = |(name, text): (&'a String, &'a String)| {
            Profile::parse(text).ok().map(|profile| (name.as_str(), profile))
        };
        Same { texts, profiles: texts.profiles.iter().filter_map(parsed).into_map() }
    }

    /// Refuses a list of points with a duplicate.
    pub fn check(&self, list: &Box, place: &str) -> Result<(), GridError> {
        let twice = |key: &str, means: Vec<Spelled>, of: &str| {
            let found = means.iter().enumerate().find_map(|(index, (spelled, meaning))| {
                let mut before = means.iter().take(index);
                before.find(|(_, other)| other == meaning).map(|(other, _)| (other, spelled))
            });
            found.map_or(Ok(()), |(one, two)| {
                Err(GridError::Value {
                    place: place.to_owned(),
                    key: key.to_owned(),
                    reason: twice_for(&shown(one), &shown(two), of),
                })
            })
        };
        let texts = |names: &[String], all: &BTreeMap<String, String>| {
            let text = |name: &String| (name.clone(), all.get(name).cloned().unwrap_or_default());
            names.iter().map(text).collect()
        };
        twice("scenario", texts(&list.scenario, &self.texts.scenarios), "")?;
        twice("profile", texts(&list.profile, &self.texts.profiles), "")?;
        for profile in &list.profile {
            let of = format!(" for {profile}");
            twice("filesystem", self.mounts(list, profile), &of)?;
            let sizes = list.size.iter().map(|size| (size.clone(), self.size(profile, size)));
            twice("size", sizes.collect(), &of)?;
        }
        for (table, pairs) in [("set", &list.set), ("parameters", &list.parameters)] {
            for (key, values) in pairs {
                let means = values.iter().map(|value| (value.clone(), quantity(value))).collect();
                twice(&format!("{table}.{key}"), means, "")?;
            }
        }
        Ok(())
    }

    /// Whether two lists share a point.
    pub fn overlap(&self, one: &Box, two: &Box) -> bool {
        let means = |all: &BTreeMap<String, String>, one: &[String], two: &[String]| {
            one.iter().any(|one| two.iter().any(|two| all.get(one) == all.get(two)))
        };
        let pairs = |one: &[(String, Vec<String>)], two: &[(String, Vec<String>)]| {
            let same = one.iter().map(|(key, _)| key).eq(two.iter().map(|(key, _)| key));
            let meet = |one: &[String], two: &[String]| {
                one.iter().any(|one| two.iter().any(|two| quantity(one) == quantity(two)))
            };
            same && one.iter().zip(two).all(|((_, one), (_, two))| meet(one, two))
        };
        let on_one_profile = |one_name: &String, two_name: &String| {
            let texts = &self.texts.profiles;
            if texts.get(one_name) != texts.get(two_name) {
                return false;
            }
            let (mine, its) = (self.mounts(one, one_name), self.mounts(two, two_name));
            let size = |size: &String| self.size(one_name, size);
            mine.iter().any(|(_, mount)| its.iter().any(|(_, other)| other == mount))
                && one.size.iter().any(|mine| two.size.iter().any(|its| size(mine) == size(its)))
        };
        means(&self.texts.scenarios, &one.scenario, &two.scenario)
            && one
                .profile
                .iter()
                .any(|mine| two.profile.iter().any(|its| on_one_profile(mine, its)))
            && one.age.iter().any(|age| two.age.contains(age))
            && one.full.iter().any(|full| two.full.contains(full))
            && pairs(&one.set, &two.set)
            && pairs(&one.parameters, &two.parameters)
            && one.seed.meets(&two.seed)
    }

    /// Each filesystem combined with each set of options, and the resulting mount.
    fn mounts(&self, list: &Box, profile: &str) -> Vec<Spelled> {
        let own = self.profiles.get(profile).map_or("", |profile| &profile.filesystem);
        let together = |filesystem: &String, options: &String| {
            let spelled =
                [filesystem.as_str(), options].into_iter().filter(|text| !text.is_empty());
            let spelled = spelled.collect::<Vec<_>>().join(",");
            let base = if filesystem.is_empty() { own } else { filesystem };
            let whole =
                if options.is_empty() { base.to_owned() } else { format!("{base},{options}") };
            // A combination that the filesystem refuses makes no device; its row says so.
            let Ok(mount) = MountSpec::parse(Kind::Sim, &whole) else { return (spelled, whole) };
            let mount = mount.to_string();
            let mut words: Vec<&str> = mount.split(',').collect();
            words.order();
            words.dedup();
            (spelled, words.join(","))
        };
        let each =
            |filesystem| list.options.iter().map(move |options| together(filesystem, options));
        list.filesystem.iter().flat_map(each).collect()
    }

    fn size(&self, profile: &str, text: &str) -> String {
        let own = || self.profiles.get(profile)?.model().ok().map(|model| model.map.capacity.0);
        let size = if text.is_empty() { own() } else { text.parse::<Bytes>().ok() };
        size.map_or_else(|| text.to_owned(), |size| size.0.to_string())
    }
}

/// The value of a setting or a parameter, as a size, a time or a number if it is one.
fn quantity(text: &str) -> String {
    match (text.parse::<f64>(), text.parse::<Bytes>(), text.parse::<Nanos>()) {
        (Ok(number), ..) => number.to_string(),
        (_, Ok(size), _) => format!("{} B", size.0),
        (.., Ok(time)) => format!("{} ns", time.0),
        _ => text.to_owned(),
    }
}

/// A spelling within a sentence.
pub(super) fn shown(text: &str) -> String {
    if text.is_empty() { "\"\" (the default)".to_owned() } else { format!("`{text}`") }
}

/// Two spellings of one value.
pub(super) fn twice(one: &str, two: &str) -> String {
    twice_for(one, two, "")
}

fn twice_for(one: &str, two: &str, of: &str) -> String {
    format!(
        "{one} and {two} are the same{of}, and its points would be in the table twice: leave one of \
         them out"
    )
}
