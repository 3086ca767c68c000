//! Finding nbdkit and our plugin.

use std::path::{Path, PathBuf};

use crate::error::ServeError;

const NBDKIT: &str = "nbdkit";
const PLUGIN: &str = "libflashlag_nbd.so";
/// The environment variable with the plugin's path.
const VARIABLE: &str = "FLASHLAG_NBD_PLUGIN";
/// The folders in which systems keep plugins.
const SYSTEM: [&str; 3] = ["/usr/local/lib/flashlag", "/usr/lib/flashlag", "/usr/lib64/flashlag"];

pub(super) fn nbdkit(given: Option<&Path>) -> Result<PathBuf, ServeError> {
    let missing = |path: &Path| ServeError::File {
        operation: "find",
        path: path.to_owned(),
        reason: "there is no such program".to_owned(),
        advice: "install the package nbdkit: apt-get install nbdkit, dnf install nbdkit".into(),
    };
    if let Some(path) = given {
        return if path.is_file() { Ok(path.to_owned()) } else { Err(missing(path)) };
    }
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let beyond = ["/usr/sbin", "/usr/bin", "/usr/local/bin"].map(PathBuf::from);
    let found = std::env::split_paths(&paths)
        .chain(beyond)
        .map(|folder| folder.join(NBDKIT))
        .find(|path| path.is_file());
    found.ok_or_else(|| missing(Path::new(NBDKIT)))
}

/// Path of the plugin: as given, or from the environment, or beside the program.
pub(super) fn plugin(given: Option<&Path>) -> Result<PathBuf, ServeError> {
    let missing = |path: &Path| ServeError::File {
        operation: "find",
        path: path.to_owned(),
        reason: "there is no such file".to_owned(),
        advice: "build it with `cargo build --release -p flashlag-nbd`, or say with --plugin or \
                 FLASHLAG_NBD_PLUGIN where it is"
            .into(),
    };
    let said = given.map(Path::to_owned).or_else(|| std::env::var_os(VARIABLE).map(PathBuf::from));
    if let Some(path) = said {
        // nbdkit takes a name without a slash for one of its own plugins.
        return path.canonicalize().map_err(|_| missing(&path));
    }
    let program = std::env::current_exe().unwrap_or_default();
    // Tests and examples are one folder below the library.
    let beside = program.ancestors().skip(1).take(2).map(Path::to_owned);
    // An archive that was unpacked somewhere has bin and lib.
    let installed = program.ancestors().nth(2).map(|prefix| prefix.join("lib/flashlag"));
    let system = SYSTEM.map(PathBuf::from);
    let found = beside
        .chain(installed)
        .chain(system)
        .map(|folder| folder.join(PLUGIN))
        .find(|path| path.is_file());
    found.ok_or_else(|| missing(Path::new(PLUGIN)))
}
