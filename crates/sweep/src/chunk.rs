//! What a worker receives and returns: some points as bytes, and their rows as bytes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flashlag_runner::program;
use flashlag_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::error::SweepError;
use crate::grid::{Grid, Texts};
use crate::measure::{Bench, Stopped};
use crate::point::Point;
use crate::row::Measured;
use crate::sealed::{self, SealError};

/// Maximum number of points in a chunk, which is what a dying worker loses.
pub const MOST_IN_CHUNK: u64 = 10_000;

/// The version of the program that made something: figures of two versions must not be mixed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Version {
    version: String,
    commit: Option<String>,
}

impl Version {
    /// This program.
    pub fn own() -> Version {
        let program = program();
        Version { version: program.version, commit: program.commit.value().cloned() }
    }

    /// As people write it: `0.1.0 (0123abc)`.
    pub fn text(&self) -> String {
        match &self.commit {
            Some(commit) => format!("{} ({commit})", self.version),
            None => self.version.clone(),
        }
    }

    /// The version number alone, which the table stores: the Python package does not know its
    /// commit.
    pub fn number(self) -> String {
        self.version
    }

    /// Whether figures of the two may be in one table.
    fn fits(&self, other: &Version) -> bool {
        let commits = self.commit.as_ref().zip(other.commit.as_ref());
        self.version == other.version && commits.is_none_or(|(one, two)| one == two)
    }

    /// Refuses what another version made.
    pub fn check(&self, what: impl Into<String>) -> Result<(), SweepError> {
        let own = Version::own();
        if self.fits(&own) {
            return Ok(());
        }
        let (theirs, ours) = (self.text(), own.text());
        Err(SweepError::OtherVersion { what: what.into(), theirs, ours })
    }
}

/// The bytes begin with the version, so that those of another version, with another layout, are
/// refused by name.
#[derive(Debug, Serialize, Deserialize)]
struct Head<T> {
    version: Version,
    /// The sealed rest.
    body: T,
}

/// Points for a worker, with everything that it needs.
#[derive(Debug, Serialize, Deserialize)]
struct Chunk {
    grid: String,
    index: u64,
    texts: Texts,
    points: Vec<Point>,
}

/// The results of a chunk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Results {
    /// The hash of the grid.
    pub grid: String,
    /// The chunk's index.
    pub index: u64,
    /// The result of each point, in order.
    pub points: Vec<Measured>,
}

fn wrap<T: Serialize>(what: &'static str, body: &T) -> Result<Vec<u8>, SweepError> {
    let damaged = |fault: SealError| SweepError::Damaged { what, reason: fault.to_string() };
    let body = sealed::seal(body).map_err(damaged)?;
    sealed::seal(&Head { version: Version::own(), body }).map_err(damaged)
}

fn unwrap<T: serde::de::DeserializeOwned>(
    what: &'static str,
    bytes: &[u8],
) -> Result<T, SweepError> {
    let damaged = |fault: SealError| SweepError::Damaged { what, reason: fault.to_string() };
    let head: Head<Vec<u8>> = sealed::open(bytes).map_err(damaged)?;
    head.version.check(what)?;
    sealed::open(&head.body).map_err(damaged)
}

/// A grid in chunks.
#[derive(Debug)]
pub(crate) struct Chunks {
    pub grid: Grid,
    /// The grid's hash.
    pub hash: String,
    /// Points per chunk; the last chunk may have fewer.
    pub size: u64,
}

impl Chunks {
    /// Number of chunks.
    pub fn count(&self) -> u64 {
        self.grid.points().div_ceil(self.size)
    }

    /// Points of a chunk.
    pub fn points_of(&self, index: u64) -> u64 {
        self.size.min(self.grid.points().saturating_sub(index.saturating_mul(self.size)))
    }

    /// A chunk as bytes.
    pub fn bytes(&self, index: u64) -> Result<Vec<u8>, SweepError> {
        let count = self.count();
        if index >= count {
            return Err(SweepError::NoChunk { index, count });
        }
        let first = index * self.size;
        let range = first..first + self.points_of(index);
        let points: Vec<Point> = range.filter_map(|index| self.grid.point(index)).collect();
        let texts = self.grid.texts_of(&points);
        wrap("a chunk", &Chunk { grid: self.hash.clone(), index, texts, points })
    }
}

