//! The sockets of served devices.

use std::fs::Metadata;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use flashlag_serve::Control;
use flashlag_units::InOrder;

const NAME: &str = "flashlag-device-";
const CONTROL: &str = ".control";

/// The default directory of sockets.
fn folder() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    runtime.filter(|path| path.is_dir()).unwrap_or_else(std::env::temp_dir)
}

/// The default socket of a device with that profile.
pub fn socket(profile: &str) -> PathBuf {
    let name = Path::new(profile).file_stem().unwrap_or_default().to_string_lossy();
    folder().join(format!("{NAME}{name}"))
}

/// The default control socket of the device on a socket.
pub fn control_of(socket: &Path) -> PathBuf {
    let mut name = socket.as_os_str().to_owned();
    name.push(CONTROL);
    PathBuf::from(name)
}

/// A connection to the named device, by either of its sockets, or without a name to the only one.
pub fn connect(named: Option<&Path>) -> Result<Control> {
    let Some(named) = named else {
        let mut running = running_in(&folder());
        return match (running.pop(), running.is_empty()) {
            (Some(only), true) => Ok(Control::connect(&only)?),
            (Some(last), false) => {
                running.push(last);
                let all: Vec<String> =
                    running.iter().map(|path| path.display().to_string()).collect();
                bail!(
                    "{} devices are running: name the socket of one: {}",
                    all.len(),
                    all.join(", ")
                )
            }
            (None, _) => bail!("no device is running: start one with `flashlag device PROFILE`"),
        };
    };
    let beside = control_of(named);
    let is_device = !named.to_string_lossy().ends_with(CONTROL) && beside.exists();
    Ok(Control::connect(if is_device { &beside } else { named })?)
}

/// Control sockets of this user with a listener. The owner is checked: in a shared directory another
/// user can make a socket of such a name.
fn running_in(folder: &Path) -> Vec<PathBuf> {
    let ours = rustix::process::geteuid().as_raw();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sockets = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_socket = |found: Metadata| found.file_type().is_socket() && found.uid() == ours;
        entry.metadata().is_ok_and(is_socket) && name.starts_with(NAME) && name.ends_with(CONTROL)
    });
    let mut paths: Vec<PathBuf> = sockets.map(|entry| entry.path()).collect();
    paths.retain(|path| UnixStream::connect(path).is_ok());
    paths.order();
    paths
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn a_socket_that_somebody_else_made_is_no_device_of_ours() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (ours, theirs) = (at("flashlag-device-a.control"), at("flashlag-device-b.control"));
        let _listening = [&ours, &theirs].map(|path| UnixListener::bind(path).unwrap());
        std::fs::write(at("flashlag-device-c.control"), "").unwrap();
        assert_eq!(running_in(folder.path()), [ours.clone(), theirs.clone()]);
        match std::os::unix::fs::chown(&theirs, Some(65534), None) {
            Ok(()) => assert_eq!(running_in(folder.path()), [ours]),
            Err(error) => flashlag_need::skip(format!("no right to give a file away: {error}")),
        }
    }
}
