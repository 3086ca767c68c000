use sha2::{Digest, Sha256};

use super::types::Scenario;

impl Scenario {
    /// SHA-256, in hexadecimal, of the canonical form: settings applied, matrices expanded, sizes
    /// as numbers. Comments and spelling do not count; runs with equal hashes did the same.
    pub fn hash(&self) -> String {
        let canonical = serde_json::to_vec(self).unwrap_or_default();
        hex(&Sha256::digest(&canonical))
    }
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
