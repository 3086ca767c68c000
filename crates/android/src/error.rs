use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use crate::connected::{Connected, Connection};

/// Why a phone can't be measured or reached, and what to do.
#[derive(Debug, Error)]
pub enum PhoneError {
    /// The adb program is not installed.
    #[error(
        "a phone is reached through `adb`, which is not on this machine (on Debian: apt install adb; \
         else Android's platform-tools), or set ADB to where it is"
    )]
    NoAdb,
    #[error("cannot start {}: {source}", program.display())]
    Start { program: PathBuf, source: io::Error },
    /// An adb program that lacks what is needed.
    #[error(
        "adb {found} is too old: it is from before 2014; install a newer one (1.0.32 or later)"
    )]
    OldAdb { found: String },
    #[error("adb {action}: {reason}")]
    Adb {
        /// The operation: `push`.
        action: String,
        reason: String,
    },
    #[error("adb {action}: no answer within {} s; is the phone still connected?", limit.as_secs())]
    Late { action: String, limit: Duration },
    /// No phone is connected.
    #[error(
        "no phone is connected: plug it in, unlock it, switch on USB debugging in its developer options, \
         and accept this computer there; `adb devices` lists what is connected"
    )]
    NoPhone,
    #[error("{} phones are connected: name one ({}), or adb:all for all", .0.len(), choices(.0))]
    Several(Vec<Connected>),
    #[error("no phone {serial} is connected; {}", there_are(.others))]
    Absent { serial: String, others: Vec<Connected> },
    #[error("the phone {serial} is {connection}: {}", connection.advice())]
    NotReady { serial: String, connection: Connection },
    #[error("on the phone, {what} failed: {reason}")]
    Command {
        /// The operation, as a noun: `making the folder /data/local/tmp/flashlag`.
        what: String,
        reason: String,
    },
    #[error("the phone does not say what it is: getprop printed nothing ({0})")]
    NoProperties(String),
    /// A processor that there is no program for.
    #[error(
        "flashlag has no program for the phone's processor ({0}): there are programs for arm64-v8a, \
         armeabi-v7a and x86_64"
    )]
    Processor(String),
    /// The phone's program is not on this machine.
    #[error(
        "the program for the phone, {name}, is not beside this program (looked in {}): `make dist` in \
         flashlag's source builds it, and releases contain it; or set FLASHLAG_PHONE_PROGRAMS to its \
         folder",
        listed(looked)
    )]
    NoProgram { name: String, looked: Vec<PathBuf> },
    #[error("flashlag does not run on the phone: {0}")]
    DoesNotRun(String),
    /// Another run is in progress on the phone.
    #[error(
        "flashlag is measuring that phone already (scenario {scenario}): `flashlag run … --resume -o FILE` \
         with that run's arguments follows it, `flashlag clean {target}` ends it and removes its files"
    )]
    Busy { scenario: String, target: String },
    /// Another host is putting a run on the phone right now.
    #[error(
        "flashlag is measuring that phone already (another flashlag, here or on another computer, is putting \
         its run there): wait until that run has ended, or end it with `flashlag clean adb:{serial}`"
    )]
    Taken { serial: String },
    /// Something in the phone's folder that flashlag did not put there.
    #[error(
        "on the phone, {folder} has files that are not flashlag's ({}), which it leaves alone: \
         move it away, or \
         remove it with `adb -s {serial} shell rm -r {folder}`, then give the command again",
        .names.join(", ")
    )]
    Foreign { folder: String, names: Vec<String>, serial: String },
    /// A watch is in progress on the phone.
    #[error(
        "the phone {serial} is watched already: `flashlag watch fetch adb:{serial}` takes what was found so \
         far, and with --end ends the watch"
    )]
    Watched { serial: String },
    #[error("there is no watch on the phone {serial}: `flashlag watch adb:{serial}` begins one")]
    NoWatch { serial: String },
    /// The phone has measurements that a new run would remove.
    #[error(
        "the phone has a run (scenario {scenario}) that was not fetched: its command with \
         --resume fetches or continues it, `flashlag clean {target}` removes it"
    )]
    Kept { scenario: String, target: String },
    /// The run to resume is not the one on the phone.
    #[error(
        "cannot resume: the phone has another run (scenario {found}, seed {seed}): give the same scenario, \
         settings and seed, or end it with `flashlag clean {target}`"
    )]
    OtherRun { found: String, seed: u64, target: String },
    /// A run by another version of flashlag.
    #[error(
        "the run on the phone was made by {there}, and this is {here}: continue with that \
         version, or end it with \
         `flashlag clean {target}`"
    )]
    OtherVersion { there: String, here: String, target: String },
    /// The phone went away before a run began.
    #[error(
        "{0} (nothing was measured yet: once the phone is connected again, run the command again)"
    )]
    BeforeRun(Box<PhoneError>),
    /// A program for phones that is of another version than this end.
    #[error(
        "the program for the phone, {}, is {there}, and this one is {here}{}: both ends must be of one \
         version: `make dist` in the source of this one builds the other, or take the files of one release",
        program.display(),
        forms(*formats)
    )]
    OtherProgram { program: PathBuf, there: String, here: String, formats: [u32; 2] },
    /// A folder on the phone with an order that this version can't read.
    #[error(
        "the phone has a run of {0}, which this version can't read: continue with that version, \
         or end the \
         run and remove its files with `flashlag clean adb:[SERIAL]`"
    )]
    OtherOrder(String),
    /// The run on the phone ended without a result: the phone was switched off, or the run was
    /// killed.
    #[error(
        "the run on the phone was ended from outside (did the phone restart?): its measurements so far are \
         kept on the phone; the same command with --resume continues it"
    )]
    Ended,
    /// The phone went away and did not come back before the user stopped waiting.
    #[error(
        "stopped waiting for the phone {0}: the run goes on there by itself; once the phone is connected \
         again, the same command with --resume fetches its result"
    )]
    Left(String),
    #[error("on the phone: {0}")]
    Reported(String),
    #[error("the phone's end of flashlag answered `{0}`: is another version there?")]
    Answer(String),
    #[error("the run from the phone can't be used: {0}")]
    Result(String),
    #[error("cannot {action} {}: {source}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
}

