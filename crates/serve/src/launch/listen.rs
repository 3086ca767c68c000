//! Sockets: where clients find a device.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::ServeError;

/// The longest path of a socket that the system takes.
const LONGEST: usize = 107;

/// Where clients find a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A socket in the filesystem.
    Unix(PathBuf),
    /// A port, of an address of this machine.
    Tcp(IpAddr, u16),
}

impl Listen {
    /// Whether only this machine can reach it.
    pub fn is_local(&self) -> bool {
        match self {
            Listen::Unix(_) => true,
            Listen::Tcp(address, _) => address.is_loopback(),
        }
    }

    /// As clients are told it.
    pub fn uri(&self) -> String {
        match self {
            Listen::Unix(path) => format!("nbd+unix:///?socket={}", path.display()),
            Listen::Tcp(IpAddr::V4(address), port) => format!("nbd://{address}:{port}"),
            Listen::Tcp(IpAddr::V6(address), port) => format!("nbd://[{address}]:{port}"),
        }
    }

    pub(super) fn arguments(&self) -> Vec<String> {
        match self {
            Listen::Unix(path) => vec![format!("--unix={}", path.display())],
            Listen::Tcp(address, port) => {
                vec![format!("--ipaddr={address}"), format!("--port={port}")]
            }
        }
    }

    /// Whether nobody listens there yet.
    pub(super) fn check(&self) -> Result<(), ServeError> {
        match self {
            Listen::Unix(path) => check_socket(path),
            // nbdkit says that best itself.
            Listen::Tcp(..) => Ok(()),
        }
    }
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Listen, String> {
        if let Some(path) = text.strip_prefix("unix:") {
            let path = PathBuf::from(path);
            return std::path::absolute(path).map(Listen::Unix).map_err(|error| error.to_string());
        }
        let wrong = || "write unix:PATH, tcp:PORT or tcp:ADDRESS:PORT".to_owned();
        let rest = text.strip_prefix("tcp:").ok_or_else(wrong)?;
        let (address, port) = rest.rsplit_once(':').unwrap_or(("127.0.0.1", rest));
        let address = address.trim_matches(['[', ']']).parse().map_err(|_| wrong())?;
        Ok(Listen::Tcp(address, port.parse().map_err(|_| wrong())?))
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

/// Sees to it that a socket can be made there: a stale one of ours is removed, and nothing else.
pub(super) fn check_socket(path: &Path) -> Result<(), ServeError> {
    const ADVICE: &str = "choose another with --listen unix:PATH";
    let refuse = |reason: &str| ServeError::File {
        operation: "listen on",
        path: path.to_owned(),
        reason: reason.to_owned(),
        advice: ADVICE,
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
        return Err(refuse("a socket is there that is not ours"));
    }
    std::fs::remove_file(path).map_err(|error| ServeError::file("remove", path, &error, ADVICE))
}

/// A directory of our own for sockets, which nobody else may look into.
pub(super) fn make_directory() -> Result<PathBuf, ServeError> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let parent = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let parent = parent.filter(|path| path.is_dir()).unwrap_or_else(std::env::temp_dir);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("flashlag-{}-{number}", std::process::id()));
        match std::fs::DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            // Of a process that had this number before.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                let advice = "is there room, and may we write there?";
                return Err(ServeError::file("make", &path, &error, advice));
            }
        }
    }
}
