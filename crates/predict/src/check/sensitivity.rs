//! The sensitivity of each row to a fitted parameter.

use flashlag_spec::profile::Profile;
use flashlag_spec::published::Published;

use super::cells::{rows, value};
use super::protocol::{Pair, Protocol};
use crate::{PredictError, knob};

/// The effect of a tenth less and a tenth more of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// The parameter.
    pub key: String,
    /// A tenth less, or the smallest step down.
    pub down: Move,
    /// A tenth more, or the smallest step up.
    pub up: Move,
}

/// A parameter at another value.
#[derive(Clone, Debug, PartialEq)]
pub struct Move {
    /// The value, as in a profile.
    pub value: String,
    /// The change of each row, in the report's order: in percent, for a change in points; `None` if either
    /// run lacks it. Or the error of the simulation.
    pub cells: Result<Vec<Option<f64>>, PredictError>,
}

/// A fitted parameter at another value.
pub(super) struct Moved {
    key: String,
    value: String,
    pub profile: Result<Profile, PredictError>,
}

/// Each fitted parameter moved down, then up.
pub(super) fn moved(profile: &Profile) -> Vec<Moved> {
    let mut all = Vec::new();
    for (key, parameter) in &profile.parameters {
        if parameter.fitted.is_empty() || parameter.number().is_none() {
            continue;
        }
        all.extend([0.9, 1.1].map(|factor| {
            let number = knob::moved(key, parameter, factor).unwrap_or_default();
            let profile = knob::set(profile, key, number).map_err(PredictError::from);
            Moved { key: key.clone(), value: knob::spelled(parameter, number), profile }
        }));
    }
    all
}

/// The effects, from the runs of the moved profiles: one moved profile for each step that exists,
/// one run for each protocol.
pub(super) fn moves(
    moved: &[Moved],
    protocols: &[Protocol<'_>],
    first: &[&Pair],
    published: &[Published],
    mut runs: impl Iterator<Item = Result<Pair, PredictError>>,
) -> Vec<Sensitivity> {
    let mut at = |one: &Moved| {
        let cells = match &one.profile {
            Ok(_) => {
                let after: Vec<_> = runs.by_ref().take(protocols.len()).collect();
                let after: Result<Vec<Pair>, PredictError> = after.into_iter().collect();
                after.map(|after| changes(&after, protocols, first, published))
            }
            Err(error) => Err(error.clone()),
        };
        Move { value: one.value.clone(), cells }
    };
    let pairs = moved.chunks_exact(2).filter_map(|pair| match pair {
        [down, up] => Some(Sensitivity { key: down.key.clone(), down: at(down), up: at(up) }),
        _ => None,
    });
    pairs.collect()
}

fn changes(
    after: &[Pair],
    protocols: &[Protocol<'_>],
    first: &[&Pair],
    published: &[Published],
) -> Vec<Option<f64>> {
    let mut changes = Vec::new();
    for ((protocol, before), after) in protocols.iter().zip(first).zip(after) {
        for row in rows(protocol, published) {
            let figures = (value(protocol, row, before), value(protocol, row, after));
            changes.push(match figures {
                (Ok(before), Ok(after)) if row.unit == "%" => Some(after - before),
                (Ok(before), Ok(after)) if before > 0.0 => Some((after / before - 1.0) * 100.0),
                _ => None,
            });
        }
    }
    changes
}
