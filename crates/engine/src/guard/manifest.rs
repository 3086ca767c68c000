use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Mode, OFlags, fstat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::directory::{is_regular, sync_directory};
use super::name::{MANIFEST, MANIFEST_TEMPORARY, is_plain};
use super::owner::Owner;

/// The version of the manifest. A directory with another version is left alone.
pub(crate) const SCHEMA: &str = "flashlag.workspace/1";
/// The largest manifest.
const LONGEST: u64 = 64 << 10;

/// The manifest of a flashlag directory: it proves whose directory it is, and names the process
/// that uses it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// `flashlag.workspace/1`.
    pub schema: String,
    /// The same id as in the directory's name.
    pub id: String,
    /// The process that uses it.
    pub owner: Owner,
    /// When it was made, in seconds since 1970: of several of one run, `--resume` takes the latest.
    pub created_unix_seconds: u64,
    /// The name of the run, by which `--resume` finds it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run: Option<String>,
    /// Directories below it. Listed here before they are made.
    pub subdirectories: BTreeSet<String>,
    /// Other directories in which the same run has a flashlag directory: cleaning here cleans there
    /// too.
    #[serde(skip_serializing_if = "BTreeSet::is_empty", default)]
    pub elsewhere: BTreeSet<PathBuf>,
    /// Temporary files outside, which the run renames onto its results. Only files whose names fit
    /// flashlag's scheme are ever removed.
    #[serde(skip_serializing_if = "BTreeSet::is_empty", default)]
    pub temporaries: BTreeSet<PathBuf>,
}

/// The result of reading a manifest.
#[derive(Debug)]
pub(crate) enum ManifestRead {
    /// A manifest of ours.
    Valid(Box<Manifest>),
    /// There is no file of that name.
    Missing,
    /// It is no valid manifest; the reason.
    Invalid(String),
}

impl Manifest {
    pub(crate) fn new(id: String, run: Option<String>) -> Manifest {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Manifest {
            schema: SCHEMA.to_owned(),
            id,
            owner: Owner::this_process(),
            created_unix_seconds: now.map(|time| time.as_secs()).unwrap_or_default(),
            run,
            subdirectories: BTreeSet::new(),
            elsewhere: BTreeSet::new(),
            temporaries: BTreeSet::new(),
        }
    }

    /// Makes it durable in `directory`: after a power cut there is either this manifest or the one
    /// before it.
    pub(crate) fn write(&self, directory: &OwnedFd) -> Result<(), Errno> {
        let text = serde_json::to_string_pretty(self).map_err(|_| Errno::INVAL)?;
        // A leftover of an earlier attempt whose process died; it is unlinked unopened, since it
        // may be anything by now.
        match unlinkat(directory, MANIFEST_TEMPORARY, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let mut file = File::from(openat(directory, MANIFEST_TEMPORARY, flags, mode)?);
        let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        renameat(directory, MANIFEST_TEMPORARY, directory, MANIFEST)?;
        sync_directory(directory)
    }

    /// Reads and checks the manifest in `directory`, whose name contains `id`.
    pub(crate) fn read(directory: &OwnedFd, id: &str) -> Result<ManifestRead, Errno> {
        match read_file(directory, MANIFEST) {
            Ok(Some(text)) => Ok(judge(&text, id)),
            Ok(None) => Ok(ManifestRead::Invalid("its manifest is no regular file".to_owned())),
            Err(Errno::NOENT) => Ok(ManifestRead::Missing),
            Err(Errno::LOOP) => {
                Ok(ManifestRead::Invalid("its manifest is a symbolic link".to_owned()))
            }
            Err(errno) => Err(errno),
        }
    }
}

fn judge(text: &[u8], id: &str) -> ManifestRead {
    match serde_json::from_slice::<Manifest>(text) {
        Err(error) => ManifestRead::Invalid(format!("its manifest can't be read: {error}")),
        Ok(manifest) if manifest.schema != SCHEMA => {
            ManifestRead::Invalid(format!("another version made it: {}", manifest.schema))
        }
        Ok(manifest) if manifest.id != id => {
            ManifestRead::Invalid("its manifest names another directory".to_owned())
        }
        Ok(manifest) if !manifest.subdirectories.iter().all(|name| is_plain(name)) => {
            ManifestRead::Invalid("its manifest lists names that flashlag never uses".to_owned())
        }
        Ok(manifest) => ManifestRead::Valid(Box::new(manifest)),
    }
}

/// Whether the leftover of a first manifest is just that: empty, or zeroes (after a power cut), or
/// the beginning of a manifest.
pub(crate) fn is_begun(directory: &OwnedFd) -> Result<bool, Errno> {
    let beginning = format!("{{\n  \"schema\": \"{SCHEMA}\"");
    let Some(text) = read_file(directory, MANIFEST_TEMPORARY)? else { return Ok(false) };
    let shared = text.len().min(beginning.len());
    Ok(text.iter().all(|&byte| byte == 0) || text[..shared] == beginning.as_bytes()[..shared])
}

/// The contents of a small regular file; `None` if it is something else or too long.
fn read_file(directory: &OwnedFd, name: &str) -> Result<Option<Vec<u8>>, Errno> {
    // Opening a FIFO would block: check first, and open with `O_NONBLOCK` in case somebody puts one
    // there in between.
    let found = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if !is_regular(&found) {
        return Ok(None);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(directory, name, flags, Mode::empty())?;
    let stat = fstat(&file)?;
    if !is_regular(&stat) || stat.st_size as u64 > LONGEST {
        return Ok(None);
    }
    let mut text = Vec::new();
    let read = File::from(file).take(LONGEST).read_to_end(&mut text);
    read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(Some(text))
}
