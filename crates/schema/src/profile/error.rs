use flashlag_units::did_you_mean;
use thiserror::Error;

use crate::hint::with_hint;

/// Why a profile can't be used: the parameter, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ProfileError {
    message: String,
}

impl ProfileError {
    pub(super) fn new(message: String) -> ProfileError {
        ProfileError { message }
    }

    pub(super) fn file(error: &std::io::Error) -> ProfileError {
        ProfileError::new(error.to_string())
    }

    pub(super) fn no_such(name: &str, names: &[&str]) -> ProfileError {
        let (near, names) = (did_you_mean(name, names.iter().copied()), names.join(", "));
        ProfileError::new(format!(
            "there is none of that name; there are {names}, or give a TOML file{near}"
        ))
    }

    pub(super) fn text(text: &str, error: &toml::de::Error) -> ProfileError {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        ProfileError::new(format!("line {line}: {}", error.message()))
    }

    pub(super) fn head(error: &toml::de::Error) -> ProfileError {
        ProfileError::new(format!("the profile's head: {}", with_hint(error.message())))
    }

    pub(super) fn stray(key: &str) -> ProfileError {
        ProfileError::new(format!(
            "`{key}` is no section: parameters stand in a section, as `[nand]` and then \
             `read = {{ value = \"50us\", source = \"…\" }}`"
        ))
    }

    pub(super) fn parameter(key: &str, error: &toml::de::Error) -> ProfileError {
        ProfileError::new(format!(
            "{key}: {}; write {{ value = …, source = \"…\" }}, and where it was fitted \
             range = […, …] and fitted = […]",
            with_hint(error.message())
        ))
    }

    pub(super) fn model(error: &toml::de::Error) -> ProfileError {
        // The path to the field is in the error's display, its message alone lacks it.
        let text = error.to_string();
        let text: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let near = with_hint(error.message());
        let near = near.strip_prefix(error.message()).unwrap_or_default();
        ProfileError::new(format!("{}{near}", text.join(" ")))
    }

    pub(super) fn unknown(key: &str, all: &[&str]) -> ProfileError {
        let near = did_you_mean(key, all.iter().copied());
        ProfileError::new(format!("no parameter `{key}`; there are {}{near}", all.join(", ")))
    }

    pub(super) fn value(key: &str, text: &str, what: &str) -> ProfileError {
        ProfileError::new(format!("{key}: `{text}` is not {what}"))
    }

    /// `key` makes no device: `why`.
    pub(super) fn meaning(key: &str, why: &str) -> ProfileError {
        ProfileError::new(format!("{key}: {why}"))
    }
}