/// Why a program of Android gave no answer.
pub type AskError = Box<dyn std::error::Error + Send + Sync>;

/// Why Android did not do what a run asked of it.
#[derive(Debug, Error)]
pub enum SystemError {
    #[error(transparent)]
    NoAnswer(#[from] AskError),
    /// The settings to restore after the run could not be stored.
    #[error("{}: {source}", path.display())]
    Settings { path: PathBuf, source: io::Error },
    #[error(
        "Android before version 7 has no command for a trim without root; it trims by itself about once a \
         day, when the phone is idle and charging (`--set idle=24h` waits)"
    )]
    NoTrim,
    #[error("{command}: the log can't be read: {source}")]
    NoLog { command: String, source: AskError },
    #[error("{command} is not allowed here ({reason})")]
    Refused { command: String, reason: String },
    #[error(
        "{command} was accepted, but within {} s the log does not say that {mount_point} was trimmed; \
         Android trims by itself about once a day, when the phone is idle and charging",
        limit.as_secs()
    )]
    Silent { command: String, limit: Duration, mount_point: String },
}

impl PhoneError {
    /// Whether the phone may be gone: then the operation can be repeated once it is back.
    pub fn is_of_the_cable(&self) -> bool {
        matches!(
            self,
            PhoneError::Adb { .. }
                | PhoneError::Late { .. }
                | PhoneError::NoPhone
                | PhoneError::Absent { .. }
                | PhoneError::NotReady { .. }
        )
    }

    /// For `map_err` after an operation on a file.
    pub(crate) fn file(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> PhoneError {
        let path = path.into();
        move |source| PhoneError::File { action, path, source }
    }
}

fn choices(phones: &[Connected]) -> String {
    let names: Vec<_> = phones.iter().map(|phone| format!("adb:{}", phone.named())).collect();
    names.join(", ")
}

fn there_are(others: &[Connected]) -> String {
    match others {
        [] => "no other is: plug it in, unlock it and switch on USB debugging".to_owned(),
        _ => format!("there is {}", choices(others)),
    }
}

fn forms([there, here]: [u32; 2]) -> String {
    if there == here {
        String::new()
    } else {
        format!(" (messages of form {there} there, of form {here} here)")
    }
}

fn listed(folders: &[PathBuf]) -> String {
    let names: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
    names.join(", ")
}
