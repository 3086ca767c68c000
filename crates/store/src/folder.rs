//! Adding a file to a folder: whole or not at all.

use std::io::{self, Write};
use std::path::Path;

use crate::error::{StoreError, io_error};
use crate::outcome::Outcome;
use crate::read::{bytes_of, entry_of, name_in};
use crate::standing::Standing;

/// Adds one file, unless `known` names one with the same contents; its hash, and what became of it.
pub(crate) fn add(
    folder: &Path,
    path: &Path,
    known: impl FnOnce(&str) -> Result<Option<String>, StoreError>,
) -> Result<(String, Outcome), StoreError> {
    let bytes = match bytes_of(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            let reason = format!("cannot be read: {error}");
            return Ok((String::new(), Outcome::Refused { reason }));
        }
    };
    let entry = entry_of(name_in(folder, path), &bytes);
    if entry.run.standing == Standing::Unreadable {
        let reason = entry.run.reason.unwrap_or_default();
        return Ok((entry.run.file_sha256, Outcome::Refused { reason }));
    }
    if let Some(name) = known(&entry.run.file_sha256)? {
        return Ok((entry.run.file_sha256, Outcome::Known { name }));
    }
    let name = place(folder, path, &entry.run.file_sha256, &bytes)
        .map_err(io_error("add a file to", folder))?;
    let (standing, reason) = (entry.run.standing, entry.run.reason);
    Ok((entry.run.file_sha256, Outcome::New { name, standing, reason }))
}

/// Writes the file under its own name, or where that is taken with its hash. A reader sees no part of
/// it, and a killed writer leaves a hidden file only.
fn place(folder: &Path, path: &Path, sha256: &str, bytes: &[u8]) -> io::Result<String> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let stem = stem.trim_start_matches('.');
    let stem = if stem.is_empty() { "run" } else { stem };
    let hash = sha256.get(..12).unwrap_or(sha256);
    for name in [format!("{stem}.json"), format!("{stem}-{hash}.json")] {
        let mut file = tempfile::Builder::new().prefix(".adding-").tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        // As a file that is simply made: others of the team read it.
        allow_reading(file.as_file())?;
        match file.persist_noclobber(folder.join(&name)) {
            Ok(_) => return Ok(name),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{stem}.json is taken")))
}

#[cfg(unix)]
fn allow_reading(file: &std::fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn allow_reading(_: &std::fs::File) -> io::Result<()> {
    Ok(())
}
