//! Files that are mapped into memory: stores to them are no calls, and `msync` names only an address.

use std::collections::BTreeMap;

use super::super::making::Making;
use super::line::{Call, descriptor};

/// Mappings that are followed at most.
const MOST: usize = 1 << 16;

/// Files that are mapped to be written, by process and address.
#[derive(Debug, Default)]
pub(super) struct Mapped {
    files: BTreeMap<(u32, u64), (u64, u32)>,
    /// Mappings of files that are not only SQLite's index of its log.
    pub(super) written: u64,
}

fn address(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

impl Mapped {
    /// Takes `mmap(…, length, PROT_READ|PROT_WRITE, MAP_SHARED, 3</x>, 0) = 0x7f…` of a file.
    pub(super) fn map(&mut self, process: u32, call: &Call, file: u32, making: &mut Making) {
        let Some((_, path)) = descriptor(call.argument(4)) else { return };
        let path = path.unwrap_or_default();
        let is_memory =
            ["/dev/", "/memfd:", "anon_inode:"].iter().any(|start| path.starts_with(start));
        if is_memory {
            return;
        }
        // The index of SQLite's log is made again from the log: nobody needs it durable.
        if !path.ends_with("-shm") {
            self.written += 1;
            making.lacks(1);
        }
        let start = call.returned.map(i64::cast_unsigned);
        let length = call.argument(1).parse().ok();
        if let (Some(start), Some(length)) = (start, length)
            && self.files.len() < MOST
        {
            self.files.insert((process, start), (length, file));
        }
    }

    /// The file at the address of `msync(0x7f…, …)`.
    pub(super) fn file_at(&self, process: u32, text: &str) -> Option<u32> {
        let at = address(text)?;
        let (&(_, start), &(length, file)) =
            self.files.range((process, 0)..=(process, at)).next_back()?;
        (at - start < length).then_some(file)
    }
}

/// Whether what is stored to the mapping goes to its file.
pub(super) fn is_written(call: &Call) -> bool {
    call.argument(2).contains("PROT_WRITE") && call.argument(3).contains("MAP_SHARED")
}
