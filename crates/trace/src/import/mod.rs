//! Traces from the files of other tools: blktrace, ftrace, Perfetto, strace and others.

mod blkparse;
mod calls;
mod detect;
mod error;
mod ftrace;
mod kernel;
mod lines;
mod making;
mod pair;
mod perfetto;
mod rwbs;
mod strace;
mod table;
mod text;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read};

use flashlag_schema::trace::Trace;
use flashlag_spec::TraceSourceKind;
use flate2::bufread::{MultiGzDecoder, ZlibDecoder};

use crate::builder::MOST_EVENTS;
use crate::{recognize, stored};
pub use detect::InputFormat;
use detect::detect;
pub use error::ImportError;
pub use ftrace::{TracepointText, numbers_of_calls};
pub use kernel::{Descriptor, Look};
use lines::{Lines, Piece, Returns, has_returns_only};
use making::{LineImporter, Making, Verdict};
pub use table::{Columns, ColumnsError, TableError};
use text::HEAD;

/// A trace from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The format of the file.
    pub format: InputFormat,
    pub trace: Trace,
    /// Lines or records that are an event or a part of one. Together with skipped and damaged ones,
    /// empty lines and comments, they add up to the whole file. 0 for a stored trace, which is not
    /// counted.
    pub taken: u64,
}

/// How to read a file.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// The format; if absent, it is detected from the file's beginning.
    pub format: Option<InputFormat>,
    /// What the columns of a table hold; absent if the table has a published form or a header that
    /// says it.
    pub columns: Option<Columns>,
    /// The most events that are kept.
    pub most_events: usize,
}

impl Default for ImportOptions {
    fn default() -> ImportOptions {
        ImportOptions { format: None, columns: None, most_events: MOST_EVENTS }
    }
}

/// Reads a trace in a known format, or in the format that its beginning shows. Text compressed by gzip
/// is decompressed.
///
/// # Errors
/// The file can't be read, its format is not known, or there is nothing of a trace in it.
pub fn import(from: impl Read, format: Option<InputFormat>) -> Result<Imported, ImportError> {
    import_by(from, &ImportOptions { format, ..ImportOptions::default() })
}

/// As [`import`], with options.
///
/// # Errors
/// Fails as [`import`] does, and if the columns named are not those of the file.
pub fn import_by(from: impl Read, options: &ImportOptions) -> Result<Imported, ImportError> {
    whatever_packs_it(&mut BufReader::with_capacity(1 << 16, from), options)
}

// From here on the source is `dyn`: each kind of it would otherwise compile all readers again.
fn whatever_packs_it(
    from: &mut dyn BufRead,
    options: &ImportOptions,
) -> Result<Imported, ImportError> {
    let is_compressed = from.fill_buf().map_err(ImportError::Read)?.starts_with(&[0x1f, 0x8b]);
    if is_compressed {
        let mut from = BufReader::with_capacity(1 << 16, MultiGzDecoder::new(from));
        return plain(&mut from, options);
    }
    match zlib_at(from.fill_buf().map_err(ImportError::Read)?) {
        Some(at) => {
            from.consume(at);
            let mut from = BufReader::with_capacity(1 << 16, ZlibDecoder::new(from));
            let format = options.format.or(Some(InputFormat::Ftrace));
            plain(&mut from, &ImportOptions { format, ..options.clone() })
        }
        None => plain(from, options),
    }
}

/// Where the compressed output of `atrace -z` begins: after a line `TRACE:`, with a zlib header
/// (RFC 1950, section 2.2).
fn zlib_at(head: &[u8]) -> Option<usize> {
    const MARK: &[u8] = b"TRACE:\n";
    // Before that, atrace prints a line or two.
    let before = head.get(..head.len().min(4096))?;
    let at = before.windows(MARK.len()).position(|bytes| bytes == MARK)? + MARK.len();
    let [method, flags] = head.get(at..at + 2)?.try_into().ok()?;
    let is_zlib = method == 0x78 && u16::from_be_bytes([method, flags]) % 31 == 0;
    is_zlib.then_some(at)
}

fn plain(from: &mut dyn BufRead, options: &ImportOptions) -> Result<Imported, ImportError> {
    let head = head_of(from)?;
    if head.is_empty() {
        return Err(ImportError::Empty);
    }
    let is_text = !perfetto::is_trace(&head) && options.format != Some(InputFormat::Perfetto);
    if is_text && has_returns_only(&head) {
        let whole = Returns(std::io::Cursor::new(head).chain(from));
        let mut lines = BufReader::with_capacity(1 << 16, whole);
        return of_head(head_of(&mut lines)?, &mut lines, options);
    }
    of_head(head, from, options)
}

fn head_of(from: &mut dyn BufRead) -> Result<Vec<u8>, ImportError> {
    let mut head = Vec::new();
    from.take(HEAD).read_to_end(&mut head).map_err(ImportError::Read)?;
    Ok(head)
}

