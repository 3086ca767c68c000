//! Sweeps: simulates every combination of a grid's values, and stores one row per phase in a
//! Parquet table.
//!
//! A [`Grid`] is read from TOML and checked. Its points have a fixed order and are computed from
//! their index, so ten million take no memory. [`Sweep::open`] creates a journal beside the output;
//! a worker [measures](measure) a [chunk](Sweep::chunk), anywhere and in any order; [`Sweep::add`]
//! stores the results; [`Sweep::finish`] writes the table. The table's bytes depend only on the
//! grid and on flashlag's version: not on the workers, on their order, nor on how often the sweep
//! was killed and continued.
#![forbid(unsafe_code)]

mod chunk;
mod error;
mod grid;
mod journal;
mod measure;
mod point;
mod row;
mod sealed;
mod side_by_side;
mod sweep;
mod table;
mod threads;
mod workers;

pub use chunk::{MOST_IN_CHUNK, measure};
pub use error::{GridError, SweepError};
pub use grid::Grid;
pub use point::Point;
pub use row::{Measured, Outcome, Row};
pub use side_by_side::Progress;
pub use sweep::{Sweep, SweepOptions, journal_of};
pub use table::Finished;
pub use threads::{cores, run};
pub use workers::{WORKER, Workers, be_a_worker};
