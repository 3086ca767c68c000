//! A sweep in progress: a grid, the journal beside its output, and finally the table.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flashlag_runner::{Destination, OutputKind};

use crate::chunk::{Chunks, MOST_IN_CHUNK, Version, results};
use crate::error::SweepError;
use crate::grid::Grid;
use crate::journal::{Head, Journal};
use crate::table;
use crate::table::Finished;

/// Default number of points per chunk: half a second of a worker's time.
const CHUNK: u64 = 50;

/// How a sweep is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweepOptions {
    /// Points per chunk; `None` for 50, or the size in an existing journal. The table does not
    /// depend on it.
    pub chunk: Option<u64>,
    /// Starts from scratch: drops a journal, replaces an output.
    pub force: bool,
}

/// A sweep that is not finished.
#[derive(Debug)]
pub struct Sweep {
    chunks: Arc<Chunks>,
    output: PathBuf,
    journal: Journal,
    cut: u64,
}

/// The journal of an output: its path, with `.journal` appended.
pub fn journal_of(output: &Path) -> PathBuf {
    let mut name = output.file_name().map(OsString::from).unwrap_or_default();
    name.push(".journal");
    output.with_file_name(name)
}

impl Sweep {
    /// Begins a sweep, or continues one that was killed.
    ///
    /// # Errors
    /// An output that must not be replaced; a journal of another grid or version, or one that
    /// another process writes.
    pub fn open(grid: Grid, output: &Path, options: SweepOptions) -> Result<Sweep, SweepError> {
        let path = journal_of(output);
        // A table beside its journal is from a sweep that was killed after writing it: write it
        // again.
        let resumes = !options.force && path.exists();
        Destination::check(output, OutputKind::Export, options.force || resumes)?;
        let hash = grid.hash();
        let head = Head {
            version: Version::own(),
            grid: hash.clone(),
            points: grid.points(),
            chunk: options.chunk.unwrap_or(CHUNK).clamp(1, MOST_IN_CHUNK),
        };
        let (journal, head, cut) = Journal::open(&path, &head, options.force)?;
        let chunks = Arc::new(Chunks { grid, hash, size: head.chunk });
        Ok(Sweep { chunks, output: output.to_owned(), journal, cut })
    }

    /// The grid.
    pub fn grid(&self) -> &Grid {
        &self.chunks.grid
    }

    /// The grid in chunks, for threads.
    pub(crate) fn shared(&self) -> Arc<Chunks> {
        Arc::clone(&self.chunks)
    }

    /// Number of chunks.
    pub fn chunks(&self) -> u64 {
        self.chunks.count()
    }

    /// Points whose rows are kept.
    pub fn done(&self) -> u64 {
        let size = self.chunks.size;
        let whole = self.journal.done() * size;
        match self.chunks().checked_sub(1) {
            // The last chunk may be shorter.
            Some(last) if self.journal.has(last) => whole + self.chunks.points_of(last) - size,
            _ => whole,
        }
    }

    /// Length of the torn frame that was cut off at the journal's end.
    pub fn cut(&self) -> u64 {
        self.cut
    }

    /// The first chunk at or after `from` that is not measured.
    pub fn next_missing(&self, from: u64) -> Option<u64> {
        (from..self.chunks()).find(|index| !self.journal.has(*index))
    }

    /// A chunk's points, for [`measure`](crate::measure) on any machine.
    pub fn chunk(&self, index: u64) -> Result<Vec<u8>, SweepError> {
        self.chunks.bytes(index)
    }

    /// Stores the results of a chunk; `false` if they were already there because two workers
    /// measured it. When it returns, they are on the disk.
    ///
    /// # Errors
    /// Bytes that are no results, or results of another sweep or version; a journal that can't be
    /// written.
    pub fn add(&mut self, bytes: &[u8]) -> Result<bool, SweepError> {
        let found = results(bytes)?;
        if found.grid != self.chunks.hash {
            return Err(SweepError::OtherSweep {
                theirs: found.grid,
                ours: self.chunks.hash.clone(),
            });
        }
        if found.points.len() as u64 != self.chunks.points_of(found.index) {
            let reason = format!("chunk {} has {} points", found.index, found.points.len());
            return Err(SweepError::Damaged { what: "a worker's results", reason });
        }
        let kept = self.journal.add(found.index, bytes);
        kept.map_err(|source| SweepError::NotKept {
            source: Box::new(source),
            done: self.done(),
            points: self.grid().points(),
        })
    }

    /// The error that reports a sweep stopped at this point.
    pub fn stopped(&self) -> SweepError {
        SweepError::Stopped {
            done: self.done(),
            points: self.grid().points(),
            journal: journal_of(&self.output),
        }
    }

    /// Writes the table atomically, then removes the journal.
    ///
    /// # Errors
    /// Points that are not measured, or a table that can't be written: the journal stays.
    pub fn finish(mut self) -> Result<Finished, SweepError> {
        let points = self.grid().points();
        let missing = points - self.done();
        if missing > 0 {
            return Err(SweepError::Unfinished { missing, points });
        }
        let mut next = 0;
        let journal = &mut self.journal;
        let mut chunks = || {
            let results = journal.results(next)?;
            next += 1;
            Ok(results.map(|results| results.points))
        };
        let written = table::write(&self.chunks, &self.output, &mut chunks);
        let finished = written.map_err(|source| SweepError::NoTable {
            source: Box::new(source),
            points,
            journal: journal_of(&self.output),
        })?;
        self.journal.remove()?;
        Ok(finished)
    }
}
