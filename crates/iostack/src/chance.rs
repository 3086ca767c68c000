//! Random variation on the CPU: a spread of every CPU time, and calls that another task preempts.
//!
//! The spread is log-normal with a mean of one: each draw takes one of 256 tabulated quantiles. If
//! both are off, no random number is drawn.

use flashlag_spec::profile::StackModel;
use flashlag_units::Nanos;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// Number of quantiles.
const QUANTILES: usize = 256;
/// A factor of one, as a fixed-point number.
const ONE: u64 = 1 << 16;

/// Draws the random variation of CPU times.
#[derive(Debug)]
pub(crate) struct Chance {
    random: Pcg64Mcg,
    /// Factors of a CPU time; empty without a spread.
    factors: Vec<u64>,
    /// How many of 2^32 calls are preempted.
    preempted: u64,
    /// Mean time that a preempted call waits.
    mean: Nanos,
}

impl Chance {
    pub(crate) fn new(model: &StackModel, seed: u64) -> Chance {
        Chance {
            random: Pcg64Mcg::seed_from_u64(seed),
            factors: if model.jitter > 0.0 { factors(model.jitter) } else { Vec::new() },
            preempted: (model.preempted.share.clamp(0.0, 1.0) * 2_f64.powi(32)).round() as u64,
            mean: model.preempted.mean.0,
        }
    }

    /// A CPU time, multiplied by a random factor.
    pub(crate) fn spread(&mut self, time: Nanos) -> Nanos {
        if self.factors.is_empty() || time == Nanos::ZERO {
            return time;
        }
        let factor = self.factors[(self.random.next_u64() >> 56) as usize % QUANTILES];
        Nanos(((u128::from(time.0) * u128::from(factor)) >> 16) as u64)
    }

    /// How long a call waits for a task that has preempted it: zero for most calls, otherwise
    /// exponentially distributed.
    pub(crate) fn preempted(&mut self) -> Nanos {
        if self.preempted == 0 || self.random.next_u64() >> 32 >= self.preempted {
            return Nanos::ZERO;
        }
        // In (0, 1]: the logarithm is finite.
        let share = ((self.random.next_u64() >> 11) + 1) as f64 / 2_f64.powi(53);
        Nanos((self.mean.0 as f64 * -libm::log(share)).round() as u64)
    }
}

/// Quantiles of a log-normal distribution with this sigma and a mean of one.
fn factors(sigma: f64) -> Vec<u64> {
    let share = |index: usize| (index as f64 + 0.5) / QUANTILES as f64;
    let raw: Vec<f64> =
        (0..QUANTILES).map(|index| libm::exp(sigma * normal_quantile(share(index)))).collect();
    let mean = raw.iter().sum::<f64>() / QUANTILES as f64;
    raw.iter().map(|factor| (factor / mean * ONE as f64).round() as u64).collect()
}

/// The quantile of the normal distribution at a share between 0 and 1: Odeh and Evans (1974),
/// algorithm AS 70, to 1.5e-8.
fn normal_quantile(share: f64) -> f64 {
    let (tail, sign) = if share < 0.5 { (share, -1.0) } else { (1.0 - share, 1.0) };
    let y = (-2.0 * libm::log(tail)).sqrt();
    let polynomial = |by: [f64; 5]| by.iter().rev().fold(0.0, |sum, one| sum * y + one);
    let above =
        [-0.322_232_431_088, -1.0, -0.342_242_088_547, -0.020_423_121_024_5, -4.536_422_101_48e-5];
    let below = [
        0.099_348_462_606,
        0.588_581_570_495,
        0.531_103_462_366,
        0.103_537_752_85,
        0.003_856_070_063_4,
    ];
    sign * (y + polynomial(above) / polynomial(below))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_the_normal_distribution_are_those_of_its_tables() {
        for (share, expected) in [
            (0.5, 0.0),
            (0.841_344_746, 1.0),
            (0.9, 1.281_551_566),
            (0.975, 1.959_963_985),
            (0.99, 2.326_347_874),
            (0.001, -3.090_232_306),
        ] {
            let quantile = normal_quantile(share);
            assert!((quantile - expected).abs() < 1e-6, "{share}: {quantile}");
        }
    }

    #[test]
    fn a_spread_is_log_normal_and_leaves_the_mean_alone() {
        for sigma in [0.05, 0.2, 0.4] {
            let factors = factors(sigma);
            let mean = factors.iter().sum::<u64>() as f64 / (QUANTILES as u64 * ONE) as f64;
            assert!((mean - 1.0).abs() < 1e-3, "{sigma}: {mean}");
            let at = |share: f64| factors[(share * QUANTILES as f64) as usize] as f64;
            for (share, normal) in [(0.9, 1.281_55), (0.99, 2.326_35)] {
                let (ratio, expected) = (at(share) / at(0.5), (sigma * normal).exp());
                assert!((ratio / expected - 1.0).abs() < 0.04, "{sigma} {share}: {ratio}");
            }
        }
    }
}
