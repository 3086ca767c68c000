use flashlag_units::Bytes;

/// What a device went through before its first command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Past {
    /// So much of it holds data, from its beginning on.
    pub written: Bytes,
    /// How that was written.
    pub order: Order,
    /// Program/erase cycles that each block has done.
    pub cycles: u32,
}

/// In which order a device was written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Once, from the beginning on: its blocks are full of what is valid.
    Sequential,
    /// Over and over, anywhere: its blocks are as valid as they are in the steady state of uniform
    /// random writes, and what is next to each other lies apart.
    Random,
}
