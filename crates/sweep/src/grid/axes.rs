//! A grid as it is written in TOML: for each key a value, or a list of values.

use std::collections::BTreeMap;
use std::fmt;

use flashlag_units::IntoOrder;
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};

use crate::error::GridError;

/// The keys of a grid, slowest-changing first.
pub(super) const KEYS: [&str; 13] = [
    "name",
    "about",
    "scenario",
    "profile",
    "filesystem",
    "options",
    "size",
    "age",
    "full",
    "set",
    "parameters",
    "seed",
    "points",
];

/// The values of one key, as text: `5` and `"5"` are the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Values(pub Vec<String>);

/// Keys and values.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Axes {
    pub name: Option<String>,
    pub about: Option<String>,
    pub scenario: Option<Values>,
    pub profile: Option<Values>,
    pub filesystem: Option<Values>,
    pub options: Option<Values>,
    pub size: Option<Values>,
    pub age: Option<Values>,
    pub full: Option<Values>,
    #[serde(default)]
    pub set: BTreeMap<String, Values>,
    #[serde(default)]
    pub parameters: BTreeMap<String, Values>,
    pub seed: Option<Seeds>,
    #[serde(default)]
    pub points: Vec<Axes>,
}

/// Seeds: a list, or a first seed and a number of seeds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged, expecting = "no seeds: write 1, [1, 2, 3] or { from = 1, count = 100 }")]
pub(super) enum Seeds {
    One(u64),
    Some(Vec<u64>),
    Range(SeedRange),
}

/// Consecutive seeds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SeedRange {
    pub from: u64,
    pub count: u64,
}

impl Axes {
    /// These keys, completed by those of `base`.
    pub fn over(&self, base: &Axes) -> Axes {
        let or = |own: &Option<Values>, other: &Option<Values>| own.clone().or(other.clone());
        let both = |own: &BTreeMap<String, Values>, other: &BTreeMap<String, Values>| {
            other.clone().into_iter().chain(own.clone()).into_map()
        };
        Axes {
            name: None,
            about: None,
            scenario: or(&self.scenario, &base.scenario),
            profile: or(&self.profile, &base.profile),
            filesystem: or(&self.filesystem, &base.filesystem),
            options: or(&self.options, &base.options),
            size: or(&self.size, &base.size),
            age: or(&self.age, &base.age),
            full: or(&self.full, &base.full),
            set: both(&self.set, &base.set),
            parameters: both(&self.parameters, &base.parameters),
            seed: self.seed.clone().or(base.seed.clone()),
            points: Vec::new(),
        }
    }

    /// Refuses in a list of points those keys that belong to the whole grid.
    pub fn refuse_head(&self, place: &str) -> Result<(), GridError> {
        let given = [
            ("name", self.name.is_some()),
            ("about", self.about.is_some()),
            ("points", !self.points.is_empty()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((key, _)) => Err(GridError::Value {
                place: place.to_owned(),
                key: key.to_owned(),
                reason: "it belongs to the whole grid: write it before the first [[points]]".into(),
            }),
            None => Ok(()),
        }
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Values, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Values;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number, true or false, or a list of these")
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Values, E> {
                Ok(Values(vec![value.to_owned()]))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Values, E> {
                Ok(Values(vec![value.to_string()]))
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Values, E> {
                Ok(Values(vec![value.to_string()]))
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Values, E> {
                Ok(Values(vec![value.to_string()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Values, A::Error> {
                let mut all = Vec::new();
                while let Some(Values(mut one)) = list.next_element()? {
                    if one.len() != 1 {
                        return Err(A::Error::custom("a list within a list: write it as a text"));
                    }
                    all.append(&mut one);
                }
                Ok(Values(all))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}
