//! Seeded generators: where operations go ([`Addresses`], [`Permutation`]), when they begin
//! ([`Arrivals`]), whether they read or write ([`Mixture`]) and what they write ([`Payload`]). The same seed gives the same values on every
//! machine: nothing here asks a clock or the operating system, and what decides a value is integer
//! arithmetic.
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
pub use payload::{Found, Mismatch, Payload};
pub use permutation::Permutation;
pub use stamp::{SECTOR_BYTES, STAMP_BYTES, Stamp};
