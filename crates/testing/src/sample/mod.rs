//! Synthetic runs, for tests and documentation. **No device was measured**: every value is drawn
//! from seeded lognormal mixtures, and every figure is derived from the histograms as in a real
//! run, so that `flashlag verify` accepts them.

mod draw;
mod environment;
mod lifecycle;
mod phases;
mod runs;

pub use lifecycle::{SampleDevice, lifecycle, lifecycle_on};
pub use runs::{SampleKind, all, memory, overloaded, quick, slower, soak, sqlite};
