//! Beta draws from Gamma draws.

use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// A draw from Beta(a, b), both at least 1: X/(X+Y) with X ~ Gamma(a), Y ~ Gamma(b).
pub(super) fn beta(a: f64, b: f64, random: &mut Pcg64Mcg) -> f64 {
    let x = gamma(a, random);
    x / (x + gamma(b, random))
}

/// A draw from Gamma(shape, 1), shape at least 1 (Marsaglia and Tsang, 2000).
fn gamma(shape: f64, random: &mut Pcg64Mcg) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(random);
        let v = (1.0 + c * x).powi(3);
        if v <= 0.0 {
            continue;
        }
        let u: f64 = random.random();
        if u.ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

/// A standard normal draw (Marsaglia's polar method).
pub(super) fn normal(random: &mut Pcg64Mcg) -> f64 {
    loop {
        let (u, v) = (2.0 * random.random::<f64>() - 1.0, 2.0 * random.random::<f64>() - 1.0);
        let square = u * u + v * v;
        if square > 0.0 && square < 1.0 {
            return u * (-2.0 * square.ln() / square).sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    const DRAWS: usize = 200_000;

    fn draws(seed: u64, mut draw: impl FnMut(&mut Pcg64Mcg) -> f64) -> Vec<f64> {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut drawn: Vec<f64> = (0..DRAWS).map(|_| draw(&mut random)).collect();
        drawn.sort_unstable_by(f64::total_cmp);
        drawn
    }

    /// The largest distance of the drawn values from a distribution (Kolmogorov and Smirnov). With
    /// this many draws, 0.0044 is exceeded once in a thousand times.
    fn farthest(drawn: &[f64], distribution: impl Fn(f64) -> f64) -> f64 {
        let ranked = drawn.iter().zip(1u32..);
        let off = ranked.map(|(value, rank)| {
            (distribution(*value) - f64::from(rank) / drawn.len() as f64).abs()
        });
        off.fold(0.0, f64::max)
    }

    #[test]
    fn gamma_draws_of_whole_shapes_are_sums_of_exponential_ones() {
        // Erlang's distribution function of one, two and five.
        let erlang = |shape: u32, value: f64| {
            let term = |at: u32| (1..=at).fold(1.0, |term, step| term * value / f64::from(step));
            1.0 - (-value).exp() * (0..shape).map(term).sum::<f64>()
        };
        for shape in [1, 2, 5] {
            let drawn = draws(1, |random| gamma(f64::from(shape), random));
            let off = farthest(&drawn, |value| erlang(shape, value));
            assert!(off < 0.0044, "seed 1, shape {shape}: {off}");
        }
    }

    #[test]
    fn beta_draws_of_one_and_n_are_the_smallest_of_n_uniform_numbers() {
        for n in [1, 2, 7] {
            let drawn = draws(2, |random| beta(1.0, f64::from(n), random));
            let off = farthest(&drawn, |value| 1.0 - (1.0 - value).powi(n));
            assert!(off < 0.0044, "seed 2, n {n}: {off}");
        }
    }

    #[test]
    fn normal_draws_have_the_quartiles_the_tails_and_the_moments_of_the_distribution() {
        let drawn = draws(3, normal);
        let below =
            |limit: f64| drawn.iter().filter(|value| **value < limit).count() as f64 / DRAWS as f64;
        let table = [(-1.960, 0.025), (-0.6745, 0.25), (0.0, 0.5), (0.6745, 0.75), (1.960, 0.975)];
        for (limit, share) in table {
            assert!((below(limit) - share).abs() < 0.004, "seed 3: {} of {limit}", below(limit));
        }
        let moment =
            |power| drawn.iter().map(|value| value.powi(power)).sum::<f64>() / DRAWS as f64;
        assert!(moment(1).abs() < 0.01 && (moment(2) - 1.0).abs() < 0.015, "seed 3");
        assert!((moment(4) - 3.0).abs() < 0.1, "seed 3: {}", moment(4));
    }
}
