//! A tracefs instance of flashlag's own: its buffers, its tracepoints, and its removal.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use flashlag_inspect::{Root, mounts};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::error::LiveError;

/// The usual mount point of tracefs.
const PLACE: &str = "/sys/kernel/tracing";
/// Prefix of an instance's name; the process number follows.
const NAME: &str = "flashlag-";
/// The buffer of each CPU, in kilobytes, and of all together.
const BUFFER: usize = 8192;
const BUFFERS: usize = 65536;
/// Roughly the most text to take at a time.
const PIECE: usize = 1 << 20;

/// The source of a mount by flashlag, as `/proc/mounts` shows it: whichever process made it, it
/// must be unmounted.
const OURS: &str = "flashlag";

/// Where tracefs is mounted, and whether a flashlag mounted it.
#[derive(Debug)]
struct Mounted {
    place: PathBuf,
    is_own: bool,
}

/// Removes what killed flashlags left in tracefs: their instances with the enabled events, and a
/// mount that no other one uses.
pub fn sweep() {
    let Ok(all) = mounts(&Root::system()) else { return };
    for found in all.iter().filter(|mount| mount.kind == "tracefs") {
        remove_abandoned(&found.mount_point.join("instances"));
        drop(Mounted { place: found.mount_point.clone(), is_own: found.source == OURS });
    }
}

impl Mounted {
    fn find(may_mount: bool) -> Result<Mounted, LiveError> {
        let all = mounts(&Root::system()).map_err(LiveError::Mounts)?;
        if let Some(found) = all.iter().find(|mount| mount.kind == "tracefs") {
            // From a killed flashlag, or from one that runs now: the last one unmounts it.
            let is_own = found.source == OURS;
            return Ok(Mounted { place: found.mount_point.clone(), is_own });
        }
        if !may_mount {
            return Err(unusable(format!(
                "tracefs is not mounted: flashlag mounts it while it records with --mount-tracefs, or do so \
                 with \"mount -t tracefs nodev {PLACE}\""
            )));
        }
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount(OURS, PLACE, "tracefs", flags, None)
            .map_err(|error| unusable(format!("tracefs can't be mounted at {PLACE}: {error}")))?;
        Ok(Mounted { place: PathBuf::from(PLACE), is_own: true })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if self.is_own && !has_instances(&self.place.join("instances")) {
            // If somebody has it open, it disappears when they close it.
            let _ = unmount(&self.place, UnmountFlags::DETACH);
        }
    }
}

/// An instance, removed when this is dropped.
#[derive(Debug)]
pub struct Instance {
    folder: PathBuf,
    pipe: Option<File>,
    text: Vec<u8>,
    // Dropped last.
    _mounted: Mounted,
}

impl Instance {
    /// Creates an instance that records nothing yet.
    pub fn new(may_mount: bool, own: u32) -> Result<Instance, LiveError> {
        let mounted = Mounted::find(may_mount)?;
        let all = mounted.place.join("instances");
        remove_abandoned(&all);
        let folder = all.join(format!("{NAME}{own}"));
        fs::create_dir(&folder).map_err(|error| {
            let folder = folder.display();
            unusable(format!("{folder} can't be made: {error}; that needs root"))
        })?;
        let mut instance = Instance { folder, pipe: None, text: Vec::new(), _mounted: mounted };
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let buffer = BUFFER.min(BUFFERS / cpus).max(1024);
        for (file, value) in [
            ("tracing_on", "0"),
            ("trace_clock", "mono"),
            ("options/record-tgid", "1"),
            ("buffer_size_kb", buffer.to_string().as_str()),
        ] {
            instance.set(file, value)?;
        }
        let path = instance.folder.join("trace_pipe");
        let pipe = OpenOptions::new()
            .read(true)
            .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
            .open(&path);
        let pipe =
            pipe.map_err(|error| unusable(format!("{} can't be read: {error}", path.display())))?;
        instance.pipe = Some(pipe);
        Ok(instance)
    }

    /// Writes a setting.
    pub fn set(&self, file: &str, value: &str) -> Result<(), LiveError> {
        let path = self.folder.join(file);
        fs::write(&path, value)
            .map_err(|error| unusable(format!("{} can't be set: {error}", path.display())))
    }

    /// Whether the kernel has a tracepoint, given as `group/name`.
    pub fn has(&self, tracepoint: &str) -> bool {
        self.folder.join("events").join(tracepoint).join("enable").exists()
    }

    /// Records the events of a tracepoint that match `filter`.
    pub fn enable(&self, tracepoint: &str, filter: Option<&str>) -> Result<(), LiveError> {
        if let Some(filter) = filter {
            self.set(&format!("events/{tracepoint}/filter"), filter)?;
        }
        self.set(&format!("events/{tracepoint}/enable"), "1")
    }

    /// The next piece of text; empty if nothing has happened since.
    pub fn read(&mut self) -> io::Result<&[u8]> {
        self.text.clear();
        let Some(pipe) = &mut self.pipe else { return Ok(&[]) };
        // The kernel prints a page at a time.
        let mut page = [0; 1 << 14];
        while self.text.len() < PIECE {
            match pipe.read(&mut page) {
                Ok(0) => break,
                Ok(length) => self.text.extend_from_slice(page.get(..length).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(&self.text)
    }

    /// Events that did not fit into a buffer, summed over all CPUs.
    pub fn lost(&self) -> u64 {
        let cpus = fs::read_dir(self.folder.join("per_cpu")).into_iter().flatten().flatten();
        let stats = cpus.filter_map(|cpu| fs::read_to_string(cpu.path().join("stats")).ok());
        stats.map(|stats| lost_in(&stats)).sum()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // Open files keep an instance.
        self.pipe = None;
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Lost events of one CPU: Documentation/trace/ftrace.rst, `per_cpu/cpu0/stats`.
fn lost_in(stats: &str) -> u64 {
    let lost = ["overrun", "commit overrun", "dropped events"];
    let lines = stats.lines().filter_map(|line| line.split_once(": "));
    let counts = lines.filter(|(name, _)| lost.contains(name));
    counts.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).sum()
}

/// The process number in an instance's name; `None` if the instance is not flashlag's.
fn process_of(name: &OsStr) -> Option<u32> {
    name.to_str()?.strip_prefix(NAME)?.parse().ok()
}

/// Whether another flashlag is recording that sees the same mounts: instances belong to the kernel,
/// mounts to a namespace.
fn has_instances(all: &Path) -> bool {
    let mounts_of = |process: &str| fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    let mut processes = fs::read_dir(all)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| process_of(&entry.file_name()));
    processes.any(|process| {
        mounts_of(&process.to_string()).is_some_and(|seen| Some(seen) == mounts_of("self"))
    })
}

/// Removes the instances of killed flashlags.
fn remove_abandoned(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let is_gone = |pid: u32| !Path::new("/proc").join(pid.to_string()).exists();
        if process_of(&entry.file_name()).is_some_and(is_gone) {
            // Another user's, or just removed by another flashlag.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

pub(super) fn unusable(reason: impl std::fmt::Display) -> LiveError {
    LiveError::Unusable { source_name: "tracefs", reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_events_are_those_overwritten_and_those_dropped() {
        let stats = "entries: 5\noverrun: 3\ncommit overrun: 20\nbytes: 900\n\
                     oldest event ts:   100.5\nnow ts: 200.25\ndropped events: 100\nread events: 7\n";
        assert_eq!(lost_in(stats), 123);
        assert_eq!(lost_in("overrun: x\n"), 0);
    }
}
