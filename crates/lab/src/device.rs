//! A device that takes no time and keeps what is written: nbdkit's memory, behind a unix socket.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use flashlag_units::Bytes;

use crate::error::LabError;

/// How long a server may take until its socket is there.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running server; it ends with this value.
#[derive(Debug)]
pub struct ZeroDevice {
    child: Child,
    socket: PathBuf,
}

impl ZeroDevice {
    /// Starts one of that size and copies `image` onto it.
    ///
    /// # Errors
    /// nbdkit or nbdcopy is not installed, or fails.
    pub fn start(socket: &Path, size: Bytes, image: &Path) -> Result<ZeroDevice, LabError> {
        let mut command = Command::new("nbdkit");
        command.arg("-f").arg("--exit-with-parent").arg("-U").arg(socket);
        command.args(["-t", "16", "memory", &size.0.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|_| LabError::Missing {
            program: "nbdkit".to_owned(),
            package: "nbdkit".to_owned(),
        })?;
        let mut device = ZeroDevice { child, socket: socket.to_owned() };
        device.wait_for_socket()?;
        device.preload(image)?;
        Ok(device)
    }

    /// Where it listens.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    fn wait_for_socket(&mut self) -> Result<(), LabError> {
        let began = Instant::now();
        while std::os::unix::net::UnixStream::connect(&self.socket).is_err() {
            let ended = self.child.try_wait().map_err(LabError::file("wait for", "nbdkit"))?;
            if ended.is_some() || began.elapsed() > PATIENCE {
                let reason = format!("it does not listen on {}", self.socket.display());
                return Err(LabError::Program { program: "nbdkit".to_owned(), reason });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    fn preload(&self, image: &Path) -> Result<(), LabError> {
        let to = format!("nbd+unix:///?socket={}", self.socket.display());
        let mut command = Command::new("nbdcopy");
        let output = command.arg("--destination-is-zero").arg(image).arg(to).output();
        let output = output.map_err(|_| LabError::Missing {
            program: "nbdcopy".to_owned(),
            package: "libnbd-bin".to_owned(),
        })?;
        if output.status.success() {
            return Ok(());
        }
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(LabError::Program { program: "nbdcopy".to_owned(), reason })
    }
}

impl Drop for ZeroDevice {
    fn drop(&mut self) {
        // It may have ended already; what it held is gone with it either way.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
