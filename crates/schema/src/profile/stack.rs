//! What the software above the device costs on this phone.

use flashlag_units::{Nanos, Text};
use serde::{Deserialize, Serialize};

/// Time on the phone's CPU for what the tests do, and how much the kernel reads ahead.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StackModel {
    /// A read or write call, without its bytes.
    #[serde(default)]
    pub call: Text<Nanos>,
    /// For each KiB of a call: copying, checking, page cache.
    #[serde(default)]
    pub per_kib: Text<Nanos>,
    /// For each KiB of a call with direct I/O, which pins pages and copies nothing; as `per_kib` by
    /// default.
    #[serde(default)]
    pub per_kib_direct: Option<Text<Nanos>>,
    /// An fsync call, beside its I/O.
    #[serde(default)]
    pub sync_call: Text<Nanos>,
    /// SQLite's own CPU time of a save in one database, beside its system calls.
    #[serde(default)]
    pub save_cpu: Text<Nanos>,
    /// What a request through FUSE costs more: two context switches and a copy.
    #[serde(default)]
    pub fuse_call: Text<Nanos>,
    /// CPU time for each KiB in addition.
    #[serde(default)]
    pub fuse_per_kib: Text<Nanos>,
    /// Encryption of the whole disk.
    #[serde(default)]
    pub encryption: EncryptionModel,
    /// Cores that the threads of a test run on. With one core, the default, the calls of all
    /// threads follow one another; with more, each thread's own calls do, and as many threads run
    /// at once as there are cores.
    #[serde(default)]
    pub cores: Option<u32>,
    /// Commands that the host's driver has under way at once: the tags of its queue. As many as the
    /// device takes by default; 1 on eMMC without a command queue.
    #[serde(default)]
    pub tags: Option<u32>,
    /// CPU time of the driver for each command before the command is sent, one after another.
    #[serde(default)]
    pub issue: Text<Nanos>,
    /// CPU time of the interrupt for each command that completes, one after another; the command's
    /// tag is free afterwards.
    #[serde(default)]
    pub complete: Text<Nanos>,
}

/// Cost of encryption, for targets with `encrypt`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EncryptionModel {
    /// Decrypting a KiB that was read.
    #[serde(default)]
    pub read_per_kib: Text<Nanos>,
    /// Encrypting a KiB to be written.
    #[serde(default)]
    pub write_per_kib: Text<Nanos>,
    /// What each request costs more, whatever its size.
    #[serde(default)]
    pub per_request: Text<Nanos>,
}
