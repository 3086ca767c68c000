//! Outputs: run files, reports, profiles and exports. An existing file with that name is examined
//! first, and is not overwritten if it is another program's or if making it took a measurement.

mod destination;
mod found;
mod run_file;
#[cfg(test)]
mod tests;

pub use crate::error::OutputKind;
pub use destination::{Destination, is_same_file};
pub use run_file::RunFile;
