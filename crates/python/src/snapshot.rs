//! A simulated flash as bytes: a line of JSON that identifies its device, then its state.

use flashlag_flash::Flash;
use pyo3::PyResult;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{failed, misspelt};

/// The version of the form.
const SCHEMA: &str = "flashlag.snapshot/1";

/// The device that a snapshot is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    schema: String,
    /// The program's version: another one may store the state differently.
    version: String,
    profile: String,
    size_bytes: u64,
    seed: u64,
    /// Changed parameters of the profile.
    set: Vec<(String, String)>,
    /// Whether the device tracks what a power cut would lose.
    ledger: bool,
    now_ns: u64,
    /// SHA-256 of the state.
    sha256: String,
}

impl Header {
    /// The header for a device, without the hash of its state.
    pub fn new(
        profile: &str,
        set: &[(String, String)],
        size_bytes: u64,
        seed: u64,
        ledger: bool,
        now_ns: u64,
    ) -> Header {
        Header {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            profile: profile.to_owned(),
            size_bytes,
            seed,
            set: set.to_vec(),
            ledger,
            now_ns,
            sha256: String::new(),
        }
    }

    /// The device, in words.
    fn device(&self) -> String {
        let Header { profile, size_bytes, seed, set, ledger, version, .. } = self;
        let set: String = set.iter().map(|(key, value)| format!(", {key}={value}")).collect();
        let ledger = if *ledger { "with" } else { "without" };
        format!(
            "{profile}{set} of {size_bytes} bytes, seed {seed}, {ledger} a ledger, flashlag {version}"
        )
    }
}

/// A flash as bytes.
pub fn packed(header: &Header, flash: &Flash) -> PyResult<Vec<u8>> {
    let refuse = |error: String| failed(&format!("cannot store the device: {error}"));
    let state = postcard::to_allocvec(flash).map_err(|error| refuse(error.to_string()))?;
    let header = Header { sha256: sum(&state), ..header.clone() };
    let mut bytes = serde_json::to_vec(&header).map_err(|error| refuse(error.to_string()))?;
    bytes.push(b'\n');
    bytes.extend(state);
    Ok(bytes)
}

/// The flash in a snapshot of this device, and its time in nanoseconds.
pub fn unpacked(device: &Header, bytes: &[u8]) -> PyResult<(Flash, u64)> {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let header: Header = serde_json::from_slice(&bytes[..end])
        .map_err(|_| misspelt("no snapshot: give what Device.snapshot() returned"))?;
    if header.schema != SCHEMA || header.device() != device.device() {
        return Err(misspelt(&format!(
            "the snapshot is of another device: of {}, this one is {}",
            header.device(),
            device.device()
        )));
    }
    let state = bytes.get(end + 1..).unwrap_or_default();
    if sum(state) != header.sha256 {
        return Err(misspelt("the snapshot is damaged: its checksum does not match"));
    }
    let flash = postcard::from_bytes(state);
    let flash = flash.map_err(|error| misspelt(&format!("the snapshot is damaged: {error}")))?;
    Ok((flash, header.now_ns))
}

fn sum(state: &[u8]) -> String {
    Sha256::digest(state).iter().map(|byte| format!("{byte:02x}")).collect()
}
