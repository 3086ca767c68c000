//! Watches a storage for months: finds the waits that a person notices, with their causes, and keeps
//! a history of what is usual.
//!
//! [`watch`] reads a machine several times a second ([`machine`]); [`recorder`] makes waits,
//! incidents and parts of hours of these readings; [`book`] is the file that they are kept in;
//! [`trend`] says what changed over months; [`sim`] plants what a watch should find. What they mean in words is said in `flashlag-views`.
#![forbid(unsafe_code)]

pub mod book;
mod cause;
mod error;
pub mod glance;
mod incidents;
mod listen;
mod live;
mod machine;
mod part;
mod patience;
mod probe;
mod purse;
pub mod recorder;
pub mod sim;
mod span;
pub mod trend;
pub mod waits;
mod watch;
mod writer;

pub use book::{Book, BookError, read};
pub use error::WatchError;
pub use listen::{Answer, Listener};
pub use live::Live;
pub use probe::BLOCK as PROBE_BYTES;
pub use watch::{Cost, Event, MINUTE, Settings, watch};
