//! Why a directory can't be measured, a file can't be written or a run can't be resumed.

use std::path::{Path, PathBuf};

use flashlag_engine::GuardError;
use rustix::fs::FileType;
use rustix::io::Errno;
use thiserror::Error;

/// Why a directory can't be measured.
#[derive(Debug, Error)]
pub enum DirectoryFault {
    /// A filesystem that is not on storage, such as `/proc`.
    #[error("it is on no storage: its filesystem is made up by the kernel")]
    NoStorage,
    #[error(transparent)]
    System(#[from] std::io::Error),
    #[error("not a directory")]
    NoDirectory,
}

impl DirectoryFault {
    /// What to try.
    pub fn advice(&self) -> &'static str {
        match self {
            DirectoryFault::NoStorage => {
                "give a directory on the storage that is to be measured, with --on DIR"
            }
            DirectoryFault::System(_) => "give an existing directory with --on DIR",
            DirectoryFault::NoDirectory => {
                "give a directory on the storage, never the device itself: flashlag writes files \
                 only"
            }
        }
    }
}

/// Why a run can't be resumed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResumeFault {
    /// A run of another scenario, or with another seed.
    #[error(
        "the file holds scenario {scenario} with seed {seed}, not this one: give the same \
         SCENARIO, --set and --seed, or another -o"
    )]
    OtherScenario { scenario: String, seed: u64 },
    /// A run whose tests were done by fio.
    #[error(
        "the file holds tests that fio did, which no trust check can judge: begin a new run with \
         another -o"
    )]
    Fio,
    #[error("that run is complete")]
    Complete,
    /// Nothing is left of what was written to a card.
    #[error(
        "nothing of what that run wrote is in {}: is it another card, were the files removed, or did the card lose \
         them? Begin anew with --force",
        path.display()
    )]
    NoFiles { path: PathBuf },
}

/// The kind of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// A run file.
    Run,
    /// The run file of a run to continue.
    ResumedRun,
    /// A page. A page that flashlag made may be replaced: it can be made again.
    Report,
    /// A device profile, which takes many simulations to make.
    Profile,
    /// A run exported to another format.
    Export,
}

/// Why an output can't be written.
#[derive(Debug, Error)]
pub enum OutputFault {
    #[error("it names no file")]
    NoName,
    #[error("standard output is no file")]
    StandardOutput,
    #[error("its directory can't be opened: {}", .0.reason)]
    Directory(#[source] GuardError),
    #[error("no file can be made in its directory")]
    NoNewFiles,
    #[error("{}", without_number(*.0))]
    System(Errno),
    #[error("{}", irregular(*.found, .leads_to.as_ref()))]
    Irregular { found: FileType, leads_to: Option<PathBuf>, path: PathBuf, kind: OutputKind },
    #[error("it holds a finished run of {scenario}")]
    FinishedRun { scenario: String },
    #[error("it holds an unfinished run of {scenario}")]
    UnfinishedRun { scenario: String },
    #[error("it holds a run")]
    Run,
    #[error("it is there and is no run file")]
    NoRun,
    #[error("it is there and is no report of flashlag's")]
    NoReport,
    #[error("it is there already")]
    Taken,
}

impl OutputFault {
    /// What to try.
    pub fn advice(&self) -> String {
        let advice = match self {
            OutputFault::NoName => "give the name of a file",
            OutputFault::StandardOutput => {
                "name a file, then print it by `flashlag report FILE --format json`"
            }
            OutputFault::NoNewFiles => {
                "choose a file in another directory, on a filesystem on storage"
            }
            OutputFault::Directory(_) => "make the directory first, or choose another file",
            OutputFault::System(Errno::FBIG) => {
                "files may not be that long here: `ulimit -f` and the filesystem say how long"
            }
            OutputFault::System(Errno::NOSPC | Errno::DQUOT) => {
                "free some space, or choose another file"
            }
            OutputFault::System(Errno::NOENT) => "its directory is gone: choose another file",
            OutputFault::System(_) => "choose another file",
            OutputFault::Irregular { found, path, kind, .. } => {
                return instead_of_irregular(*found, path, *kind);
            }
            OutputFault::UnfinishedRun { .. } => {
                "go on with it by --resume, choose another name, or overwrite it with --force"
            }
            OutputFault::FinishedRun { .. }
            | OutputFault::Run
            | OutputFault::NoRun
            | OutputFault::NoReport
            | OutputFault::Taken => "choose another name, or overwrite it with --force",
        };
        advice.to_owned()
    }
}

fn without_number(errno: Errno) -> String {
    let text = std::io::Error::from(errno).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

fn irregular(found: FileType, leads_to: Option<&PathBuf>) -> String {
    let what = match found {
        FileType::Directory => return "it is a directory".to_owned(),
        FileType::Symlink => {
            let leads =
                leads_to.map_or(String::new(), |target| format!(" to {}", target.display()));
            return format!("it is a symbolic link{leads}, and would be replaced");
        }
        FileType::Fifo => "it is a named pipe, and would be replaced",
        FileType::Socket => "it is a socket, and would be replaced",
        FileType::CharacterDevice | FileType::BlockDevice => {
            "it is a device node, and would be replaced"
        }
        FileType::RegularFile | FileType::Unknown => "it is no regular file",
    };
    what.to_owned()
}

fn instead_of_irregular(found: FileType, path: &Path, kind: OutputKind) -> String {
    const WHOLE: &str = "results are written whole and renamed into their place: give the name of \
                         a file";
    if found == FileType::Directory {
        return format!("give a file in it, such as {}", path.join("run.json").display());
    }
    match path.starts_with("/dev") {
        true if path.ends_with("null") => {
            format!("{WHOLE}, and remove it afterwards where it is not wanted")
        }
        true if kind == OutputKind::Export => {
            format!("{WHOLE}, or leave -o out for standard output")
        }
        true => format!("{WHOLE}, then print it by `flashlag report FILE --format json`"),
        false => WHOLE.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_directory_that_can_not_be_measured_has_its_own_way_out() {
        let missing = std::io::Error::from(Errno::NOENT);
        let faults = [
            DirectoryFault::NoStorage,
            DirectoryFault::System(missing),
            DirectoryFault::NoDirectory,
        ];
        let advice = faults.map(|fault| fault.advice());
        assert!(advice[0].contains("a directory on the storage that is to be measured"));
        assert!(advice[1].contains("an existing directory"));
        assert!(advice[2].contains("never the device itself"));
    }
    #[test]
    fn a_phone_that_was_not_named_has_one_colon_after_it() {
        let source = || flashlag_android::PhoneError::NoPhone;
        let said = |target: &str| {
            crate::error::RunError::Phone { target: target.to_owned(), source: source() }
                .to_string()
        };
        assert!(said("adb:").starts_with("cannot run on adb: no"), "{}", said("adb:"));
        assert!(said("adb:A").starts_with("cannot run on adb:A: no"), "{}", said("adb:A"));
    }
}
