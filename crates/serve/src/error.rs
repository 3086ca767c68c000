use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use flashlag_spec::target::ValueError;
use thiserror::Error;

/// Why a device can't be served, or a server can't be reached.
#[derive(Debug, Error)]
pub enum ServeError {
    #[error("{key}={value}: {reason}")]
    Setting { key: String, value: String, reason: String },
    #[error(transparent)]
    Size(#[from] flashlag_flash::SizeError),
    #[error("profile {name}: {reason}")]
    Profile { name: String, reason: String },
    #[error("cannot {operation} {}: {reason} ({advice})", path.display())]
    File {
        /// `open`, `listen on`, …
        operation: &'static str,
        path: PathBuf,
        reason: String,
        advice: Cow<'static, str>,
    },
    #[error("{program} {reason}{}", last_lines(said))]
    Server {
        /// `nbdkit`.
        program: String,
        reason: String,
        said: Vec<String>,
    },
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

/// Why a text is no address to listen on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AddressError {
    #[error("write unix:PATH, tcp:PORT or tcp:ADDRESS:PORT")]
    NoAddress,
    #[error("0 is a port that no client can know: write another, such as tcp:10809")]
    PortZero,
    #[error("{0}")]
    Path(String),
}

/// Why a running device does not do what a command asks for.
#[derive(Debug, Error)]
pub enum CommandError {
    #[error("{0}")]
    Store(io::Error),
    /// A recording's file exists.
    #[error(
        "cannot record in {}: a file of that name exists: give the name of a new file",
        path.display()
    )]
    RecordExists { path: PathBuf },
    #[error("cannot record in {}: {source}", path.display())]
    Record { path: PathBuf, source: io::Error },
    #[error("nothing is being recorded")]
    NotRecording,
    #[error("cannot complete the recording: {0}")]
    Recording(io::Error),
    #[error("a share of {0} is not between 0 and 1")]
    Share(f64),
    #[error("a device that wraps at 0 holds nothing: say where, with an offset")]
    NothingLeft,
    #[error("{most} faults are set: repair the device first")]
    Faults { most: usize },
    #[error(transparent)]
    Value(#[from] ValueError),
    /// A file that can't be loaded, or a state that can't be stored.
    #[error(transparent)]
    Serve(#[from] ServeError),
}

/// A text whose control characters are replaced: they could act on a terminal.
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
