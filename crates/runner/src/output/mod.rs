//! Everything that flashlag writes for a user goes through here: run files, reports, profiles and
//! exports. Whatever has the name already is looked at first, and nothing is overwritten that is
//! not this program's or that took a measurement to make.

mod destination;
mod found;
mod run_file;
#[cfg(test)]
mod tests;

pub use destination::{Destination, is_same_file};
pub use found::OutputKind;
pub use run_file::RunFile;
