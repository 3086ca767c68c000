use std::borrow::Cow;
use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;

use rustix::io::Errno;

/// Why a value is not known: what was asked, and what came of it, as data until it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The kernel does not let a file be read.
    File { path: PathBuf, kind: ErrorKind },
    /// A file, or the output of a command, is not as expected. `what` follows its name.
    Content { of: PathBuf, what: Cow<'static, str> },
    /// A system call failed. There is no path where the path may be private.
    Call { call: &'static str, path: Option<PathBuf>, error: Errno },
    /// A program did not answer, or answered what is impossible.
    Program { command: String, cause: String },
    /// Nothing was asked: this machine, device or filesystem does not have the value.
    None(Cow<'static, str>),
}

impl Reason {
    pub(crate) fn file(path: impl Into<PathBuf>, kind: ErrorKind) -> Reason {
        Reason::File { path: path.into(), kind }
    }

    pub(crate) fn missing(path: impl Into<PathBuf>) -> Reason {
        Reason::file(path, ErrorKind::NotFound)
    }

    pub(crate) fn content(of: impl Into<PathBuf>, what: impl Into<Cow<'static, str>>) -> Reason {
        Reason::Content { of: of.into(), what: what.into() }
    }

    pub(crate) fn odd(of: impl Into<PathBuf>) -> Reason {
        Reason::content(of, "is not in the format known")
    }

    pub(crate) fn call(
        call: &'static str,
        path: impl Into<PathBuf>,
        error: impl Into<std::io::Error>,
    ) -> Reason {
        Reason::Call { call, path: Some(path.into()), error: number(error) }
    }

    pub(crate) fn unnamed(call: &'static str, error: impl Into<std::io::Error>) -> Reason {
        Reason::Call { call, path: None, error: number(error) }
    }

    /// A reason in words.
    pub fn none(words: impl Into<Cow<'static, str>>) -> Reason {
        Reason::None(words.into())
    }
}

fn number(error: impl Into<std::io::Error>) -> Errno {
    Errno::from_io_error(&error.into()).unwrap_or(Errno::IO)
}

impl From<&'static str> for Reason {
    fn from(words: &'static str) -> Reason {
        Reason::none(words)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::File { path, kind } => {
                let words = match kind {
                    ErrorKind::NotFound | ErrorKind::NotADirectory => "not there",
                    ErrorKind::PermissionDenied => "no permission",
                    ErrorKind::IsADirectory => "is a directory",
                    _ => "can't be read",
                };
                write!(f, "{}: {words}", path.display())
            }
            Reason::Content { of, what } => write!(f, "{} {what}", of.display()),
            Reason::Call { call, path: Some(path), error } => {
                write!(f, "{call} {}: {error}", path.display())
            }
            Reason::Call { call, path: None, error } => write!(f, "{call}: {error}"),
            Reason::Program { command, cause } => write!(f, "{command}: {cause}"),
            Reason::None(words) => f.write_str(words),
        }
    }
}

impl std::error::Error for Reason {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::Root;

    #[test]
    fn a_reason_keeps_path_and_cause_and_shows_them_once() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::captured(tree.path());
        std::fs::create_dir(tree.path().join("folder")).unwrap();
        std::fs::write(tree.path().join("empty"), "\n").unwrap();
        std::fs::write(tree.path().join("word"), "many\n").unwrap();
        std::fs::write(tree.path().join("word/below"), "").unwrap_err();
        let of = |path: &str| root.number::<u64>(path).unwrap_err();
        assert_eq!(of("/gone"), Reason::missing("/gone"));
        assert_eq!(of("/word/below"), Reason::file("/word/below", ErrorKind::NotADirectory));
        assert_eq!(of("/folder"), Reason::file("/folder", ErrorKind::IsADirectory));
        let shown =
            ["/gone", "/word/below", "/folder", "/empty", "/word"].map(|p| of(p).to_string());
        assert_eq!(
            shown,
            [
                "/gone: not there",
                "/word/below: not there",
                "/folder: is a directory",
                "/empty is empty",
                "/word is no number: many"
            ]
        );
        let failed = Reason::call("statvfs", "/data", Errno::ACCESS);
        assert_eq!(failed.to_string(), "statvfs /data: Permission denied (os error 13)");
    }
}
