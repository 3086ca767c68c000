//! Reads single columns of a Parquet file as flashlag and most other programs write them: flat,
//! uncompressed, plain or by a dictionary.
//!
//! The library that writes such files reads them too, but is 0.4 MB larger by that, and ends the
//! program by a panic at some damaged files.

mod cell;
mod footer;
mod page;
mod thrift;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use thiserror::Error;

use footer::{Chunk, Footer, MAGIC, Type};
use page::{Dictionary, PageHead, visit};

pub use cell::Cell;

/// The largest footer to read; that of a million rows has some kilobytes.
const MOST_FOOTER: u64 = 64 << 20;

/// The largest page to read; flashlag's have a megabyte.
const MOST_PAGE: usize = 256 << 20;

/// Bytes in which a page's head is looked for: it may hold the smallest and the largest cell.
const MOST_HEAD: u64 = 64 << 10;

/// The most rows of a table: more than a million runs, and a bound for a damaged file.
const MOST_ROWS: usize = 20_000_000;

/// Why no run can be placed in a file.
#[derive(Debug, Error)]
pub enum ColumnError {
    #[error("cannot read {}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error("cannot read {} as a table in Parquet: {reason}. {MADE_BY}", path.display())]
    NoTable { path: PathBuf, reason: &'static str },
    #[error("{} has no column `{column}`. {MADE_BY}", path.display())]
    NoColumn { path: PathBuf, column: &'static str },
    #[error("cannot read the column `{column}` of {}: {reason}. {MADE_BY}", path.display())]
    Column { path: PathBuf, column: &'static str, reason: &'static str },
}

/// Where to get such a table.
const MADE_BY: &str = "Such a table is data/phases.parquet of a site, or made by `flashlag store \
                       query --from phases -o results.parquet`";

/// What is done with each cell of a column: its row, from 0, and the cell.
pub type Visit<'a> = &'a mut dyn FnMut(usize, Cell<'_>);

/// The columns of a file.
pub struct Columns {
    path: PathBuf,
    file: File,
    footer: Footer,
}

/// Why a column can't be read.
enum Failure {
    Io(io::Error),
    Reason(&'static str),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Failure::Reason("it ends too early"),
            _ => Failure::Io(error),
        }
    }
}

const DAMAGED: Failure = Failure::Reason("it is damaged");

impl Columns {
    /// Reads what a file says about its columns, and none of them.
    pub fn open(path: &Path) -> Result<Columns, ColumnError> {
        let path = path.to_owned();
        let read = File::open(&path).map_err(Failure::Io).and_then(|mut file| {
            let footer = footer_of(&mut file)?;
            Ok((file, footer))
        });
        match read {
            Ok((file, footer)) => Ok(Columns { path, file, footer }),
            Err(Failure::Io(error)) => Err(ColumnError::Io { path, error }),
            Err(Failure::Reason(reason)) => Err(ColumnError::NoTable { path, reason }),
        }
    }

    /// Visits every cell of a column, and returns how many there are.
    pub fn each(&self, column: &'static str, visit: Visit<'_>) -> Result<usize, ColumnError> {
        let path = || self.path.clone();
        let columns = &self.footer.columns;
        let Some(place) = columns.iter().position(|it| it.name == column.as_bytes()) else {
            return Err(ColumnError::NoColumn { path: path(), column });
        };
        let mut row = 0;
        for chunk in self.footer.groups.iter().filter_map(|group| group.get(place)) {
            let failed = match self.chunk(place, chunk, row, visit) {
                Ok(after) => {
                    row = after;
                    continue;
                }
                Err(failed) => failed,
            };
            return Err(match failed {
                Failure::Io(error) => ColumnError::Io { path: path(), error },
                Failure::Reason(reason) => ColumnError::Column { path: path(), column, reason },
            });
        }
        Ok(row)
    }

    /// The error of a file whose columns are not equally long.
    pub fn uneven(&self, column: &'static str) -> ColumnError {
        ColumnError::Column {
            path: self.path.clone(),
            column,
            reason: "it is not as long as others",
        }
    }

    /// Visits the cells of a chunk, and returns the row after them.
    fn chunk(
        &self,
        column: usize,
        chunk: &Chunk,
        first: usize,
        each: Visit<'_>,
    ) -> Result<usize, Failure> {
        let head = self.footer.columns.get(column).ok_or(DAMAGED)?;
        if head.cells == Type::Other {
            return Err(Failure::Reason("it has a type that flashlag does not write"));
        }
        if chunk.is_compressed {
            return Err(Failure::Reason("it is compressed, and flashlag writes it plainly"));
        }
        let (mut at, end) = (chunk.start, chunk.start.checked_add(chunk.length).ok_or(DAMAGED)?);
        let last = first.checked_add(chunk.cells).ok_or(DAMAGED)?;
        if last > MOST_ROWS {
            return Err(Failure::Reason("it has more than 20,000,000 rows"));
        }
        let (mut dictionary, mut row) = (Dictionary::default(), first);
        while row < last {
            let room = end.checked_sub(at).filter(|room| *room > 0).ok_or(DAMAGED)?;
            let bytes = read_at(&self.file, at, room.min(MOST_HEAD))?;
            let (page, length) = PageHead::of(&bytes).ok_or(DAMAGED)?;
            if page.length > MOST_PAGE || (page.is_data() && page.cells > last - row) {
                return Err(DAMAGED);
            }
            let bytes = read_at(&self.file, at + length as u64, page.length as u64)?;
            at += (length + page.length) as u64;
            if page.is_dictionary() {
                dictionary = Dictionary::of(&page, bytes, head.cells).ok_or(DAMAGED)?;
            } else if page.is_data() {
                let column = (head.cells, head.is_optional);
                visit(&page, &bytes, column, &dictionary, &mut |cell| {
                    each(row, cell);
                    row += 1;
                })
                .ok_or(Failure::Reason("it is damaged, or stored as flashlag does not"))?;
            }
        }
        Ok(row)
    }
}

/// The footer is before the last eight bytes, which have its length.
fn footer_of(file: &mut File) -> Result<Footer, Failure> {
    const NO_PARQUET: Failure = Failure::Reason("it is no Parquet file");
    let length = file.seek(SeekFrom::End(0))?;
    let end = length.checked_sub(8).filter(|end| *end >= 4).ok_or(NO_PARQUET)?;
    let begin = read_at(file, 0, 4)?;
    let tail = read_at(file, end, 8)?;
    let (size, magic) = tail.split_first_chunk::<4>().ok_or(NO_PARQUET)?;
    if begin != MAGIC || magic != MAGIC {
        return Err(NO_PARQUET);
    }
    let size = u64::from(u32::from_le_bytes(*size));
    let start = end.checked_sub(size).filter(|_| size <= MOST_FOOTER).ok_or(DAMAGED)?;
    let footer = Footer::of(&read_at(file, start, size)?).ok_or(DAMAGED)?;
    if footer.is_nested {
        return Err(Failure::Reason("it has lists, or columns within columns"));
    }
    Ok(footer)
}

fn read_at(mut file: &File, at: u64, length: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(at))?;
    file.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(Failure::Reason("it ends too early")) }
}
