//! A filesystem that the host's kernel has mounted, with the layers above it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::mount::UnmountFlags;

use super::daemon::Daemon;
use crate::error::LabError;
use crate::layer::{DAEMON, Layer};
use crate::layers::{places, put_all};
use crate::mounting::{put_filesystem, take_off};
use crate::spec::LabSpec;

/// A filesystem mounted by the host's kernel. Dropping the value unmounts it.
#[derive(Debug)]
pub struct HostMount {
    at: PathBuf,
    above: Vec<Layer>,
    daemons: Vec<Daemon>,
}

impl HostMount {
    /// Mounts the filesystem on `device` at `at`, with the layers of `spec`. Daemons write their
    /// messages to files in `folder`.
    pub fn mount(
        spec: &LabSpec,
        device: &Path,
        at: &Path,
        folder: &Path,
    ) -> Result<HostMount, LabError> {
        let mut mounted =
            HostMount { at: at.to_owned(), above: spec.above.clone(), daemons: Vec::new() };
        let lowest = &places(at, &spec.above)[0];
        put_filesystem(device, spec.filesystem.name(), lowest, &spec.mount_options().join(","))?;
        let daemons = &mut mounted.daemons;
        put_all(at, &spec.above, &mut |words, at| {
            let words = [&["-f".to_owned()], words].concat();
            daemons.push(Daemon::start(DAEMON, &words, folder, &|| is_mount(at))?);
            Ok(())
        })?;
        Ok(mounted)
    }

    /// Unmounts the filesystem, which writes cached data.
    pub fn unmount(mut self) -> Result<(), LabError> {
        self.take_off()?;
        self.daemons.drain(..).try_for_each(Daemon::wait)
    }

    fn take_off(&self) -> Result<(), LabError> {
        places(&self.at, &self.above).iter().rev().try_for_each(|place| take_off(place))
    }
}

impl Drop for HostMount {
    fn drop(&mut self) {
        if self.take_off().is_ok() {
            return;
        }
        // Still in use: the kernel unmounts it after its last user.
        for place in places(&self.at, &self.above).iter().rev() {
            let _ = rustix::mount::unmount(place, UnmountFlags::DETACH);
        }
    }
}

/// Whether a directory is a mount point.
fn is_mount(at: &Path) -> bool {
    let device = |path: &Path| std::fs::metadata(path).map(|metadata| metadata.dev()).ok();
    at.parent().is_some_and(|parent| device(at) != device(parent))
}
