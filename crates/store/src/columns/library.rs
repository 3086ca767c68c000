//! Reads columns with the `parquet` library, in a process of its own: the library panics at some
//! damaged files, and takes the memory that they ask for.
//!
//! Of the library it calls page readers and the readers of three types. Numbers are read as byte arrays of eight
//! bytes: its readers of numbers have encodings that nobody chooses by default, and unroll their bits for each width.

use std::fs::File;
use std::io::{self, BufRead, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Type};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::{FooterTail, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::ChunkReader;
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, Type as Schema};
#[cfg(target_os = "linux")]
use rustix::process::DumpableBehavior;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::cell::Cell;
use super::message::{BATCH, LONGEST_TEXT, Said, send};

/// The address space that the process may take: a table of any size needs a tenth of it beside the
/// program.
const MEMORY: u64 = 1 << 30;

/// Seconds of CPU that it may take.
const SECONDS: u64 = 60;

/// The most rows of a table: more than a million runs, and a bound for a damaged file.
const MOST_ROWS: usize = 20_000_000;

/// Why a table or a column can't be read.
enum Failure {
    NoColumn,
    Refused(String),
    /// The other end of the pipe is gone.
    Gone(io::Error),
}

impl From<ParquetError> for Failure {
    fn from(error: ParquetError) -> Failure {
        let text = error.to_string();
        let what = if text.contains("not supported") { "stored in another way" } else { "damaged" };
        Failure::Refused(format!("it is {what}: {}", text.trim_start_matches("Parquet error: ")))
    }
}

fn refused<T>(reason: &str) -> Result<T, Failure> {
    Err(Failure::Refused(reason.to_owned()))
}

/// Answers requests for columns of a table, with limits for this whole process.
pub fn be_a_reader(
    table: &Path,
    requests: &mut dyn BufRead,
    answers: &mut dyn Write,
) -> io::Result<()> {
    for (resource, most) in [(Resource::As, MEMORY), (Resource::Cpu, SECONDS), (Resource::Core, 0)]
    {
        let limit = getrlimit(resource);
        let current = Some(limit.current.map_or(most, |current| current.min(most)));
        // Without a limit, only a damaged table takes more.
        let _ = setrlimit(resource, Rlimit { current, ..limit });
    }
    // A panic that aborts leaves nothing behind.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    answer(table, requests, answers)
}

/// Answers each line of the requests, the name of a column, with its cells.
pub fn answer(table: &Path, requests: &mut dyn BufRead, answers: &mut dyn Write) -> io::Result<()> {
    let opened = Table::open(table);
    say(answers, opened.as_ref().err())?;
    let Ok(table) = opened else { return Ok(()) };
    for column in requests.lines() {
        let failure = table.column(&column?, answers).err();
        say(answers, failure.as_ref())?;
    }
    Ok(())
}

/// Says how something ended.
fn say(answers: &mut dyn Write, failure: Option<&Failure>) -> io::Result<()> {
    let said = match failure {
        None => Said::Done,
        Some(Failure::NoColumn) => Said::NoColumn,
        Some(Failure::Refused(reason)) => Said::Refused(reason),
        Some(Failure::Gone(error)) => return Err(error.kind().into()),
    };
    send(answers, &said)?;
    answers.flush()
}

/// A table, with what it says of itself at its end.
struct Table {
    file: Arc<File>,
    about: ParquetMetaData,
}

impl Table {
    fn open(path: &Path) -> Result<Table, Failure> {
        let io = |error: io::Error| Failure::Refused(error.to_string());
        let mut file = File::open(path).map_err(io)?;
        let length = file.seek(SeekFrom::End(0)).map_err(io)?;
        let Some(end) = length.checked_sub(8) else { return refused("it is no Parquet file") };
        let tail = FooterTail::try_from(file.get_bytes(end, 8)?.as_ref());
        let Ok(tail) = tail else { return refused("it is no Parquet file") };
        if tail.is_encrypted_footer() {
            return refused("it is encrypted");
        }
        let length = tail.metadata_length();
        let Some(start) = end.checked_sub(length as u64) else {
            return refused("it is damaged: it is shorter than it says");
        };
        let about = ParquetMetaDataReader::decode_metadata(&file.get_bytes(start, length)?)?;
        let rows = about.row_groups().iter().try_fold(0_usize, |rows, group| {
            rows.checked_add(usize::try_from(group.num_rows()).ok()?)
        });
        match rows {
            Some(0..=MOST_ROWS) => Ok(Table { file: Arc::new(file), about }),
            Some(_) => refused("it has more than 20,000,000 rows"),
            None => refused("it is damaged: it has less than no rows"),
        }
    }

