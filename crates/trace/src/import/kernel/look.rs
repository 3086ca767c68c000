//! Lookups on the running machine, for what tracepoints do not contain.

use std::fmt::Debug;

/// What a descriptor of a process refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Descriptor {
    /// A file on storage that is recorded, by its path.
    File(String),
    /// Something else: a pipe, a terminal, a file on storage that is not recorded.
    Elsewhere,
    /// It was closed, or its process has ended.
    Gone,
}

/// Looks things up on the running machine that tracepoints do not contain. Devices are named as in
/// tracepoint text: `8,1`.
pub trait Look: Debug {
    /// Called before each piece of text: what is remembered of descriptors may be out of date.
    fn begin(&mut self);

    /// Whether the calls of a thread are recorded.
    fn watches(&mut self, tid: u32, pid: Option<u32>) -> bool;

    /// Whether the thread belongs to the recording process.
    fn is_own(&mut self, tid: u32, pid: Option<u32>) -> bool;

    /// Called when a thread has started another one.
    fn forked(&mut self, parent: u32, child: u32);

    /// A thread has ended.
    fn ended(&mut self, tid: u32);

    /// The number and the name of a thread's process.
    fn process(&mut self, tid: u32, pid: Option<u32>) -> (Option<u32>, Option<String>);

    /// The name of a filesystem's device; `None` if the filesystem is not recorded.
    fn filesystem(&mut self, device: &str) -> Option<String>;

    /// The name of the disk that a block device is or lies on; `None` if the disk is not recorded.
    fn disk(&mut self, device: &str) -> Option<String>;

    /// The path of a file.
    fn path(&mut self, device: &str, inode: u64) -> Option<String>;

    /// What a descriptor of a thread refers to.
    fn descriptor(&mut self, tid: u32, descriptor: u32) -> Descriptor;
}
