//! Zones: the host writes each in order, from its start to its end, and resets it as a whole.
//!
//! [`table`] says what the host may do, [`store`] where the data is. A zone has blocks of its own,
//! so that nothing in a zone is ever copied by the device: its write amplification is the padding
//! of the zone's last program unit, and what passed through the blocks in SLC mode because a flush
//! or a full buffer did not wait for a whole program unit.

mod shape;
mod store;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use shape::ZonedShape;
pub use shape::zone_geometry;
pub(crate) use store::ZoneStore;
pub use table::{Zone, ZoneAction, ZoneCondition};
