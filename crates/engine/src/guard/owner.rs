use std::fs;

use flashlag_device::{ProcessStat, boot_id};
use serde::{Deserialize, Serialize};

/// The process that a flashlag directory belongs to. A process id alone proves nothing: the kernel
/// reuses it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Its process id.
    pub pid: u32,
    /// When it began, in clock ticks since boot (`/proc/PID/stat`, field 22).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub start_ticks: Option<u64>,
    /// The boot that it ran in (`/proc/sys/kernel/random/boot_id`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub boot_id: Option<String>,
    /// The machine: a digest of `/etc/machine-id`, since the id itself is private.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub machine: Option<String>,
}

impl Owner {
    /// This process.
    pub fn this_process() -> Owner {
        let pid = std::process::id();
        let start_ticks = ProcessStat::of(pid).map(|stat| stat.start_ticks);
        Owner { pid, start_ticks, boot_id: boot_id(), machine: machine() }
    }

    /// Why this machine can't tell whether the process is dead, if so: it ran in another boot, and
    /// neither its lock nor its process id tells anything here. On local storage, an earlier boot
    /// of this machine is over; shared storage may be in use by another machine.
    pub fn unknown_here(&self, is_shared: bool) -> Option<&'static str> {
        let same = |one: &Option<String>, other: &Option<String>| one.is_some() && one == other;
        if self.boot_id.is_none() || same(&self.boot_id, &boot_id()) {
            None
        } else if is_shared {
            Some("a run of another machine, or of an earlier start of this one, may still use it")
        } else if self.machine.is_some() && !same(&self.machine, &machine()) {
            Some("a run on another machine made it, and may still use it")
        } else {
            None
        }
    }

    /// Whether that process still runs, and is not this one. A zombie does not run; if its start
    /// time can't be read, it counts as not running.
    pub fn runs_elsewhere(&self) -> bool {
        let Some(start_ticks) = self.start_ticks.filter(|_| self.pid != std::process::id()) else {
            return false;
        };
        ProcessStat::of_noted(self.pid, start_ticks, self.boot_id.as_deref()).is_some()
    }
}

fn machine() -> Option<String> {
    let text = fs::read_to_string("/etc/machine-id").ok().filter(|text| !text.trim().is_empty())?;
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    Some(format!("{:016x}", text.trim().bytes().fold(0xcbf2_9ce4_8422_2325, fold)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_start_time_or_boot_is_another_process() {
        let parent = std::os::unix::process::parent_id();
        let start_ticks = ProcessStat::of(parent).map(|stat| stat.start_ticks);
        let owner = Owner { pid: parent, start_ticks, boot_id: boot_id(), machine: machine() };
        assert!(owner.runs_elsewhere());
        assert!(!Owner { start_ticks: Some(1), ..owner.clone() }.runs_elsewhere());
        assert!(!Owner { boot_id: Some("other".to_owned()), ..owner }.runs_elsewhere());
        assert!(!Owner::this_process().runs_elsewhere());
    }

    #[test]
    fn a_run_of_another_machine_is_not_taken_for_dead_nor_one_on_shared_storage() {
        let here = Owner::this_process();
        let other_boot = Owner { boot_id: Some("other".to_owned()), ..here.clone() };
        let stranger = Owner { machine: Some("other".to_owned()), ..other_boot.clone() };
        for (owner, local, shared) in
            [(&here, false, false), (&other_boot, false, true), (&stranger, true, true)]
        {
            assert_eq!(owner.unknown_here(false).is_some(), local, "{owner:?}");
            assert_eq!(owner.unknown_here(true).is_some(), shared, "{owner:?}");
        }
        // Written by a version that did not note the machine.
        let earlier = Owner { machine: None, ..other_boot };
        assert_eq!(earlier.unknown_here(false), None);
    }
}
