//! The sensitivity of each row to a fitted parameter.

use flashlag_schema::profile::Profile;
use flashlag_schema::published::Published;

use super::cells::{rows, value};
use super::{Pair, Protocol, run_pair};
use crate::{PredictError, Simulator, knob};

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

pub(super) fn sensitivity(
    profile: &Profile,
    protocols: &[Protocol<'_>],
    first: &[Pair],
    published: &[Published],
    seed: u64,
    simulator: &mut dyn Simulator,
) -> Vec<Sensitivity> {
    let mut all = Vec::new();
    for (key, parameter) in &profile.parameters {
        if parameter.fitted.is_empty() || parameter.number().is_none() {
            continue;
        }
        let mut at = |factor: f64| {
            let number = knob::moved(key, parameter, factor).unwrap_or_default();
            let cells = knob::set(profile, key, number)
                .map_err(PredictError::from)
                .and_then(|moved| changes(&moved, protocols, first, published, seed, simulator));
            Move { value: knob::spelled(parameter, number), cells }
        };
        all.push(Sensitivity { key: key.clone(), down: at(0.9), up: at(1.1) });
    }
    all
}

fn changes(
    moved: &Profile,
    protocols: &[Protocol<'_>],
    first: &[Pair],
    published: &[Published],
    seed: u64,
    simulator: &mut dyn Simulator,
) -> Result<Vec<Option<f64>>, PredictError> {
    let mut changes = Vec::new();
    for (protocol, before) in protocols.iter().zip(first) {
        let after = run_pair(moved, protocol, seed, simulator)?;
        for row in rows(protocol, published) {
            let figures = (value(protocol, row, before), value(protocol, row, &after));
            changes.push(match figures {
                (Ok(before), Ok(after)) if row.unit == "%" => Some(after - before),
                (Ok(before), Ok(after)) if before > 0.0 => Some((after / before - 1.0) * 100.0),
                _ => None,
            });
        }
    }
    Ok(changes)
}
