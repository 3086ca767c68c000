//! A daemon that ends on request, or with its parent.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::error::LabError;
use crate::program::{BINDER, bound_to_us};

/// Limit for a daemon to start serving, or to end.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(5);

/// A running daemon. Dropping the value ends it.
#[derive(Debug)]
pub(super) struct Daemon {
    name: String,
    child: Child,
    said: PathBuf,
}

impl Daemon {
    /// Starts a daemon and waits until `serves` is true. Its messages go to a file in `folder`.
    pub fn start(
        program: &str,
        words: &[String],
        folder: &Path,
        serves: &dyn Fn() -> bool,
    ) -> Result<Daemon, LabError> {
        let said = folder.join(format!("{program}.log"));
        let log = File::options().create(true).append(true).open(&said);
        let log = log.map_err(LabError::file("create", &said))?;
        let mut command = bound_to_us(Path::new(program));
        command.args(words);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        // In a process group of its own, against Ctrl-C: its mounts have to be unmounted first.
        command.process_group(0);
        let child = command.spawn().map_err(|_| LabError::Missing {
            program: BINDER.to_owned(),
            package: "util-linux".to_owned(),
        })?;
        let mut daemon = Daemon { name: program.to_owned(), child, said };
        let until = Instant::now() + PATIENCE;
        while !serves() {
            if daemon.has_ended() {
                return Err(daemon.failed("it ended"));
            }
            if Instant::now() > until {
                return Err(daemon.failed(&format!("not ready after {} s", PATIENCE.as_secs())));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(daemon)
    }

    fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    fn failed(&self, what: &str) -> LabError {
        let said = std::fs::read_to_string(&self.said).unwrap_or_default();
        let reason = match said.trim() {
            "" => what.to_owned(),
            said => format!("{what}: {said}"),
        };
        LabError::Program { program: self.name.clone(), reason }
    }

    /// Waits until the daemon has ended, as it does once nothing is mounted from it.
    pub fn wait(mut self) -> Result<(), LabError> {
        let until = Instant::now() + PATIENCE;
        while !self.has_ended() {
            if Instant::now() > until {
                return Err(self.failed("did not end when it was unmounted"));
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
