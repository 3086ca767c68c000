//! What writing costs the device.

use flashlag_schema::Environment;
use flashlag_units::Bytes;

/// Full overwrites that consumer TLC flash is commonly rated for; what datasheets of eMMC and UFS
/// parts say is seldom public. The device tells how much of its life is used, never how many bytes
/// that is, so a share of it rests on this figure, and every text that prints the share says so.
pub const RATED_OVERWRITES: u64 = 1000;

/// The share of rated life, in percent, that writing `bytes` takes, before any write amplification.
///
/// # Errors
/// Why it can't be told: the device says nothing of its life or its size.
pub fn life_share(environment: &Environment, bytes: Bytes) -> Result<f64, String> {
    let device = &environment.device;
    if let Some(reason) = device.life.reason() {
        return Err(reason.to_owned());
    }
    match device.size_bytes.value() {
        Some(size) if size.0 > 0 => {
            Ok(bytes.0 as f64 / (size.0 as f64 * RATED_OVERWRITES as f64) * 100.0)
        }
        _ => Err("the device's size is not known".to_owned()),
    }
}
