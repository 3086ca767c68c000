//! Extrapolations of a forecast beyond published measurements.

use flashlag_spec::profile::Profile;
use flashlag_spec::published::Published;
use flashlag_spec::target::TargetOption;
use flashlag_units::{Bytes, InOrder, Nanos};

use super::parse::Change;
use super::situation::Situation;
use crate::check::states_checked;

/// Free space that fills leave by default in a check.
const REVIEWERS_LEAVE: Bytes = Bytes::from_mb(300);

pub(super) fn beyond(
    before: &Situation,
    after: &Situation,
    change: &Change,
    published: &[Published],
) -> Vec<String> {
    let profile = &after.profile;
    let name = &profile.name;
    match change {
        Change::Full(level) => full(after, *level, published).into_iter().collect(),
        Change::Age(age) if *age > Nanos::ZERO => vec![format!(
            "no published row of {name} is from a device months in use: the daily mix of writes \
             is assumed"
        )],
        Change::Age(_) => Vec::new(),
        Change::IdleMaintenance(_) if after.plan.age == Nanos::ZERO => {
            vec!["it shows only over months of use: put age=12mo before it".to_owned()]
        }
        Change::IdleMaintenance(_) => {
            vec![format!("no published row of {name} shows months with and without it")]
        }
        Change::Untrimmed(_) => vec![format!(
            "no published row of {name} is of files that were deleted and not trimmed, unless it says \
             so; those are taken to lie in blocks of their own"
        )],
        Change::Worn(_) => vec![format!(
            "no published row of {name} is of a worn device: only reads take longer in the model"
        )],
        Change::Journal(_) | Change::Synchronous(_) => {
            vec![format!("no published row of {name} is of saves")]
        }
        Change::Filesystem(kind) => {
            let known =
                mounts(profile).iter().any(|mount| mount.split(',').next() == Some(kind.name()));
            (!known)
                .then(|| {
                    format!(
                        "{name} was never checked on {kind}, only on {}",
                        mounts_in_words(profile)
                    )
                })
                .into_iter()
                .collect()
        }
        Change::Option(option, on) => option_unknown(profile, option, *on),
        Change::Discard(_) => vec![format!(
            "what a discard costs on {name} is in no published row, unless that says so"
        )],
        Change::Spare(_) => range(before, after, "map.spare").into_iter().collect(),
        Change::Buffer(_) => range(before, after, "buffer.size").into_iter().collect(),
        Change::Parameter(key, _) => range(before, after, key).into_iter().collect(),
    }
}

/// The filesystems of a profile's published rows.
fn mounts(profile: &Profile) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for check in &profile.checks {
        let own = check.filesystem.as_ref().unwrap_or(&profile.filesystem);
        all.push(own.clone());
        all.extend(check.against.iter().cloned());
    }
    all.order();
    all.dedup();
    all
}

fn mounts_in_words(profile: &Profile) -> String {
    let all = mounts(profile);
    if all.is_empty() { "nothing".to_owned() } else { all.join(" and ") }
}

fn option_unknown(profile: &Profile, option: &TargetOption, on: bool) -> Vec<String> {
    let option = option.to_string();
    let has = |mount: &String| mount.split(',').any(|word| word == option) == on;
    if mounts(profile).iter().any(has) {
        return Vec::new();
    }
    let with = if on { "with" } else { "without" };
    vec![format!(
        "{} was never checked {with} {option}, only on {}",
        profile.name,
        mounts_in_words(profile)
    )]
}

/// Whether a published row of a profile is from full storage.
pub(super) fn was_measured_full(profile: &Profile, published: &[Published]) -> bool {
    states_checked(profile, published).contains(&flashlag_spec::State::Filled)
}

fn full(after: &Situation, level: f64, published: &[Published]) -> Option<String> {
    let profile = &after.profile;
    if !was_measured_full(profile, published) {
        return Some(format!("no published row of {} is from full storage", profile.name));
    }
    let capacity = after.capacity().ok()?;
    let leave = profile.checks.iter().filter_map(|check| check.leave.as_ref()?.parse().ok());
    let leave: Bytes = leave.min().unwrap_or(REVIEWERS_LEAVE);
    let measured = 1.0 - leave.0 as f64 / capacity.0 as f64;
    if level > measured + 0.005 {
        return Some(format!(
            "its published rows were measured at {} full at most",
            flashlag_units::percent(measured)
        ));
    }
    (level < measured - 0.1).then(|| {
        format!(
            "its published rows were measured empty and at {} full: the levels between are \
             extrapolated",
            flashlag_units::percent(measured)
        )
    })
}

/// A warning if a parameter is out of its plausible range.
fn range(before: &Situation, after: &Situation, key: &str) -> Option<String> {
    let Some(now) = after.profile.parameters.get(key) else {
        return Some(format!("{key} is gone: a device like that was never checked"));
    };
    let Some(then) = before.profile.parameters.get(key) else {
        return Some(format!("{} had no {key}: its effect was never checked", after.profile.name));
    };
    match (now.number(), then.bounds(), &then.range) {
        (Some(number), Some((low, high)), Some([lowest, highest])) => (number < low
            || number > high)
            .then(|| format!("{key} is beyond its plausible range, {lowest} to {highest}")),
        (Some(number), None, _) if Some(number) != then.number() => {
            Some(format!("{key} has no range in the profile: its plausible values are unknown"))
        }
        _ => None,
    }
}
