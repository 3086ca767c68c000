use flashlag_units::Nanos;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng;

/// A duration, drawn anew each time. It uses only integers, so that virtual time is the same on
/// every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// Always the same.
    Fixed(Nanos),
    /// Anything from the first to the second, both included.
    Uniform(Nanos, Nanos),
    /// Usually one duration, sometimes another.
    Bimodal {
        /// Mostly.
        usual: Nanos,
        /// Now and then.
        slow: Nanos,
        slow_per_million: u32,
    },
}

impl Latency {
    /// The next one.
    #[inline]
    pub fn draw(&self, random: &mut Pcg64Mcg) -> Nanos {
        match *self {
            Latency::Fixed(time) => time,
            Latency::Uniform(from, to) => {
                let width = to.saturating_since(from).0.saturating_add(1);
                from.plus(Nanos(below(random, width)))
            }
            Latency::Bimodal { usual, slow, slow_per_million } => {
                let is_slow = below(random, 1_000_000) < u64::from(slow_per_million);
                if is_slow { slow } else { usual }
            }
        }
    }
}

/// A number below `bound` (Lemire's product, without the correction of a bias of 2⁻⁴⁴ or less).
fn below(random: &mut Pcg64Mcg, bound: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(bound)) >> 64) as u64
}
