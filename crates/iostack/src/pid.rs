/// A process, running or ended: its entry in the scheduler's table and the generation of that entry,
/// which tells it from processes that had the entry before or after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pid {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}
