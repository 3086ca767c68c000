//! Calls that move or sync data but can't become events.

use std::collections::BTreeMap;

use flashlag_units::count;

use super::super::making::Making;
use super::line::Call;

/// Calls that are counted by name, and why they can't become events.
const CALLS: [(&str, &str); 11] = [
    ("io_uring_enter", "io_uring's requests are in memory, not in a trace of system calls"),
    ("io_submit", "its requests are not in the lines"),
    ("copy_file_range", "its files are not in the lines"),
    ("sendfile", "its files are not in the lines"),
    ("splice", "its files are not in the lines"),
    ("vmsplice", "it moves memory to a pipe"),
    ("process_vm_writev", "it moves the memory of processes"),
    ("process_vm_readv", "it moves the memory of processes"),
    ("sync_file_range", "it begins or awaits writeback, and makes nothing durable"),
    ("fallocate", "it reserves space, or frees it"),
    ("msync", "the file that is mapped there is not known"),
];

/// Requests of `ioctl` that change what is on storage.
const REQUESTS: [&str; 9] = [
    "FICLONE",
    "BTRFS_IOC_CLONE",
    "FIDEDUPERANGE",
    "BLKDISCARD",
    "BLKSECDISCARD",
    "BLKZEROOUT",
    "FITRIM",
    "F2FS_IOC",
    "_IOC(0, 0xf5",
];

/// Counts calls that are left out.
#[derive(Debug, Default)]
pub(super) struct Beyond {
    calls: BTreeMap<String, u64>,
    /// Requests that `io_uring_enter` submitted.
    submitted: u64,
}

impl Beyond {
    /// Counts a call that succeeded, if it is one of these; returns whether it is.
    pub(super) fn add(&mut self, call: &Call, making: &mut Making) -> bool {
        if call.returned.is_none_or(|returned| returned < 0) {
            return false;
        }
        let name = match call.name.as_str() {
            "sync_file_range2" | "arm_sync_file_range" => "sync_file_range".to_owned(),
            "sendfile64" => "sendfile".to_owned(),
            "ioctl" => {
                let request = call.argument(1);
                let known = REQUESTS.iter().find(|known| request.contains(*known));
                let Some(known) = known else { return false };
                format!("ioctl ({known})")
            }
            // MS_ASYNC does nothing.
            "msync" if !call.argument(2).contains("MS_SYNC") => return false,
            name if CALLS.iter().any(|(known, _)| *known == name) => name.to_owned(),
            _ => return false,
        };
        if name == "io_uring_enter" {
            let submitted = call.returned.and_then(|returned| u64::try_from(returned).ok());
            self.submitted = self.submitted.saturating_add(submitted.unwrap_or(0));
        }
        making.skip(&name);
        making.lacks(1);
        *self.calls.entry(name).or_default() += 1;
        true
    }

    /// Names what was left out.
    pub(super) fn finish(&self, making: &mut Making) {
        for (name, calls) in &self.calls {
            let known = CALLS.iter().find(|(known, _)| known == name);
            let why = known.map_or("it changes data on storage without a write", |(_, why)| why);
            let requests = if name == "io_uring_enter" {
                format!(" (requests handed over: {})", count(self.submitted))
            } else {
                String::new()
            };
            let are = if *calls == 1 { "call of" } else { "calls of" };
            let left = if *calls == 1 { "is" } else { "are" };
            making
                .limit(format!("{} {are} {name}{requests} {left} left out: {why}.", count(*calls)));
        }
    }
}
