//! Errors of a sweep.

use std::io;
use std::path::PathBuf;

use flashlag_runner::RunError;
use thiserror::Error;

/// What is wrong with a grid, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GridError {
    /// No TOML, a key that no grid has, or a value of another type.
    #[error("line {line}: {message}")]
    Text {
        /// The line, from 1 on.
        line: usize,
        /// The reader's message, with the name that was probably meant.
        message: String,
    },
    /// A value that its key can't have.
    #[error("{place}`{key}`: {reason}")]
    Value {
        /// The points that it belongs to: `points 2: `; empty for all.
        place: String,
        /// The key: `full`, `set.durable`.
        key: String,
        /// What is wrong, and what is allowed.
        reason: String,
    },
    /// Two lists of points that have some in common.
    #[error(
        "points {first} and {second} have some in common, which would be in the table twice: leave them \
         out of one of the two"
    )]
    Overlap {
        /// Number of the first, from 1 on.
        first: usize,
        /// Number of the second.
        second: usize,
    },
    /// More points than can be counted.
    #[error("the grid has more than {most} points: give fewer values, or several grids")]
    TooMany {
        /// The most points of a grid.
        most: u64,
    },
}

/// Why a sweep can't begin, go on or end.
#[derive(Debug, Error)]
pub enum SweepError {
    /// A grid that can't be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The grid's file.
        path: PathBuf,
        /// The system's message.
        source: io::Error,
    },
    /// A grid that is none.
    #[error("{}: {source}", path.display())]
    Grid {
        /// The grid's file.
        path: PathBuf,
        /// What is wrong, and what is allowed.
        source: GridError,
    },
    /// An output that must not be replaced, or can't be written.
    #[error(transparent)]
    Output(#[from] RunError),
    /// A file that can't be read or written.
    #[error("cannot {operation} {}: {source}", path.display())]
    File {
        /// What was tried: `write`.
        operation: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's message.
        source: io::Error,
    },
    /// A file in the journal's place that is none.
    #[error(
        "{} is no journal of a sweep: move it away, or give another output", path.display()
    )]
    NoJournal {
        /// The file.
        path: PathBuf,
    },
    /// A journal of another grid.
    #[error(
        "{} is of another grid ({had} points; this one has {has}): give another output for the changed \
         grid, or begin anew with --force, which drops the measured points", path.display()
    )]
    OtherGrid {
        /// The journal.
        path: PathBuf,
        /// Points of the grid that it is of.
        had: u64,
        /// Points of this grid.
        has: u64,
    },
    /// A journal, a chunk or results of another flashlag.
    #[error(
        "{what} is of flashlag {theirs}, this is {ours}: figures of two versions don't belong in one \
         table. Use the same version everywhere, or begin anew with --force"
    )]
    OtherVersion {
        /// What is of the other version: the journal's path, `a chunk`, `a worker's results`.
        what: String,
        /// The other version.
        theirs: String,
        /// This program's version.
        ours: String,
    },
    /// A journal that another process writes.
    #[error(
        "another sweep writes {}: wait for it, or give another output", path.display()
    )]
    InUse {
        /// The journal.
        path: PathBuf,
    },
    /// Worker processes that can't work.
    #[error("a worker process can't measure: {reason}")]
    Worker {
        /// What is wrong.
        reason: String,
    },
    /// Bytes that are no chunk or no results.
    #[error("{what} arrived damaged: {reason}; send it again")]
    Damaged {
        /// What it should be: `a chunk`.
        what: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// Results of another sweep.
    #[error("results of another sweep (grid {theirs:.12}, this one is {ours:.12})")]
    OtherSweep {
        /// The grid that they are of.
        theirs: String,
        /// The grid of the sweep.
        ours: String,
    },
    /// A chunk that the sweep does not have.
    #[error("chunk {index} does not exist: the sweep has {count}, counted from 0")]
    NoChunk {
        /// The index.
        index: u64,
        /// Number of chunks.
        count: u64,
    },
    /// A table that was to be written before all points are measured.
    #[error(
        "{missing} of {points} points are not measured yet: the same command goes on with them"
    )]
    Unfinished {
        /// Points without rows.
        missing: u64,
        /// All points.
        points: u64,
    },
    /// Results that can't be kept, as on a full disk.
    #[error(
        "{source}; {done} of {points} points are measured and kept: once that is mended, the same \
         command goes on with the others"
    )]
    NotKept {
        /// What the journal said.
        source: Box<SweepError>,
        /// Points that are kept.
        done: u64,
        /// All points.
        points: u64,
    },
    /// A table that can't be written, as on a full disk.
    #[error(
        "{source}; all {points} points are measured and kept in {}: once that is mended, the same \
         command writes the table", journal.display()
    )]
    NoTable {
        /// What the table's writer said.
        source: Box<SweepError>,
        /// All points.
        points: u64,
        /// The journal.
        journal: PathBuf,
    },
    /// A sweep that was stopped.
    #[error(
        "stopped; {done} of {points} points are measured and kept in {}: the same command goes on \
         with the others", journal.display()
    )]
    Stopped {
        /// Points that are kept.
        done: u64,
        /// All points.
        points: u64,
        /// The journal.
        journal: PathBuf,
    },
    /// The table's writer.
    #[error("cannot write {}: {reason}", path.display())]
    Table {
        /// The output.
        path: PathBuf,
        /// The writer's message.
        reason: String,
    },
}
