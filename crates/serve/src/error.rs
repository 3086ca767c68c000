use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use flashlag_spec::target::ValueError;
use thiserror::Error;

/// Why a device can't be served, or a server can't be reached.
#[derive(Debug, Error)]
pub enum ServeError {
    /// An unknown setting, or a value that it can't have.
    #[error("{key}={value}: {reason}")]
    Setting {
        /// Its name.
        key: String,
        /// The value given.
        value: String,
        /// The fault, and the values allowed.
        reason: String,
    },
    /// A size that the profile's flash can't have.
    #[error(transparent)]
    Size(#[from] flashlag_flash::SizeError),
    /// An unknown profile, or one that makes no device.
    #[error("profile {name}: {reason}")]
    Profile {
        /// Its name.
        name: String,
        /// The reason.
        reason: String,
    },
    /// A file or socket.
    #[error("cannot {operation} {}: {reason} ({advice})", path.display())]
    File {
        /// `open`, `listen on`, …
        operation: &'static str,
        /// Its path.
        path: PathBuf,
        /// The reason.
        reason: String,
        /// What to try next.
        advice: Cow<'static, str>,
    },
    /// The server did not start, or ended.
    #[error("{program} {reason}{}", last_lines(said))]
    Server {
        /// `nbdkit`.
        program: String,
        /// The reason.
        reason: String,
        /// The last lines that it printed.
        said: Vec<String>,
    },
    /// A command that the server refused.
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
    /// No address to listen on.
    #[error("write unix:PATH, tcp:PORT or tcp:ADDRESS:PORT")]
    NoAddress,
    /// A port that the system would choose, unknown to clients.
    #[error("0 is a port that no client can know: write another, such as tcp:10809")]
    PortZero,
    /// A path that can't be made absolute.
    #[error("{0}")]
    Path(String),
}

/// Why a running device does not do what a command asks for.
#[derive(Debug, Error)]
pub enum CommandError {
    /// The data or the stored state can't be read or written.
    #[error("{0}")]
    Store(io::Error),
    /// A recording's file exists.
    #[error(
        "cannot record in {}: something is there already: give the name of a new file",
        path.display()
    )]
    RecordExists {
        /// The file.
        path: PathBuf,
    },
    /// A recording can't begin.
    #[error("cannot record in {}: {source}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// No recording to stop.
    #[error("nothing is being recorded")]
    NotRecording,
    /// A recording can't be completed.
    #[error("cannot complete the recording: {0}")]
    Recording(io::Error),
    /// A share of requests that is none.
    #[error("a share of {0} is not between 0 and 1")]
    Share(f64),
    /// No room for another fault.
    #[error("{most} faults are set: repair the device first")]
    Faults {
        /// The most that can be set.
        most: usize,
    },
    /// A value that the command can't have.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// A file that can't be loaded, or a state that can't be stored.
    #[error(transparent)]
    Serve(#[from] ServeError),
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
