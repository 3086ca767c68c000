use flashlag_units::{Bytes, Nanos};

/// What a power cut took, and how long the device needs until it answers again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerCut {
    /// Which mapping units lost something, in the order of their addresses; unknown where the
    /// device did not keep count of what was pending.
    pub lost: Option<Vec<Lost>>,
    /// Finding its map again, from the power's return on.
    pub recovery: Nanos,
}

/// A mapping unit that is as it was before a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Where it begins.
    pub offset: Bytes,
    /// How long it is.
    pub length: Bytes,
    /// The first command of which it lost something, counted from 1 over all writes and discards;
    /// it lost all later ones too.
    pub command: u64,
}
