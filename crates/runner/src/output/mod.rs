//! Outputs: run files, reports, profiles and exports. A file that has the name already is examined
//! first, and is not overwritten if it is another program's or took a measurement to make.

mod destination;
mod found;
mod run_file;
#[cfg(test)]
mod tests;

pub use crate::error::OutputKind;
pub use destination::{Destination, is_same_file};
pub use run_file::RunFile;
