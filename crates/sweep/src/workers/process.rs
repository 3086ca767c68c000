//! One worker process, seen from the sweep.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};

use flashlag_units::sanitize;

use super::frame::{Said, Task, receive, send};

/// Bytes of a process's last output to examine.
const LAST_WORDS: u64 = 64 << 10;
/// Most characters of it that a row quotes.
const LONGEST: usize = 200;

/// How a worker process is started.
#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    /// The arguments that make it a worker.
    pub arguments: Vec<OsString>,
}

/// Holds a child process, so that another thread can kill it.
#[derive(Debug, Default)]
pub struct Place(Mutex<Option<Child>>);

impl Place {
    /// Ends the child at once, if there is one.
    pub fn kill(&self) {
        if let Some(child) = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            // It may have exited already.
            let _ = child.kill();
        }
    }

    /// Waits for the child's end.
    fn wait(&self) -> Option<ExitStatus> {
        let child = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        child.and_then(|mut child| child.wait().ok())
    }
}

/// A process that takes tasks.
#[derive(Debug)]
pub struct Process {
    tasks: ChildStdin,
    said: BufReader<ChildStdout>,
    errors: Option<File>,
}

impl Process {
    /// Starts a process in its place.
    pub fn start(program: &Program, place: &Place) -> io::Result<Process> {
        // A file, since a pipe that nobody reads would fill up.
        let errors = tempfile::tempfile().ok();
        let copy = errors.as_ref().and_then(|file| file.try_clone().ok());
        let mut command = Command::new(&program.path);
        command.args(&program.arguments).arg0("flashlag");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(copy.map_or_else(Stdio::null, Stdio::from));
        // Ctrl-C must reach only the sweep, which ends its workers itself.
        command.process_group(0);
        let mut child = command.spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        *place.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
        let (tasks, said) = pipes.ok_or_else(|| io::Error::other("no pipes"))?;
        Ok(Process { tasks, said: BufReader::new(said), errors })
    }

    /// Gives the process a task.
    pub fn send(&mut self, task: &Task) -> io::Result<()> {
        send(&mut self.tasks, task)
    }

    /// The next message of the process; `None` once it has ended.
    pub fn receive(&mut self) -> Option<Said> {
        receive(&mut self.said).ok().flatten()
    }

    /// Ends the process; returns what ended it.
    pub fn end(self, place: &Place) -> String {
        let Process { tasks, said, errors } = self;
        // A process that sent an invalid message is still running.
        drop((tasks, said));
        place.kill();
        let status = place.wait();
        let how = status.map_or_else(|| "in an unknown way".to_owned(), ended_by);
        match errors.and_then(last_words) {
            Some(words) => format!("{how}: {words}"),
            None => how,
        }
    }
}

/// `by signal 9 (SIGKILL)`.
fn ended_by(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(6), _) => "by signal 6 (SIGABRT)".to_owned(),
        (Some(7), _) => "by signal 7 (SIGBUS)".to_owned(),
        (Some(9), _) => "by signal 9 (SIGKILL), as where memory has run out".to_owned(),
        (Some(11), _) => "by signal 11 (SIGSEGV)".to_owned(),
        (Some(signal), _) => format!("by signal {signal}"),
        (None, Some(code)) => format!("with exit status {code}"),
        (None, None) => "in an unknown way".to_owned(),
    }
}

/// The first line of a process's standard error that says why it ended.
fn last_words(mut errors: File) -> Option<String> {
    errors.seek(SeekFrom::Start(0)).ok()?;
    let mut bytes = Vec::new();
    errors.take(LAST_WORDS).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    // A panic message begins with a thread number, which differs each time.
    let says = |line: &&str| {
        !line.is_empty() && !line.starts_with("thread '") && !line.starts_with("note: ")
    };
    let line = text.lines().map(str::trim).find(says)?;
    Some(sanitize(line).chars().take(LONGEST).collect())
}
