//! A virtual device as a block device of the host: nbdfuse shows it as a file, a loop device stands on
//! that file.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::daemon::Daemon;
use crate::error::LabError;
use crate::mounting::take_off;
use crate::program::find_program;

/// Name of nbdfuse's file.
const FILE: &str = "disk";

/// A loop device over a served virtual device. Dropping the value detaches it.
#[derive(Debug)]
pub struct LoopDevice {
    /// Path of nbdfuse's file; `None` once it is unmounted.
    point: Option<PathBuf>,
    server: Option<Daemon>,
    device: PathBuf,
    /// Keeps the loop device, which the kernel detaches after its last user, however this process
    /// ends.
    held: Option<File>,
    direct: bool,
}

impl LoopDevice {
    /// Attaches the device that is served at `uri`. Makes `folder` for nbdfuse's file.
    pub fn attach(uri: &str, folder: &Path) -> Result<LoopDevice, LabError> {
        let point = folder.join("nbd");
        std::fs::create_dir_all(&point).map_err(LabError::file("create", &point))?;
        let file = point.join(FILE);
        let words = [file.to_string_lossy().into_owned(), uri.to_owned()];
        let server = Daemon::start("nbdfuse", &words, folder, &|| file.is_file())?;
        // From here on dropping the value unmounts the file.
        let mut attached = LoopDevice {
            point: Some(point),
            server: Some(server),
            device: PathBuf::new(),
            held: None,
            direct: false,
        };
        let device = losetup(&[
            "--find",
            "--show",
            // Requests bypass the host's page cache.
            "--direct-io=on",
            &file.to_string_lossy(),
        ])?;
        let held = File::open(&device).map_err(LabError::file("open", &device));
        // Detaching an open device marks it to go with its last user.
        let detached = losetup(&["--detach", &device]);
        attached.held = Some(held?);
        detached?;
        attached.device = PathBuf::from(device);
        attached.direct = is_direct(&attached.device);
        Ok(attached)
    }

    /// The block device.
    pub fn device(&self) -> &Path {
        &self.device
    }

    /// Whether requests bypass the host's page cache.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// Detaches the device, from which nothing may be mounted.
    pub fn detach(mut self) -> Result<(), LabError> {
        self.let_go()?;
        self.server.take().map_or(Ok(()), Daemon::wait)
    }

    fn let_go(&mut self) -> Result<(), LabError> {
        self.held = None;
        self.point.take().map_or(Ok(()), |point| take_off(&point))
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // An error can't be returned from here.
        let _ = self.let_go();
    }
}

fn losetup(words: &[&str]) -> Result<String, LabError> {
    let program = find_program("losetup", "mount")?;
    let output = Command::new(&program).args(words).output();
    let output = output.map_err(LabError::file("start", &program))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    let reason = text(&output.stderr);
    Err(LabError::Program { program: "losetup".to_owned(), reason })
}

fn is_direct(device: &Path) -> bool {
    let name = device.file_name().unwrap_or_default();
    let direct_io = Path::new("/sys/block").join(name).join("loop/dio");
    std::fs::read_to_string(direct_io).is_ok_and(|text| text.trim() == "1")
}
