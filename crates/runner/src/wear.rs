//! How much a run wears the device.

use flashlag_schema::Environment;
use flashlag_spec::Reading;
use flashlag_units::Bytes;

/// Full overwrites that consumer TLC flash is commonly rated for; datasheets of eMMC and UFS parts are
/// seldom public. A device reports the used share of its life but never its rated bytes, so every
/// share rests on this figure, and every text that prints the share says so.
pub const RATED_OVERWRITES: u64 = 1000;

/// The share of rated life, in percent, that writing `bytes` takes, before any write amplification.
pub fn life_share(environment: &Environment, bytes: Bytes) -> Reading<f64> {
    let device = &environment.device;
    if let Some(reason) = device.life.reason() {
        return Reading::unavailable(reason);
    }
    match device.size_bytes.value() {
        Some(size) if size.0 > 0 => {
            Reading::Value(bytes.0 as f64 / (size.0 as f64 * RATED_OVERWRITES as f64) * 100.0)
        }
        _ => Reading::unavailable("the device's size is not known"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_overwrites_are_the_whole_life_and_one_is_a_tenth_of_a_percent() {
        let mut environment = Environment::default();
        environment.device.size_bytes = Reading::Value(Bytes::from_mb(64_000));
        assert!(life_share(&environment, Bytes(1)).value().is_none(), "its life is not known");
        environment.device.life = Reading::Value(Default::default());
        let share = |bytes| *life_share(&environment, bytes).value().unwrap();
        assert!((share(Bytes::from_mb(64_000)) - 0.1).abs() < 1e-12);
        assert!((share(Bytes::from_mb(64_000_000)) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn a_device_of_no_size_or_of_none_that_is_known_has_no_share() {
        let mut environment = Environment::default();
        environment.device.life = Reading::Value(Default::default());
        environment.device.size_bytes = Reading::Value(Bytes::ZERO);
        assert_eq!(
            life_share(&environment, Bytes(1)).reason(),
            Some("the device's size is not known")
        );
        environment.device.size_bytes = Reading::unavailable("no");
        assert!(life_share(&environment, Bytes(1)).value().is_none());
    }
}
