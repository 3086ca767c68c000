//! Machines that tests change in one thing.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use flashlag_schema::internals::{
    DeviceInternals, Ext4Journal, FilesystemInternals, Internals, MemoryState,
};
use flashlag_schema::{Environment, Layer, LayerKind};
use flashlag_spec::Reading;
use flashlag_units::{Bytes, Nanos};

pub(super) const DAY: u64 = 86_400_000_000_000;

pub(super) fn known<T>(value: T) -> Reading<T> {
    Reading::Value(value)
}

pub(super) fn layer(kind: LayerKind, name: &str, detail: &str) -> Layer {
    Layer { kind, name: name.to_owned(), detail: Some(detail.to_owned()) }
}

/// A laptop with ext4 on NVMe, trimmed yesterday.
pub(super) fn laptop() -> Environment {
    let mut seen = Environment::default();
    seen.software.system = known("Debian GNU/Linux 12".to_owned());
    seen.software.virtualized = known(false);
    seen.filesystem.kind = known("ext4".to_owned());
    seen.filesystem.options = known(vec!["rw".to_owned(), "relatime".to_owned()]);
    seen.filesystem.total_bytes = known(Bytes::from_mib(100_000));
    seen.filesystem.free_bytes = known(Bytes::from_mib(50_000));
    seen.device.kind = known("nvme".to_owned());
    seen.device.queue.scheduler = known("none".to_owned());
    seen.device.queue.discard_max_bytes = known(Bytes::from_mib(2048));
    seen.layers =
        vec![layer(LayerKind::Filesystem, "/", "ext4"), layer(LayerKind::Disk, "nvme0n1", "nvme")];
    seen.internals = Some(Internals {
        filesystem: known(FilesystemInternals::Ext4 {
            journal: known(Ext4Journal::Ordered),
            barrier: known(true),
            commit_s: known(5),
            fast_commits: known(0),
            lifetime_written_bytes: known(Bytes::from_mib(1)),
            errors: known(0),
            features: known(vec!["has_journal".to_owned(), "extent".to_owned()]),
        }),
        device: known(DeviceInternals::Nvme { wakes_within_ns: known(Nanos::from_millis(100)) }),
        memory: MemoryState::default(),
        trimmed_before_ns: known(Nanos(DAY)),
        aes_instructions: known(true),
        ..Internals::default()
    });
    seen
}

pub(super) fn with(mut seen: Environment, change: impl FnOnce(&mut Environment)) -> Environment {
    change(&mut seen);
    seen
}

pub(super) fn trimmed(days: u64) -> Environment {
    with(laptop(), |seen| {
        seen.internals.as_mut().unwrap().trimmed_before_ns = known(Nanos(days * DAY));
    })
}
