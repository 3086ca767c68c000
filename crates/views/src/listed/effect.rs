//! The figure of a finding: a sentence.

use flashlag_schema::Run;
use flashlag_schema::finding::{Counted, Effect, EffectBasis, FindingId, ProfileOf};

use crate::format;
use crate::outline::for_people;

/// `saves`, `writes`, `reads`.
pub(crate) fn plural(per: Counted) -> &'static str {
    match per {
        Counted::Saves => "saves",
        Counted::Writes => "writes",
        Counted::Reads => "reads",
    }
}

/// `A save takes 24 ms, and 9.1 ms without (compared in this run: …).`
pub(super) fn sentence(run: Option<&Run>, id: FindingId, effect: &Effect) -> String {
    let one = match effect.per {
        Counted::Saves => "save",
        Counted::Writes => "write",
        Counted::Reads => "read",
    };
    let name = |label: &str| run.map_or_else(|| label.to_owned(), |run| for_people(run, label));
    let now = format::time(effect.now_ns);
    let fixed = effect.fixed_ns.map(format::time);
    let part = format::time(flashlag_units::Nanos(
        (effect.cost_s_per_1000.value.max(0.0) * 1e6).min(u64::MAX as f64) as u64,
    ));
    match (&effect.basis, fixed) {
        (EffectBasis::Compared { now: side, fixed: Some(other) }, Some(fixed)) => format!(
            "On average a {one} takes {now} ({}), and {fixed} without it ({}).",
            name(side),
            name(other)
        ),
        (EffectBasis::Compared { now: side, .. }, Some(fixed)) => {
            format!("Such a {one} takes {now} on average, and others {fixed} ({}).", name(side))
        }
        (EffectBasis::Course { phase }, Some(fixed)) => {
            format!("On average a {one} took {fixed} before, and {now} after ({}).", name(phase))
        }
        (EffectBasis::Promise { phase, by }, Some(fixed)) => {
            format!(
                "On average a {one} takes {now} ({}), where {by} promises {fixed}.",
                name(phase)
            )
        }
        (EffectBasis::Forecast { profile, of, change, size_bytes }, Some(fixed)) => {
            let of = why_this_profile(*of);
            let less = effect.cost_s_per_1000.value > 0.0;
            let would = match (fixed == now, less) {
                (true, true) => format!("{part} less than {now}"),
                (true, false) => format!("as long, {now}"),
                (false, _) => format!("{fixed} instead of {now}"),
            };
            let smaller = size_bytes.map(|size| {
                format!(" It is simulated as a device of {}, equally full.", format::size(size))
            });
            // A filesystem that was in use for a year has lost speed that a new one still has.
            let new = match id {
                FindingId::OtherFilesystem => {
                    " Both filesystems are simulated new and empty, whatever this one has been \
                     through: a part of the gain may come from formatting alone."
                }
                _ => "",
            };
            let one = forecast_one(run, effect.per);
            format!(
                "On average a {one} would take {would}, by a forecast of {change} on {profile}, \
                 {of}.{}{new}",
                smaller.unwrap_or_default()
            )
        }
        (EffectBasis::Part { phase } | EffectBasis::Course { phase }, _)
        | (EffectBasis::Compared { now: phase, .. } | EffectBasis::Promise { phase, .. }, _) => {
            format!("It makes up {part} of a mean {one} of {now} ({}).", name(phase))
        }
        (EffectBasis::Forecast { profile, .. }, None) => {
            format!(
                "It makes up {part} of a mean {one} of {now}, according to a forecast on {profile}."
            )
        }
    }
}

/// Why a forecast was made on that profile and not on another.
fn why_this_profile(of: ProfileOf) -> &'static str {
    match of {
        ProfileOf::Simulated => "which this run was simulated on",
        ProfileOf::Fitted => "fitted to this run",
        ProfileOf::Named => "as you named it",
        ProfileOf::Nearest => "the nearest of the built-in profiles",
    }
}

/// The operations that a forecast is about.
pub(crate) fn forecast_of(per: Counted) -> &'static str {
    match per {
        Counted::Saves => "saves of one row",
        Counted::Writes => "durable writes of 4 KiB",
        Counted::Reads => "random reads of 4 KiB",
    }
}

/// The operation that a forecast is about, which is not always one that the run did.
fn forecast_one(run: Option<&Run>, per: Counted) -> &'static str {
    let replay = run.is_some_and(|run| run.phases.iter().any(|phase| phase.replay.is_some()));
    match (per, replay) {
        (Counted::Saves, true) => "save of one row, not one of this replay,",
        (Counted::Saves, false) => "save of one row",
        (Counted::Writes, true) => "durable write of 4 KiB, not one of this replay,",
        (Counted::Writes, false) => "durable write of 4 KiB",
        (Counted::Reads, _) => "random read of 4 KiB",
    }
}
