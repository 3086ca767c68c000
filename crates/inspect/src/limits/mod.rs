//! What the control groups of this process limit, and how much of each limit was used.
//!
//! The limits of all groups up to the root apply. There is one exception: in version 1, a parent's
//! I/O limits throttle only what runs in the parent itself
//! (Documentation/admin-guide/cgroup-v1/blkio-controller.rst, "Hierarchical Cgroups"), so only the
//! process's own group is read.

mod files;
mod groups;
mod seen;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use flashlag_schema::Limits;

use crate::below::whole;
use crate::block::{Stack, name};
use crate::reason::Reason;
use crate::root::Root;
use groups::{Hierarchy, hierarchies};
pub(crate) use seen::Seen;

/// The control groups of this process and the relevant devices, found once and read often.
#[derive(Clone, Debug)]
pub(crate) struct LimitFiles {
    hierarchies: Vec<Hierarchy>,
    devices: Devices,
    /// Why the groups could not be found.
    failed: Option<String>,
}

/// Most control groups to look at: a machine has some hundreds.
const MOST_GROUPS: usize = 4096;

/// The devices whose limits matter.
#[derive(Clone, Debug)]
enum Devices {
    /// None: memory, another machine.
    None,
    /// The devices below are not known: take every limit of a group.
    Any,
    /// These devices, by `major:minor` and the kernel's name.
    Those(Vec<(String, String)>),
}

impl LimitFiles {
    /// Finds the groups. `is_on_a_disk`: whether the files are on a block device at all.
    pub fn find(root: &Root, stack: &Result<Stack, Reason>, is_on_a_disk: bool) -> LimitFiles {
        let devices = match stack {
            Ok(stack) => Devices::Those(devices(root, stack)),
            Err(_) if is_on_a_disk => Devices::Any,
            Err(_) => Devices::None,
        };
        match hierarchies(root) {
            Ok(hierarchies) => LimitFiles { hierarchies, devices, failed: None },
            Err(reason) => {
                LimitFiles { hierarchies: Vec::new(), devices, failed: Some(reason.to_string()) }
            }
        }
    }

    /// The present limits.
    pub fn limits(&self, root: &Root) -> Limits {
        let seen = self.look(root);
        let set = seen.counts.into_iter().map(|count| count.limit).collect();
        Limits { set, unseen: seen.unseen }
    }

    /// The present limits, with the counters.
    pub fn look(&self, root: &Root) -> Seen {
        let mut seen = Seen::default();
        seen.unseen.extend(self.failed.clone());
        for hierarchy in &self.hierarchies {
            if hierarchy.controllers.is_some() {
                self.first(root, hierarchy, &mut seen)
            } else {
                self.second(root, hierarchy, &mut seen)
            }
        }
        seen
    }

    /// The files by which control groups limit I/O to the devices, whatever runs in them. A commit of the filesystem
    /// waits for what a limited group has begun, and everyone waits for the commit.
    pub fn everywhere(&self, root: &Root) -> Vec<String> {
        let mut seen = Seen::default();
        for hierarchy in &self.hierarchies {
            let files: &[&[files::OfDevices]] = match &hierarchy.controllers {
                None => &[files::SECOND_RATES, files::LATENCY],
                Some(_) if hierarchy.has("blkio") => &[files::FIRST_RATES],
                Some(_) => continue,
            };
            let mut groups = VecDeque::from_iter(hierarchy.groups.last().cloned());
            for _ in 0..MOST_GROUPS {
                let Some(group) = groups.pop_front() else { break };
                files.iter().for_each(|of| self.rates(root, &group, of, &mut seen));
                let below = root.names(&group).into_iter().map(|name| group.join(name));
                groups.extend(below.filter(|path| root.real(path).is_dir()));
            }
        }
        let mut files: Vec<String> =
            seen.counts.into_iter().map(|count| count.limit.file).collect();
        files.dedup();
        files
    }

    /// Groups of version 1.
    fn first(&self, root: &Root, hierarchy: &Hierarchy, seen: &mut Seen) {
        let own = hierarchy.groups.first();
        let with_parents = hierarchy.has("cpu") || hierarchy.has("memory");
        let matters = with_parents || (own.is_none() && !matches!(self.devices, Devices::None));
        seen.unseen.extend(hierarchy.unseen.clone().filter(|_| matters));
        if hierarchy.has("blkio")
            && let Some(own) = own
        {
            self.rates(root, own, files::FIRST_RATES, seen);
        }
        for group in &hierarchy.groups {
            if hierarchy.has("cpu") {
                files::first_cpu(root, group, seen);
            }
            if hierarchy.has("memory") {
                files::first_memory(root, group, seen);
            }
        }
    }

    /// Groups of version 2. The root has no limits except the devices' costs.
    fn second(&self, root: &Root, hierarchy: &Hierarchy, seen: &mut Seen) {
        seen.unseen.extend(hierarchy.unseen.clone());
        for group in &hierarchy.groups {
            self.rates(root, group, files::SECOND_RATES, seen);
            self.rates(root, group, files::LATENCY, seen);
            files::second_cpu(root, group, seen);
            files::second_memory(root, group, seen);
        }
        if let (Some(top), Some(own)) = (hierarchy.root(), hierarchy.groups.first()) {
            self.costs(root, top, own, seen);
        }
    }

    /// A group's limits for devices, one line each.
    fn rates(&self, root: &Root, group: &Path, of: &[files::OfDevices], seen: &mut Seen) {
        if matches!(self.devices, Devices::None) {
            return;
        }
        for of in of {
            let file = group.join(of.file);
            for (numbers, kind, value) in seen.lines(root, &file, of.parse) {
                let Some(device) = self.device(root, &numbers) else { continue };
                let amount = files::amount(root, group, &numbers, kind);
                seen.add(&file, kind, Some(device), value, amount);
            }
        }
    }

    /// The weights and the highest rate by which the root group distributes devices.
    fn costs(&self, root: &Root, top: &Path, own: &Path, seen: &mut Seen) {
        if matches!(self.devices, Devices::None) || own == top {
            return;
        }
        let file = top.join("io.cost.qos");
        for (numbers, kind, value) in seen.lines(root, &file, files::cost) {
            let Some(device) = self.device(root, &numbers) else { continue };
            let waited = files::cost_wait(root, own, &numbers);
            seen.add(&file, kind, Some(device), value, waited);
        }
    }

    /// The name of a device, if it is relevant.
    fn device(&self, root: &Root, numbers: &str) -> Option<String> {
        match &self.devices {
            Devices::None => None,
            Devices::Those(known) => {
                known.iter().find(|(its, _)| its == numbers).map(|(_, name)| name.clone())
            }
            Devices::Any => {
                let node = root.resolve(format!("/sys/dev/block/{numbers}"));
                Some(node.map_or_else(|| numbers.to_owned(), |node| name(&node)))
            }
        }
    }
}

/// The whole disks of a stack, from the top: only these can have limits.
fn devices(root: &Root, stack: &Stack) -> Vec<(String, String)> {
    let mut nodes: Vec<PathBuf> = vec![whole(root, &stack.top)];
    nodes.extend(stack.mapped.iter().chain(&stack.disks).cloned());
    let mut found: Vec<(String, String)> = Vec::new();
    for node in nodes {
        let Ok(numbers) = root.line(node.join("dev")) else { continue };
        if !found.iter().any(|(known, _)| *known == numbers) {
            found.push((numbers, name(&node)));
        }
    }
    found
}
