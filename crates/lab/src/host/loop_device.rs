//! A virtual device as a block device of the host: nbdfuse shows it as a file, a loop device stands on
//! that file.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::daemon::Daemon;
use crate::error::LabError;
use crate::mounting::take_off;
use crate::program::find_program;

/// The name of the file.
const FILE: &str = "disk";

/// A device that is attached.
#[derive(Debug)]
pub struct LoopDevice {
    /// Where the file is; absent once it is detached.
    point: Option<PathBuf>,
    server: Option<Daemon>,
    device: PathBuf,
    /// As long as this is open or something is mounted from it, the loop device stays; then it goes,
    /// whatever becomes of this process.
    held: Option<File>,
    direct: bool,
}

impl LoopDevice {
    /// Attaches the device that is served at `uri`, by way of `folder`, which is made.
    ///
    /// # Errors
    /// nbdfuse or losetup says no.
    pub fn attach(uri: &str, folder: &Path) -> Result<LoopDevice, LabError> {
        let point = folder.join("nbd");
        std::fs::create_dir_all(&point).map_err(LabError::file("create", &point))?;
        let file = point.join(FILE);
        let words = [file.to_string_lossy().into_owned(), uri.to_owned()];
        let server = Daemon::start("nbdfuse", &words, folder, &|| file.is_file())?;
        // From here on the file is unmounted however this ends.
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
            // Reads and writes go past the host's memory, each as it is.
            "--direct-io=on",
            &file.to_string_lossy(),
        ])?;
        let held = File::open(&device).map_err(LabError::file("open", &device));
        // To detach what is open is to let it go with its last user.
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

    /// Whether requests go past the host's page cache.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// Detaches it: nothing may be mounted from it any more.
    ///
    /// # Errors
    /// Something still uses it.
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
        // Nobody is left to tell.
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
