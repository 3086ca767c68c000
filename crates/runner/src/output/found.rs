//! Whether a file with the name of an output may be replaced.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;

use flashlag_engine::guard::Publisher;
use flashlag_schema::{Run, RunStatus};
use rustix::fs::{FileType, Stat};

use crate::error::RunError;

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
    /// A run in another form.
    Export,
}

/// Bytes of a page that are searched for flashlag's mark.
const PAGE_HEAD: u64 = 4096;
/// The longest run file.
const LONGEST: u64 = 1 << 30;
/// The mark of flashlag's pages.
const GENERATOR: &str = r#"<meta name="generator" content="flashlag">"#;
const FORCE: &str = "choose another name, or overwrite it with --force";

/// Refuses what must not be replaced.
///
/// # Errors
/// What has the name, and what to do instead.
pub(super) fn check(
    at: &Publisher,
    path: &Path,
    name: &OsStr,
    (kind, force): (OutputKind, bool),
    found: Option<&Stat>,
) -> Result<(), RunError> {
    let Some(found) = found else { return Ok(()) };
    let refuse = |reason: String, advice: &str| {
        Err(RunError::Output { path: path.to_owned(), reason, advice: advice.to_owned() })
    };
    if let Some((reason, advice)) = no_file(FileType::from_raw_mode(found.st_mode), path, kind) {
        return refuse(reason, &advice);
    }
    if force || kind == OutputKind::ResumedRun {
        return Ok(());
    }
    let text = |longest: u64| -> Option<String> {
        let mut text = Vec::new();
        at.read(name).ok()?.take(longest).read_to_end(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    };
    if kind == OutputKind::Report && text(PAGE_HEAD).is_some_and(|page| page.contains(GENERATOR)) {
        return Ok(());
    }
    // A long file is read whole only if it begins as a run file.
    let begins = text(PAGE_HEAD).is_some_and(|head| head.contains(flashlag_schema::SCHEMA));
    let run = text(if begins { LONGEST } else { 0 }).and_then(|text| Run::from_json(&text).ok());
    match (run, kind) {
        (Some(run), _) if run.status == RunStatus::Complete => {
            refuse(format!("it holds a finished run of {}", run.scenario.name), FORCE)
        }
        (Some(run), OutputKind::Run) if run.phases.is_empty() => Ok(()),
        (Some(run), OutputKind::Run) => refuse(
            format!("it holds an unfinished run of {}", run.scenario.name),
            "go on with it by --resume, choose another name, or overwrite it with --force",
        ),
        (Some(_), _) => refuse("it holds a run".to_owned(), FORCE),
        (None, OutputKind::Run) => refuse("it is there and is no run file".to_owned(), FORCE),
        (None, OutputKind::Report) => {
            refuse("it is there and is no report of flashlag's".to_owned(), FORCE)
        }
        (None, _) => refuse("it is there already".to_owned(), FORCE),
    }
}

/// Why something that is no regular file is not written to, and what to do instead.
fn no_file(found: FileType, path: &Path, kind: OutputKind) -> Option<(String, String)> {
    const WHOLE: &str = "results are written whole and renamed into their place: give the name of \
                         a file";
    let what = match found {
        FileType::RegularFile => return None,
        FileType::Directory => {
            let advice = format!("give a file in it, such as {}", path.join("run.json").display());
            return Some(("it is a directory".to_owned(), advice));
        }
        FileType::Symlink => {
            let leads = std::fs::read_link(path)
                .map_or(String::new(), |target| format!(" to {}", target.display()));
            format!("it is a symbolic link{leads}, and would be replaced")
        }
        FileType::Fifo => "it is a named pipe, and would be replaced".to_owned(),
        FileType::Socket => "it is a socket, and would be replaced".to_owned(),
        FileType::CharacterDevice | FileType::BlockDevice => {
            "it is a device node, and would be replaced".to_owned()
        }
        FileType::Unknown => "it is no regular file".to_owned(),
    };
    let advice = match path.starts_with("/dev") {
        true if path.ends_with("null") => {
            format!("{WHOLE}, and remove it afterwards where it is not wanted")
        }
        true if kind == OutputKind::Export => {
            format!("{WHOLE}, or leave -o out for standard output")
        }
        true => format!("{WHOLE}, then print it by `flashlag report FILE --format json`"),
        false => WHOLE.to_owned(),
    };
    Some((what, advice))
}
