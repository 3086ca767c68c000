use flashlag_units::Nanos;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// One lognormal part of a mixture: its share in thousandths, its median in milliseconds and the
/// standard deviation of its logarithm.
pub type Part = (u32, f64, f64);

/// Seeded draws from mixtures.
pub struct Draw(Pcg64Mcg);

impl Draw {
    pub fn new(seed: u64) -> Draw {
        Draw(Pcg64Mcg::seed_from_u64(seed))
    }

    /// One wait; never below 20 µs or above 30 s. The first part has the share that the others
    /// leave.
    pub fn wait(&mut self, parts: &[Part]) -> Nanos {
        let mut at = self.0.random_range(0..1000u32);
        let mut chosen = parts.first().copied().unwrap_or((1000, 1.0, 0.1));
        for part in parts.iter().skip(1) {
            if at < part.0 {
                chosen = *part;
                break;
            }
            at -= part.0;
        }
        let (_, median_ms, sigma) = chosen;
        let millis = median_ms * (sigma * self.normal()).exp();
        Nanos(((millis * 1e6) as u64).clamp(20_000, 30_000_000_000))
    }

    /// Uniform below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.random_range(0..bound.max(1))
    }

    /// A standard normal value (Box and Muller).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.0.random::<f64>()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.0.random::<f64>()).cos()
    }
}
