use std::path::{Path, PathBuf};

use flashlag_schema::counters::{Counters, DiskCounters};
use flashlag_schema::{Device, Environment, Software};
use flashlag_spec::Reading;

use crate::block::{Stack, is_on_a_disk, stack_below};
use crate::clocks::clocks;
use crate::counters::{cpu_times, disk, self_io};
use crate::disk::device;
use crate::encryption::encryption;
use crate::filesystem::{FilesystemStack, filesystem, find};
use crate::internals::{internals, searched, unwritten};
use crate::layers::layers;
use crate::limits::LimitFiles;
use crate::pressure::{cpu, load, pressure};
use crate::processes::processes;
use crate::reason::Reason;
use crate::root::Root;
use crate::software::{memory, software};
use crate::thermal::{Sensors, throttle};

/// The machine and the storage that holds `directory`. Never fails: what can't be read is absent,
/// with the reason.
pub fn environment(root: &Root, directory: &Path) -> Environment {
    let found = find(root, directory);
    let stack = found.as_ref().map_err(Clone::clone);
    let stack = stack.and_then(|found| stack_below(root, &found.mount));
    let sensors = Sensors::find(root, stack.as_ref().map_or(&[], |stack| &stack.disks));
    let limits = LimitFiles::find(root, &stack, found.as_ref().is_ok_and(on_a_disk));
    let both = |reading: Result<i64, Reason>| reading.map(|now| (now, now)).into();
    Environment {
        software: software(root),
        cpu: cpu(root),
        memory_bytes: memory(root),
        filesystem: filesystem(root, directory, &found, &stack),
        device: device(root, &stack),
        encryption: encryption(root, directory, &found, &stack).into(),
        layers: layers(root, directory, &found, &stack),
        internals: Some(internals(root, directory, &found, &stack)),
        limits: Some(limits.limits(root)),
        storage_temperature_millicelsius: both(sensors.storage(root)),
        cpu_temperature_millicelsius: both(sensors.cpu(root)),
        // The engine measures it when a run begins.
        calibration: Reading::default(),
    }
}

/// As [`environment`], with the name of the most fragmented database: to show, not to store.
pub fn environment_with_names(root: &Root, directory: &Path) -> Environment {
    let mut seen = environment(root, directory);
    if let Some(internals) = &mut seen.internals {
        internals.databases = searched(root, directory, true).into();
    }
    seen
}

/// A reader of the counters of a directory's storage. It finds their files once: a reading then
/// takes a dozen small files and two for each process (a few milliseconds), without any search.
#[derive(Clone, Debug)]
pub struct Probe {
    root: Root,
    stack: Result<Stack, Reason>,
    sensors: Sensors,
    limits: LimitFiles,
}

impl Probe {
    /// Finds the counters' files. Never fails: a missing counter is absent from every reading.
    pub fn open(root: &Root, directory: &Path) -> Probe {
        let found = find(root, directory);
        let stack = found.as_ref().map_err(Clone::clone);
        let stack = stack.and_then(|found| stack_below(root, &found.mount));
        let sensors = Sensors::find(root, stack.as_ref().map_or(&[], |stack| &stack.disks));
        let limits = LimitFiles::find(root, &stack, found.as_ref().is_ok_and(on_a_disk));
        Probe { root: root.clone(), stack, sensors, limits }
    }

    /// The devices below the directory, or why there are none.
    pub(crate) fn stack(&self) -> &Result<Stack, Reason> {
        &self.stack
    }

    /// The real path of a path that is absolute in the tree.
    pub(crate) fn real(&self, path: &Path) -> std::path::PathBuf {
        self.root.real(path)
    }

    /// Reads all counters. The clocks are read first.
    pub fn counters(&self) -> Counters {
        let root = &self.root;
        let (at, at_boottime, at_realtime) = clocks();
        Counters {
            at,
            at_boottime,
            at_realtime,
            disk: self.disks().into(),
            partition: self.partition().into(),
            self_io: self_io(root).into(),
            cpu: cpu_times(root).into(),
            pressure_cpu: pressure(root, "cpu").into(),
            pressure_io: pressure(root, "io").into(),
            throttle: throttle(root).into(),
            load_hundredths: load(root).into(),
            storage_millicelsius: self.sensors.storage(root).into(),
            cpu_millicelsius: self.sensors.cpu(root).into(),
            processes: processes(root).into(),
            limits: self.limits.look(root).counts,
        }
    }

    /// The hottest storage sensor now, in thousandths of a degree Celsius.
    pub fn storage_temperature(&self) -> Reading<i64> {
        self.sensors.storage(&self.root).into()
    }

    /// The files by which control groups limit I/O to the disk, whatever runs in them.
    pub fn io_limits(&self) -> Vec<String> {
        self.limits.everywhere(&self.root)
    }

    /// The first disk's own description: its model, its firmware, its wear.
    pub fn device(&self) -> Device {
        device(&self.root, &self.stack)
    }

    /// The system's own description.
    pub fn software(&self) -> Software {
        software(&self.root)
    }

    /// The number of whole disks below the directory (more than one for RAID, or btrfs over
    /// several); `None` if no disk was found.
    pub fn disk_count(&self) -> Option<usize> {
        self.stack.as_ref().ok().map(|stack| stack.disks.len())
    }

    /// Completes an [`Environment`] taken before the run with the readings after it.
    pub fn complete(&self, environment: &mut Environment) {
        let root = &self.root;
        environment.cpu.pressure_after = pressure(root, "cpu").into();
        if let Some(lost) = environment.internals.as_mut().and_then(|one| one.unplugged.as_mut()) {
            let (bytes, of_all) = unwritten(root, &self.stack);
            // Both figures must be of the same storage.
            lost.unwritten_at_end_bytes = bytes
                .and_then(|bytes| {
                    let same = of_all == lost.of_all_storage;
                    same.then_some(bytes).ok_or_else(|| "debugfs came or went meanwhile".into())
                })
                .into();
        }
        let after = [self.sensors.storage(root), self.sensors.cpu(root)];
        let readings = [
            &mut environment.storage_temperature_millicelsius,
            &mut environment.cpu_temperature_millicelsius,
        ];
        for (reading, after) in readings.into_iter().zip(after) {
            let before = reading.value().map(|(before, _)| *before);
            if let Some(before) = before {
                *reading = after.map(|after| (before, after)).into();
            }
        }
    }

    fn disks(&self) -> Result<DiskCounters, Reason> {
        self.sum_of(|stack| &stack.disks)
    }

    fn partition(&self) -> Result<DiskCounters, Reason> {
        self.sum_of(|stack| &stack.members)
    }

    fn sum_of(&self, devices: impl Fn(&Stack) -> &[PathBuf]) -> Result<DiskCounters, Reason> {
        let stack = self.stack.as_ref().map_err(Clone::clone)?;
        let mut counted = devices(stack).iter().map(|directory| disk(&self.root, directory));
        let first = counted.next().ok_or("no disk was found")??;
        counted.try_fold(first, |sum, next| Ok(sum.plus(&next?)))
    }
}

fn on_a_disk(found: &FilesystemStack) -> bool {
    is_on_a_disk(&found.mount)
}
