//! Mounting, in the guest.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::mount::MountFlags;

use crate::error::LabError;
use crate::layer::DAEMON;
use crate::layers::{places, put_all};
use crate::mounting::{put, put_filesystem, take_off};
use crate::program::run;
use crate::protocol::Mount;

/// Limit for a driver to find its disks.
const PATIENCE: Duration = Duration::from_secs(20);

/// Mounts `/proc`, `/sys`, `/dev` and a filesystem in memory at `/tmp`.
pub fn system() -> Result<(), LabError> {
    for (kind, at) in
        [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp")]
    {
        put(kind, kind, Path::new(at), MountFlags::empty(), "")?;
    }
    Ok(())
}

pub(super) fn mount(mount: &Mount) -> Result<(), LabError> {
    let disk = disk(&mount.serial)?;
    let disk = match mount.encrypt {
        Some(cipher) => super::crypt::open(&disk, cipher, &mount.serial)?,
        None => disk,
    };
    make(mount, &disk)?;
    let places = places(Path::new(&mount.at), &mount.above);
    put_filesystem(&disk, &mount.filesystem, &places[0], &mount.options)?;
    put_all(Path::new(&mount.at), &mount.above, &mut serve)
}

/// Makes the filesystem, if that is the guest's to do: on an encrypted disk, whose key it has, and on zones, which
/// the kernel has to reset.
fn make(mount: &Mount, on: &Path) -> Result<(), LabError> {
    let Some((program, options)) = mount.make.split_first() else { return Ok(()) };
    let mut words = options.to_vec();
    if let Some(zones) = &mount.zones {
        // `mkfs.f2fs`: zones, and the disk that has them; metadata is on the first disk.
        let zones = disk(zones)?;
        words.extend(["-m".to_owned(), "-c".to_owned(), zones.to_string_lossy().into_owned()]);
    }
    words.push(on.to_string_lossy().into_owned());
    run(Path::new(program), &words)
}

/// Starts the FUSE daemon, which goes to the background once it is mounted.
fn serve(words: &[String], _: &Path) -> Result<(), LabError> {
    run(Path::new(DAEMON), words)
}

pub(super) fn unmount(mount: &Mount) -> Result<(), LabError> {
    let places = places(Path::new(&mount.at), &mount.above);
    places.iter().rev().try_for_each(|at| take_off(at))
}

/// The disk with this serial number; waits until the driver has found it.
fn disk(serial: &str) -> Result<PathBuf, LabError> {
    let until = Instant::now() + PATIENCE;
    loop {
        let entries = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
        let found = entries.map(|entry| entry.path()).find(|path| {
            // NVMe's serial number is its controller's.
            ["serial", "device/serial"].iter().any(|file| {
                let known = std::fs::read_to_string(path.join(file)).unwrap_or_default();
                known.trim() == serial
            })
        });
        if let Some(path) = found {
            return Ok(Path::new("/dev").join(path.file_name().unwrap_or_default()));
        }
        if Instant::now() > until {
            return Err(LabError::NoDisk(serial.to_owned()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
