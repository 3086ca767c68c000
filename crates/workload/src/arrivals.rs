use flashlag_spec::scenario::{self, Schedule};
use flashlag_units::Nanos;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// The schedule of an open loop: intended starts of operations, which do not depend on earlier
/// ones.
///
/// Times are whole nanoseconds, from a sum kept in 2⁻³² ns so that the schedule does not drift.
/// Exponential distances are drawn by comparing integers (von Neumann, 1951) and are the same on
/// every machine.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// Mean distance, in 2⁻³² ns.
    period: u128,
    /// Next intended start, in 2⁻³² ns.
    next: u128,
    random: Option<Pcg64Mcg>,
}

impl Arrivals {
    /// The schedule from `start` on; `None` for a closed loop (no rate, or one that is not above
    /// zero).
    pub fn new(asked: &scenario::Arrivals, start: Nanos, seed: u64) -> Option<Arrivals> {
        let rate = asked.per_second.filter(|rate| rate.is_finite() && *rate > 0.0)?;
        // One IEEE division and a scaling by a power of two: exact on every machine.
        let period = ((1e9 / rate * (1u64 << 32) as f64) as u128).clamp(1, u128::from(u64::MAX));
        let random = match asked.schedule {
            Schedule::Fixed => None,
            Schedule::Poisson => Some(Pcg64Mcg::seed_from_u64(seed)),
        };
        let mut arrivals = Arrivals { period, next: u128::from(start.0) << 32, random };
        // A Poisson process has no event at its start.
        if arrivals.random.is_some() {
            arrivals.advance();
        }
        Some(arrivals)
    }

    /// Delays all further starts by `by`.
    pub fn postpone(&mut self, by: Nanos) {
        self.next = self.next.saturating_add(u128::from(by.0) << 32);
    }

    /// Mean distance of starts.
    pub fn period(&self) -> Nanos {
        Nanos(to_nanos(self.period).max(1))
    }

    /// The next intended start, which stays next.
    #[inline]
    pub fn peek(&self) -> Nanos {
        Nanos(to_nanos(self.next))
    }

    /// Takes the next intended start.
    #[inline]
    pub fn next_time(&mut self) -> Nanos {
        let time = self.peek();
        self.advance();
        time
    }

    #[inline]
    fn advance(&mut self) {
        let distance = match &mut self.random {
            None => self.period,
            Some(random) => exponential(random, self.period),
        };
        self.next = self.next.saturating_add(distance);
    }
}

fn to_nanos(time: u128) -> u64 {
    u64::try_from(time >> 32).unwrap_or(u64::MAX)
}

/// An exponential variate of mean `mean`, by von Neumann's comparisons: the first number of a
/// descending run of uniform ones is the fraction if the run's length is odd; otherwise one more
/// whole `mean` is added and it begins anew.
fn exponential(random: &mut Pcg64Mcg, mean: u128) -> u128 {
    let mut whole = 0u128;
    loop {
        let first = random.next_u64();
        let (mut last, mut length) = (first, 1u32);
        loop {
            let next = random.next_u64();
            if next >= last {
                break;
            }
            (last, length) = (next, length + 1);
        }
        if length % 2 == 1 {
            // `mean` is below 2^64: the product fits.
            return whole * mean + ((u128::from(first) * mean) >> 64);
        }
        whole += 1;
    }
}
