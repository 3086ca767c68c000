use std::fmt::Display;

use serde::{Deserialize, Serialize};

/// A value that was read, or the reason why it could not be. In JSON: the value itself, or
/// `{"unavailable": "reason"}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(untagged, deny_unknown_fields)]
#[cfg_attr(feature = "json-schema", schemars(rename = "ReadingOf{T}"))]
pub enum Reading<T> {
    /// It could not be read.
    Unavailable {
        /// Why, in words.
        unavailable: String,
    },
    /// It was read.
    Value(T),
}

impl<T> Reading<T> {
    /// It could not be read, and why.
    pub fn unavailable(reason: impl Into<String>) -> Reading<T> {
        Reading::Unavailable { unavailable: reason.into() }
    }

    /// The value, if available.
    pub fn value(&self) -> Option<&T> {
        match self {
            Reading::Value(value) => Some(value),
            Reading::Unavailable { .. } => None,
        }
    }

    /// The reason, if there is no value.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Reading::Value(_) => None,
            Reading::Unavailable { unavailable } => Some(unavailable),
        }
    }
}

impl<T, E: Display> From<Result<T, E>> for Reading<T> {
    fn from(result: Result<T, E>) -> Reading<T> {
        match result {
            Ok(value) => Reading::Value(value),
            Err(reason) => Reading::unavailable(reason.to_string()),
        }
    }
}

impl<T> Default for Reading<T> {
    fn default() -> Self {
        Reading::unavailable("not looked for")
    }
}
