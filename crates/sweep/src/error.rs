//! Errors of a sweep.

use std::io;
use std::path::PathBuf;

use flashlag_runner::RunError;
use thiserror::Error;

/// A mistake in a grid, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GridError {
    /// No TOML, a key that no grid has, or a value of another type.
    #[error("line {line}: {message}")]
    Text { line: usize, message: String },
    #[error("{place}`{key}`: {reason}")]
    Value {
        /// The list of points that it belongs to: `points 2: `; empty for the whole grid.
        place: String,
        /// The key: `full`, `set.durable`.
        key: String,
        reason: String,
    },
    /// Two lists of points that have some in common.
    #[error(
        "points {first} and {second} have some in common, which would be in the table twice: leave them \
         out of one of the two"
    )]
    Overlap { first: usize, second: usize },
    #[error("the grid has more than {most} points: give fewer values, or several grids")]
    TooMany { most: u64 },
}

/// Why a sweep can't start, continue or finish.
#[derive(Debug, Error)]
pub enum SweepError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{}: {source}", path.display())]
    Grid { path: PathBuf, source: GridError },
    #[error(transparent)]
    Output(#[from] RunError),
    #[error("cannot {operation} {}: {source}", path.display())]
    File {
        /// The operation that failed: `write`.
        operation: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The file in the journal's place is no journal.
    #[error(
        "{} is no journal of a sweep: move it away, or give another output", path.display()
    )]
    NoJournal { path: PathBuf },
    /// A journal of another grid.
    #[error(
        "{} is of another grid ({had} points; this one has {has}): give another output for the changed \
         grid, or begin anew with --force, which drops the measured points", path.display()
    )]
    OtherGrid { path: PathBuf, had: u64, has: u64 },
    /// A journal, a chunk or results of another flashlag.
    #[error(
        "{what} is of flashlag {theirs}, this is {ours}: figures of two versions don't belong in one \
         table. Use the same version everywhere, or begin anew with --force"
    )]
    OtherVersion {
        /// The thing of the other version: the journal's path, `a chunk`, `a worker's results`.
        what: String,
        theirs: String,
        ours: String,
    },
    /// A journal that another process writes.
    #[error(
        "another sweep writes {}: wait for it, or give another output", path.display()
    )]
    InUse { path: PathBuf },
    #[error("a worker process can't measure: {reason}")]
    Worker { reason: String },
    #[error("{what} arrived damaged: {reason}; send it again")]
    Damaged {
        /// The thing that the bytes should be: `a chunk`.
        what: &'static str,
        reason: String,
    },
    #[error("results of another sweep (grid {theirs:.12}, this one is {ours:.12})")]
    OtherSweep { theirs: String, ours: String },
    #[error("chunk {index} does not exist: the sweep has {count}, counted from 0")]
    NoChunk { index: u64, count: u64 },
    /// A table that was to be written before all points are measured.
    #[error("{missing} of {points} points are not measured yet: the same command measures them")]
    Unfinished { missing: u64, points: u64 },
    /// Results that can't be kept, as on a full disk.
    #[error(
        "{source}; {done} of {points} points are measured and kept: once that is fixed, the same \
         command measures the others"
    )]
    NotKept { source: Box<SweepError>, done: u64, points: u64 },
    /// A table that can't be written, as on a full disk.
    #[error(
        "{source}; all {points} points are measured and kept in {}: once that is fixed, the same \
         command writes the table", journal.display()
    )]
    NoTable { source: Box<SweepError>, points: u64, journal: PathBuf },
    /// A sweep that was stopped.
    #[error(
        "stopped; {done} of {points} points are measured and kept in {}: the same command \
         measures the others", journal.display()
    )]
    Stopped { done: u64, points: u64, journal: PathBuf },
    #[error("cannot write {}: {reason}", path.display())]
    Table { path: PathBuf, reason: String },
}
