//! Looks up on the running machine what tracepoint text does not contain.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use flashlag_inspect::path_of_inode;
use flashlag_trace::{Descriptor, Look};

use crate::places::{Places, device_name, kernel_number};
use crate::stack::is_stacked;

/// Most thread names to remember; beyond that, all are looked up again.
const MOST_THREADS: usize = 1 << 16;

/// Looks things up in `/proc`, `/sys` and the mounts.
#[derive(Debug)]
pub struct Machine {
    own: u32,
    places: Places,
    filesystems: BTreeSet<u32>,
    disks: Option<BTreeSet<u32>>,
    /// Threads of the command; absent if all processes are recorded.
    family: Option<HashSet<u32>>,
    processes: HashMap<u32, (Option<u32>, Option<String>)>,
    filesystem_names: HashMap<String, Option<String>>,
    disk_names: HashMap<String, Option<String>>,
    descriptors: HashMap<(u32, u32), Descriptor>,
    renewed: Instant,
}

impl Machine {
    /// A lookup that remembers nothing yet.
    pub fn new(own: u32, places: Places, command_only: bool) -> Machine {
        Machine {
            own,
            filesystems: places.filesystems(),
            disks: places.disks(),
            places,
            family: command_only.then(HashSet::new),
            processes: HashMap::new(),
            filesystem_names: HashMap::new(),
            disk_names: HashMap::new(),
            descriptors: HashMap::new(),
            renewed: Instant::now(),
        }
    }

    fn is_watched(&self, device: u32) -> bool {
        self.filesystems.contains(&device)
    }

    fn look_at(&self, tid: u32, descriptor: u32) -> Descriptor {
        let link = format!("/proc/{tid}/fd/{descriptor}");
        let Ok(status) = fs::metadata(&link) else { return Descriptor::Gone };
        let is_stored = status.is_file() || status.is_dir();
        let device = (rustix::fs::major(status.dev()), rustix::fs::minor(status.dev()));
        if !is_stored || !self.is_watched(kernel_number(device)) {
            return Descriptor::Elsewhere;
        }
        match fs::read_link(link) {
            Ok(path) => {
                let path = path.to_string_lossy();
                let name = path.strip_suffix(" (deleted)").filter(|_| status.nlink() == 0);
                Descriptor::File(name.unwrap_or(&path).to_owned())
            }
            Err(_) => Descriptor::Gone,
        }
    }
}

impl Look for Machine {
    fn begin(&mut self) {
        self.descriptors.clear();
        if self.processes.len() > MOST_THREADS {
            self.processes.clear();
        }
        if self.renewed.elapsed() < Duration::from_secs(1) {
            return;
        }
        self.renewed = Instant::now();
        let before = self.filesystems.len();
        self.places.renew();
        self.filesystems = self.places.filesystems();
        if self.filesystems.len() != before {
            self.filesystem_names.clear();
        }
    }

    fn watches(&mut self, tid: u32, pid: Option<u32>) -> bool {
        !self.is_own(tid, pid) && self.family.as_ref().is_none_or(|family| family.contains(&tid))
    }

    fn is_own(&mut self, tid: u32, pid: Option<u32>) -> bool {
        pid == Some(self.own) || tid == self.own
    }

    fn forked(&mut self, parent: u32, child: u32) {
        // The number may have belonged to another thread.
        self.processes.remove(&child);
        if let Some(family) = &mut self.family
            && (parent == self.own || family.contains(&parent))
        {
            family.insert(child);
        }
    }

    fn ended(&mut self, tid: u32) {
        self.processes.remove(&tid);
        if let Some(family) = &mut self.family {
            family.remove(&tid);
        }
    }

    fn process(&mut self, tid: u32, pid: Option<u32>) -> (Option<u32>, Option<String>) {
        if let Some(known) = self.processes.get(&tid).filter(|known| known.1.is_some()) {
            return known.clone();
        }
        let pid = pid.or_else(|| process_of(tid));
        let name = pid.and_then(|pid| fs::read_to_string(format!("/proc/{pid}/comm")).ok());
        let found = (pid, name.map(|name| name.trim_end_matches('\n').to_owned()));
        self.processes.insert(tid, found.clone());
        found
    }

    fn filesystem(&mut self, device: &str) -> Option<String> {
        if let Some(known) = self.filesystem_names.get(device) {
            return known.clone();
        }
        let number = number_of(device);
        let name = number.filter(|number| self.is_watched(*number)).map(device_name);
        self.filesystem_names.insert(device.to_owned(), name.clone());
        name
    }

    fn disk(&mut self, device: &str) -> Option<String> {
        if let Some(known) = self.disk_names.get(device) {
            return known.clone();
        }
        let disk = number_of(device).map(Places::disk_of);
        let name = disk.map(|disk| (disk, device_name(disk)));
        let name = name.filter(|(disk, name)| match &self.disks {
            Some(disks) => disks.contains(disk),
            // Requests to a stacked device are counted at the devices below.
            None => !is_stacked(name),
        });
        let name = name.map(|(_, name)| name);
        self.disk_names.insert(device.to_owned(), name.clone());
        name
    }

    fn path(&mut self, device: &str, inode: u64) -> Option<String> {
        let mount_point = self.places.mount_point(number_of(device)?)?;
        Some(path_of_inode(mount_point, inode)?.to_string_lossy().into_owned())
    }

    fn descriptor(&mut self, tid: u32, descriptor: u32) -> Descriptor {
        if let Some(known) = self.descriptors.get(&(tid, descriptor)) {
            return known.clone();
        }
        let found = self.look_at(tid, descriptor);
        self.descriptors.insert((tid, descriptor), found.clone());
        found
    }
}

/// `254,0` in the kernel's own encoding.
fn number_of(device: &str) -> Option<u32> {
    let (major, minor) = device.split_once(',')?;
    Some(kernel_number((major.parse().ok()?, minor.parse().ok()?)))
}

fn process_of(tid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())
}
