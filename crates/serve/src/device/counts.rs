use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use flashlag_schema::HostRequests;
use flashlag_units::Bytes;

use super::request::Work;

/// Counts of the hosts' requests, kept without a lock.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    reads: AtomicU64,
    read: AtomicU64,
    writes: AtomicU64,
    written: AtomicU64,
    fua_writes: AtomicU64,
    flushes: AtomicU64,
    trims: AtomicU64,
    trimmed: AtomicU64,
    zeroes: AtomicU64,
    failed: AtomicU64,
}

impl Counts {
    pub(crate) fn count(&self, work: &Work<'_>, fua: bool, succeeded: bool) {
        let add = |count: &AtomicU64, many: u64| count.fetch_add(many, Relaxed);
        if !succeeded {
            add(&self.failed, 1);
            return;
        }
        let length = work.length();
        match work {
            Work::Read(_) => {
                add(&self.reads, 1);
                add(&self.read, length);
            }
            Work::Write(_) | Work::Zeros(_) => {
                add(&self.writes, 1);
                add(&self.written, length);
                if fua {
                    add(&self.fua_writes, 1);
                }
            }
            Work::Flush => {
                add(&self.flushes, 1);
            }
            Work::Discard(_) => {
                add(&self.trims, 1);
                add(&self.trimmed, length);
            }
        }
    }

    pub(crate) fn zero(&self) {
        self.zeroes.fetch_add(1, Relaxed);
    }

    pub(crate) fn requests(&self) -> HostRequests {
        let get = |count: &AtomicU64| count.load(Relaxed);
        HostRequests {
            reads: get(&self.reads),
            read_bytes: Bytes(get(&self.read)),
            writes: get(&self.writes),
            written_bytes: Bytes(get(&self.written)),
            fua_writes: get(&self.fua_writes),
            flushes: get(&self.flushes),
            trims: get(&self.trims),
            trimmed_bytes: Bytes(get(&self.trimmed)),
            zeroes: get(&self.zeroes),
            failed: get(&self.failed),
        }
    }
}
