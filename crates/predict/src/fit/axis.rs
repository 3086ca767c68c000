//! A parameter as a coordinate: 0 at the low end of its range, 1 at the high end, linear in its
//! logarithm.

use flashlag_spec::profile::{Parameter, Profile};

use super::request::FitOptions;
use crate::knob::{self, Grain};
use crate::{ChangeError, PredictError};

/// Offset of a range that begins at 0, as a share of its end: the logarithm needs a positive start.
const FLOOR: f64 = 0.01;

/// A free parameter.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub key: String,
    pub grain: Grain,
    low: f64,
    high: f64,
    /// Added before the logarithm is taken, for ranges that begin at 0.
    offset: f64,
    /// The value in the starting profile.
    pub start: f64,
    /// Step of a finite difference, as a share of the range.
    pub step: f64,
    /// Whether the last finite difference moved it.
    pub tried: bool,
}

/// Default finite difference, in the logarithm of the value.
const STEP: f64 = 0.15;
/// Maximum finite difference, as a share of the range.
const WIDEST: f64 = 0.5;

impl Axis {
    fn new(key: &str, parameter: &Parameter) -> Option<Axis> {
        let value = parameter.number()?;
        let (low, high) = parameter.bounds()?;
        // A start outside its range widens it.
        let (low, high) = (low.min(value).max(0.0), high.max(value));
        let widest = high > low && high.is_finite();
        let offset = if low > 0.0 { 0.0 } else { high * FLOOR };
        let grain = knob::grain(key, parameter);
        let mut axis = Axis {
            key: key.to_owned(),
            grain,
            low,
            high,
            offset,
            start: value,
            step: WIDEST,
            tried: false,
        };
        if !widest {
            return None;
        }
        axis.step = (STEP / axis.reach()).clamp(0.03, 0.15);
        Some(axis)
    }

    fn span(&self) -> f64 {
        ((self.high + self.offset) / (self.low + self.offset)).ln()
    }

    /// The coordinate of a value.
    pub fn place(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        (((value + self.offset) / (self.low + self.offset)).ln() / self.span()).clamp(0.0, 1.0)
    }

    /// The value at a coordinate.
    pub fn value(&self, place: f64) -> f64 {
        let place = place.clamp(0.0, 1.0);
        ((self.low + self.offset) * (place * self.span()).exp() - self.offset)
            .clamp(self.low, self.high)
    }

    /// The allowed value nearest to a coordinate.
    pub fn nearest(&self, place: f64) -> f64 {
        let value = self.value(place);
        match self.grain {
            Grain::Fine => value,
            Grain::Whole => value.round().clamp(self.low, self.high),
            Grain::Doubled => {
                let steps = (value / self.start).log2().round();
                let next = self.start * steps.exp2();
                if (self.low..=self.high).contains(&next) { next } else { self.start }
            }
        }
    }

    /// The logarithm of the ratio of the range's ends.
    pub fn reach(&self) -> f64 {
        self.span()
    }

    /// The logarithm of the value at the low end of the range.
    pub fn low_end(&self) -> f64 {
        (self.low + self.offset).ln()
    }

    /// Widens the finite difference; `false` if it is already the widest.
    pub fn widen(&mut self) -> bool {
        let before = self.step;
        self.step = (self.step * 4.0).min(WIDEST);
        self.step > before
    }

    /// All values of a parameter that doubles; otherwise only the starting value.
    pub fn values(&self) -> Vec<f64> {
        if self.grain != Grain::Doubled {
            return vec![self.start];
        }
        let down = (self.low / self.start).log2().ceil() as i32;
        let up = (self.high / self.start).log2().floor() as i32;
        (down..=up).map(|steps| self.start * f64::from(steps).exp2()).collect()
    }

    /// The neighbouring values within the range, for a parameter that moves in steps.
    pub fn steps(&self, parameter: &Parameter) -> Vec<f64> {
        [0.5, 2.0]
            .into_iter()
            .filter_map(|factor| knob::moved(&self.key, parameter, factor))
            .filter(|value| (self.low..=self.high).contains(value))
            .collect()
    }
}

/// The free parameters of a profile: all with a range, except the capacity, which is known, and those
/// in `held`.
pub(super) fn axes(profile: &Profile, held: &[(String, String)]) -> Vec<Axis> {
    profile
        .parameters
        .iter()
        .filter(|(key, _)| *key != "map.capacity" && !held.iter().any(|(known, _)| known == *key))
        .filter_map(|(key, parameter)| Axis::new(key, parameter))
        .collect()
}

/// The parameters that were fitted to published rows, except those that double: a device with another
/// page size is another device.
pub(super) fn of_fitted(profile: &Profile) -> Vec<Axis> {
    let fitted = profile.parameters.iter().filter(|(_, parameter)| !parameter.fitted.is_empty());
    fitted
        .filter_map(|(key, parameter)| Axis::new(key, parameter))
        .filter(|axis| axis.grain != Grain::Doubled)
        .collect()
}

/// Adds every parameter to `held` that the options do not allow to move.
pub(super) fn hold_others(
    profile: &Profile,
    options: &FitOptions,
    held: &mut Vec<(String, String)>,
) -> Result<(), PredictError> {
    if options.only.is_empty() {
        return Ok(());
    }
    for key in &options.only {
        if profile.parameters.get(key).and_then(Parameter::bounds).is_none() {
            return Err(PredictError::Change {
                change: key.clone(),
                reason: ChangeError::NoRange { profile: profile.name.clone() },
            });
        }
    }
    for key in profile.parameters.keys().filter(|key| !options.only.contains(key)) {
        if !held.iter().any(|(known, _)| known == key) {
            held.push((key.clone(), "not to be moved".to_owned()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(value: &str, low: &str, high: &str) -> Axis {
        let parameter = Parameter {
            value: toml::Value::String(value.to_owned()),
            source: "test".to_owned(),
            range: Some([low, high].map(|text| toml::Value::String(text.to_owned()))),
            fitted: Vec::new(),
        };
        Axis::new("nand.program", &parameter).unwrap()
    }

    #[test]
    fn a_place_leads_back_to_its_value() {
        for (low, high) in [("100us", "10ms"), ("0us", "1ms")] {
            let axis = axis("300us", low, high);
            for place in [0.0, 0.1, 0.5, 0.9, 1.0] {
                assert!((axis.place(axis.value(place)) - place).abs() < 1e-9, "{low} {place}");
            }
            assert!((axis.value(axis.place(300_000.0)) - 300_000.0).abs() < 1e-3);
        }
    }

    #[test]
    fn a_start_outside_its_range_widens_it() {
        assert!((axis("20ms", "100us", "10ms").value(1.0) - 2e7).abs() < 1.0);
    }
}
