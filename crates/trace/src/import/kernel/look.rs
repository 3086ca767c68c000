//! What tracepoints do not say, and only a look at the running machine does.

use std::fmt::Debug;

/// What a descriptor of a process stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Descriptor {
    /// A file on storage that is recorded, by its path.
    File(String),
    /// Something else: a pipe, a terminal, a file on storage that is not recorded.
    Elsewhere,
    /// Closed by now, or its process has ended.
    Gone,
}

/// Looks at the running machine for what tracepoints do not say. Devices are named as in the text of
/// tracepoints: `8,1`.
pub trait Look: Debug {
    /// Before each piece of text: what was seen of descriptors may be out of date.
    fn begin(&mut self);

    /// Whether the calls of a thread are recorded.
    fn watches(&mut self, tid: u32, pid: Option<u32>) -> bool;

    /// Whether the thread is of the process that records.
    fn is_own(&mut self, tid: u32, pid: Option<u32>) -> bool;

    /// A thread has started another one.
    fn forked(&mut self, parent: u32, child: u32);

    /// A thread has ended.
    fn ended(&mut self, tid: u32);

    /// The number and the name of a thread's process.
    fn process(&mut self, tid: u32, pid: Option<u32>) -> (Option<u32>, Option<String>);

    /// The name of a filesystem's device; absent where the filesystem is not recorded.
    fn filesystem(&mut self, device: &str) -> Option<String>;

    /// The name of the disk that a block device is or is on; absent where the disk is not recorded.
    fn disk(&mut self, device: &str) -> Option<String>;

    /// The path of a file.
    fn path(&mut self, device: &str, inode: u64) -> Option<String>;

    /// What a descriptor of a thread stands for.
    fn descriptor(&mut self, tid: u32, descriptor: u32) -> Descriptor;
}
