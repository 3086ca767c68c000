//! Seeded generators of a workload: addresses ([`Addresses`], [`Permutation`]), times
//! ([`Arrivals`]), reads and writes ([`Mixture`]) and data ([`Payload`]). The same seed gives the
//! same values on every machine: nothing here uses a clock or the operating system, and all values
//! come from integer arithmetic.
#![forbid(unsafe_code)]

mod addresses;
mod arrivals;
mod mix;
mod mixture;
mod payload;
mod permutation;
mod stamp;

pub use addresses::Addresses;
pub use arrivals::Arrivals;
pub use mixture::Mixture;
pub use payload::{Damage, Mismatch, Payload};
pub use permutation::Permutation;
pub use stamp::{SECTOR_BYTES, STAMP_BYTES, Stamp};
