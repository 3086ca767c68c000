//! Where devices are found, and those that run.

use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use flashlag_serve::Control;

const NAME: &str = "flashlag-device-";
const CONTROL: &str = ".control";

/// Where sockets lie that nobody named.
fn folder() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    runtime.filter(|path| path.is_dir()).unwrap_or_else(std::env::temp_dir)
}

/// The socket of a device of that profile.
pub fn socket(profile: &str) -> PathBuf {
    let name = Path::new(profile).file_stem().unwrap_or_default().to_string_lossy();
    folder().join(format!("{NAME}{name}"))
}

/// Where the device on a socket is told things.
pub fn control_of(socket: &Path) -> PathBuf {
    let mut name = socket.as_os_str().to_owned();
    name.push(CONTROL);
    PathBuf::from(name)
}

/// A connection to the device that was named, by either of its sockets, or to the only one.
pub fn connect(named: Option<&Path>) -> Result<Control> {
    let Some(named) = named else {
        let mut running = running();
        return match (running.pop(), running.is_empty()) {
            (Some(only), true) => Ok(Control::connect(&only)?),
            (Some(last), false) => {
                running.push(last);
                let all: Vec<String> =
                    running.iter().map(|path| path.display().to_string()).collect();
                bail!("{} devices run: say which, by its socket: {}", all.len(), all.join(", "))
            }
            (None, _) => bail!("no device runs here: start one with `flashlag device PROFILE`"),
        };
    };
    let beside = control_of(named);
    let is_device = !named.to_string_lossy().ends_with(CONTROL) && beside.exists();
    Ok(Control::connect(if is_device { &beside } else { named })?)
}

/// Control sockets behind which somebody listens.
fn running() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).into_iter().flatten().flatten();
    let sockets = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_socket = entry.file_type().is_ok_and(|kind| kind.is_socket());
        is_socket && name.starts_with(NAME) && name.ends_with(CONTROL)
    });
    let mut paths: Vec<PathBuf> = sockets.map(|entry| entry.path()).collect();
    paths.retain(|path| UnixStream::connect(path).is_ok());
    paths.sort();
    paths
}
