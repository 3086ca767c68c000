//! The table of a sweep: a Parquet file with one row a phase, in the order of the grid.

mod column;
mod write;

pub use write::Finished;
pub(crate) use write::write;

#[cfg(test)]
mod tests;
