use flashlag_units::{Bytes, Nanos};

/// Outcome of a power cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerCut {
    /// Mapping units that lost data, by address; `None` if the device recorded no changes
    /// ([`Flash::keep_ledger`](crate::Flash::keep_ledger)).
    pub lost: Option<Vec<Lost>>,
    /// Time to find the map again, from the return of the power.
    pub recovery: Nanos,
}

/// A mapping unit that has reverted to an earlier content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Start of the unit.
    pub offset: Bytes,
    /// Length of the unit.
    pub length: Bytes,
    /// The first command whose data is lost, counted from 1 over all writes and discards. All later
    /// data of the unit is lost too.
    pub command: u64,
}
