use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a device can't be served, or a server can't be asked.
#[derive(Debug, Error)]
pub enum ServeError {
    /// A setting that there is not, or of a value that it can't have.
    #[error("{key}={value}: {reason}")]
    Setting {
        /// Its name.
        key: String,
        /// What was given.
        value: String,
        /// What is wrong, and what is allowed.
        reason: String,
    },
    /// A size that the profile's flash can't have.
    #[error(transparent)]
    Size(#[from] flashlag_flash::SizeError),
    /// A profile that there is not, or that makes no device.
    #[error("profile {name}: {reason}")]
    Profile {
        /// Which.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// A file or socket.
    #[error("cannot {operation} {}: {reason} ({advice})", path.display())]
    File {
        /// `open`, `listen on`, …
        operation: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
        /// What to try next.
        advice: Cow<'static, str>,
    },
    /// The server did not start, or ended.
    #[error("{program} {reason}{}", last_lines(said))]
    Server {
        /// `nbdkit`.
        program: String,
        /// What happened.
        reason: String,
        /// The last lines that it printed.
        said: Vec<String>,
    },
    /// The server answered that it could not.
    #[error("the device refuses: {0}")]
    Refused(String),
}

impl ServeError {
    pub(crate) fn file(
        operation: &'static str,
        path: &Path,
        error: &io::Error,
        advice: impl Into<Cow<'static, str>>,
    ) -> ServeError {
        let reason = error.to_string();
        let reason = reason.split(" (os error").next().unwrap_or_default().to_owned();
        ServeError::File { operation, path: path.to_owned(), reason, advice: advice.into() }
    }

    pub(crate) fn setting(key: &str, value: &str, reason: impl ToString) -> ServeError {
        ServeError::Setting {
            key: key.to_owned(),
            value: value.to_owned(),
            reason: reason.to_string(),
        }
    }
}

/// A text without characters that steer a terminal: they are replaced.
pub(crate) fn plain(text: &str) -> String {
    const BENDS: [std::ops::RangeInclusive<char>; 4] = [
        '\u{200b}'..='\u{200f}',
        '\u{2028}'..='\u{202e}',
        '\u{2060}'..='\u{206f}',
        '\u{feff}'..='\u{feff}',
    ];
    let steers = |c: char| c.is_control() || BENDS.iter().any(|range| range.contains(&c));
    text.chars().map(|c| if steers(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

fn last_lines(said: &[String]) -> String {
    if said.is_empty() {
        return String::new();
    }
    format!("; its last lines:\n  {}", said.join("\n  "))
}
