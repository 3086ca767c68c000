use std::path::PathBuf;
use std::process::Command;

use super::FioError;

/// A fio that can be driven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fio {
    /// Where it is.
    pub path: PathBuf,
    /// As it says: `3.33`.
    pub version: String,
}

/// Looks for `fio` on the PATH and asks for its version.
///
/// # Errors
/// None is there, it can't be run, or it is not 3.x.
pub fn find_fio() -> Result<Fio, FioError> {
    find_on(std::env::var_os("PATH").unwrap_or_default().as_os_str())
}

fn find_on(paths: &std::ffi::OsStr) -> Result<Fio, FioError> {
    let candidates = std::env::split_paths(paths).map(|directory| directory.join("fio"));
    // Not from a relative directory: what runs must not depend on what is under test.
    let mut candidates = candidates.filter(|path| path.is_absolute() && path.is_file());
    let path = candidates.next().ok_or(FioError::Missing)?;
    let output = Command::new(&path).arg("--version").output();
    let output = output.map_err(|source| FioError::Start {
        operation: "start",
        path: path.clone(),
        source,
    })?;
    let found = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    match found.strip_prefix("fio-") {
        Some(version) if version.starts_with("3.") => Ok(Fio { path, version: version.to_owned() }),
        _ => Err(FioError::Version { path, found }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn with_fio(says: &str) -> Result<Fio, FioError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fio");
        std::fs::write(&path, format!("#!/bin/sh\necho '{says}'\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        find_on(directory.path().as_os_str())
    }

    #[test]
    fn any_fio_of_version_3_is_taken() {
        assert_eq!(with_fio("fio-3.33").unwrap().version, "3.33");
        assert_eq!(with_fio("fio-3.36-12-gabc").unwrap().version, "3.36-12-gabc");
    }

    #[test]
    fn an_old_fio_is_refused_with_its_version() {
        for says in ["fio-2.99", "fio-30.1", "hello", ""] {
            let error = with_fio(says).unwrap_err();
            assert!(matches!(&error, FioError::Version { found, .. } if found == says), "{error}");
        }
    }

    #[test]
    fn a_missing_fio_says_what_to_install() {
        let directory = tempfile::tempdir().unwrap();
        let error = find_on(directory.path().as_os_str()).unwrap_err();
        assert!(error.to_string().contains("install fio 3.x"), "{error}");
    }
}
