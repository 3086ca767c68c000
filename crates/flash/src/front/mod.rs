//! The front of the device, before the map: host link, write buffer, write cache, discards.
//!
//! A command starts when the queue has room for it ([`host::Host`]). Then:
//! - a **read** looks up each unit in the write buffer, the write cache and the map, in this order;
//!   each piece (at most one page of all planes) goes over the link as soon as it is read;
//! - a **write** without a buffer programs each program unit as soon as the link has delivered it,
//!   and ends with the last program. With a buffer it ends when all of it is in the buffer, which
//!   may have to wait for room ([`buffer::WriteBuffer`]);
//! - a **flush** ends no earlier than all previous writes and all queued discards; it empties a
//!   volatile buffer, and then ends no earlier than all programs;
//! - a **write with force unit access** ends with the programs of its own units;
//! - a **discard** costs what [`trim::Trims`] says.
//!
//! So sequential writes with a deep queue or a buffer run at `min(link, dies · program unit /
//! (program time + transfer))`.

mod buffer;
mod commands;
mod host;
mod housekeeping;
mod idle;
mod journal;
mod power;
mod queue;
mod read;
mod slc;
mod store;
#[cfg(test)]
mod tests;
mod trim;
pub(crate) mod units;
mod write;

pub(crate) use commands::Front;
pub(crate) use store::{Store, UnitWrite};
