//! The kernel that the lab boots, in a folder of the lab's own.

use std::path::{Path, PathBuf};

use flashlag_units::InOrder;

use crate::error::LabError;
use crate::modules::Modules;

/// The environment variable with the lab's folder.
const VARIABLE: &str = "FLASHLAG_LAB";

/// An uncompressed kernel and its modules.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Path of the image.
    pub folder: PathBuf,
    /// `vmlinux`: with an entry for PVH, which needs no loader.
    pub image: PathBuf,
    /// `6.12.117+deb12-amd64`.
    pub version: String,
    /// The kernel's modules.
    pub modules: Modules,
}

impl Kernel {
    /// The kernel that `scripts/lab-packages` fetched, or that `FLASHLAG_LAB` names.
    pub fn find() -> Result<Kernel, LabError> {
        Kernel::in_folder(&folder())
    }

    /// The kernel in a folder: `vmlinux` and one `lib/modules/VERSION`.
    pub fn in_folder(folder: &Path) -> Result<Kernel, LabError> {
        let missing = || LabError::NoKernel { folder: folder.to_owned() };
        let image = folder.join("vmlinux");
        if !image.is_file() {
            return Err(missing());
        }
        let all = folder.join("lib/modules");
        let entries = std::fs::read_dir(&all).map_err(|_| missing())?;
        let mut versions: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        versions.order();
        let newest = versions.pop().ok_or_else(missing)?;
        let version = newest.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Kernel { folder: folder.to_owned(), image, version, modules: Modules::read(&newest)? })
    }
}

/// `$FLASHLAG_LAB`, or `flashlag/lab` in the user's cache.
fn folder() -> PathBuf {
    if let Some(folder) = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) {
        return PathBuf::from(folder);
    }
    let cache = std::env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty());
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/".into()));
    cache.map_or_else(|| home().join(".cache"), PathBuf::from).join("flashlag/lab")
}
