//! An ext4 on a device that can be made to fail: nbdkit's memory behind its error filter, seen as
//! a file through nbdfuse, with a loop device on it.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::loop_mount::{LoopMount, run};

/// The mount is dropped before what serves it.
pub struct FaultyMount {
    pub mount: LoopMount,
    trigger: PathBuf,
    _server: Server,
}

struct Server {
    process: Child,
    file: PathBuf,
    _home: TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = run(Command::new("fusermount3").arg("-u").arg(&self.file))
            .or_else(|_| run(Command::new("umount").arg("-l").arg(&self.file)));
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl FaultyMount {
    /// A device of `mebibytes` that works, until [`FaultyMount::fail_writes`]. `Err` says why it
    /// can't be had here.
    pub fn ext4(mebibytes: u64) -> Result<FaultyMount, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("mounting an image needs root".to_owned());
        }
        let found = |program: &str| run(Command::new("which").arg(program)).is_ok();
        if let Some(missing) = ["nbdkit", "nbdfuse"].into_iter().find(|name| !found(name)) {
            return Err(format!("{missing} is not installed"));
        }
        let home = TempDir::new().map_err(|error| error.to_string())?;
        let (file, trigger) = (home.path().join("device"), home.path().join("fail"));
        std::fs::write(&file, "").map_err(|error| error.to_string())?;
        let mut command = Command::new("nbdfuse");
        command.arg(&file).args(["--command", "nbdkit", "-s", "--exit-with-parent"]);
        command.args(["--filter=error", "memory", &format!("{mebibytes}M"), "error=EIO"]);
        command.arg("error-pwrite-rate=100%");
        command.arg(format!("error-pwrite-file={}", trigger.display()));
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let process = process.map_err(|error| format!("nbdfuse: {error}"))?;
        let mut server = Server { process, file: file.clone(), _home: home };
        server.wait_for(mebibytes << 20)?;
        run(Command::new("mkfs.ext4").args(["-q", "-F", "-b", "4096", "-m", "0"]).arg(&file))?;
        let mount_home = TempDir::new().map_err(|error| error.to_string())?;
        let mount = LoopMount::of_image(mount_home, &file, "errors=remount-ro")?;
        Ok(FaultyMount { mount, trigger, _server: server })
    }

    /// From now on every write fails.
    pub fn fail_writes(&self) {
        std::fs::write(&self.trigger, "").unwrap();
    }

    /// Writes work again, so that it can be unmounted.
    pub fn heal(&self) {
        let _ = std::fs::remove_file(&self.trigger);
    }
}

impl Server {
    fn wait_for(&mut self, bytes: u64) -> Result<(), String> {
        let until = Instant::now() + Duration::from_secs(10);
        while Instant::now() < until {
            if std::fs::metadata(&self.file).is_ok_and(|file| file.len() == bytes) {
                return Ok(());
            }
            if let Ok(Some(status)) = self.process.try_wait() {
                return Err(format!("nbdfuse ended: {status} (is /dev/fuse there?)"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err("nbdfuse served no device within 10 s".to_owned())
    }
}
