//! Files that are mapped into memory: stores are not system calls, and `msync` has only an address.

use std::collections::BTreeMap;

use super::super::making::Making;
use super::line::{Call, descriptor};

/// Most mappings to keep track of.
const MOST: usize = 1 << 16;

/// Files that are mapped writable, by process and address.
#[derive(Debug, Default)]
pub(super) struct Mapped {
    files: BTreeMap<(u32, u64), (u64, u32)>,
    /// Number of mapped files that are not SQLite's WAL index.
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
        // SQLite can rebuild the WAL index from the log, so it need not be durable.
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

/// Whether stores to the mapping reach its file.
pub(super) fn is_written(call: &Call) -> bool {
    call.argument(2).contains("PROT_WRITE") && call.argument(3).contains("MAP_SHARED")
}
