//! Writes the table, one row group after another; a reader never sees an incomplete file.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flashlag_spec::profile::Profile;
use flashlag_units::IntoOrder;
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};

use super::column::{COLUMNS, Cell, Column, Kind, Record, schema};
use crate::chunk::{Chunks, Version};
use crate::error::SweepError;
use crate::point::Point;
use crate::row::{Measured, Outcome, Row};

/// A finished sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The table.
    pub output: PathBuf,
    pub points: u64,
    pub rows: u64,
    /// Rows of what failed.
    pub failed: u64,
    /// Rows of what was skipped.
    pub skipped: u64,
    /// The error of the first row that has failed.
    pub first_error: Option<String>,
}

/// Rows per row group: their histograms take some ten megabytes of memory.
const GROUP: usize = 16_384;

/// The results of the next chunk, in the order of the grid; `None` for one that is not measured.
type Next<'a> = &'a mut dyn FnMut() -> Result<Option<Vec<Measured>>, SweepError>;

/// A row and its point.
struct Kept {
    index: u64,
    id: Arc<str>,
    command: Arc<str>,
    filesystem: Arc<str>,
    point: Arc<Point>,
    row: Row,
}

impl Kept {
    fn record(&self) -> Record<'_> {
        let Kept { index, id, command, filesystem, point, row } = self;
        Record { index: *index, id, command, filesystem, point, row }
    }
}

/// Writes the table of a grid whose chunks `next` returns. The file appears as a whole, or not at
/// all.
pub(crate) fn write(
    chunks: &Chunks,
    output: &Path,
    next: Next<'_>,
) -> Result<Finished, SweepError> {
    let failed =
        |operation, source| SweepError::File { operation, path: output.to_owned(), source };
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new();
    // Give it the permissions of any file that this user creates.
    let temporary = temporary.prefix(".flashlag-sweep-").permissions(permissions());
    let file = temporary.tempfile_in(folder).map_err(|source| failed("write", source))?;
    let mut table = Table::begin(chunks, file.as_file(), output)?;
    for _ in 0..chunks.count() {
        let Some(points) = next()? else { continue };
        table.add(points)?;
    }
    let finished = table.end()?;
    file.as_file().sync_all().map_err(|source| failed("write", source))?;
    file.persist(output).map_err(|error| failed("write", error.error))?;
    let folder = File::open(folder).and_then(|folder| folder.sync_all());
    folder.map_err(|source| failed("write", source))?;
    Ok(finished)
}

fn permissions() -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    // The kernel clears the bits of the user's umask.
    std::fs::Permissions::from_mode(0o666)
}

/// Where a table is written: of the type that other tables are written to, for which the library is compiled anyway.
type Output<'a> = Box<dyn std::io::Write + Send + 'a>;

/// A table under way.
struct Table<'a> {
    chunks: &'a Chunks,
    output: &'a Path,
    writer: SerializedFileWriter<Output<'a>>,
    rows: Vec<Kept>,
    /// The filesystem of each profile.
    own: BTreeMap<String, Arc<str>>,
    finished: Finished,
}

