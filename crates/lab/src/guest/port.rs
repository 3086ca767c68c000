//! The guest's end of the port.

use std::fs::{File, OpenOptions};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use flashlag_units::InOrder;
use rustix::system::{RebootCommand, reboot};

use crate::error::LabError;
use flashlag_schema::DeviceCount;
use flashlag_schema::remote::{self, RunOrder};

use crate::protocol::{FileOrder, Mount, Order, PORT, Report, SaveOrder};

/// Interval of the guest's signs of life.
const ALIVE: Duration = Duration::from_secs(2);
/// Limit for the kernel to find the port.
const PATIENCE: Duration = Duration::from_secs(20);

/// The sending side of the port.
#[derive(Clone, Debug)]
pub struct Link {
    port: Arc<Mutex<File>>,
    sampled: Arc<Mutex<Receiver<DeviceCount>>>,
}

/// The receiving side of the port.
#[derive(Debug)]
pub struct Orders {
    wanted: Receiver<NextOrder>,
    stop: Arc<AtomicBool>,
}

/// The host's next order.
#[derive(Debug)]
pub enum NextOrder {
    /// A run of a scenario.
    Run(Box<RunOrder>),
    Save(SaveOrder),
    /// A check of what a power cut left.
    Check(Mount, String, Option<FileOrder>),
    /// Switching the machine off.
    PowerOff,
}

impl Link {
    /// Sends a report. Errors are ignored: without a host this machine ends soon.
    pub fn tell(&self, report: &Report) {
        let mut port = self.port.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = remote::send(&mut *port, report);
    }

    /// The device's counters now; `None` if the host is gone.
    pub fn sample(&self) -> Option<DeviceCount> {
        let sampled = self.sampled.lock().unwrap_or_else(PoisonError::into_inner);
        self.tell(&Report::Sample { segments: segments() });
        sampled.recv().ok()
    }
}

impl Orders {
    /// Waits for the next order; [`NextOrder::PowerOff`] if the host is gone.
    pub fn next(&self) -> NextOrder {
        self.wanted.recv().unwrap_or(NextOrder::PowerOff)
    }

    /// Set when the run in progress has to end.
    pub fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }
}

/// Opens the port, and starts the threads that listen and send signs of life.
pub(super) fn open() -> Result<(Link, Orders), LabError> {
    let path = find()?;
    let file = OpenOptions::new().read(true).write(true).open(&path);
    let file = file.map_err(LabError::file("open", &path))?;
    let reader = file.try_clone().map_err(LabError::file("open", &path))?;
    let (sampled, samples) = channel();
    let (wanted, orders) = channel();
    let stop = Arc::new(AtomicBool::new(false));
    let link = Link { port: Arc::new(Mutex::new(file)), sampled: Arc::new(Mutex::new(samples)) };
    let listener_stop = Arc::clone(&stop);
    std::thread::spawn(move || listen(reader, &sampled, &wanted, &listener_stop));
    let alive = link.clone();
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(ALIVE);
            alive.tell(&Report::Alive);
        }
    });
    Ok((link, Orders { wanted: orders, stop }))
}

/// Passes on the host's orders. Powers the machine off when the host is gone.
fn listen(
    reader: File,
    sampled: &Sender<DeviceCount>,
    wanted: &Sender<NextOrder>,
    stop: &AtomicBool,
) {
    let mut reader = BufReader::new(reader);
    // Until the kernel knows of the host's end, the port reads as closed.
    let until = Instant::now() + PATIENCE;
    loop {
        let passed = match remote::receive(&mut reader) {
            Ok(Some(Order::Run(order))) => wanted.send(NextOrder::Run(order)).is_ok(),
            Ok(Some(Order::Save(order))) => wanted.send(NextOrder::Save(order)).is_ok(),
            Ok(Some(Order::Check { mount, directory, file })) => {
                wanted.send(NextOrder::Check(mount, directory, file)).is_ok()
            }
            Ok(Some(Order::PowerOff)) => wanted.send(NextOrder::PowerOff).is_ok(),
            Ok(Some(Order::Sampled(count))) => sampled.send(count).is_ok(),
            Ok(Some(Order::Stop)) => {
                stop.store(true, Ordering::Relaxed);
                true
            }
            Ok(None) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(20));
                true
            }
            Ok(None) | Err(_) => return power_off(),
        };
        if !passed {
            return;
        }
    }
}

/// Finds the port by its name in `/sys`: without udev the name is not in `/dev`.
fn find() -> Result<PathBuf, LabError> {
    let until = Instant::now() + PATIENCE;
    loop {
        let entries = std::fs::read_dir("/sys/class/virtio-ports").into_iter().flatten().flatten();
        let found = entries.map(|entry| entry.path()).find(|path| {
            std::fs::read_to_string(path.join("name")).is_ok_and(|name| name.trim() == PORT)
        });
        if let Some(path) = found {
            return Ok(Path::new("/dev").join(path.file_name().unwrap_or_default()));
        }
        if Instant::now() > until {
            return Err(LabError::NoPort);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The segments of the first F2FS as the kernel prints them: lines of ten, each `type|valid`.
fn segments() -> Option<String> {
    let mut folders = std::fs::read_dir("/proc/fs/f2fs").ok()?.flatten().collect::<Vec<_>>();
    folders.order_by_key(std::fs::DirEntry::file_name);
    let text = std::fs::read_to_string(folders.first()?.path().join("segment_info")).ok()?;
    Some(types_in(&text))
}

fn types_in(text: &str) -> String {
    let words = text.lines().flat_map(str::split_whitespace);
    let pairs = words.filter_map(|word| word.split_once('|'));
    let types = pairs.filter(|(_, valid)| valid.parse::<u32>().is_ok()).map(|(kind, _)| kind);
    types.filter(|kind| kind.len() == 1 && *kind <= "9").collect()
}

/// Powers the machine off. Returns only if the kernel refuses.
pub fn power_off() {
    let _ = reboot(RebootCommand::PowerOff);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_of_segments_are_what_stands_before_the_bar() {
        let text = "format: segment_type|valid_blocks\nsegment_type(0:HD, 1:WD)\n\
                    0         3|0   4|512  0|7\n10        5|1\n";
        assert_eq!(types_in(text), "3405");
    }
}
