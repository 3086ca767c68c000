//! Directories: files on the storage below a running kernel, the user's own or that of a lab.

mod background;
mod counters;
mod device_waits;
mod files;
mod finish;
mod looks;
mod prepare;

#[cfg(test)]
mod tests;
mod world;

use std::cell::RefCell;
use std::path::PathBuf;

use flashlag_android::{AskError, SystemError};
use flashlag_engine::heartbeat::Heartbeat;
use flashlag_inspect::android::OtherApps;
use flashlag_inspect::{Probe, Root, android};
use flashlag_schema::counters::Counters;
use flashlag_spec::Reading;
use flashlag_units::{Bytes, Nanos};

pub(crate) use files::Files;
use looks::LooksThread;

pub(crate) use finish::{Unstored, finish, finish_or_hand_over};
pub use prepare::{Cost, is_on_storage};
pub(crate) use prepare::{DirectoryRequest, prepare};

/// A directory on the storage under test.
#[derive(Debug)]
pub(crate) struct Directory<'a> {
    path: PathBuf,
    /// Size of the filesystem, where it is known.
    total: Option<Bytes>,
    /// Whether the machine has a battery, whose state is then recorded.
    has_battery: bool,
    /// The I/O of other apps between tests, or why that can't be separated from the run's own.
    other_apps: Reading<OtherApps>,
    /// The mount point of the filesystem, if it is known.
    mount_point: Option<String>,
    /// Whether this is Android, whose own commands trim without root.
    is_android: bool,
    /// Whether the filesystem discards blocks as soon as they are free.
    discards_at_once: bool,
    probe: Probe,
    files: Files,
    began: Nanos,
    /// Time that earlier processes measured, if their run is continued.
    earlier: Nanos,
    /// The heartbeat that notices when this process stands still; `None` where that can't be known.
    heartbeat: Option<Heartbeat>,
    /// The thread that reads counters around stalls; `None` if none could be started.
    looks: Option<LooksThread>,
    /// The device's traffic by other programs, read before the run began.
    baseline: (Counters, Counters),
    witness: Option<RefCell<Box<dyn Witness + 'a>>>,
}

impl Directory<'_> {
    /// Removes every file that was made for the run.
    pub fn abandon(self) {
        drop(self.files);
    }
}

impl Directory<'_> {
    /// Has Android trim the filesystem of the directory. Returns the bytes.
    fn trim_by_android(&self) -> Result<u64, SystemError> {
        let root = Root::system();
        let ask = |program: &str, words: &[&str]| {
            android::program(&root, program, words).map_err(AskError::from)
        };
        let sdk = ask("getprop", &["ro.build.version.sdk"])?.trim().parse().ok();
        let mount = self.mount_point.as_deref().unwrap_or("/data");
        flashlag_android::end::trim_by_system(mount, sdk, &ask)
    }
}

/// A device with counters of its own, besides the kernel's: a virtual device below a directory.
pub(crate) trait Witness: std::fmt::Debug {
    /// A phase of that label is about to begin.
    fn phase_begins(&mut self, label: &str);

    /// The device's counters now; `None` if the device does not answer.
    fn count(&mut self) -> Option<flashlag_schema::DeviceCount>;

    /// A note about the phase that has ended, if any.
    fn phase_note(&self) -> Option<String> {
        None
    }
}
