//! Single columns of a Parquet file, which another process reads: what ends that process is an
//! error here.

mod cell;
mod library;
mod message;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use thiserror::Error;

use message::{Said, receive};

pub use cell::Cell;
pub use library::{answer, be_a_reader};

/// The hidden command of `flashlag` that reads a table for another process.
pub const READER: &str = "table-reader";

/// Why no run can be placed in a file.
#[derive(Debug, Error)]
pub enum ColumnError {
    #[error("cannot read {}: {error}", path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error("cannot start {} again, to read a table: {error}", program.display())]
    Start { program: PathBuf, error: io::Error },
    #[error("cannot read {} as a table in Parquet: {reason}. {MADE_BY}", path.display())]
    NoTable { path: PathBuf, reason: String },
    #[error("{} has no column `{column}`. {MADE_BY}", path.display())]
    NoColumn { path: PathBuf, column: &'static str },
    #[error("cannot read the column `{column}` of {}: {reason}. {MADE_BY}", path.display())]
    Column { path: PathBuf, column: &'static str, reason: String },
}

/// The most characters of a reason, which may quote what is damaged.
const LONGEST_REASON: usize = 200;

/// Where to get such a table.
const MADE_BY: &str = "Such a table is data/phases.parquet of a site, or made by `flashlag store \
                       query --from phases -o results.parquet`";

/// What is done with each cell of a column: its row, from 0, and the cell.
pub type Visit<'a> = &'a mut dyn FnMut(usize, Cell<'_>);

/// The columns of a file.
pub struct Columns {
    path: PathBuf,
    requests: Box<dyn Write>,
    answers: Box<dyn Read>,
    bytes: Vec<u8>,
    process: Option<Child>,
}

/// Why a column can't be read.
enum Failure {
    NoColumn,
    Reason(String),
}

impl Columns {
    /// Starts a program that reads a file: with these arguments and the file's path it must be one
    /// that calls [`be_a_reader`].
    pub fn start(
        path: &Path,
        program: &Path,
        arguments: &[OsString],
    ) -> Result<Columns, ColumnError> {
        let io = |error| ColumnError::Io { path: path.to_owned(), error };
        // The opening of a pipe would wait for its other end.
        if !path.metadata().map_err(io)?.is_file() {
            let reason = "it is no file".to_owned();
            return Err(ColumnError::NoTable { path: path.to_owned(), reason });
        }
        File::open(path).map_err(io)?;
        let mut command = Command::new(program);
        command.arg0("flashlag").args(arguments).arg("--").arg(path);
        // A panic's message says less than the error here.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let start = |error| ColumnError::Start { program: program.to_owned(), error };
        let mut process = command.spawn().map_err(start)?;
        let pipes = process.stdin.take().zip(process.stdout.take());
        let (requests, answers) = pipes.ok_or_else(|| start(io::Error::other("no pipes")))?;
        let answers = Box::new(BufReader::new(answers));
        let mut columns = Columns::of(path, Box::new(requests), answers);
        columns.process = Some(process);
        columns.opened()
    }

    /// The columns of a file that another thread [`answer`]s for.
    pub fn over(
        path: &Path,
        requests: Box<dyn Write>,
        answers: Box<dyn Read>,
    ) -> Result<Columns, ColumnError> {
        Columns::of(path, requests, answers).opened()
    }

    fn of(path: &Path, requests: Box<dyn Write>, answers: Box<dyn Read>) -> Columns {
        Columns { path: path.to_owned(), requests, answers, bytes: Vec::new(), process: None }
    }

    /// Waits until the table is open.
    fn opened(mut self) -> Result<Columns, ColumnError> {
        match self.hear(&mut |_, _| ()) {
            Ok(_) => Ok(self),
            Err(Failure::NoColumn) => Err(self.no_table(DAMAGED)),
            Err(Failure::Reason(reason)) => Err(self.no_table(&reason)),
        }
    }

    fn no_table(&self, reason: &str) -> ColumnError {
        ColumnError::NoTable { path: self.path.clone(), reason: reason.to_owned() }
    }

    /// Visits every cell of a column, and returns how many there are.
    pub fn each(&mut self, column: &'static str, visit: Visit<'_>) -> Result<usize, ColumnError> {
        // Where the other end is gone, so are its answers.
        let _ = writeln!(self.requests, "{column}").and_then(|()| self.requests.flush());
        self.hear(visit).map_err(|failure| match failure {
            Failure::NoColumn => ColumnError::NoColumn { path: self.path.clone(), column },
            Failure::Reason(reason) => {
                ColumnError::Column { path: self.path.clone(), column, reason }
            }
        })
    }

    /// Visits the cells that are sent, and returns how many there are.
    fn hear(&mut self, visit: Visit<'_>) -> Result<usize, Failure> {
        let mut row = 0;
        let damaged = || Failure::Reason(DAMAGED.to_owned());
        loop {
            receive(&mut self.answers, &mut self.bytes).map_err(|_| damaged())?;
            match postcard::from_bytes(&self.bytes).map_err(|_| damaged())? {
                Said::Cells(cells) => {
                    for cell in cells {
                        visit(row, cell);
                        row += 1;
                    }
                }
                Said::Done => return Ok(row),
                Said::NoColumn => return Err(Failure::NoColumn),
                Said::Refused(reason) => {
                    return Err(Failure::Reason(reason.chars().take(LONGEST_REASON).collect()));
                }
            }
        }
    }

    /// The error of a file whose columns are not equally long.
    pub fn uneven(&self, column: &'static str) -> ColumnError {
        let reason = "it is not as long as others".to_owned();
        ColumnError::Column { path: self.path.clone(), column, reason }
    }
}

/// Why the other process has ended, or sent what is no message.
const DAMAGED: &str = "it is damaged, or needs more than 1 GiB of memory";

impl Drop for Columns {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            // It may have ended already.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}
