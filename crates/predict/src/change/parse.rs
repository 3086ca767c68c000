use std::fmt;

use flashlag_spec::scenario::{JournalMode, Synchronous};
use flashlag_spec::target::{Cipher, FilesystemKind, Kind, TargetOption};
use flashlag_units::{Bytes, Nanos, did_you_mean};

use crate::error::ALLOWED;
use crate::knob::exact;
use crate::{ChangeError, PredictError};

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Another filesystem.
    Filesystem(FilesystemKind),
    /// Another journal mode for saves.
    Journal(JournalMode),
    /// Another `synchronous` for saves.
    Synchronous(Synchronous),
    /// Storage filled to this share of its capacity.
    Full(f64),
    /// A mount option (`nobarrier`, `fuse`, `encrypt`, `fast_commit`), on or off.
    Option(TargetOption, bool),
    /// Whether a delete is followed by a discard.
    Discard(bool),
    /// Another spare area.
    Spare(Bytes),
    /// Another write buffer, or none.
    Buffer(Option<Bytes>),
    /// Time in use.
    Age(Nanos),
    /// Whether Android's idle maintenance trims the filesystem.
    IdleMaintenance(bool),
    /// Whether the free space held files that were deleted and never trimmed.
    Untrimmed(bool),
    /// Blocks that have used this share of their rated cycles.
    Worn(f64),
    Parameter(String, String),
}

/// The highest fill level: filesystems reserve the rest.
const FULLEST: f64 = 0.97;
/// The longest use that is simulated day by day.
const OLDEST: Nanos = Nanos::from_secs(10 * 365 * 86_400);

/// Parses `fs=f2fs,journal=wal,full=90%`: one step each, in order.
pub fn parse(text: &str) -> Result<Vec<Change>, PredictError> {
    let refuse = |change: &str, reason| PredictError::Change { change: change.to_owned(), reason };
    if text.trim().is_empty() {
        return Err(refuse(text, ChangeError::Empty));
    }
    let parts = text.split(',').map(str::trim);
    parts.map(|part| one(part).map_err(|reason| refuse(part, reason))).collect()
}

fn one(text: &str) -> Result<Change, ChangeError> {
    let (key, value) = text.split_once('=').ok_or(ChangeError::NoValue)?;
    let (key, value) = (key.trim(), value.trim());
    let on = || match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(ChangeError::NotOnOrOff { key: key.to_owned() }),
    };
    let size = || Ok::<Bytes, ChangeError>(value.parse()?);
    Ok(match key {
        "fs" => Change::Filesystem(filesystem(value)?),
        "journal" => Change::Journal(journal(value)?),
        "sync" => Change::Synchronous(synchronous(value)?),
        "full" => Change::Full(level(value)?),
        "nobarrier" => Change::Option(TargetOption::Barrier(false), on()?),
        "fuse" => Change::Option(TargetOption::Fuse, on()?),
        "encrypt" => Change::Option(TargetOption::Encrypt(Cipher::AesXts), on()?),
        "fast_commit" => Change::Option(TargetOption::FastCommit, on()?),
        "discard" => Change::Discard(on()?),
        "spare" => Change::Spare(size()?),
        "buffer" if value == "none" => Change::Buffer(None),
        "buffer" => Change::Buffer(Some(size()?)),
        "age" => Change::Age(age(value)?),
        "idle_maintenance" => Change::IdleMaintenance(on()?),
        "untrimmed" => Change::Untrimmed(on()?),
        "worn" => Change::Worn(wear(value)?),
        key if key.contains('.') => Change::Parameter(key.to_owned(), value.to_owned()),
        key => {
            let known = ALLOWED.split(", ").filter_map(|one| Some(one.split_once('=')?.0.trim()));
            return Err(ChangeError::UnknownKey { near: did_you_mean(key, known) });
        }
    })
}

fn unknown_value(key: &'static str, allowed: &[&str], value: &str) -> ChangeError {
    let near = did_you_mean(value, allowed.iter().copied());
    ChangeError::UnknownValue { key, allowed: allowed.join(", "), near }
}

fn filesystem(value: &str) -> Result<FilesystemKind, ChangeError> {
    let modelled = FilesystemKind::of(Kind::Sim);
    let names: Vec<&str> = modelled.iter().map(|kind| kind.name()).collect();
    let found = modelled.iter().copied().find(|kind| kind.name() == value);
    found.ok_or_else(|| unknown_value("fs", &names, value))
}

const JOURNALS: [&str; 6] = ["wal", "delete", "truncate", "persist", "memory", "off"];

fn journal(value: &str) -> Result<JournalMode, ChangeError> {
    Ok(match value {
        "wal" => JournalMode::Wal,
        "delete" => JournalMode::Delete,
        "truncate" => JournalMode::Truncate,
        "persist" => JournalMode::Persist,
        "memory" => JournalMode::Memory,
        "off" => JournalMode::Off,
        _ => return Err(unknown_value("journal", &JOURNALS, value)),
    })
}

fn synchronous(value: &str) -> Result<Synchronous, ChangeError> {
    Ok(match value {
        "extra" => Synchronous::Extra,
        "full" => Synchronous::Full,
        "normal" => Synchronous::Normal,
        _ => return Err(unknown_value("sync", &["extra", "full", "normal"], value)),
    })
}

