//! Student's t: the width of the interval of a mean of few values.

/// Half the width of a 95 % interval in standard errors, with many values.
const MANY: f64 = 1.96;

/// The same for 1 to 10 degrees of freedom, where the series below is not yet exact to a thousandth.
const FEW: [f64; 10] =
    [12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281];

/// Half the width of a 95 % interval of a mean in standard errors, for the degrees of freedom of
/// the error's estimate. A fraction counts as the next lower number; below 1 there is no interval.
/// It uses only operations that IEEE 754 rounds correctly, so every machine computes the same.
pub fn student_95(freedom: f64) -> Option<f64> {
    if freedom.is_nan() || freedom < 1.0 {
        return None;
    }
    let whole = freedom.floor();
    if let Some(few) = FEW.get(whole as usize - 1) {
        return Some(*few);
    }
    // Peiser's expansion around the normal quantile (Abramowitz and Stegun, 26.7.5).
    let z = 1.959_963_985;
    let square = z * z;
    let first = z * (square + 1.0) / 4.0;
    let second = z * ((5.0 * square + 16.0) * square + 3.0) / 96.0;
    let third = z * (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0;
    let quantile = z + (first + (second + third / whole) / whole) / whole;
    Some(quantile.max(MANY))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of Student's distribution between -t and t, by Simpson's rule over its density in which
    /// x = √n·tan θ: the integral of cosⁿ⁻¹ θ, as a share of that up to a right angle.
    fn within(t: f64, freedom: u32) -> f64 {
        let upto = |end: f64| {
            let steps = 20_000u32;
            let width = end / f64::from(steps);
            let at = |step: u32| (f64::from(step) * width).cos().powi(freedom as i32 - 1);
            let inner = (1..steps).map(|step| at(step) * if step % 2 == 1 { 4.0 } else { 2.0 });
            (at(0) + inner.sum::<f64>() + at(steps)) * width / 3.0
        };
        let angle = (t / f64::from(freedom).sqrt()).atan();
        upto(angle) / upto(std::f64::consts::FRAC_PI_2)
    }

    #[test]
    fn nineteen_of_twenty_means_lie_within_it() {
        for freedom in (1..=60).chain([100, 300, 1000, 5000]) {
            let t = student_95(f64::from(freedom)).unwrap();
            let share = within(t, freedom);
            assert!((share - 0.95).abs() < 2e-5, "{freedom}: {t} holds {share}");
        }
    }

    #[test]
    fn fewer_values_make_it_wider_and_one_makes_none() {
        let all: Vec<f64> = (1..500).map(|n| student_95(f64::from(n)).unwrap()).collect();
        assert!(all.windows(2).all(|pair| pair[0] >= pair[1]), "{all:?}");
        assert_eq!(student_95(1e12), Some(MANY));
        assert_eq!(student_95(4.9), student_95(4.0));
        assert_eq!((student_95(0.9), student_95(f64::NAN)), (None, None));
    }
}
