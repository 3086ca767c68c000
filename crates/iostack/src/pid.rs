/// A process, running or ended: an index into the scheduler's table, and the generation of that
/// entry, which distinguishes the processes that use it one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pid {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}
