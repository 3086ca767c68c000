//! A user's own profile in a simulated run: its file name and the texts that somebody wrote are
//! removed. All figures of the model stay, so that the run can be repeated.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use flashlag_schema::ProfileRecord;
use flashlag_spec::profile::{Parameter, Profile, builtin_profile, names};
use flashlag_spec::target::{DeviceSpec, Kind, MountSpec};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::Removed;

/// Stands for a text that was removed.
const REMOVED: &str = "removed";
/// Prefix of a shared profile's name; the start of the model's hash follows.
const NAME: &str = "own-profile-";
/// Digits of that hash.
const DIGITS: usize = 8;
/// The description of a shared profile. It begins with an article, so that views show the name
/// instead.
const ABOUT: &str = "A profile of the user's own, whose texts are not shared.";
/// Why.
const TEXTS: &str = "texts of a profile of your own";

/// The private parts of a run's profile.
#[derive(Debug, Default)]
pub struct OwnProfile {
    /// The profile as it is published.
    record: Option<ProfileRecord>,
    /// The target as it is published.
    target: Option<String>,
    /// Texts of the profile that are also in a field of the environment.
    pub texts: Vec<String>,
    /// Names and parts of the path, which any text may repeat.
    pub words: Vec<String>,
    removed: Vec<Removed>,
}

impl OwnProfile {
    /// The private parts of a target's profile; empty if the profile is a built-in one.
    pub fn of(target: &flashlag_schema::Target) -> OwnProfile {
        let mut own = OwnProfile::default();
        let Some(record) = &target.profile else { return own };
        let mut public = record.clone();
        if let Ok(profile) = Profile::parse(&record.text) {
            public.text = own.public(profile).to_toml();
        } else if !record.text.is_empty() {
            public.text = own.gone(&record.text, REMOVED);
        }
        let name = format!("{NAME}{}", hash(&public.text));
        let is_named = is_known(&record.name) || is_shared_name(&record.name);
        if !is_named {
            public.text = public.text.replacen(&toml_name(NAME), &toml_name(&name), 1);
            public.name = own.gone(&record.name, &name);
            own.words.push(record.name.clone());
        }
        if !is_known(&record.about) {
            public.about = own.gone(&record.about, ABOUT);
            own.words.push(record.about.clone());
        }
        own.target = own.public_target(&target.name, &public.name);
        for (field, before, after) in [
            ("target.profile.about", &record.about, &public.about),
            ("target.profile.name", &record.name, &public.name),
            ("target.profile.text", &record.text, &public.text),
        ] {
            if before != after {
                own.removed.push(Removed { field: field.to_owned(), reason: TEXTS, values: 1 });
            }
        }
        own.record = Some(public);
        own
    }

    /// Puts the public texts into a run; returns which fields changed, in the order of the file.
    pub fn replace_in(self, run: &mut Value) -> Vec<Removed> {
        if let Some(place) = run.pointer_mut("/target/name")
            && let Some(target) = self.target
        {
            *place = Value::String(target);
        }
        if let Some(place) = run.pointer_mut("/target/profile")
            && let Some(record) = self.record
            && let Ok(record) = serde_json::to_value(record)
        {
            *place = record;
        }
        self.removed
    }

    /// Records a text that is removed, and returns its replacement.
    fn gone(&mut self, text: &str, instead: &str) -> String {
        self.texts.push(text.to_owned());
        instead.to_owned()
    }

    /// The text itself if a built-in profile has it.
    fn line(&mut self, text: String, instead: &str) -> String {
        if is_known(&text) { text } else { self.gone(&text, instead) }
    }

    fn public(&mut self, mut profile: Profile) -> Profile {
        if !is_shared_name(&profile.name) {
            profile.name = self.line(profile.name, NAME);
        }
        profile.about = self.line(profile.about, ABOUT);
        profile.os = self.line(profile.os, REMOVED);
        let lines = std::mem::take(&mut profile.assumptions);
        profile.assumptions = lines.into_iter().map(|line| self.line(line, REMOVED)).collect();
        let known = builtin();
        profile.checks.retain(|check| known.profiles.iter().any(|it| it.checks.contains(check)));
        if let Some(fitted) = &mut profile.fitted_from {
            fitted.run = self.line(std::mem::take(&mut fitted.run), REMOVED);
            let doubts = std::mem::take(&mut fitted.doubts);
            fitted.doubts = doubts.into_iter().map(|line| self.line(line, REMOVED)).collect();
        }
        for (key, parameter) in &mut profile.parameters {
            self.parameter(key, parameter);
        }
        profile
    }

