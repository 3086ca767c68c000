//! The addresses of a device.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::{AddressError, ServeError};

/// The longest socket path that the kernel accepts.
const LONGEST: usize = 107;

/// The address of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A socket in the filesystem.
    Unix(PathBuf),
    /// A port on an address of this machine.
    Tcp(IpAddr, u16),
}

impl Listen {
    /// Whether only this machine can connect.
    pub fn is_local(&self) -> bool {
        match self {
            Listen::Unix(_) => true,
            Listen::Tcp(address, _) => address.is_loopback(),
        }
    }

    /// The address as a URI for clients.
    pub fn uri(&self) -> String {
        match self {
            Listen::Unix(path) => format!("nbd+unix:///?socket={}", percent_encoded(path)),
            Listen::Tcp(IpAddr::V4(address), port) => format!("nbd://{address}:{port}"),
            Listen::Tcp(IpAddr::V6(address), port) => format!("nbd://[{address}]:{port}"),
        }
    }

    pub(crate) fn arguments(&self) -> Vec<String> {
        match self {
            Listen::Unix(path) => vec![format!("--unix={}", path.display())],
            Listen::Tcp(address, port) => {
                vec![format!("--ipaddr={address}"), format!("--port={port}")]
            }
        }
    }

    /// Checks that the address is free.
    pub(crate) fn check(&self) -> Result<(), ServeError> {
        match self {
            Listen::Unix(path) => check_socket(path),
            // nbdkit's own message says best why a port can't be used.
            Listen::Tcp(..) => Ok(()),
        }
    }
}

impl FromStr for Listen {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Listen, AddressError> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = PathBuf::from(path);
            let path = std::path::absolute(path);
            return path.map(Listen::Unix).map_err(|error| AddressError::Path(error.to_string()));
        }
        let rest = text.strip_prefix("tcp:").ok_or(AddressError::NoAddress)?;
        let (address, port) = rest.rsplit_once(':').unwrap_or(("127.0.0.1", rest));
        let address =
            address.trim_matches(['[', ']']).parse().map_err(|_| AddressError::NoAddress)?;
        match port.parse().map_err(|_| AddressError::NoAddress)? {
            // The kernel would choose a port that clients do not know.
            0 => Err(AddressError::PortZero),
            port => Ok(Listen::Tcp(address, port)),
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Listen::Unix(path) => write!(f, "unix:{}", path.display()),
            Listen::Tcp(address, port) => write!(f, "tcp:{address}:{port}"),
        }
    }
}

/// A path as part of a URI: reserved characters and bytes outside ASCII become `%` and two digits.
pub fn percent_encoded(path: &Path) -> String {
    let stays = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let encoded = path.as_os_str().as_bytes().iter().map(|byte| {
        if stays(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") }
    });
    encoded.collect()
}

/// Makes room for a socket: removes a stale one of ours, and nothing else.
pub(crate) fn check_socket(path: &Path) -> Result<(), ServeError> {
    const ADVICE: &str = "choose another with --listen unix:PATH";
    let refuse = |reason: &str| ServeError::File {
        operation: "listen on",
        path: path.to_owned(),
        reason: reason.to_owned(),
        advice: ADVICE.into(),
    };
    if path.as_os_str().len() > LONGEST {
        return Err(refuse("the path of a socket has 107 bytes at most"));
    }
    let metadata = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(ServeError::file("listen on", path, &error, ADVICE)),
    };
    if !metadata.file_type().is_socket() {
        return Err(refuse("there is a file of that name, which is no socket"));
    }
    match UnixStream::connect(path) {
        Ok(_) => return Err(refuse("another server listens there")),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
        Err(error) => return Err(ServeError::file("listen on", path, &error, ADVICE)),
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(refuse("another program's socket exists"));
    }
    std::fs::remove_file(path).map_err(|error| ServeError::file("remove", path, &error, ADVICE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_is_one_whatever_the_path_of_its_socket() {
        let uri = |path: &str| Listen::Unix(PathBuf::from(path)).uri();
        assert_eq!(uri("/run/a-b_c.sock"), "nbd+unix:///?socket=/run/a-b_c.sock");
        let odd = uri("/tmp/a b&c=%d ü'#?");
        assert_eq!(odd, "nbd+unix:///?socket=/tmp/a%20b%26c%3D%25d%20%C3%BC%27%23%3F");
    }

    #[test]
    fn a_port_that_the_system_would_choose_is_refused() {
        let refused = "tcp:127.0.0.1:0".parse::<Listen>().unwrap_err();
        assert!(refused.to_string().contains("tcp:10809"), "{refused}");
        assert!("tcp:0".parse::<Listen>().is_err());
        assert_eq!("tcp:7".parse(), Ok(Listen::Tcp([127, 0, 0, 1].into(), 7)));
    }
}
