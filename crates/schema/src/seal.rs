use flashlag_spec::scenario::hash_of_text;
use serde_json::error::Category;
use thiserror::Error;

use crate::pretty::to_json_pretty;
use crate::run::{Integrity, Run, SCHEMA};

/// Why a run file can't be read.
#[derive(Debug, Error)]
pub enum RunFileError {
    #[error("it is empty")]
    Empty,
    #[error("it is cut short: {0}")]
    CutShort(#[source] serde_json::Error),
    #[error("it is not JSON: {0}")]
    NoJson(#[source] serde_json::Error),
    #[error("one of its fields can't be read: {0}")]
    Field(#[source] serde_json::Error),
    #[error("it names no schema; this flashlag reads {SCHEMA}")]
    NoSchema,
    #[error("its schema is {found}; this flashlag reads {SCHEMA}")]
    Schema { found: String },
}

/// Why a text is not JSON: a file that a full disk or an interrupted copy left ends too early.
fn no_json(text: &str, error: serde_json::Error) -> RunFileError {
    match error.classify() {
        _ if text.trim().is_empty() => RunFileError::Empty,
        Category::Eof => RunFileError::CutShort(error),
        _ => RunFileError::NoJson(error),
    }
}

impl Run {
    /// Reads a run file. Does not check its figures: `flashlag verify` does.
    pub fn from_json(text: &str) -> Result<Run, RunFileError> {
        let value: serde_json::Value =
            serde_json::from_slice(text.as_bytes()).map_err(|e| no_json(text, e))?;
        let found = value.get("schema").and_then(|schema| schema.as_str());
        let found = found.ok_or(RunFileError::NoSchema)?;
        if found != SCHEMA {
            return Err(RunFileError::Schema { found: found.to_owned() });
        }
        serde_json::from_slice(text.as_bytes()).map_err(RunFileError::Field)
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
        to_json_pretty(self).unwrap_or_default() + "\n"
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_file_is_said_once_and_in_its_own_words() {
        let whole = flashlag_testing::small_run().to_json();
        let said = |text: &str| Run::from_json(text).unwrap_err().to_string();
        assert_eq!(said(""), "it is empty");
        assert_eq!(said(" \n"), "it is empty");
        let cut = said(&whole[..whole.len() / 2]);
        assert!(cut.starts_with("it is cut short: EOF"), "{cut}");
        let text = said("hello");
        assert!(text.starts_with("it is not JSON: expected value"), "{text}");
        assert!(said("{}").starts_with("it names no schema"), "{}", said("{}"));
        let field = said(&whole.replacen("\"phases\": [", "\"phases\": 1, \"x\": [", 1));
        assert!(field.starts_with("one of its fields can't be read: "), "{field}");
        Run::from_json(&whole).unwrap();
    }
}
