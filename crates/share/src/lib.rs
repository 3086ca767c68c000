//! Makes a run fit for publication: keeps the measurement, removes what is private. Paths, mount
//! sources, names of volumes, command lines, and texts that repeat any of them are removed; what
//! the device is and what was measured stays.
//!
//! A field of free text stays only if a rule says so ([`rules`]). If a field has no rule,
//! [`shared`] refuses the run instead of publishing it.
#![forbid(unsafe_code)]

mod free_text;
mod kept;
mod options;
mod private;
mod profile;
mod rules;
mod scrub;
mod walk;

use flashlag_schema::{Run, SharedRecord};
use flashlag_units::InOrder;
use serde_json::Value;

pub use kept::{Kept, Removed, ShareError};
use profile::OwnProfile;
pub use rules::{Fate, Rule, rules};
pub use scrub::Scrubber;

/// A run that is fit for publication, and what was changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared {
    /// The run, sealed anew.
    pub run: Run,
    /// Fields that were removed or changed, each once, in the order of the file.
    pub removed: Vec<Removed>,
    /// Free text that stays, by field, for its owner to check: each value of a field once.
    pub kept: Vec<Kept>,
}

impl Shared {
    /// The run as others are given it: in one line, a quarter of the size of the run file.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.run).unwrap_or_default() + "\n"
    }
}

/// A run without what is private in it.
pub fn shared(run: &Run) -> Result<Shared, ShareError> {
    shared_with_scrubber(run).map(|(shared, _)| shared)
}

/// The same, with a scrubber that removes the run's private values from texts that are derived from
/// it and are in none of its fields.
pub fn shared_with_scrubber(run: &Run) -> Result<(Shared, Scrubber), ShareError> {
    let original = match &run.shared {
        Some(shared) => shared.original_sha256.clone(),
        None => run.checksum(),
    };
    let mut value = serde_json::from_slice(run.to_json().as_bytes()).unwrap_or(Value::Null);
    let own = OwnProfile::of(&run.target);
    let scrubber = Scrubber::of(&value, &own);
    let of_profile = own.replace_in(&mut value);
    let mut walked = walk::Walk::new(&scrubber, free_text::fields());
    walked.through(&mut value, "")?;
    let (mut removed, kept) = walked.found();
    let place = removed.partition_point(|it| it.field.as_str() < "target.name");
    removed.splice(place..place, of_profile);
    let mut run = Run::from_json(&value.to_string())?;
    let mut fields: Vec<String> = removed.iter().map(|it| it.field.clone()).collect();
    if let Some(before) = run.shared.take() {
        fields.extend(before.removed);
        fields.order();
        fields.dedup();
    }
    run.shared = Some(SharedRecord { original_sha256: original, removed: fields });
    run.seal();
    Ok((Shared { run, removed, kept }, scrubber))
}

/// Paths of a run's free-text fields, from its schema; `*` stands for a name that is itself free.
pub fn free_text() -> std::collections::BTreeSet<String> {
    free_text::fields().clone()
}
