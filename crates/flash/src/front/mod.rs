//! What stands before the map: host link, write buffer, write cache, discards.
//!
//! A command is taken when the queue has room for it ([`host::Host`]). Then
//! - a **read** finds each unit in the write buffer, the write cache or the map, in this order; as
//!   soon as a piece of it (at most a page of all planes) is there it goes over the link;
//! - a **write** with no buffer is programmed a program unit at a time, each as soon as the link
//!   has brought it, and ends with the last program. With a buffer it ends when the last of it is
//!   in the buffer, which may have to wait for room ([`buffer::WriteBuffer`]);
//! - a **flush** ends no earlier than every write before it, than every program where the buffer is
//!   volatile (which it empties), and than all queued discards;
//! - a **write with force unit access** ends with the programs of its own units;
//! - a **discard** costs what [`trim::Trims`] says.
//!
//! So with enough commands queued or a buffer, writing in a row runs at
//! `min(link, dies · program unit / (program time + transfer))`, whichever is the bottleneck.

mod buffer;
mod commands;
mod host;
mod idle;
mod line;
mod power;
mod queue;
mod rate;
mod read;
mod ring;
mod slc;
mod store;
#[cfg(test)]
mod tests;
mod trim;
pub(crate) mod units;
mod write;

pub(crate) use commands::Front;
pub(crate) use line::Line;
pub(crate) use rate::Rate;

pub(crate) use store::{DieWork, Store, UnitWrite};