impl<'a> Table<'a> {
    fn begin(
        chunks: &'a Chunks,
        file: &'a File,
        output: &'a Path,
    ) -> Result<Table<'a>, SweepError> {
        let refuse = |error: ParquetError| refused(output, &error);
        let said = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
        let about = vec![
            said("flashlag.version", Version::own().number()),
            said("flashlag.sweep", chunks.grid.name().to_owned()),
            said("flashlag.grid", chunks.hash.clone()),
            said("flashlag.points", chunks.grid.points().to_string()),
        ];
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by("flashlag".to_owned())
            .set_key_value_metadata(Some(about))
            .build();
        let schema = schema().map_err(refuse)?;
        let file: Output<'a> = Box::new(file);
        let writer = SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
            .map_err(refuse)?;
        let own = |(name, text): (&String, &String)| {
            let filesystem = Profile::parse(text).map(|profile| profile.filesystem);
            (name.clone(), Arc::from(filesystem.unwrap_or_default()))
        };
        let own = chunks.grid.texts().profiles.iter().map(own).into_map();
        let finished = Finished {
            output: output.to_owned(),
            points: 0,
            rows: 0,
            failed: 0,
            skipped: 0,
            first_error: None,
        };
        Ok(Table { chunks, output, writer, rows: Vec::new(), own, finished })
    }

    /// Adds the next points.
    fn add(&mut self, points: Vec<Measured>) -> Result<(), SweepError> {
        for measured in points {
            let index = self.finished.points;
            self.finished.points += 1;
            let Some(point) = self.chunks.grid.point(index) else { continue };
            let own = self.own.get(&point.profile).cloned().unwrap_or_else(|| Arc::from(""));
            let filesystem = if point.filesystem.is_empty() {
                Arc::clone(&own)
            } else {
                Arc::from(point.filesystem.as_str())
            };
            let id: Arc<str> = Arc::from(point.id());
            let command: Arc<str> = Arc::from(point.command(&own, measured.leave));
            let point = Arc::new(point);
            for row in measured.rows {
                self.count(&row);
                self.rows.push(Kept {
                    index,
                    id: Arc::clone(&id),
                    command: Arc::clone(&command),
                    filesystem: Arc::clone(&filesystem),
                    point: Arc::clone(&point),
                    row,
                });
                if self.rows.len() == GROUP {
                    self.write_group()?;
                }
            }
        }
        Ok(())
    }

    fn count(&mut self, row: &Row) {
        self.finished.rows += 1;
        match row.outcome {
            Outcome::Done => {}
            Outcome::Skipped => self.finished.skipped += 1,
            Outcome::Failed => {
                self.finished.failed += 1;
                if self.finished.first_error.is_none() {
                    self.finished.first_error.clone_from(&row.error);
                }
            }
        }
    }

    fn write_group(&mut self) -> Result<(), SweepError> {
        let rows = std::mem::take(&mut self.rows);
        if rows.is_empty() {
            return Ok(());
        }
        let output = self.output;
        let mut group = self.writer.next_row_group().map_err(|error| refused(output, &error))?;
        for column in &COLUMNS {
            let cells = rows.iter().map(|row| (column.cell)(&row.record()));
            let written = match group.next_column() {
                Ok(Some(mut writer)) => {
                    write_column(&mut writer, column, cells).and_then(|()| writer.close())
                }
                Ok(None) => Err(ParquetError::General(format!("no column {}", column.name))),
                Err(error) => Err(error),
            };
            written.map_err(|error| refused(output, &error))?;
        }
        group.close().map(drop).map_err(|error| refused(output, &error))
    }

    fn end(mut self) -> Result<Finished, SweepError> {
        self.write_group()?;
        let output = self.output;
        self.writer.close().map_err(|error| refused(output, &error))?;
        Ok(self.finished)
    }
}

fn refused(output: &Path, error: &ParquetError) -> SweepError {
    SweepError::Table { path: output.to_owned(), reason: error.to_string() }
}

/// Writes the cells of one column of a group.
fn write_column(
    writer: &mut SerializedColumnWriter<'_>,
    column: &Column,
    cells: impl Iterator<Item = Cell>,
) -> Result<(), ParquetError> {
    let cells: Vec<Cell> = cells.collect();
    let here = |cell: &Cell| i16::from(*cell != Cell::Absent);
    let levels: Vec<i16> = cells.iter().map(here).collect();
    let levels = column.optional.then_some(levels.as_slice());
    match column.kind {
        Kind::Text => {
            let text = |cell| match cell {
                Cell::Text(text) => Some(ByteArray::from(text.into_bytes())),
                _ => None,
            };
            let values: Vec<ByteArray> = cells.into_iter().filter_map(text).collect();
            writer.typed::<ByteArrayType>().write_batch(&values, levels, None)?;
        }
        Kind::Whole => {
            let whole = |cell: &Cell| match cell {
                Cell::Whole(value) => Some(value.cast_signed()),
                _ => None,
            };
            let values: Vec<i64> = cells.iter().filter_map(whole).collect();
            writer.typed::<Int64Type>().write_batch(&values, levels, None)?;
        }
        Kind::Number => {
            let number = |cell: &Cell| match cell {
                Cell::Number(value) => Some(*value),
                _ => None,
            };
            let values: Vec<f64> = cells.iter().filter_map(number).collect();
            writer.typed::<DoubleType>().write_batch(&values, levels, None)?;
        }
        Kind::List => {
            let lists = Lists::of(&cells);
            writer.typed::<Int64Type>().write_batch(
                &lists.values,
                Some(&lists.defined),
                Some(&lists.repeated),
            )?;
        }
    }
    Ok(())
}

/// Lists in Parquet's encoding: for each element, empty list or missing list, a definition level
/// (how much of it exists) and a repetition level (whether it continues the list).
#[derive(Debug, Default, PartialEq)]
struct Lists {
    values: Vec<i64>,
    /// 0: no list; 1: an empty one; 2: an element.
    defined: Vec<i16>,
    /// 0: a new list; 1: the next element of the same.
    repeated: Vec<i16>,
}

impl Lists {
    fn of(cells: &[Cell]) -> Lists {
        let mut lists = Lists::default();
        for cell in cells {
            let list = match cell {
                Cell::List(list) if !list.is_empty() => list,
                other => {
                    lists.defined.push(i16::from(*other != Cell::Absent));
                    lists.repeated.push(0);
                    continue;
                }
            };
            for (place, value) in list.iter().enumerate() {
                lists.values.push(value.cast_signed());
                lists.defined.push(2);
                lists.repeated.push(i16::from(place > 0));
            }
        }
        lists
    }
}
