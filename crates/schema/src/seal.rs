use flashlag_spec::scenario::hash_of_text;
use thiserror::Error;

use crate::run::{Integrity, Run, SCHEMA};

/// Why a run file can't be read.
#[derive(Debug, Error)]
pub enum RunFileError {
    #[error("not a run file: {0}")]
    Json(#[from] serde_json::Error),
    #[error("it names no schema; this flashlag reads {SCHEMA}")]
    NoSchema,
    #[error("its schema is {found}; this flashlag reads {SCHEMA}")]
    Schema { found: String },
}

impl Run {
    /// Reads a run file. Does not check its figures: `flashlag verify` does.
    pub fn from_json(text: &str) -> Result<Run, RunFileError> {
        let value: serde_json::Value = serde_json::from_str(text)?;
        let found = value.get("schema").and_then(|schema| schema.as_str());
        let found = found.ok_or(RunFileError::NoSchema)?;
        if found != SCHEMA {
            return Err(RunFileError::Schema { found: found.to_owned() });
        }
        Ok(serde_json::from_str(text)?)
    }

    /// Sets the checksum.
    pub fn seal(&mut self) {
        self.integrity = Integrity { sha256: self.checksum() };
    }

    /// The checksum of everything but the checksum.
    pub fn checksum(&self) -> String {
        let mut open = self.clone();
        open.integrity = Integrity::default();
        hash_of_text(&serde_json::to_string(&open).unwrap_or_default())
    }

    /// The run as it is stored.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}
