use flashlag_units::Bytes;

/// State of a device before its first command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Past {
    /// Bytes with content, from the start of the device.
    pub written: Bytes,
    /// Order in which they were written.
    pub order: Order,
    /// Program/erase cycles of each block.
    pub cycles: u32,
}

/// The order in which a device was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Once, in ascending order: full blocks are fully valid.
    Sequential,
    /// Overwritten at random for a long time: blocks have as many valid units as in the steady
    /// state of uniform random writes, and neighbouring addresses are scattered.
    Random,
}