    /// Sends the cells of a column.
    fn column(&self, name: &str, answers: &mut dyn Write) -> Result<(), Failure> {
        let columns = self.about.file_metadata().schema_descr().columns();
        let Some(at) = columns.iter().position(|it| it.path().parts() == [name]) else {
            return Err(Failure::NoColumn);
        };
        let column = Arc::clone(&columns[at]);
        match column.physical_type() {
            Type::BOOLEAN => {
                self.cells::<BoolType>(at, column, answers, |it| Ok(Cell::Boolean(*it)))
            }
            Type::INT64 => {
                self.cells::<FixedLenByteArrayType>(at, as_bytes(&column)?, answers, |it| {
                    Ok(Cell::Integer(i64::from_le_bytes(eight(it)?)))
                })
            }
            Type::DOUBLE => {
                self.cells::<FixedLenByteArrayType>(at, as_bytes(&column)?, answers, |it| {
                    Ok(Cell::Real(f64::from_le_bytes(eight(it)?)))
                })
            }
            Type::BYTE_ARRAY => self.cells::<ByteArrayType>(at, column, answers, text),
            _ => refused("it has a type that flashlag does not write"),
        }
    }

    fn cells<T: DataType>(
        &self,
        at: usize,
        column: ColumnDescPtr,
        answers: &mut dyn Write,
        cell: for<'a> fn(&'a T::T) -> Result<Cell<'a>, Failure>,
    ) -> Result<(), Failure> {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        for group in self.about.row_groups() {
            let Some(chunk) = group.columns().get(at) else {
                return refused("it is damaged: a group of rows lacks it");
            };
            readable(chunk.compression())?;
            let mut left = usize::try_from(group.num_rows()).unwrap_or(0);
            let pages = SerializedPageReader::new(Arc::clone(&self.file), chunk, left, None)?;
            let mut reader = ColumnReaderImpl::<T>::new(Arc::clone(&column), Box::new(pages));
            while left > 0 {
                levels.clear();
                values.clear();
                let most = left.min(BATCH);
                let (rows, ..) = reader.read_records(most, Some(&mut levels), None, &mut values)?;
                if rows == 0 {
                    return refused("it is damaged: it is shorter than it says");
                }
                left = left.saturating_sub(rows);
                if column.max_def_level() == 0 {
                    levels.resize(values.len(), 0);
                }
                let mut values = values.iter();
                let cells = levels.iter().map(|level| {
                    let is_here = *level == column.max_def_level();
                    match is_here.then(|| values.next()).flatten() {
                        Some(value) => cell(value),
                        None => Ok(Cell::Null),
                    }
                });
                let cells = cells.collect::<Result<Vec<_>, Failure>>()?;
                send(answers, &Said::Cells(cells)).map_err(Failure::Gone)?;
            }
        }
        Ok(())
    }
}

/// The same column, as one of byte arrays: the bytes are the same.
fn as_bytes(column: &ColumnDescriptor) -> Result<ColumnDescPtr, Failure> {
    let bytes = Schema::primitive_type_builder(column.name(), Type::FIXED_LEN_BYTE_ARRAY);
    let bytes = Arc::new(bytes.with_length(8).build()?);
    let (defined, repeated) = (column.max_def_level(), column.max_rep_level());
    Ok(Arc::new(ColumnDescriptor::new(bytes, defined, repeated, column.path().clone())))
}

fn eight(cell: &FixedLenByteArray) -> Result<[u8; 8], Failure> {
    cell.data().try_into().or_else(|_| refused("it is damaged: a number has not eight bytes"))
}

fn text(cell: &ByteArray) -> Result<Cell<'_>, Failure> {
    if cell.len() > LONGEST_TEXT {
        return refused("it has a text of more than 16 KiB");
    }
    Ok(Cell::Text(cell.as_utf8()?))
}

/// Refuses what would need another library.
fn readable(compression: Compression) -> Result<(), Failure> {
    match compression {
        Compression::UNCOMPRESSED | Compression::SNAPPY => Ok(()),
        other => {
            let form = other.to_string();
            let form = form.split('(').next().unwrap_or_default();
            Err(Failure::Refused(format!(
                "it is compressed with {form}: write it with compression='snappy', or with none"
            )))
        }
    }
}
