//! Log-normal spreads as tables, with sums and products only: the same on every machine.

use std::sync::LazyLock;

use flashlag_units::Nanos;
use serde::{Deserialize, Serialize};

/// Binary places of a factor.
const PLACES: u32 = 16;

/// Number of quantiles of a spread, a power of two.
const QUANTILES: usize = 256;

/// A log-normal factor of mean 1, as equally likely quantiles; empty without a spread.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Spread(Vec<u32>);

impl Spread {
    /// The spread whose logarithm has this standard deviation.
    pub(crate) fn new(deviation: f64) -> Spread {
        if deviation == 0.0 {
            return Spread(Vec::new());
        }
        let factors = NORMAL.map(|normal| exponential(deviation * normal));
        let mean = factors.iter().sum::<f64>() / QUANTILES as f64;
        Spread(factors.iter().map(|factor| fixed(factor / mean)).collect())
    }

    /// Whether it changes nothing.
    #[inline]
    pub(crate) fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// A time with the factor of an even draw.
    #[inline]
    pub(crate) fn of(&self, time: Nanos, draw: u64) -> Nanos {
        if self.0.is_empty() {
            return time;
        }
        scaled(time, self.0[(draw >> 32) as usize % QUANTILES])
    }
}

/// A factor with [`PLACES`] binary places.
pub(crate) fn fixed(factor: f64) -> u32 {
    (factor * f64::from(1u32 << PLACES)).round() as u32
}

#[inline]
pub(crate) fn scaled(time: Nanos, factor: u32) -> Nanos {
    Nanos(((u128::from(time.0) * u128::from(factor)) >> PLACES) as u64)
}

/// A number without a pattern for each number (splitmix64's finalizer).
#[inline]
pub(crate) fn mix(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The exponential function with sums and products only, which are the same on every machine.
pub(crate) fn exponential(exponent: f64) -> f64 {
    let small = exponent / 1024.0;
    let mut power = 1.0;
    for term in (1..=12).rev() {
        power = 1.0 + small / f64::from(term) * power;
    }
    (0..10).fold(power, |power, _| power * power)
}

/// A power of a number that is not negative, with sums and products only.
pub(crate) fn power(base: f64, exponent: f64) -> f64 {
    if base <= 0.0 {
        return 0.0;
    }
    let (mut fraction, mut halvings) = (base, 0.0);
    while fraction > 1.5 {
        (fraction, halvings) = (fraction / 2.0, halvings + 1.0);
    }
    while fraction < 0.75 {
        (fraction, halvings) = (fraction * 2.0, halvings - 1.0);
    }
    // The logarithm of what is left: twice the series of the inverse hyperbolic tangent.
    let ratio = (fraction - 1.0) / (fraction + 1.0);
    let series =
        (0..12).rev().fold(0.0, |sum, term| sum * ratio * ratio + 1.0 / f64::from(2 * term + 1));
    exponential(exponent * (halvings * std::f64::consts::LN_2 + 2.0 * ratio * series))
}

/// The middle quantiles of equal parts of the normal distribution, which take longer than a short
/// simulation.
static NORMAL: LazyLock<[f64; QUANTILES]> = LazyLock::new(normal_quantiles);

/// Those quantiles, from the sum of the density over steps of a thousandth.
fn normal_quantiles() -> [f64; QUANTILES] {
    const STEPS: i32 = 6000;
    let density = |step: i32| {
        let normal = (f64::from(step) + 0.5) / 1000.0;
        exponential(-normal * normal / 2.0)
    };
    let all: f64 = (-STEPS..STEPS).map(density).sum();
    let (mut quantiles, mut index, mut below) = ([0.0; QUANTILES], 0, 0.0);
    for step in -STEPS..STEPS {
        let share = density(step) / all;
        while index < QUANTILES && below + share >= (index as f64 + 0.5) / QUANTILES as f64 {
            let within = ((index as f64 + 0.5) / QUANTILES as f64 - below) / share;
            quantiles[index] = (f64::from(step) + within) / 1000.0;
            index += 1;
        }
        below += share;
    }
    quantiles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_log_normal_with_a_mean_of_one() {
        for deviation in [0.03, 0.1, 0.4] {
            let spread = Spread::new(deviation);
            let mut times: Vec<u64> =
                (0..100_000u64).map(|number| spread.of(Nanos(1_000_000), mix(number)).0).collect();
            times.sort_unstable();
            let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
            assert!((mean / 1e6 - 1.0).abs() < 0.003, "{deviation}: {mean}");
            // Quantiles of the normal distribution, from a table.
            for (share, normal) in [(0.1, -1.2816), (0.9, 1.2816), (0.99, 2.3263)] {
                let at = times[(share * times.len() as f64) as usize] as f64;
                let ratio = at / times[times.len() / 2] as f64;
                let expected = f64::exp(deviation * normal);
                assert!((ratio / expected - 1.0).abs() < 0.02, "{deviation} {share}: {ratio}");
            }
        }
    }

    #[test]
    fn a_power_is_right() {
        for base in [1e-9, 0.3, 0.74, 0.76, 1.0, 1.49, 1.51, 365.0, 1e15] {
            for exponent in [-0.5, 0.14, 0.54, 1.0] {
                let ratio = power(base, exponent) / f64::powf(base, exponent);
                assert!((ratio - 1.0).abs() < 1e-12, "{base}^{exponent}: {ratio}");
            }
        }
        assert_eq!(power(0.0, 0.5), 0.0);
    }

    #[test]
    fn the_exponential_function_is_right() {
        for exponent in [-9.0, -0.5, 0.0, 0.003, 1.0, 4.0] {
            let ratio = exponential(exponent) / f64::exp(exponent);
            assert!((ratio - 1.0).abs() < 1e-12, "{exponent}: {ratio}");
        }
    }
}
