//! Applies the rules to all texts of a run.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::free_text::below;
use crate::kept::{Kept, Removed, ShareError, shown};
use crate::options::{is_device_name, is_plain_option, is_plain_setting};
use crate::rules::{self, Fate, Rule};
use crate::scrub::Scrubber;

/// Stands for what was removed.
const REMOVED: &str = "removed";

/// What a walk through a run found.
pub struct Walk<'s> {
    scrubber: &'s Scrubber,
    free_text: &'s BTreeSet<String>,
    removed: Vec<Removed>,
    kept: Vec<Kept>,
}

/// What becomes of one value.
enum Becomes {
    Same,
    Text(String),
    Value(Value),
    Nothing,
}

impl<'s> Walk<'s> {
    /// A walk that has removed nothing yet.
    pub fn new(scrubber: &'s Scrubber, free_text: &'s BTreeSet<String>) -> Walk<'s> {
        Walk { scrubber, free_text, removed: Vec::new(), kept: Vec::new() }
    }

    /// What was removed and what was kept.
    pub fn found(self) -> (Vec<Removed>, Vec<Kept>) {
        (self.removed, self.kept)
    }

    /// Changes `value`, the content of the field `field`, and everything below it.
    pub fn through(&mut self, value: &mut Value, field: &str) -> Result<(), ShareError> {
        match value {
            Value::Object(members) => {
                let mut gone = Vec::new();
                for (name, member) in members.iter_mut() {
                    let below = below(field, name);
                    match member {
                        Value::String(text) => match self.text(text, &below)? {
                            Becomes::Same => {}
                            Becomes::Text(text) => *member = Value::String(text),
                            Becomes::Value(value) => *member = value,
                            Becomes::Nothing => gone.push(name.clone()),
                        },
                        _ => self.through(member, &below)?,
                    }
                }
                gone.iter().for_each(|name| {
                    members.remove(name);
                });
            }
            Value::Array(items) => self.list(items, &format!("{field}[]"))?,
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        Ok(())
    }

    fn list(&mut self, items: &mut Vec<Value>, field: &str) -> Result<(), ShareError> {
        let mut left = Vec::with_capacity(items.len());
        for mut item in std::mem::take(items) {
            let Value::String(text) = &item else {
                self.through(&mut item, field)?;
                left.push(item);
                continue;
            };
            match self.text(text, field)? {
                Becomes::Same => left.push(item),
                Becomes::Text(text) => left.push(Value::String(text)),
                Becomes::Value(value) => left.push(value),
                Becomes::Nothing => {}
            }
        }
        *items = left;
        Ok(())
    }

    fn text(&mut self, text: &str, field: &str) -> Result<Becomes, ShareError> {
        let is_free = self.free_text.contains(field)
            || field
                .rsplit_once('.')
                .is_some_and(|(of, _)| self.free_text.contains(&below(of, "*")));
        if !is_free {
            return Ok(Becomes::Same);
        }
        // The reason for a missing value may contain a path in any field.
        let of = field.strip_suffix(".unavailable").filter(|of| rules::of(of).is_some());
        let rule = match of {
            Some(_) => Some(&Rule { fields: "", fate: Fate::Scrubbed, reason: "paths" }),
            None => rules::of(field),
        };
        let Some(rule) = rule else {
            return Err(ShareError::UnknownField { field: field.to_owned() });
        };
        let becomes = self.becomes(text, field, rule.fate);
        match &becomes {
            Becomes::Same => {}
            _ if rule.fate == Fate::Stays && self.scrubber.is_of_profile(text) => {
                self.note(field, "a text of a profile of your own");
            }
            _ if rule.fate == Fate::Stays => self.note(field, "paths"),
            _ => self.note(field, rule.reason),
        }
        if rule.fate == Fate::Shown {
            let text = match &becomes {
                Becomes::Text(text) => text,
                _ => text,
            };
            self.kept.push(Kept { field: field.to_owned(), text: shown(text) });
        }
        Ok(becomes)
    }

    fn becomes(&self, text: &str, field: &str, fate: Fate) -> Becomes {
        let unless =
            |stays: bool, otherwise: Becomes| if stays { Becomes::Same } else { otherwise };
        let blank = || Becomes::Text(REMOVED.to_owned());
        let in_list = field.ends_with("[]");
        match fate {
            // A modelled device has the name that its profile gives it.
            Fate::Stays if self.scrubber.is_of_profile(text) => blank(),
            Fate::Stays if is_of_program(field) => Becomes::Same,
            Fate::Stays | Fate::Scrubbed | Fate::Shown => match self.scrubber.scrubbed(text) {
                Some(clean) => Becomes::Text(clean),
                None => Becomes::Same,
            },
            Fate::Neighbours => {
                let unnamed = without_quoted(text);
                let clean = self.scrubber.scrubbed(&unnamed).unwrap_or(unnamed);
                unless(clean == text, Becomes::Text(clean))
            }
            Fate::MountOptions => unless(is_plain_option(text), Becomes::Nothing),
            Fate::DeviceName => unless(is_device_name(text) || text == REMOVED, blank()),
            Fate::TargetName => unless(text.starts_with("sim:") || text == REMOVED, blank()),
            Fate::Setting => unless(is_plain_setting(text), blank()),
            Fate::Blanked => unless(text == REMOVED, blank()),
            Fate::Withheld => Becomes::Value(json!({"unavailable": "not shared"})),
            Fate::Emptied if in_list => Becomes::Nothing,
            Fate::Dropped | Fate::Emptied => Becomes::Nothing,
        }
    }

    fn note(&mut self, field: &str, reason: &'static str) {
        match self.removed.iter_mut().find(|known| known.field == field) {
            Some(known) => known.values += 1,
            None => self.removed.push(Removed { field: field.to_owned(), reason, values: 1 }),
        }
    }
}

/// Whether a text is the program's own, or was already replaced as a profile's.
fn is_of_program(field: &str) -> bool {
    ["target.profile.", "shared.", "integrity.", "schema"]
        .iter()
        .any(|start| field.starts_with(start))
}

/// Replaces everything between the first and the last backquote: a name may contain backquotes.
fn without_quoted(text: &str) -> String {
    match (text.find('`'), text.rfind('`')) {
        (Some(first), Some(last)) if first < last => {
            format!("{}`another program`{}", &text[..first], &text[last + 1..])
        }
        _ => text.to_owned(),
    }
}