fn of_head(
    head: Vec<u8>,
    from: &mut dyn BufRead,
    options: &ImportOptions,
) -> Result<Imported, ImportError> {
    let format = match (options.format, &options.columns) {
        (Some(format), _) => format,
        (None, Some(_)) => InputFormat::BlockTable,
        (None, None) => detect(&head).ok_or_else(|| unknown(&head))?,
    };
    let most_events = options.most_events;
    let importer = importer_of(format, &head, options)?;
    let mut whole = std::io::Cursor::new(head).chain(from);
    let whole: &mut dyn BufRead = &mut whole;
    let (mut trace, taken) = match format {
        InputFormat::Stored => (stored::read_trace(whole, most_events)?, 0),
        InputFormat::Perfetto => packets_of(whole, most_events)?,
        _ => text_of(whole, format, importer, most_events)?,
    };
    name_processes(&mut trace);
    recognize(&mut trace);
    Ok(Imported { format, trace, taken })
}

fn packets_of(from: &mut dyn BufRead, most_events: usize) -> Result<(Trace, u64), ImportError> {
    let mut making = Making::new(TraceSourceKind::Perfetto, most_events);
    perfetto::Perfetto::default().read(from, &mut making).map_err(ImportError::Read)?;
    finished(making, InputFormat::Perfetto)
}

fn finished(mut making: Making, format: InputFormat) -> Result<(Trace, u64), ImportError> {
    let taken = making.lines_taken();
    // The counts of what was left out are a better error than that the file is empty.
    if taken == 0 && making.lacking() == 0 {
        return Err(ImportError::Nothing { format, damaged: making.damage() });
    }
    Ok((making.finish(), taken))
}

/// Why a file with this beginning is refused.
fn unknown(head: &[u8]) -> ImportError {
    let refusal = table::refusal(&String::from_utf8_lossy(head));
    refusal.map_or(ImportError::Unknown, ImportError::Table)
}

/// The reader of a line-based text format; `None` for other formats.
type Importer = Option<(TraceSourceKind, Box<dyn LineImporter>)>;

fn importer_of(
    format: InputFormat,
    head: &[u8],
    options: &ImportOptions,
) -> Result<Importer, ImportError> {
    let text = || String::from_utf8_lossy(head);
    Ok(Some(match format {
        InputFormat::Blkparse => {
            (TraceSourceKind::Blkparse, Box::new(blkparse::Blkparse::default()))
        }
        InputFormat::Ftrace => (TraceSourceKind::Ftrace, Box::new(ftrace::Ftrace::of(&text()))),
        InputFormat::Strace => (TraceSourceKind::Strace, Box::new(strace::Strace::of(&text()))),
        InputFormat::SystemCalls => {
            (TraceSourceKind::SystemCalls, Box::new(calls::Calls::default()))
        }
        InputFormat::BlockTable => {
            let table = table::BlockTable::of(&text(), options.columns.as_ref())?;
            (TraceSourceKind::BlockTable, Box::new(table))
        }
        InputFormat::Stored | InputFormat::Perfetto => return Ok(None),
    }))
}

fn text_of(
    from: &mut dyn BufRead,
    format: InputFormat,
    importer: Importer,
    most_events: usize,
) -> Result<(Trace, u64), ImportError> {
    let (kind, mut importer) = importer.ok_or(ImportError::Unknown)?;
    let mut making = Making::new(kind, most_events);
    let mut lines = Lines::new(from);
    let mut with_returns = 0_u64;
    loop {
        making.next_line();
        match lines.next() {
            Ok(Some(Piece::Line(line))) => {
                with_returns += u64::from(line.contains('\r'));
                match importer.line(line, &mut making) {
                    Verdict::Taken => making.taken(),
                    Verdict::Ignored => {}
                    Verdict::Damaged => making.damaged(),
                }
            }
            Ok(Some(Piece::TooLong)) => making.damaged(),
            Ok(None) => break,
            // The compressed file is truncated: keep what precedes the cut.
            Err(error) if making.lines_taken() > 0 => {
                making.builder.source().cut_off = true;
                making.limit(format!("The file can't be read to its end: {error}."));
                break;
            }
            Err(error) => return Err(ImportError::Read(error)),
        }
    }
    importer.finish(&mut making);
    if with_returns > 0 {
        making.limit(format!(
            "Lines with a carriage return within, each read as one: {with_returns}. If they are several \
             lines each, convert the line ends (dos2unix -c mac)."
        ));
    }
    finished(making, format)
}

/// Gives each unnamed process the name of its main thread, as the kernel has it.
fn name_processes(trace: &mut Trace) {
    let mains = trace.tasks.iter().filter(|task| task.is_main() == Some(true));
    let mut names: HashMap<u32, String> = HashMap::new();
    for task in mains {
        if let (Some(pid), Some(name)) =
            (task.pid, task.process.clone().or_else(|| task.thread.clone()))
        {
            names.insert(pid, name);
        }
    }
    // Events of the process's other threads may have its full name, too.
    for task in &trace.tasks {
        if let (Some(pid), Some(process)) = (task.pid, &task.process) {
            names.insert(pid, process.clone());
        }
    }
    for task in trace.tasks.iter_mut().filter(|task| task.process.is_none()) {
        task.process = task.pid.and_then(|pid| names.get(&pid).cloned());
    }
}
