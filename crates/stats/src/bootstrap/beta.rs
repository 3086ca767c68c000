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
