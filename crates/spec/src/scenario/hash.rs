use sha2::{Digest, Sha256};

use super::types::Scenario;

impl Scenario {
    /// SHA-256, in hexadecimal, of the canonical form: settings applied, matrices expanded, sizes
    /// as numbers. Comments and spelling do not matter; runs with equal hashes did the same.
    pub fn hash(&self) -> String {
        let canonical = serde_json::to_vec(self).unwrap_or_default();
        hex(&Sha256::digest(&canonical))
    }
}

/// SHA-256, in hexadecimal, of a text.
pub fn hash_of_text(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// Lower-case hexadecimal.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