    fn parameter(&mut self, key: &str, parameter: &mut Parameter) {
        parameter.source = self.line(std::mem::take(&mut parameter.source), REMOVED);
        parameter.fitted.retain(|row| is_known(row));
        // The model guarantees that every other value is a quantity or a word of a list.
        if key == "host.link"
            && let toml::Value::String(link) = &parameter.value
        {
            parameter.value = toml::Value::String(self.line(link.clone(), REMOVED));
        }
        let is_text = |value: &toml::Value| value.as_str().is_some_and(|text| !is_known(text));
        if parameter.bounds().is_none() && parameter.range.iter().flatten().any(is_text) {
            parameter.range = None;
        }
    }

    /// The target without the path of its profile; `None` if nothing has to go.
    fn public_target(&mut self, target: &str, name: &str) -> Option<String> {
        let kind = Kind::named_by(target)?;
        let (word, rest) = target.split_once(':')?;
        let device = DeviceSpec::parse_as(kind, rest);
        // A path may contain a plus sign that no filesystem follows.
        let (profile, mount) = match &device {
            Ok(device) => (device.profile.as_str(), rest.get(device.profile.len()..)?),
            Err(_) => match rest.rsplit_once('+') {
                Some((profile, mount)) if MountSpec::parse(kind, mount).is_ok() => {
                    (profile, rest.get(profile.len()..)?)
                }
                _ => (rest, ""),
            },
        };
        if is_known(profile) || is_shared_name(profile) {
            return None;
        }
        self.removed.push(Removed {
            field: "target.name".to_owned(),
            reason: "the path of a profile of your own",
            values: 1,
        });
        self.words.push(profile.to_owned());
        let parts = profile.split(['/', '\\']);
        let stems = parts.flat_map(|part| [part, part.strip_suffix(".toml").unwrap_or(part)]);
        self.words.extend(stems.map(str::to_owned));
        Some(format!("{word}:{name}{mount}"))
    }
}

/// `name = "…"`, as a profile's first line has it.
fn toml_name(name: &str) -> String {
    format!("name = \"{name}\"\n")
}

fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let mut digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.truncate(DIGITS);
    digits
}

fn is_shared_name(name: &str) -> bool {
    name.strip_prefix(NAME).is_some_and(|hash| {
        hash.len() == DIGITS && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Whether the text is one of the program's own, or a replacement.
fn is_known(text: &str) -> bool {
    text.is_empty() || [REMOVED, ABOUT].contains(&text) || builtin().texts.contains(text)
}

/// The built-in profiles, and all texts in them.
struct Builtin {
    profiles: Vec<Profile>,
    texts: BTreeSet<String>,
}

fn builtin() -> &'static Builtin {
    static BUILTIN: OnceLock<Builtin> = OnceLock::new();
    BUILTIN.get_or_init(|| {
        let texts = names().filter_map(builtin_profile);
        let profiles: Vec<Profile> = texts.filter_map(|text| Profile::parse(text).ok()).collect();
        let mut texts = BTreeSet::new();
        for profile in &profiles {
            let lines = [&profile.name, &profile.about, &profile.os, &profile.filesystem];
            texts.extend(lines.into_iter().chain(&profile.assumptions).cloned());
            for parameter in profile.parameters.values() {
                texts.insert(parameter.source.clone());
                texts.extend(parameter.fitted.iter().cloned());
                texts.extend(parameter.value.as_str().map(str::to_owned));
                let bounds = parameter.range.iter().flatten();
                texts.extend(bounds.filter_map(|bound| bound.as_str().map(str::to_owned)));
            }
        }
        Builtin { profiles, texts }
    })
}