/// `90%` as a share.
pub(super) fn level(value: &str) -> Result<f64, ChangeError> {
    let percent: Option<f64> =
        value.strip_suffix('%').and_then(|number| number.trim().parse().ok());
    match percent {
        Some(percent) if (0.0..=FULLEST * 100.0).contains(&percent) => Ok(percent / 100.0),
        Some(_) => Err(ChangeError::LevelOutOfRange { most: (FULLEST * 100.0).round() as u32 }),
        None => Err(ChangeError::NoLevel),
    }
}

/// `90%` of the rated cycles as a share.
fn wear(value: &str) -> Result<f64, ChangeError> {
    let percent: Option<f64> =
        value.strip_suffix('%').and_then(|number| number.trim().parse().ok());
    let share = percent.filter(|percent| (0.0..=100.0).contains(percent));
    share.map(|percent| percent / 100.0).ok_or(ChangeError::NoWear)
}

fn age(value: &str) -> Result<Nanos, ChangeError> {
    let age: Nanos = value.parse()?;
    if age > OLDEST {
        return Err(ChangeError::TooOld);
    }
    Ok(age)
}

impl Change {
    /// Whether the change concerns how a device was used before it is measured.
    pub fn is_of_use(&self) -> bool {
        match self {
            Change::Full(_) | Change::Age(_) | Change::IdleMaintenance(_) => true,
            Change::Untrimmed(_) | Change::Worn(_) => true,
            Change::Filesystem(_)
            | Change::Journal(_)
            | Change::Synchronous(_)
            | Change::Option(..)
            | Change::Discard(_)
            | Change::Spare(_)
            | Change::Buffer(_)
            | Change::Parameter(..) => false,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let switch = |on: &bool| if *on { "on" } else { "off" };
        match self {
            Change::Filesystem(kind) => write!(f, "fs={kind}"),
            Change::Journal(mode) => write!(f, "journal={}", journal_name(*mode)),
            Change::Synchronous(mode) => write!(f, "sync={}", synchronous_name(*mode)),
            Change::Full(level) => write!(f, "full={}%", (level * 1000.0).round() / 10.0),
            Change::Option(option, on) => write!(f, "{option}={}", switch(on)),
            Change::Discard(on) => write!(f, "discard={}", switch(on)),
            Change::Spare(size) => write!(f, "spare={}", exact(*size)),
            Change::Buffer(Some(size)) => write!(f, "buffer={}", exact(*size)),
            Change::Buffer(None) => f.write_str("buffer=none"),
            Change::Age(age) => write!(f, "age={}", months(*age)),
            Change::IdleMaintenance(on) => write!(f, "idle_maintenance={}", switch(on)),
            Change::Untrimmed(on) => write!(f, "untrimmed={}", switch(on)),
            Change::Worn(share) => write!(f, "worn={}%", (share * 1000.0).round() / 10.0),
            Change::Parameter(key, value) => write!(f, "{key}={value}"),
        }
    }
}

/// In whole months if the age has no rest, otherwise in days.
fn months(age: Nanos) -> String {
    const DAY: u64 = 86_400_000_000_000;
    const MONTH: u64 = 2_629_800_000_000_000;
    if age.0 > 0 && age.0.is_multiple_of(MONTH) {
        return format!("{}mo", age.0 / MONTH);
    }
    format!("{}d", age.0.div_ceil(DAY))
}

pub(super) fn journal_name(mode: JournalMode) -> &'static str {
    match mode {
        JournalMode::Delete => "delete",
        JournalMode::Truncate => "truncate",
        JournalMode::Persist => "persist",
        JournalMode::Wal => "wal",
        JournalMode::Memory => "memory",
        JournalMode::Off => "off",
    }
}

pub(super) fn synchronous_name(mode: Synchronous) -> &'static str {
    match mode {
        Synchronous::Full => "full",
        Synchronous::Extra => "extra",
        Synchronous::Normal => "normal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_reads_as_it_is_written() {
        let text = "fs=f2fs,journal=truncate,sync=normal,full=90%,nobarrier=off,fuse=on,\
                    encrypt=on,discard=off,spare=512MB,buffer=1MiB,buffer=none,age=12mo,\
                    idle_maintenance=on,untrimmed=off,worn=90%,nand.program=1.5ms";
        let changes = parse(text).unwrap();
        let again: Vec<String> = changes.iter().map(Change::to_string).collect();
        assert_eq!(again.join(","), text);
    }

    #[test]
    fn what_is_no_change_is_refused_with_what_is() {
        let cases = [
            ("", "fs="),
            ("full", "KEY=VALUE"),
            ("full=0.9", "90%"),
            ("full=99%", "97%"),
            ("fs=ntfs", "ext4"),
            ("fuse=yes", "on or off"),
            ("journal=none", "wal"),
            ("spare=lots", "size"),
            ("age=40", "duration"),
            ("age=200mo", "ten years"),
            ("worn=101%", "0% to 100%"),
            ("worn=NaN%", "0% to 100%"),
            ("untrimmed=yes", "on or off"),
            ("colour=red", "idle_maintenance"),
            ("fs=ext4,,fuse=on", "KEY=VALUE"),
        ];
        for (text, wanted) in cases {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}