/// Measures the points of a chunk. Needs nothing but its bytes; returns the same bytes on any
/// machine.
pub fn measure(chunk: &[u8]) -> Result<Vec<u8>, SweepError> {
    match measure_until(chunk, &Arc::new(AtomicBool::new(false)))? {
        Ok(results) => Ok(results),
        Err(Stopped) => Err(SweepError::Damaged {
            what: "a chunk",
            reason: "its simulation was stopped".to_owned(),
        }),
    }
}

/// As [`measure`], until `stop` is set.
pub(crate) fn measure_until(
    chunk: &[u8],
    stop: &Arc<AtomicBool>,
) -> Result<Result<Vec<u8>, Stopped>, SweepError> {
    let Chunk { grid, index, texts, points } = unwrap("a chunk", chunk)?;
    let mut bench = Bench::new(&texts, Arc::clone(stop));
    let measured: Result<Vec<Measured>, Stopped> =
        points.iter().map(|point| bench.measure(point, &mut |_| ())).collect();
    let Ok(points) = measured else { return Ok(Err(Stopped)) };
    wrap("a worker's results", &Results { grid, index, points }).map(Ok)
}

/// Progress with a point of a chunk.
pub(crate) enum Happened {
    /// It begins; its fill leaves this much space free.
    Begins(Option<Bytes>),
    /// It is measured.
    Ended(Measured),
}

/// Measures the points of a chunk except the first `skip`, and calls `tell` for each.
///
/// # Errors
/// The bytes are no chunk, or a chunk of another version; or `tell` fails.
pub(crate) fn measure_each(
    chunk: &[u8],
    skip: u64,
    tell: &mut dyn FnMut(Happened) -> io::Result<()>,
) -> Result<(), SweepError> {
    let Chunk { texts, points, .. } = unwrap("a chunk", chunk)?;
    let mut bench = Bench::new(&texts, Arc::new(AtomicBool::new(false)));
    let gone = |source| SweepError::Worker { reason: format!("the sweep is gone: {source}") };
    let skip = usize::try_from(skip).unwrap_or(usize::MAX);
    for point in points.iter().skip(skip) {
        let mut reported = Ok(());
        let measured = bench.measure(point, &mut |leave| reported = tell(Happened::Begins(leave)));
        reported.map_err(gone)?;
        // This bench has no stop flag, so nothing stops it.
        if let Ok(measured) = measured {
            tell(Happened::Ended(measured)).map_err(gone)?;
        }
    }
    Ok(())
}

/// Combines points that were measured one by one into the results that [`measure`] returns.
pub(crate) fn results_of(
    chunks: &Chunks,
    index: u64,
    points: Vec<Measured>,
) -> Result<Vec<u8>, SweepError> {
    wrap("a worker's results", &Results { grid: chunks.hash.clone(), index, points })
}

/// Decodes the results that a worker returned.
pub(crate) fn results(bytes: &[u8]) -> Result<Results, SweepError> {
    unwrap("a worker's results", bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_or_commit_is_refused_by_name_and_an_unknown_commit_is_not() {
        let of = |version: &str, commit: Option<&str>| Version {
            version: version.to_owned(),
            commit: commit.map(str::to_owned),
        };
        assert!(of("1", None).fits(&of("1", Some("a"))));
        assert!(of("1", Some("a")).fits(&of("1", Some("a"))));
        assert!(!of("1", Some("a")).fits(&of("1", Some("b"))));
        assert!(!of("1", None).fits(&of("2", None)));
        let head = Head { version: of("0.0.9", None), body: Vec::<u8>::new() };
        let error = measure(&sealed::seal(&head).unwrap()).unwrap_err().to_string();
        assert!(error.starts_with("a chunk is of flashlag 0.0.9, this is "), "{error}");
    }
}
