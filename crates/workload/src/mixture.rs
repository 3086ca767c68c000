use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

use crate::mix::below;

/// An endless random series of reads and writes; `read_percent` in a hundred are reads on average.
#[derive(Clone, Debug)]
pub struct Mixture {
    read_percent: u64,
    random: Pcg64Mcg,
}

impl Mixture {
    /// The series of a seed.
    pub fn new(read_percent: u32, seed: u64) -> Mixture {
        Mixture { read_percent: u64::from(read_percent), random: Pcg64Mcg::seed_from_u64(seed) }
    }

    /// Whether the next operation is a read.
    #[inline]
    pub fn next_is_read(&mut self) -> bool {
        below(self.random.next_u64(), 100) < self.read_percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_reads_is_the_one_asked_for_and_the_series_follows_from_the_seed() {
        for percent in [1, 30, 70, 99] {
            let mut mixture = Mixture::new(percent, 7);
            let mut again = mixture.clone();
            let series: Vec<bool> = (0..10_000).map(|_| mixture.next_is_read()).collect();
            assert!(series.iter().all(|read| *read == again.next_is_read()));
            let reads = series.iter().filter(|read| **read).count() as f64 / 100.0;
            // Five standard deviations of a binomial at most.
            assert!((reads - f64::from(percent)).abs() < 2.5, "{percent} %: {reads}");
        }
    }

    #[test]
    fn none_and_all_are_exact() {
        let (mut none, mut all) = (Mixture::new(0, 1), Mixture::new(100, 1));
        assert!((0..1000).all(|_| !none.next_is_read() && all.next_is_read()));
    }
}
